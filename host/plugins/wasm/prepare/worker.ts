/** Thread entry: makes a large module ready away from the main thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../../base/errors.js';
import { prepare } from './prepare.js';
import type { FromPreparing, Unprepared } from './within.js';

const { bytes, beside, limits } = workerData as Unprepared;
let answer: FromPreparing;
try {
  answer = { prepared: prepare(bytes, beside, limits) };
} catch (error) {
  answer = { refusal: reasonOf(error) };
}
parentPort?.postMessage(answer);

/** Thread entry: makes a large module ready away from the main thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../base/errors.js';
import { prepare, type Unprepared } from './prepare.js';
import type { FromPreparing } from './preparing.js';

let answer: FromPreparing;
try {
  answer = { prepared: prepare(workerData as Unprepared) };
} catch (error) {
  answer = { refusal: reasonOf(error) };
}
parentPort?.postMessage(answer);

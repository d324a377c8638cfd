/** Thread entry: reads a large YAML document away from the main thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { itemsOfYaml } from './document.js';
import type { FromYaml } from './yaml.js';

let answer: FromYaml;
try {
  answer = { items: await itemsOfYaml(workerData as string) };
} catch (error) {
  answer = { refusal: reasonOf(error), isFault: !(error instanceof HaumeaError) };
}
parentPort?.postMessage(answer);

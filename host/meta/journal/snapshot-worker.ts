/** Thread entry: writes the database file away from the main thread, so that REST stays responsive meanwhile. */
import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../base/errors.js';
import { writeDatabase } from './database.js';
import type { Kinds } from './database-content.js';

const { path, kinds, generation } = workerData as { path: string; kinds: Kinds; generation: number };

try {
  await writeDatabase(path, kinds, generation);
  parentPort?.postMessage({ error: undefined });
} catch (error) {
  parentPort?.postMessage({ error: reasonOf(error) });
}

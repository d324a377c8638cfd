/**
 * How fast the heaps of the process may grow. V8 doubles the room for new objects whenever as much has outlived it: a server that
 * was given a thousand rules kept 30 MB for nothing else (docs/decisions/0026).
 */
import { setFlagsFromString } from 'node:v8';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Room for new objects stays as it is at the start, 1 MB twice. */
const newObjects = '--semi-space-growth-factor=1';

let isKeptSmall = false;

/** From now on memory counts for more than the time for finding garbage. */
export function keepHeapsSmall(): void {
  isKeptSmall = true;
  setFlagsFromString(newObjects);
}

/** Starts a thread. */
export function startThread(entry: URL, options: WorkerOptions): Worker {
  const worker = new Worker(entry, options);
  // V8 sets its flags to rights when it makes a heap: no factor below 2 is left.
  worker.once('online', () => {
    if (isKeptSmall) keepHeapsSmall();
  });
  return worker;
}

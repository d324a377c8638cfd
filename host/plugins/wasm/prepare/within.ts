/** Makes modules ready: small ones at once, large ones in a thread of their own, so that REST answers meanwhile. */

import { HaumeaError } from '../../../base/errors.js';
import { threadEntry } from '../../../base/program/bundle.js';
import { startThread } from '../../../base/program/heap.js';
import type { ModuleLimits } from '../binary/limits.js';
import { type Prepared, prepare } from './prepare.js';

/** Takes some milliseconds; starting a thread takes fifty. */
const smallBytes = 32 * 1024;

/** Input of the preparation, as plain data that a thread can take. */
export interface Unprepared {
  readonly bytes: Uint8Array;
  /** Manifest from the archive of the module, where there is one. */
  readonly beside?: string | undefined;
  readonly limits: ModuleLimits;
}

/** Answer of the thread. */
export type FromPreparing = { readonly prepared: Prepared } | { readonly refusal: string };

/**
 * Resolves with the module made ready; rejects with what is wrong with it, or when it takes longer than `timeoutMs`.
 */
export async function prepareWithin(timeoutMs: number, given: Unprepared): Promise<Prepared> {
  if (given.bytes.length <= smallBytes) return prepare(given.bytes, given.beside, given.limits);
  const worker = startThread(threadEntry('prepare-worker.mjs', 'host/plugins/wasm/prepare/worker.ts'), {
    workerData: given,
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Prepared>((resolve, reject) => {
      timer = setTimeout(() => {
        reject(new HaumeaError('general', `invalid wasm module: preparing it took more than ${timeoutMs} ms`));
      }, timeoutMs);
      worker.once('message', (answer: FromPreparing) => {
        if ('prepared' in answer) resolve(answer.prepared);
        else reject(new HaumeaError('general', answer.refusal));
      });
      worker.once('error', (error) => {
        reject(new HaumeaError('general', `invalid wasm module: ${error.message}`, { cause: error }));
      });
      worker.once('exit', () => reject(new Error('the thread that prepares modules ended')));
    });
  } finally {
    clearTimeout(timer);
    void worker.terminate();
  }
}

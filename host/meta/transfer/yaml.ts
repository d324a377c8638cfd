/** Reads YAML documents: small ones at once, others in a thread of their own, so that REST answers meanwhile. */

import { threadEntry } from '../../base/program/bundle.js';
import { startThread } from '../../base/program/heap.js';
import { Serial } from '../../base/structures/serial.js';
import { type Items, itemsOfYaml } from './document.js';
import { transferErrors } from './errors.js';

/** Takes some milliseconds, thirty with a fault at each character; starting a thread takes fifty. */
const smallLength = 2 * 1024;
/** Several times what the largest document within the bounds takes. */
const maxHeapMb = 1024;
const timeoutMs = 60_000;

/** Answer of the thread; `isFault` marks a fault of the program, not of the document. */
export type FromYaml = { readonly items: Items<unknown> } | { readonly refusal: string; readonly isFault: boolean };

/** One document at a time. */
const serial = new Serial();

/** Reads a YAML document and turns its objects into the texts of the JSON form. */
export async function readYaml(text: string): Promise<Items<unknown>> {
  // Aliases make much of little.
  if (text.length <= smallLength && !text.includes('&')) return itemsOfYaml(text);
  return serial.run('', () => readElsewhere(text));
}

async function readElsewhere(text: string): Promise<Items<unknown>> {
  const refuse = (reason: string, cause?: unknown) => transferErrors.content(reason, { cause });
  const worker = startThread(threadEntry('yaml-worker.mjs', 'host/meta/transfer/yaml-worker.ts'), {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Items<unknown>>((resolve, reject) => {
      timer = setTimeout(() => reject(refuse(`is too large: reading it took more than ${timeoutMs} ms`)), timeoutMs);
      worker.once('message', (answer: FromYaml) => {
        if ('items' in answer) resolve(answer.items);
        else reject(answer.isFault ? new Error(answer.refusal) : transferErrors.worker(answer.refusal));
      });
      worker.once('error', (error) => {
        const isFull = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
        const reason = isFull ? `is too large: reading it takes more than ${maxHeapMb} MB of memory` : undefined;
        reject(refuse(reason ?? `can't be read: ${error.message}`, error));
      });
      worker.once('exit', () => reject(new Error('the thread that reads YAML ended')));
    });
  } finally {
    clearTimeout(timer);
    void worker.terminate();
  }
}

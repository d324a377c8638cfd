/** Bounds waits for a server. */
import { natsErrors } from './errors.js';

/** Resolves as the promise does; rejects when that takes longer. */
export async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(natsErrors.connection(`the server did not answer within ${ms} ms`)), ms);
  });
  // Nobody may wait for it any more.
  promise.catch(() => {});
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

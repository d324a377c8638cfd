/** Time limits of what a server is asked for. */
import { SqlError, sqlClientErrors } from './errors.js';

/** Rejects when the promise takes longer; `late` is called then. */
export async function inTime<T>(promise: Promise<T>, ms: number, what: string, late: () => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      late();
      reject(new SqlError('late', sqlClientErrors.late(what, ms).message));
    }, ms);
  });
  try {
    return await Promise.race([promise, end]);
  } finally {
    clearTimeout(timer);
    promise.catch(() => {});
  }
}

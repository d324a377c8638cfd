/** Waits that end: the other side of a sink may not answer. */
import { systemClock, type Timer } from '../../../base/time/clock.js';

/** Resolves or rejects as the work does, or with `late()` when it takes longer than `ms`. */
export async function inTime<T>(work: Promise<T>, ms: number, late: () => T): Promise<T> {
  let timer: Timer | undefined;
  const end = new Promise<T>((resolve, reject) => {
    timer = systemClock.after(ms, () => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    });
  });
  try {
    return await Promise.race([work, end]);
  } finally {
    timer?.close();
  }
}

/** Bounds waits for other systems. */

/** Resolves as the promise does; rejects with the error when that takes longer. */
export async function timeLimit<T>(promise: Promise<T>, ms: number, late: (ms: number) => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late(ms)), ms);
  });
  // When it is late nobody waits for it any more.
  promise.catch(() => {});
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}

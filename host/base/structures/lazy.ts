/** Values made when they are first asked for, mostly by code that is read then. */

/** Makes a value at the first call; all calls get the same one, and one after a failure tries again. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

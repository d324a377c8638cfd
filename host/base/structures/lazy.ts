/** Values that are made at their first use, mostly by code that is loaded then. */

/** Makes a value at the first call and returns it from all calls; a call after a failure tries again. */
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

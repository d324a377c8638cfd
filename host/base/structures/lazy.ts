/** Values made when they are first asked for, mostly by code that is read then. */

/** Makes a value at the first call; all calls get the same one. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Returns what is kept by the key, which is made when it is asked for first. */
export function madeOnce<T>(kept: Map<string, unknown>, key: string, make: () => T): T {
  let made = kept.get(key);
  if (made === undefined) {
    made = make();
    kept.set(key, made);
  }
  return made as T;
}

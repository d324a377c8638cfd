/** Whether a stream or table is what it was, but for its properties. */

export function isSameOtherwise<T extends { readonly props: unknown }>(one: T, other: T): boolean {
  const text = (spec: T) => JSON.stringify({ ...spec, secrets: undefined, props: undefined });
  return text(one) === text(other);
}

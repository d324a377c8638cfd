/** Ids of rows in messages, as another system has got them. */

/** Ids of JSON texts; an empty message has none. */
export function idsOf(texts: Iterable<unknown>): number[] {
  return [...texts].flatMap((text) => {
    const json = String(text);
    return json === '' ? [] : [(JSON.parse(json) as { id: number }).id];
  });
}

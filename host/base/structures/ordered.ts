/** Ascending lists of texts, as `sort` orders them. */

/** Index of a text in the list, or where it would stand. */
export function placeOf(text: string, ordered: readonly string[]): number {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ordered[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

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

/** More changes than this are merged in one pass; a few move less when each is put in its place. */
const fewChanges = 8;

/**
 * Keys of a table in order. What comes and goes is only noted: to put one of 100,000 in its place moves half of them,
 * and most changes come between two looks at the whole list.
 */
export class OrderedKeys {
  #ordered: string[] | undefined;
  /** Keys that may have come or gone since. */
  #changed: string[] = [];

  /** Notes that a key has come or gone. */
  note(key: string): void {
    if (this.#ordered === undefined) return;
    this.#changed.push(key);
    if (this.#changed.length <= Math.max(fewChanges, this.#ordered.length)) return;
    // To sort them all is as good then.
    this.#ordered = undefined;
    this.#changed = [];
  }

  /** The keys of the table in order; nobody may change the list. */
  list(table: ReadonlyMap<string, unknown> | undefined): readonly string[] {
    if (this.#ordered === undefined) this.#ordered = [...(table?.keys() ?? [])].sort();
    else if (this.#changed.length > 0) this.#ordered = this.#merged(this.#ordered, table);
    this.#changed = [];
    return this.#ordered;
  }

  #merged(ordered: string[], table: ReadonlyMap<string, unknown> | undefined): string[] {
    const changes = [...new Set(this.#changed)].sort().flatMap((key) => {
      const place = placeOf(key, ordered);
      const [was, is] = [ordered[place] === key, table?.has(key) === true];
      return was === is ? [] : [{ key, place, is }];
    });
    if (changes.length <= fewChanges) {
      for (const { key, place, is } of changes.reverse()) {
        if (is) ordered.splice(place, 0, key);
        else ordered.splice(place, 1);
      }
      return ordered;
    }
    const merged: string[] = [];
    let from = 0;
    for (const { key, place, is } of changes) {
      for (; from < place; from++) merged.push(ordered[from]!);
      if (is) merged.push(key);
      else from++;
    }
    for (; from < ordered.length; from++) merged.push(ordered[from]!);
    return merged;
  }
}

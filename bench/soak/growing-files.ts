/** Files that only ever grow while they are watched: over the second half of a run none may. */
import { relative } from 'node:path';

/** Most growth of a file, bytes: the journal of definitions is cut at 1 MiB. */
const bound = 1280 << 10;

interface Watched {
  readonly first: number;
  readonly firstHours: number;
  last: number;
  lastHours: number;
  wasSmaller: boolean;
}

export class GrowingFiles {
  readonly #looks: { hours: number; sizes: ReadonlyMap<string, number> }[] = [];

  take(hours: number, sizes: ReadonlyMap<string, number>): void {
    this.#looks.push({ hours, sizes });
    // Looks from before the middle of the time so far are dropped: only the second half is judged.
    const half = hours / 2;
    while (this.#looks.length > 2 && this.#looks[1]!.hours < half) this.#looks.shift();
  }

  /** A sentence for each file that was there all the time and only grew, with its path from the folder. */
  growing(folder: string): string[] {
    const [first, ...others] = this.#looks;
    if (first === undefined) return [];
    const watched = new Map<string, Watched>();
    for (const [path, size] of first.sizes) {
      watched.set(path, {
        first: size,
        firstHours: first.hours,
        last: size,
        lastHours: first.hours,
        wasSmaller: false,
      });
    }
    for (const { hours, sizes } of others) {
      for (const [path, file] of watched) {
        const size = sizes.get(path);
        if (size === undefined) watched.delete(path);
        else {
          if (size < file.last) file.wasSmaller = true;
          file.last = size;
          file.lastHours = hours;
        }
      }
    }
    return [...watched].flatMap(([path, { first: from, last, wasSmaller, firstHours, lastHours }]) => {
      if (wasSmaller || last - from <= bound) return [];
      const minutes = ((lastHours - firstHours) * 60).toFixed(1);
      return [`file ${relative(folder, path)} grew from ${from} to ${last} bytes in ${minutes} min and was never cut`];
    });
  }
}

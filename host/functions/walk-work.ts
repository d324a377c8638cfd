/**
 * Values that JSON paths visit, bounded for each row and for each call over a column, all its rows together. What a
 * path visits of a document once or a few times is free, so that long documents are read as short ones are; what it
 * visits again and again, as `..[*]..` does, is not.
 */
import { printed } from './printing/printed.js';
import { TooMuchWork } from './regexp/work.js';

/** Visits that nobody counts against the document. */
const smallWalk = 1000;
/** Number of times that a walk may visit each value of its document without cost. */
const freeVisits = 8;
/** Visits beyond that, of a row and of all rows of a call. */
const rowVisits = 50_000;
const callVisits = 2_000_000;
/** Visits that printing a value counts as; `charactersPerVisit` characters of a text count as one. */
const printVisits = 16;
const charactersPerVisit = 64;

let left = callVisits;

/** Begins a call of a function over a column. */
export function beginWalks(): void {
  left = callVisits;
}

/** The walk of one path through one document. */
export class Walk {
  #visited = 0;
  #limit = smallWalk;
  #free = smallWalk;
  #isCounted = false;

  constructor(private readonly root: unknown) {}

  /** Counts values that are about to be visited. Throws `TooMuchWork` for more than a row, or the call, may visit. */
  visit(count: number): void {
    this.#visited += count;
    if (this.#visited > this.#limit) this.#raise();
  }

  /** The value as text (printed.ts). */
  print(value: unknown): string {
    if (typeof value === 'string') this.visit(Math.ceil(value.length / charactersPerVisit));
    else this.visit(countValues(value) * printVisits);
    return printed(value);
  }

  /** Ends the walk: its visits beyond the free ones are taken from those left to the call. */
  end(): void {
    if (this.#visited > this.#free) left -= this.#visited - this.#free;
  }

  /** The document is counted once the walk is long. */
  #raise(): void {
    if (!this.#isCounted) {
      this.#isCounted = true;
      this.#free = smallWalk + freeVisits * countValues(this.root);
      this.#limit = this.#free + Math.max(Math.min(rowVisits, left), 0);
      if (this.#visited <= this.#limit) return;
    }
    const shared = this.#limit < this.#free + rowVisits ? ', since other rows of the batch did so before' : '';
    throw new TooMuchWork(`the path visits the same values again and again, more than ${this.#limit} times${shared}`);
  }
}

/** Counts a value and all within it, however deep. */
function countValues(root: unknown): number {
  let count = 0;
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    count++;
    if (typeof value !== 'object' || value === null) continue;
    for (const item of Array.isArray(value) ? value : Object.values(value)) open.push(item);
  }
  return count;
}

/** Counts numbered rows: which never came, came again, or came behind one that belongs behind them. */

export interface Counts {
  /** Different rows that came. */
  readonly different: number;
  readonly lost: number;
  readonly repeated: number;
  /** Rows that came for the first time after one with a higher number. */
  readonly reordered: number;
}

export class Counter {
  #seen = new Uint8Array(1 << 16);
  #different = 0;
  #repeated = 0;
  #reordered = 0;
  #highest = -1;

  /** A row with this number, from 0, has come. */
  take(number: number): void {
    if (number >= this.#seen.length) this.#grow(number);
    if (this.#seen[number] === 1) {
      this.#repeated++;
      return;
    }
    this.#seen[number] = 1;
    this.#different++;
    if (number < this.#highest) this.#reordered++;
    else this.#highest = number;
  }

  #grow(number: number): void {
    const larger = new Uint8Array(Math.max(2 * this.#seen.length, number + 1));
    larger.set(this.#seen);
    this.#seen = larger;
  }

  get different(): number {
    return this.#different;
  }

  /** Counts, given the number of rows that were sent. */
  of(sent: number): Counts {
    const [repeated, reordered] = [this.#repeated, this.#reordered];
    return { different: this.#different, lost: sent - this.#different, repeated, reordered };
  }
}

const idName = Buffer.from('"id":');

/** The number behind `"id":`; -1 when there is none. */
export function idIn(bytes: Buffer, from: number, to: number): number {
  const at = bytes.indexOf(idName, from);
  if (at < 0 || at >= to) return -1;
  let id = 0;
  for (let i = at + idName.length; i < to; i++) {
    const digit = bytes[i]! - 48;
    if (digit < 0 || digit > 9) break;
    id = id * 10 + digit;
  }
  return id;
}

/**
 * Checks of rule results that have one row for each passing message: each expected id exactly once, however the rows
 * are gathered into messages (arrays of one, arrays of many, single objects).
 */
import { FIRST_ID } from '../messages/frames.js';
import { Findings } from './findings.js';
import type { Checker } from './workload.js';

/** Row of message i of the cycle without its id: text before and after it; null when the message must not pass. */
export interface ExpectedLine {
  before: string;
  after: string;
}

const ID = '"id":';
const [LINE_FEED, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_ROW, CLOSE_ROW] = Buffer.from('\n,[]{}') as unknown as number[];

/** @param expected one entry for each message of the cycle (all blocks in turn) */
export function rowChecker(expected: (ExpectedLine | null)[], count: number): Checker {
  return new RowChecker(expected, count);
}

class RowChecker implements Checker {
  readonly #cycle: ({ head: Buffer; tail: Buffer } | null)[];
  readonly #count: number;
  readonly #seen: Uint8Array;
  readonly #passing: number;
  readonly #findings = new Findings();
  #right = 0;

  constructor(expected: (ExpectedLine | null)[], count: number) {
    this.#cycle = expected.map((row) => row && { head: Buffer.from(row.before), tail: Buffer.from(row.after) });
    this.#count = count;
    this.#seen = new Uint8Array(count);
    let passing = 0;
    for (let i = 0; i < count; i++) if (expected[i % expected.length]) passing++;
    this.#passing = passing;
  }

  lines(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const byte = bytes[at];
      if (byte === LINE_FEED || byte === COMMA || byte === OPEN_LIST || byte === CLOSE_LIST) {
        at++;
        continue;
      }
      // Rows hold no braces but their own.
      const end = byte === OPEN_ROW ? bytes.indexOf(CLOSE_ROW as number, at) + 1 : bytes.indexOf('\n', at);
      const row = bytes.subarray(at, end > 0 ? end : bytes.length);
      this.#take(row);
      at += row.length;
    }
  }

  get accounted(): number {
    if (this.#right >= this.#passing) return this.#count;
    return Math.floor((this.#right / Math.max(1, this.#passing)) * this.#count);
  }

  finish(): string[] {
    const missing = this.#passing - this.#right;
    if (missing > 0) {
      const first = this.#seen.findIndex((seen, i) => !seen && this.#expected(i) !== null);
      this.#findings.add(`${missing} of ${this.#passing} results are missing, the first is id ${first + FIRST_ID}`);
    }
    return this.#findings.list;
  }

  #expected(index: number): { head: Buffer; tail: Buffer } | null {
    return this.#cycle[index % this.#cycle.length] ?? null;
  }

  #take(row: Buffer): void {
    const idAt = row.indexOf(ID) + ID.length;
    const { id, end } = numberAt(row, idAt);
    const index = id - FIRST_ID;
    const expected = idAt >= ID.length && index >= 0 && index < this.#count ? this.#expected(index) : null;
    if (expected === null) this.#findings.add(`unexpected row: ${row.toString('utf8', 0, 200)}`);
    else if (this.#seen[index]) this.#findings.add(`id ${id} came twice`);
    else if (!isAt(row, 0, idAt, expected.head) || !isAt(row, end, row.length, expected.tail)) {
      this.#findings.add(`wrong row: ${row}, expected ${expected.head}…${expected.tail}`);
    } else {
      this.#seen[index] = 1;
      this.#right++;
    }
  }
}

/** Reads the digits at `at`, and tells where they end. */
function numberAt(bytes: Buffer, at: number): { id: number; end: number } {
  let id = 0;
  let end = at;
  for (; end < bytes.length; end++) {
    const digit = (bytes[end] as number) - 48;
    if (digit < 0 || digit > 9) break;
    id = id * 10 + digit;
  }
  return { id, end };
}

function isAt(bytes: Buffer, from: number, to: number, expected: Buffer): boolean {
  return bytes.compare(expected, 0, expected.length, from, to) === 0;
}

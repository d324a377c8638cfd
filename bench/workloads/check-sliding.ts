/**
 * Checks of a sliding window that sends a row for each message: each id once, with the figures of the rows before it.
 */
import { FIRST_ID } from '../messages/frames.js';
import { Findings } from './findings.js';
import type { Reading } from './telemetry.js';
import type { Checker } from './workload.js';

interface Figures {
  n: number;
  avg: number;
  max: number;
}

/**
 * @param cycle the readings in the order sent, repeated for as long as needed; @param rows of a full window, fewer than
 * those
 */
export function slidingChecker(cycle: Reading[], count: number, rows: number): Checker {
  return new SlidingChecker(expectedOf(cycle, rows), cycle.length, count);
}

class SlidingChecker implements Checker {
  readonly #expected: Figures[];
  readonly #cycle: number;
  readonly #seen: Uint8Array;
  readonly #findings = new Findings();
  accounted = 0;

  /** @param expected of the first cycle, then of all later ones */
  constructor(expected: Figures[], cycle: number, count: number) {
    this.#expected = expected;
    this.#cycle = cycle;
    this.#seen = new Uint8Array(count);
  }

  lines(bytes: Buffer): void {
    for (const line of bytes.toString('latin1').split('\n')) {
      if (line !== '') for (const row of JSON.parse(line)) this.#take(row);
    }
  }

  finish(): string[] {
    const missing = this.#seen.length - this.accounted;
    if (missing > 0) this.#findings.add(`${missing} of ${this.#seen.length} results are missing or wrong`);
    return this.#findings.list;
  }

  #take(row: Record<string, number>): void {
    const { id = 0, n, avg_temp: avg = Number.NaN, max_speed: max } = row;
    const index = id - FIRST_ID;
    if (!(index >= 0 && index < this.#seen.length)) this.#findings.add(`unexpected row: ${JSON.stringify(row)}`);
    else if (this.#seen[index]) this.#findings.add(`id ${id} came twice`);
    else {
      const expected = this.#expected[index < this.#cycle ? index : this.#cycle + (index % this.#cycle)] as Figures;
      const isRight = n === expected.n && max === expected.max && Math.abs(avg - expected.avg) <= 1e-9 * expected.avg;
      if (!isRight) this.#findings.add(`id ${id}: ${JSON.stringify(row)}, expected ${JSON.stringify(expected)}`);
      this.#seen[index] = 1;
      if (isRight) this.accounted++;
    }
  }
}

/** Figures of two cycles. */
function expectedOf(cycle: Reading[], rows: number): Figures[] {
  const all = [...cycle, ...cycle];
  // Places of the rows that are larger than all behind them.
  const largest: number[] = [];
  let first = 0;
  let sum = 0;
  return all.map(({ temp, speed }, i) => {
    const gone = all[i - rows];
    sum += temp - (gone?.temp ?? 0);
    while (largest.length > first && (all[largest.at(-1) as number] as Reading).speed <= speed) largest.pop();
    largest.push(i);
    if ((largest[first] as number) <= i - rows) first++;
    const n = Math.min(i + 1, rows);
    return { n, avg: sum / n, max: (all[largest[first] as number] as Reading).speed };
  });
}

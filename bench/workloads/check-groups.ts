/** Checks of windowed group-by results: over all windows the figures must add up to what was sent. */
import { Findings } from './findings.js';
import type { Reading } from './telemetry.js';
import type { Checker } from './workload.js';

interface Totals {
  count: number;
  sum: number;
  max: number;
}

/** @param cycle the readings in the order sent, repeated for as long as needed */
export function groupChecker(cycle: Reading[], count: number): Checker {
  return new GroupChecker(cycle, count);
}

class GroupChecker implements Checker {
  readonly #expected: Map<string, Totals>;
  readonly #got = new Map<string, Totals>();
  readonly #findings = new Findings();
  accounted = 0;

  constructor(cycle: Reading[], count: number) {
    this.#expected = totalsOf(cycle, count);
  }

  lines(bytes: Buffer): void {
    for (const line of bytes.toString('utf8').split('\n')) {
      if (line !== '') for (const row of this.#rowsOf(line)) this.#take(row);
    }
  }

  finish(): string[] {
    for (const [device, expected] of this.#expected) {
      const wrong = difference(this.#got.get(device), expected);
      if (wrong !== undefined) this.#findings.add(`${device}: ${wrong}`);
    }
    for (const device of this.#got.keys()) {
      if (!this.#expected.has(device)) this.#findings.add(`unknown device ${device}`);
    }
    return this.#findings.list;
  }

  #rowsOf(line: string): Record<string, unknown>[] {
    try {
      const rows: unknown = JSON.parse(line);
      return (Array.isArray(rows) ? rows : [rows]) as Record<string, unknown>[];
    } catch {
      this.#findings.add(`not JSON: ${line.slice(0, 200)}`);
      return [];
    }
  }

  #take(row: Record<string, unknown>): void {
    const { device, n, avg_temp: avg, max_speed: max } = row;
    const isWhole = typeof n === 'number' && typeof avg === 'number' && typeof max === 'number';
    if (typeof device !== 'string' || !isWhole) {
      this.#findings.add(`wrong row: ${JSON.stringify(row)}`);
      return;
    }
    add(this.#got, device, { count: n, sum: n * avg, max });
    this.accounted += n;
  }
}

function totalsOf(cycle: Reading[], count: number): Map<string, Totals> {
  const whole = Math.floor(count / cycle.length);
  const rest = count % cycle.length;
  const totals = new Map<string, Totals>();
  cycle.forEach(({ device, temp, speed }, i) => {
    const times = whole + (i < rest ? 1 : 0);
    if (times > 0) add(totals, device, { count: times, sum: times * temp, max: speed });
  });
  return totals;
}

function add(totals: Map<string, Totals>, device: string, { count, sum, max }: Totals): void {
  const total = totals.get(device);
  if (total === undefined) {
    totals.set(device, { count, sum, max });
    return;
  }
  total.count += count;
  total.sum += sum;
  total.max = Math.max(total.max, max);
}

/** Says what is wrong with the figures of a device; sums may differ by rounding. */
function difference(got: Totals | undefined, expected: Totals): string | undefined {
  if (got?.count !== expected.count) return `count ${got?.count ?? 0}, sent ${expected.count}`;
  if (Math.abs(got.sum - expected.sum) > 1e-6 * Math.abs(expected.sum))
    return `sum of temp ${got.sum}, sent ${expected.sum}`;
  return got.max === expected.max ? undefined : `max of speed ${got.max}, sent ${expected.max}`;
}

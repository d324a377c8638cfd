/** Checks of windowed group-by results: over all windows the figures must add up to what was sent. */

import type { Reading } from './telemetry.js';
import type { Checker } from './workload.js';

interface Totals {
  count: number;
  sum: number;
  max: number;
}

const MAX_FINDINGS = 5;

/** @param cycle the readings in the order sent, repeated for as long as needed */
export function groupChecker(cycle: Reading[], count: number): Checker {
  const expected = totalsOf(cycle, count);
  const got = new Map<string, Totals>();
  const findings: string[] = [];
  let accounted = 0;
  const complain = (text: string): void => {
    if (findings.length < MAX_FINDINGS) findings.push(text);
  };
  return {
    lines(bytes) {
      for (const line of bytes.toString('utf8').split('\n')) {
        if (line === '') continue;
        let rows: unknown;
        try {
          rows = JSON.parse(line);
        } catch {
          complain(`not JSON: ${line.slice(0, 200)}`);
          continue;
        }
        for (const row of (Array.isArray(rows) ? rows : [rows]) as Record<string, unknown>[]) {
          const { device, n, avg_temp: avg, max_speed: max } = row;
          if (
            typeof device !== 'string' ||
            typeof n !== 'number' ||
            typeof avg !== 'number' ||
            typeof max !== 'number'
          ) {
            complain(`wrong row: ${JSON.stringify(row)}`);
            continue;
          }
          const total = got.get(device);
          if (total) {
            total.count += n;
            total.sum += n * avg;
            total.max = Math.max(total.max, max);
          } else got.set(device, { count: n, sum: n * avg, max });
          accounted += n;
        }
      }
    },
    get accounted() {
      return accounted;
    },
    finish() {
      for (const [device, e] of expected) {
        const g = got.get(device) ?? { count: 0, sum: 0, max: Number.NEGATIVE_INFINITY };
        if (g.count !== e.count) complain(`${device}: count ${g.count}, sent ${e.count}`);
        else if (Math.abs(g.sum - e.sum) > 1e-6 * Math.abs(e.sum))
          complain(`${device}: sum of temp ${g.sum}, sent ${e.sum}`);
        else if (g.max !== e.max) complain(`${device}: max of speed ${g.max}, sent ${e.max}`);
      }
      for (const device of got.keys()) if (!expected.has(device)) complain(`unknown device ${device}`);
      return findings;
    },
  };
}

function totalsOf(cycle: Reading[], count: number): Map<string, Totals> {
  const whole = Math.floor(count / cycle.length);
  const rest = count % cycle.length;
  const totals = new Map<string, Totals>();
  cycle.forEach((reading, i) => {
    const times = whole + (i < rest ? 1 : 0);
    if (times === 0) return;
    const total = totals.get(reading.device);
    if (total) {
      total.count += times;
      total.sum += times * reading.temp;
      total.max = Math.max(total.max, reading.speed);
    } else totals.set(reading.device, { count: times, sum: times * reading.temp, max: reading.speed });
  });
  return totals;
}

/**
 * Saving and loading state: bytes of a row or group, and MB of saved bytes in a second of processor time.
 *
 *     npx tsx bench/micro/state.ts
 */
import { type KernelRule, openRule, type RuleWishes } from '../../test/support/engine/rule-kernel.js';

interface Case {
  name: string;
  /** Name of the unit that `count` counts. */
  unit: string;
  sql: string;
  count: number;
  row: (i: number) => object;
  /** Stream or table that the rows go to. */
  into?: string;
  wishes?: RuleWishes;
}

const stream = 'CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory", TIMESTAMP="ts")';
const table = 'CREATE TABLE t () WITH (DATASOURCE="t", TYPE="memory", RETAIN_SIZE="1000000")';
const begin = 1_700_000_000_000;
const reading = (i: number) => ({
  device: `device-${i % 10_000}`,
  temperature: ((i * 37) % 1000) / 10,
  humidity: 40 + (i % 50),
  ts: begin + i,
});
const rounds = 9;

const cases: Case[] = [
  {
    name: 'tumbling window, 10,000 groups of count, avg, max',
    unit: 'group',
    sql:
      'SELECT device, count(*) AS c, avg(temperature) AS t, max(humidity) AS h FROM s GROUP BY device, ' +
      'TUMBLINGWINDOW(hh, 1)',
    count: 10_000,
    row: reading,
  },
  {
    name: 'count window of 200,000 rows, three columns',
    unit: 'row',
    sql: 'SELECT device, temperature, humidity FROM s GROUP BY COUNTWINDOW(200000)',
    count: 199_999,
    row: reading,
  },
  {
    name: 'event time, 200,000 waiting rows of four columns',
    unit: 'row',
    sql: 'SELECT device, temperature, humidity, ts FROM s GROUP BY TUMBLINGWINDOW(hh, 1)',
    count: 200_000,
    row: reading,
    wishes: { options: { isEventTime: true, lateToleranceMs: 3_600_000, maxFutureSkewMs: 0 } },
  },
  {
    name: 'table of 200,000 rows, three columns',
    unit: 'row',
    sql: 'SELECT s.device AS d, t.temperature AS t, t.humidity AS h FROM s INNER JOIN t ON s.device = t.device',
    count: 200_000,
    row: reading,
    into: 't',
  },
  {
    name: 'batch of 100,000 gathered rows',
    unit: 'row',
    sql: 'SELECT device, temperature FROM s',
    count: 100_000,
    row: reading,
    wishes: { props: { batchSize: 1_000_000 } },
  },
];

/** Least processor time of several runs, milliseconds. */
function least(work: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

function open({ sql, wishes }: Case): KernelRule {
  return openRule([stream, table], sql, wishes ?? {});
}

for (const one of cases) {
  const rule = open(one);
  for (let i = 0; i < one.count; i += 1000) {
    const rows = Array.from({ length: Math.min(1000, one.count - i) }, (_row, k) => one.row(i + k));
    rule.feed(one.into ?? 's', rows, begin);
  }
  const state = rule.save();
  const saving = least(() => rule.save());
  const other = open(one);
  const loading = least(() => other.load(state));
  const megabytes = state.length / 1e6;
  console.log(
    `${one.name}: ${(state.length / one.count).toFixed(1)} bytes a ${one.unit}, ` +
      `save ${((megabytes / saving) * 1000).toFixed(0)} MB/s (${((saving * 1e6) / one.count).toFixed(0)} ns), ` +
      `load ${((megabytes / loading) * 1000).toFixed(0)} MB/s (${((loading * 1e6) / one.count).toFixed(0)} ns)`,
  );
  other.close();
  rule.close();
}

/**
 * Cost of a row in a window, nanoseconds, on data that changes with every batch: taking it in, and the messages it
 * brings about, up to the node below. Windows that slide, hop or count are measured short and long with rows at a fixed
 * rate: what a row costs must not grow with the length.
 *
 *     npx tsx bench/micro/window.ts [PART_OF_NAME]
 *
 * Processor time counts, the least of several pieces: other work on the machine does not spoil
 * it much.
 */

import type { AggregatePlan } from '../../kernels/nodes/window.js';
import { col, type NodePlan, type WindowPlan } from '../../kernels/plan/ir.js';
import type { Value } from '../../kernels/values/value.js';
import { WindowKernel } from '../../test/support/kernel/window-kernel.js';

type WindowNode = Extract<NodePlan, { kind: 'window' }>;

const batchRows = 1000;
const kernel = new WindowKernel(8);
kernel.width = 0;

const averages: AggregatePlan[] = [
  { fn: 'countAll', args: [] },
  { fn: 'avg', args: [col(1)] },
  { fn: 'max', args: [col(1)] },
];
const six: AggregatePlan[] = [
  { fn: 'countAll', args: [] },
  { fn: 'sum', args: [col(1)] },
  { fn: 'avg', args: [col(1)] },
  { fn: 'min', args: [col(1)] },
  { fn: 'max', args: [col(1)] },
  { fn: 'stddev', args: [col(1)] },
];
const filtered = six.map((agg): AggregatePlan => ({ ...agg, filter: col(3) }));

interface Case {
  name: string;
  devices: number;
  window: WindowPlan;
  aggs: AggregatePlan[];
  rowsPerSecond?: number;
}

const hour = 3_600_000;
/** Rows a second of windows that are measured with two lengths: an hour holds 72,000. */
const rate = 20;
/** Rows a second where the short window is to hold some rows too. */
const fastRate = 1000;

const sliding = (lengthMs: number, delayMs = 0): WindowPlan => ({ kind: 'sliding', lengthMs, delayMs });
const onTrigger = (lengthMs: number, delayMs = 0): WindowPlan => ({
  kind: 'sliding',
  lengthMs,
  delayMs,
  trigger: col(2),
});
const hopping = (lengthMs: number, hopMs: number): WindowPlan => ({ kind: 'hopping', unitMs: 1000, lengthMs, hopMs });

/** Two cases of one window: short and long. */
function pair(
  name: string,
  window: (lengthMs: number) => WindowPlan,
  devices = 1,
  aggs = six,
  rowsPerSecond = rate,
): Case[] {
  return [
    { name: `${name}, 1 s`, window: window(1000), devices, aggs, rowsPerSecond },
    { name: `${name}, 1 h`, window: window(hour), devices, aggs, rowsPerSecond },
  ];
}

const cases: Case[] = [
  {
    name: 'w2: 1,000 devices, tumbling 1 s',
    devices: 1000,
    window: { kind: 'tumbling', unitMs: 1000, lengthMs: 1000 },
    aggs: averages,
  },
  {
    name: 'w4: 10,000 devices, tumbling 1 s',
    devices: 10_000,
    window: { kind: 'tumbling', unitMs: 1000, lengthMs: 1000 },
    aggs: averages,
  },
  {
    name: 'w5: 2,000 devices, session 10 s, 2 s',
    devices: 2000,
    window: { kind: 'session', unitMs: 1000, maxMs: 10_000, timeoutMs: 2000 },
    aggs: [{ fn: 'countAll', args: [] }],
  },
  {
    name: 'no groups, tumbling 1 s',
    devices: 1,
    window: { kind: 'tumbling', unitMs: 1000, lengthMs: 1000 },
    aggs: averages,
  },
  {
    name: '1,000 devices, hopping 10 s by 1 s',
    devices: 1000,
    window: hopping(10_000, 1000),
    aggs: averages,
    rowsPerSecond: 20_000,
  },
  {
    name: '1,000 devices, hopping 7 s by 3 s',
    devices: 1000,
    window: hopping(7000, 3000),
    aggs: averages,
    rowsPerSecond: 20_000,
  },
  {
    name: '1,000 devices, hopping 60 s by 1 s',
    devices: 1000,
    window: hopping(60_000, 1000),
    aggs: averages,
    rowsPerSecond: 20_000,
  },
  {
    name: 'one group, sliding 1 s, 10 k rows/s',
    devices: 1,
    window: sliding(1000),
    aggs: averages,
    rowsPerSecond: 10_000,
  },
  ...pair('sliding', (ms) => sliding(ms)),
  ...pair('sliding, delay 100 ms', (ms) => sliding(ms, 100)),
  ...pair('sliding, FILTER', (ms) => sliding(ms), 1, filtered),
  ...pair('sliding, 10 devices', (ms) => sliding(ms), 10),
  ...pair('sliding, 1,000 devices, 1 of 100 rows sends', (ms) => onTrigger(ms), 1000, six, fastRate),
  ...pair('the same, delay 100 ms', (ms) => onTrigger(ms, 100), 1000, six, fastRate),
  { name: 'hopping 2 s by 1 s', window: hopping(2000, 1000), devices: 1, aggs: six, rowsPerSecond: rate },
  { name: 'hopping 1 h by 1 s', window: hopping(hour, 1000), devices: 1, aggs: six, rowsPerSecond: rate },
  { name: 'hopping 1 h by 7 s', window: hopping(hour, 7000), devices: 1, aggs: six, rowsPerSecond: rate },
  { name: 'counting 10 by 1', devices: 1, window: { kind: 'count', length: 10, step: 1 }, aggs: six },
  { name: 'counting 100,000 by 1', devices: 1, window: { kind: 'count', length: 100_000, step: 1 }, aggs: six },
  {
    name: 'counting 100,000 by 1,000, 1,000 devices',
    devices: 1000,
    window: { kind: 'count', length: 100_000, step: 1000 },
    aggs: six,
  },
  { name: 'counting 100,000', devices: 1000, window: { kind: 'count', length: 100_000, step: 100_000 }, aggs: six },
  {
    name: 'session of 1 s',
    devices: 1000,
    window: { kind: 'session', unitMs: 1000, maxMs: 1000, timeoutMs: 500 },
    aggs: six,
    rowsPerSecond: rate,
  },
  {
    name: 'session of 1 h',
    devices: 1000,
    window: { kind: 'session', unitMs: 1000, maxMs: hour, timeoutMs: 500 },
    aggs: six,
    rowsPerSecond: rate,
  },
];

/** Work that one case is given at most, ms: windows whose cost grows are measured by fewer rows. */
const mostMs = Number(process.env.BENCH_MOST_MS ?? 4000);
const pieceBatches = 10;

/** Rows until the window is full, twice: what happens when the first rows leave is part of it. */
function rowsToFill({ window, rowsPerSecond = 1_000_000 }: Case): number {
  if (window.kind === 'count') return 2 * window.length;
  const isOverlapping = window.kind === 'sliding' || window.kind === 'hopping';
  return isOverlapping ? (2 * window.lengthMs * rowsPerSecond) / 1000 : 200 * batchRows;
}

function run(one: Case): void {
  const key = one.devices > 1 ? [col(0)] : [];
  const plan: WindowNode = {
    kind: 'window',
    input: { source: 0 },
    program: null,
    window: one.window,
    isEventTime: true,
    timestamp: col(4),
    grouped: true,
    keys: key,
    keep: key,
    aggs: one.aggs,
    sendEmpty: false,
    name: 'window',
  };
  const node = kernel.add(plan);
  let now = 1_700_000_000_000;
  let sent = 0;
  let held = 0;
  let all = 0;
  let piece = 0;
  const pieces: number[] = [];
  const wanted = Math.ceil(rowsToFill(one) / batchRows) + 4 * pieceBatches;
  let b = 0;
  for (; b < wanted && all < mostMs; b++) {
    const batch: Value[][] = Array.from({ length: batchRows }, () => {
      now += 1000 / (one.rowsPerSecond ?? 1_000_000);
      return [
        `device-${Math.floor(Math.random() * one.devices)}`,
        Math.random() * 100,
        Math.random() < 0.01,
        Math.random() < 0.5,
        BigInt(Math.floor(now)),
      ];
    });
    kernel.load(batch);
    kernel.call('scratchReset');
    kernel.call('setNow', now);
    kernel.setBatch(batchRows);
    held = Math.max(held, kernel.held(node));
    const before = process.cpuUsage();
    kernel.call('windowPush', node);
    const { user, system } = process.cpuUsage(before);
    const spent = (user + system) / 1000;
    all += spent;
    piece += spent;
    if ((b + 1) % pieceBatches === 0) {
      pieces.push((piece * 1e6) / (pieceBatches * batchRows));
      piece = 0;
    }
    sent += kernel.taken().length;
  }
  const rows = b * batchRows;
  pieces.sort((x, y) => x - y);
  const median = pieces[pieces.length >> 1] ?? (all * 1e6) / rows;
  const least = pieces[0] ?? median;
  console.log(
    `${one.name.padEnd(52)} ${((all * 1e6) / rows).toFixed(0).padStart(9)} ns/row, median ${median.toFixed(0)}, ` +
      `least ${least.toFixed(0)}; ` +
      `${rows} rows, ${sent} messages, ${(held / 1024).toFixed(0)} KiB held${b < wanted ? ', not full' : ''}`,
  );
  kernel.remove(node);
}

for (const one of cases) if (one.name.includes(process.argv[2] ?? '')) run(one);

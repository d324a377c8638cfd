/**
 * Cost of a waiting row: nanoseconds and bytes in windows that keep rows, event time, sort and tables.
 *
 *     npx tsx bench/micro/waiting.ts
 */
import { col, type NodePlan, type WindowPlan } from '../../kernels/plan/ir.js';
import type { Value } from '../../kernels/values/value.js';
import { openRule } from '../../test/support/engine/rule-kernel.js';
import { WindowKernel } from '../../test/support/kernel/window-kernel.js';

const batchRows = 1000;
const runs = 7;
const start = 1_700_000_000_000;
const kernel = new WindowKernel(8);
kernel.width = 0;

let seed = 1;
function random(): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
}

/**
 * A device, a number, and the time of the row: a tenth of the rows is up to `disorderMs` older than their place says.
 */
function rowsFrom(first: number, stepMs: number, disorderMs: number): Value[][] {
  return Array.from({ length: batchRows }, (_, i) => {
    const late = random() < 0.1 ? Math.floor(random() * disorderMs) : 0;
    return [`device-${Math.floor(random() * 1000)}`, random() * 100, start + (first + i) * stepMs - late];
  });
}

interface Spent {
  ms: number;
  rows: number;
  bytesPerRow: number;
}

function report(name: string, { ms, rows, bytesPerRow }: Spent): void {
  const cost = ((ms * 1e6) / rows).toFixed(1);
  console.log(`${name.padEnd(48)} ${cost.padStart(8)} ns/row ${bytesPerRow.toFixed(0).padStart(6)} bytes/row`);
}

/**
 * Gives batches to nodes of the plan, one after the other: of each batch the shortest time counts. `waiting`: rows that
 * are held after a batch.
 */
function feed(
  plan: NodePlan,
  kind: 'window' | 'eventTime',
  {
    batches,
    stepMs,
    disorderMs = 0,
    waiting,
  }: { batches: number; stepMs: number; disorderMs?: number; waiting: number },
): Spent {
  const times: number[] = Array.from({ length: batches }, () => Number.POSITIVE_INFINITY);
  let bytesPerRow = 0;
  for (let run = 0; run < runs; run++) {
    seed = 1;
    const node = kernel.add(plan);
    kernel.tick(start);
    const empty = kernel.held(node);
    for (let b = 0; b < batches; b++) {
      kernel.call('scratchReset');
      kernel.load(rowsFrom(b * batchRows, stepMs, disorderMs));
      kernel.call('setNow', start + (b + 1) * batchRows * stepMs);
      kernel.setBatch(batchRows);
      const before = performance.now();
      kernel.call(`${kind}Push`, node);
      times[b] = Math.min(times[b] ?? 0, performance.now() - before);
      kernel.taken();
      bytesPerRow = Math.max(bytesPerRow, (kernel.held(node) - empty) / waiting);
    }
    kernel.remove(node, kind);
  }
  return { ms: times.reduce((sum, ms) => sum + ms, 0), rows: batches * batchRows, bytesPerRow };
}

function window(
  name: string,
  plan: WindowPlan,
  wishes: { grouped?: boolean; batches?: number; stepMs: number; waiting: number },
): void {
  const node: Extract<NodePlan, { kind: 'window' }> = {
    kind: 'window',
    input: { source: 0 },
    program: null,
    window: plan,
    isEventTime: true,
    timestamp: col(2),
    grouped: wishes.grouped ?? false,
    keys: wishes.grouped ? [col(0)] : [],
    keep: wishes.grouped ? [col(0)] : [col(0), col(1)],
    aggs: wishes.grouped ? [{ fn: 'avg', args: [col(1)] }] : [],
    sendEmpty: false,
    name: 'window',
  };
  report(name, feed(node, 'window', { batches: wishes.batches ?? 50, stepMs: wishes.stepMs, waiting: wishes.waiting }));
}

function eventTime(name: string, toleranceMs: number, disorderMs: number): void {
  const node: Extract<NodePlan, { kind: 'eventTime' }> = {
    kind: 'eventTime',
    input: { source: 0 },
    program: null,
    timestamp: col(2),
    columns: 3,
    lateToleranceMs: toleranceMs,
    maxFutureSkewMs: 0,
    name: 'event time',
  };
  report(name, feed(node, 'eventTime', { batches: 50, stepMs: 1, disorderMs, waiting: toleranceMs }));
}

function sort(name: string, batches: number, operands: number[]): void {
  const node: Extract<NodePlan, { kind: 'sort' }> = {
    kind: 'sort',
    input: { node: 0 },
    program: null,
    keys: operands.map((c) => ({ operand: col(c), descending: false })),
    columns: 3,
    name: 'order',
  };
  const made = kernel.add(node);
  const empty = kernel.held(made);
  let best = Number.POSITIVE_INFINITY;
  let bytesPerRow = 0;
  for (let run = 0; run < 20; run++) {
    let ms = 0;
    seed = 1;
    kernel.signal(made, 1);
    for (let b = 0; b < batches; b++) {
      kernel.call('scratchReset');
      kernel.load(rowsFrom(b * batchRows, 1, 1000));
      kernel.setBatch(batchRows);
      const before = performance.now();
      kernel.call('sortPush', made);
      ms += performance.now() - before;
    }
    bytesPerRow = (kernel.held(made) - empty) / (batches * batchRows);
    const before = performance.now();
    kernel.signal(made, 2);
    ms += performance.now() - before;
    kernel.taken();
    best = Math.min(best, ms);
  }
  report(name, { ms: best, rows: batches * batchRows, bytesPerRow });
  kernel.remove(made, 'sort');
}

/** Rows come as JSON: the decoder has its part in the time. */
function table(name: string, retain: number): void {
  const definitions = [
    'CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory")',
    `CREATE TABLE t () WITH (DATASOURCE="t", TYPE="memory", RETAIN_SIZE="${retain}")`,
  ];
  const rule = openRule(definitions, 'SELECT s.id, t.name, t.x FROM s LEFT JOIN t ON s.id = t.id');
  const rows = (from: number): object[] =>
    Array.from({ length: batchRows }, (_, i) => ({ id: `device-${from + i}`, name: `place ${i}`, x: i / 3 }));
  const join = rule.node('join');
  const empty = rule.kernel.counters(join).memoryBytes;
  const times: number[] = [];
  for (let b = 0; b < 60; b++) {
    const batch = rows(b * batchRows);
    const begun = performance.now();
    rule.feed('t', batch);
    times.push(performance.now() - begun);
  }
  times.sort((a, b) => a - b);
  report(name, {
    ms: times[10] ?? 0,
    rows: batchRows,
    bytesPerRow: (rule.kernel.counters(join).memoryBytes - empty) / retain,
  });
}

window(
  'tumbling, 10,000 rows as they are',
  { kind: 'tumbling', unitMs: 1000, lengthMs: 10_000 },
  { stepMs: 1, waiting: 10_000 },
);
window(
  'count, the last 1,000 rows after each 1,000',
  { kind: 'count', length: 2000, step: 1000 },
  { stepMs: 1, waiting: 2000 },
);
window(
  'sliding 1 s with keys, 10 rows/s',
  { kind: 'sliding', lengthMs: 1000, delayMs: 0 },
  { grouped: true, stepMs: 100, waiting: 11, batches: 20 },
);
window(
  'hopping 10 s by 3 s with keys',
  { kind: 'hopping', unitMs: 1000, lengthMs: 10_000, hopMs: 3000 },
  { grouped: true, stepMs: 1, waiting: 10_000 },
);
eventTime('event time, in order, 5 s late', 5000, 0);
eventTime('event time, a tenth late, 5 s late', 5000, 5000);
sort('sort 1,000 rows by a number', 1, [1]);
sort('sort 10,000 rows by a text and a number', 10, [0, 1]);
table('table of 10,000 rows', 10_000);

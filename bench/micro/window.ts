/**
 * Cost of a row in a window, nanoseconds: group lookup and aggregates on data that changes with every batch.
 *
 *     npx tsx bench/micro/window.ts
 */
import { type AggregatePlan, col, type NodePlan, type WindowPlan } from '../../kernels/ir.js';
import type { Value } from '../../kernels/value.js';
import { WindowKernel } from '../../test/wasm/window-kernel.js';

type WindowNode = Extract<NodePlan, { kind: 'window' }>;

const batchRows = 1000;
const batches = 600;
const kernel = new WindowKernel(8);
kernel.width = 0;

const averages: AggregatePlan[] = [
  { fn: 'countAll', args: [] },
  { fn: 'avg', args: [col(1)] },
  { fn: 'max', args: [col(1)] },
];

interface Case {
  name: string;
  devices: number;
  window: WindowPlan;
  aggs: AggregatePlan[];
  isEventTime?: boolean;
  rowsPerSecond?: number;
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
    window: { kind: 'hopping', unitMs: 1000, lengthMs: 10_000, hopMs: 1000 },
    aggs: averages,
    rowsPerSecond: 20_000,
  },
  {
    name: 'one group, sliding 1 s, 10 k rows/s',
    devices: 1,
    window: { kind: 'sliding', lengthMs: 1000, delayMs: 0 },
    aggs: averages,
    rowsPerSecond: 10_000,
  },
];

function run(one: Case): void {
  const key = one.devices > 1 ? [col(0)] : [];
  const plan: WindowNode = {
    kind: 'window',
    input: { source: 0 },
    program: null,
    window: one.window,
    isEventTime: false,
    grouped: true,
    keys: key,
    keep: key,
    aggs: one.aggs,
    sendEmpty: false,
    name: 'window',
  };
  const node = kernel.add(plan);
  let now = 1_700_000_000_000;
  kernel.tick(now);
  let spent = 0;
  let sent = 0;
  let rows = 0;
  let held = 0;
  const slow = one.window.kind === 'sliding';
  for (let b = 0; b < (slow ? 30 : batches); b++) {
    const batch: Value[][] = Array.from({ length: batchRows }, () => [
      `device-${Math.floor(Math.random() * one.devices)}`,
      Math.random() * 100,
    ]);
    kernel.load(batch);
    kernel.call('scratchReset');
    now += (batchRows * 1000) / (one.rowsPerSecond ?? 1_000_000);
    kernel.call('setNow', now);
    kernel.setBatch(batchRows);
    held = Math.max(held, kernel.held(node));
    const before = performance.now();
    kernel.call('windowPush', node);
    const after = performance.now();
    if (b >= 20 || (slow && b >= 12)) {
      spent += after - before;
      rows += batchRows;
    }
    sent += kernel.taken().length;
  }
  console.log(
    `${one.name.padEnd(40)} ${((spent * 1e6) / rows).toFixed(1).padStart(8)} ns/row, ${sent} messages, ${(held / 1024).toFixed(0)} KiB held`,
  );
  kernel.remove(node);
}

for (const one of cases) run(one);

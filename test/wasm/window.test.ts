import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AggregatePlan, col, type NodePlan, type WindowPlan } from '../../kernels/ir.js';
import { type Message, type Value, WindowKernel } from './window-kernel.js';

type WindowNode = Extract<NodePlan, { kind: 'window' }>;

const key = col(0);
const value = col(1);
const time = col(2);
const count: AggregatePlan = { fn: 'countAll', args: [] };

function plan(window: WindowPlan, options: Partial<WindowNode> = {}): WindowNode {
  return {
    kind: 'window',
    input: { source: 0 },
    program: null,
    window,
    isEventTime: true,
    timestamp: time,
    grouped: true,
    keys: [key],
    keep: [key],
    aggs: [count],
    sendEmpty: false,
    name: 'op',
    ...options,
  };
}

/** Rows without the columns of the window, which follow the others. */
const body = (messages: Message[], width: number): Value[][][] =>
  messages.map((message) => message.rows.map((row) => row.slice(0, width)));

const at = (ms: number, k: Value, v: Value): Value[] => [k, v, BigInt(ms)];

test('tumbling windows group rows and fire at the watermark', () => {
  const kernel = new WindowKernel();
  const aggs: AggregatePlan[] = [count, { fn: 'avg', args: [value] }, { fn: 'max', args: [value] }];
  const node = kernel.add(plan({ kind: 'tumbling', unitMs: 1000, lengthMs: 10_000 }, { aggs }));
  kernel.width = 7;
  kernel.push(node, [at(1000, 'a', 1), at(2500, 'b', 2), at(4999, 'a', 3), at(9999, 'a-key-longer-than-sixteen', 5)]);
  const first = kernel.watermark(node, 10_000);
  assert.equal(first, [
    {
      error: null,
      rows: [
        ['a', 2n, 2, 3, 1000n, 10_000n, 10_000n],
        ['b', 1n, 2, 2, 1000n, 10_000n, 10_000n],
        ['a-key-longer-than-sixteen', 1n, 5, 5, 1000n, 10_000n, 10_000n],
      ],
    },
  ]);
  assert.equal(body(kernel.push(node, [at(10_000, 'b', 7), at(31_000, 'b', 9)]), 4), [[['b', 1n, 7, 7]]]);
  assert.equal(kernel.watermark(node, 31_000), []);
  kernel.remove(node);
});

test('a removed window gives all memory back', () => {
  const kernel = new WindowKernel();
  const before = kernel.bytesInUse;
  const node = kernel.add(
    plan({ kind: 'tumbling', unitMs: 1000, lengthMs: 10_000 }, { aggs: [{ fn: 'collect', args: [value] }] }),
  );
  const rows = Array.from({ length: 1000 }, (_, i) => at(i, `device-number-${i}`, i));
  kernel.push(node, rows);
  assert.ok(kernel.held(node) > 100_000);
  kernel.remove(node);
  assert.is(kernel.bytesInUse, before);
});

test.run();

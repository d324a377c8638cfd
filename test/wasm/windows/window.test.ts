import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AggregatePlan } from '../../../kernels/nodes/window.js';
import { col, type NodePlan, type WindowPlan } from '../../../kernels/plan/ir.js';
import { type Value, ValueError } from '../../../kernels/values/value.js';
import { type Message, WindowKernel } from '../../support/kernel/window-kernel.js';

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

const clock = { isEventTime: false } as const;

test('processing time: windows are aligned to the clock, empty ones are sent when asked', () => {
  const kernel = new WindowKernel();
  const node = kernel.add(
    plan({ kind: 'tumbling', unitMs: 1000, lengthMs: 10_000 }, { ...clock, keys: [], keep: [], sendEmpty: true }),
  );
  kernel.width = 4;
  assert.is(kernel.call('nextDeadline'), 0);
  assert.equal(kernel.tick(1_003_000), []);
  assert.is(kernel.call('nextDeadline'), 1_010_000);
  kernel.push(node, [at(0, 'a', 1), at(0, 'b', 1)], { now: 1_004_000 });
  assert.equal(kernel.tick(1_010_000)[0]?.rows, [[2n, 1_003_000n, 1_010_000n, 1_010_000n]]);
  assert.equal(kernel.tick(1_020_000)[0]?.rows, [[undefined, 1_010_000n, 1_020_000n, 1_020_000n]]);
  assert.is(kernel.call('nextDeadline'), 1_030_000);
  kernel.remove(node);
  assert.is(kernel.call('nextDeadline'), Number.POSITIVE_INFINITY);
});

test('processing time: a session ends after its timeout, a long one at an aligned end', () => {
  const kernel = new WindowKernel();
  const node = kernel.add(plan({ kind: 'session', unitMs: 1000, maxMs: 10_000, timeoutMs: 2000 }, clock));
  kernel.width = 4;
  kernel.push(node, [at(0, 'a', 1)], { now: 1_003_000 });
  kernel.push(node, [at(0, 'a', 1)], { now: 1_004_500 });
  assert.equal(kernel.tick(1_005_000), [], 'the first wish was an earlier timeout');
  assert.equal(kernel.tick(1_006_500)[0]?.rows, [['a', 2n, 1_003_000n, 1_006_500n]]);
  for (let now = 1_011_000; now < 1_030_000; now += 1000) {
    kernel.push(node, [at(0, 'b', 1)], { now });
    assert.equal(kernel.tick(now + 500), []);
  }
  assert.equal(kernel.tick(1_030_000)[0]?.rows, [['b', 19n, 1_011_000n, 1_030_000n]]);
  kernel.push(node, [at(0, 'b', 1)], { now: 1_030_500 });
  assert.equal(kernel.tick(1_032_500)[0]?.rows, [['b', 1n, 1_030_000n, 1_032_500n]]);
  kernel.remove(node);
});

test('processing time: sliding windows with a delay are sent when it is over', () => {
  const kernel = new WindowKernel();
  const node = kernel.add(
    plan(
      { kind: 'sliding', lengthMs: 2000, delayMs: 1000, trigger: col(3) },
      { ...clock, grouped: false, keep: [value], aggs: [] },
    ),
  );
  kernel.width = 3;
  kernel.push(node, [['k', 1, 0, false]], { now: 10_000 });
  kernel.push(node, [['k', 2, 0, true]], { now: 11_000 });
  kernel.push(node, [['k', 3, 0, false]], { now: 11_900 });
  assert.is(kernel.call('nextDeadline'), 12_000);
  assert.equal(body(kernel.tick(12_000), 3), [
    [
      [1, 9000n, 12_000n],
      [2, 9000n, 12_000n],
      [3, 9000n, 12_000n],
    ],
  ]);
  kernel.remove(node);
});

test('rows that failed before the window pass at once and are not counted', () => {
  const kernel = new WindowKernel();
  const node = kernel.add(plan({ kind: 'count', length: 2, step: 2 }, { ...clock, keys: [], keep: [] }));
  kernel.width = 1;
  const rows: Value[][] = [
    ['a', 1, null],
    ['b', 2, new ValueError('bad row')],
    ['c', 3, null],
  ];
  assert.equal(kernel.push(node, rows, { errorColumn: 2, now: 5 }), [
    { rows: [], error: 'bad row' },
    { rows: [[2n]], error: null },
  ]);
  kernel.remove(node);
});

test('an error in WHERE fails the message of its window only, one in an argument the aggregate', () => {
  const kernel = new WindowKernel();
  const sum: AggregatePlan = { fn: 'sum', args: [value] };
  const node = kernel.add(
    plan({ kind: 'count', length: 2, step: 2 }, { ...clock, keys: [], keep: [], aggs: [sum], where: col(3) }),
  );
  kernel.width = 1;
  const rows: Value[][] = [
    ['a', 1, 0, true],
    ['a', 'x', 0, true],
    ['a', 1, 0, new ValueError('no condition')],
    ['a', 2, 0, true],
    ['a', 1, 0, true],
    ['a', 2, 0, null],
  ];
  assert.equal(
    kernel.push(node, rows).map((message) => message.error ?? message.rows),
    [[[new ValueError('call func sum error: requires float64 but found string(x)')]], 'no condition', [[1]]],
  );
  kernel.remove(node);
});

test('windows of days end at local midnight', () => {
  const kernel = new WindowKernel();
  const node = kernel.add(plan({ kind: 'tumbling', unitMs: 86_400_000, lengthMs: 86_400_000 }), { zone: 2 });
  kernel.width = 4;
  kernel.push(node, [at(1_700_000_000_000, 'a', 1)]);
  const end = Math.floor((1_700_000_000_000 + 7_200_000) / 86_400_000 + 1) * 86_400_000 - 7_200_000;
  assert.equal(kernel.watermark(node, end)[0]?.rows, [['a', 1n, 1_700_000_000_000n, BigInt(end)]]);
  kernel.remove(node);
});

test('a timestamp years ahead sends a bounded number of empty windows', () => {
  const kernel = new WindowKernel();
  const node = kernel.add(
    plan({ kind: 'tumbling', unitMs: 1000, lengthMs: 1000 }, { keys: [], keep: [], sendEmpty: true }),
  );
  kernel.push(node, [at(1000, 'a', 1)]);
  assert.is(kernel.watermark(node, 4e12).length, 1001);
  kernel.remove(node);
});

test('more groups than a batch has rows arrive in one message', () => {
  const kernel = new WindowKernel();
  const node = kernel.add(plan({ kind: 'tumbling', unitMs: 1000, lengthMs: 10_000 }));
  kernel.width = 2;
  for (let part = 0; part < 5; part++) {
    kernel.push(
      node,
      Array.from({ length: 1000 }, (_, i) => at(1000 + part, `device-${part * 500 + i}`, 1)),
    );
  }
  const messages = kernel.watermark(node, 10_000);
  assert.is(messages.length, 1);
  assert.is(messages[0]?.rows.length, 3000);
  assert.is(
    messages[0]?.rows.reduce((sum, row) => sum + Number(row[1]), 0),
    5000,
  );
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

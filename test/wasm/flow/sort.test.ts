import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { col, type NodePlan } from '../../../kernels/plan/ir.js';
import type { Value } from '../../../kernels/values/value.js';
import { WindowKernel } from '../../support/kernel/window-kernel.js';

const kernel = new WindowKernel();

/** Sorts rows of a count window of all of them; the sort sees the columns of the window. */
function sorted(rows: Value[][], keys: { operand: number; descending: boolean }[]): Value[][] | string {
  const width = rows[0]?.length ?? 0;
  const window: Extract<NodePlan, { kind: 'window' }> = {
    kind: 'window',
    input: { source: 0 },
    program: null,
    window: { kind: 'count', length: rows.length, step: rows.length },
    isEventTime: false,
    grouped: false,
    keys: [],
    keep: Array.from({ length: width }, (_, i) => col(i)),
    aggs: [],
    sendEmpty: false,
    name: 'window',
  };
  const sort: Extract<NodePlan, { kind: 'sort' }> = {
    kind: 'sort',
    input: { node: 0 },
    program: null,
    keys,
    columns: width + 3,
    name: 'order',
  };
  const before = kernel.bytesInUse;
  const top = kernel.add(window, { isLast: false });
  const node = kernel.add(sort, { parent: top });
  kernel.width = width;
  const messages = [];
  for (let from = 0; from < rows.length; from += 1000)
    messages.push(...kernel.push(top, rows.slice(from, from + 1000)));
  kernel.remove(node, 'sort');
  kernel.remove(top);
  assert.is(messages.length, 1);
  void before;
  return messages[0]?.error ?? messages[0]?.rows ?? [];
}

const up = (operand: number) => ({ operand, descending: false });
const down = (operand: number) => ({ operand, descending: true });

test('nulls and missing values come last in both directions, equal rows keep their order', () => {
  const rows: Value[][] = [
    [3, 0],
    [null, 1],
    [1, 2],
    [2, 3],
    [undefined, 4],
    [1, 5],
  ];
  assert.equal(sorted(rows, [up(col(0))]), [
    [1, 2],
    [1, 5],
    [2, 3],
    [3, 0],
    [null, 1],
    [undefined, 4],
  ]);
  assert.equal(sorted(rows, [down(col(0))]), [
    [3, 0],
    [2, 3],
    [1, 2],
    [1, 5],
    [null, 1],
    [undefined, 4],
  ]);
});

test('several keys, texts by bytes', () => {
  const rows: Value[][] = [
    ['b', 2],
    ['B', 1],
    ['a', 2],
    ['10', 1],
  ];
  assert.equal(sorted(rows, [up(col(1)), down(col(0))]), [
    ['B', 1],
    ['10', 1],
    ['b', 2],
    ['a', 2],
  ]);
});

test('values of different kinds fail the message', () => {
  assert.match(sorted([['a'], [1], [2]], [up(col(0))]) as string, /cannot order/);
});

test('messages longer than a batch are ordered as a whole', () => {
  const rows: Value[][] = Array.from({ length: 3500 }, (_, i) => [(i * 7919) % 1000, i]);
  const expected = rows.map((row, i) => ({ row, i })).sort((a, b) => Number(a.row[0]) - Number(b.row[0]) || a.i - b.i);
  assert.equal(
    sorted(rows, [up(col(0))]),
    expected.map(({ row }) => row),
  );
});

test.run();

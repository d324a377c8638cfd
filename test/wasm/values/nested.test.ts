/**
 * Nodes at work while another one of their kind above is at work as well: a join sends rows before it has seen all its
 * pairs, and each becomes a message (a window of single rows) that a second join below joins with a table at once.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { JoinStep } from '../../../kernels/nodes/join.js';
import { col, NONE, type NodePlan } from '../../../kernels/plan/ir.js';
import { linked, windowOfRows } from '../../support/kernel/drive.js';
import { onId, openJoin, text } from '../../support/kernel/join-drive.js';
import { field, lines } from '../../support/kernel/streams.js';

/** Every row of the join above is a window: v of both streams. */
const single = windowOfRows({ kind: 'row' }, [3, 5], { node: 0 });

const withTable = (step: Partial<JoinStep>): NodePlan => ({
  kind: 'join',
  input: { node: 0 },
  program: null,
  branch: NONE,
  branches: [[0, 1], [5]],
  steps: [{ type: 'cross', branch: 1, program: null, condition: null, keys: [], ...step }],
  columns: 6,
  tables: [{ branch: 1, retainRows: 0 }],
  name: 'below',
});

function open(steps: JoinStep[]) {
  const set = openJoin(steps, { eventTime: true, below: [single, withTable({})], fields: { a: 0, b: 1, c: 5 } });
  const { kernel, driver, nodes } = set;
  const table = kernel.openStream(lines);
  const columnMap = kernel.useColumns(table, [field('name')]);
  const port: NodePlan = {
    kind: 'port',
    input: { source: 2 },
    into: 0,
    branch: 1,
    program: null,
    columns: [col(0)],
    name: 'port',
  };
  // merge, event time, window, join, single, below, output
  kernel.addNode({ stream: table }, linked(port, { columnMap, target: nodes[5] as number }));
  driver.feed(table, text([{ name: 'x' }, { name: 'y' }]));
  return set;
}

const rows = (count: number, from: number) =>
  Array.from({ length: count }, (_, i) => ({ id: i % 7, v: from + i, ts: 1000 + i }));

for (const [name, step] of [
  ['all pairs', onId('cross')],
  ['pairs by their key', onId('full')],
  ['pairs by a condition', onId('left', { condition: 'id + 1', withKey: false })],
] as const) {
  test(`a join below another one, ${name}`, () => {
    const { driver, streams, taken } = open([step]);
    const [left, right] = streams as [number, number];
    const lefts = rows(60, 0);
    const rights = rows(50, 1000);
    driver.feed(left, text(lefts));
    driver.feed(right, text(rights));
    // Rows of the next two windows come in one batch with the one that ends the first.
    const next = [10_000, 20_000, 30_000].map((ts, i) => ({ id: 1, v: 5000 + i, ts }));
    driver.feed(left, text(next));
    driver.feed(right, text(next));
    const pairs = [
      ...lefts.flatMap((a) => rights.filter((b) => step.type === 'cross' || a.id === b.id).map((b) => [a.v, b.v])),
      [5000, 5000],
      [5001, 5001],
    ];
    const expected = pairs.flatMap(([a, b]) => ['x', 'y'].map((c) => ({ a, b, c })));
    assert.equal(taken().flat(), expected);
  });
}

test.run();

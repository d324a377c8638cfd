/** What travels with the rows: watermarks, begin and end of messages, the end of an input. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NodeHandle, StreamHandle } from '../../../kernels/api.js';
import { col, type NodePlan } from '../../../kernels/plan/ir.js';
import { type Driver, drive, encode, f64, filter, linked } from '../../support/kernel/drive.js';
import { field, lines } from '../../support/kernel/streams.js';

const text = (rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** Times of the rows of a stream (columns id, v, ts); the column of the parsed time is the fourth. */
const byTime: NodePlan = {
  kind: 'eventTime',
  input: { source: 0 },
  timestamp: col(2),
  lateToleranceMs: 0,
  columns: 3,
  name: 'watermark',
};

const tenSeconds: NodePlan = {
  kind: 'window',
  input: { node: 0 },
  program: null,
  window: { kind: 'tumbling', unitMs: 1000, lengthMs: 10_000 },
  isEventTime: true,
  timestamp: col(1),
  grouped: false,
  keys: [],
  keep: [col(2), col(4)],
  aggs: [],
  sendEmpty: false,
  name: 'window',
};

function port(branch: number, timestamp: number): NodePlan {
  return {
    kind: 'port',
    input: { node: 0 },
    into: 0,
    branch,
    program: null,
    timestamp: col(timestamp),
    columns: [col(0), col(1)],
    name: 'port',
  };
}

function openMerge(driver: Driver, branches: number): NodeHandle {
  const plan: NodePlan = { kind: 'merge', input: null, branches: Array(branches).fill(2), name: 'merge' };
  return driver.kernel.addNode(null, linked(plan, { now: 0 }));
}

/** A stream whose rows pass event time, and those with v > 0 a filter, into a branch of the merge. */
function addBranch(driver: Driver, merge: NodeHandle, branch: number): StreamHandle {
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('id'), field('v'), field('ts')]);
  const timed = kernel.addNode({ stream }, linked(byTime));
  const kept = kernel.addNode({ node: timed }, linked(filter('compare.gt', 1, f64(0), 1)));
  kernel.addNode({ node: kept }, linked(port(branch, 3), { target: merge }));
  return stream;
}

test('watermarks of several inputs meet in the merge: a window waits for the slowest', () => {
  const driver = drive();
  const merge = openMerge(driver, 2);
  const window = driver.kernel.addNode({ node: merge }, linked(tenSeconds));
  const out = driver.kernel.addNode({ node: window }, linked(encode({ a: 0, b: 1 }, { sendSingle: false })));
  const [a, b] = [addBranch(driver, merge, 0), addBranch(driver, merge, 1)];
  driver.feed(a, text([{ id: 'a1', v: 1, ts: 5000 }]));
  driver.feed(b, text([{ id: 'b1', v: 1, ts: 6000 }]));
  // Rows that the filter drops move the time of their stream as well.
  driver.feed(a, text([{ id: 'late', v: 0, ts: 25_000 }]));
  assert.equal(driver.of(out), []);
  driver.feed(b, text([{ id: 'late', v: 0, ts: 9999 }]));
  assert.equal(driver.of(out), []);
  driver.feed(b, text([{ id: 'late', v: 0, ts: 10_000 }]));
  assert.equal(driver.of(out), ['[{"a":"a1"},{"b":"b1"}]']);
});

test('a watermark reaches windows behind filters, and all of several windows', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('id'), field('v'), field('ts')]);
  const timed = kernel.addNode({ stream }, linked(byTime));
  const own: NodePlan = { ...tenSeconds, keep: [col(0)] } as NodePlan;
  const kept = kernel.addNode({ node: timed }, linked(filter('compare.gt', 1, f64(0), 1)));
  const outs = [timed, kept].map((node) => {
    const window = kernel.addNode({ node }, linked(own));
    return kernel.addNode({ node: window }, linked(encode({ id: 0 }, { sendSingle: false })));
  });
  const rows = [
    { id: 1, v: 1, ts: 1000 },
    { id: 2, v: 0, ts: 2000 },
    { id: 3, v: 0, ts: 10_000 },
  ];
  driver.feed(stream, text(rows));
  assert.equal(outs.map(driver.of), [['[{"id":1},{"id":2}]'], ['[{"id":1}]']]);
});

test('the end of an input sends what is gathered behind a merge', () => {
  const driver = drive();
  const { kernel } = driver;
  const merge = openMerge(driver, 1);
  const out = kernel.addNode({ node: merge }, linked(encode({ id: 2 }, { sendSingle: true, batchSize: 100 })));
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('id'), field('v'), field('ts')]);
  kernel.addNode({ stream }, linked(port(0, 2), { target: merge }));
  driver.feed(stream, text([{ id: 1 }, { id: 2 }]));
  assert.equal(driver.of(out), []);
  kernel.endInput(stream, 1000);
  assert.equal(driver.of(out), ['[{"id":1},{"id":2}]']);
});

test('nodes get rows in the order in which they were added, whichever of them have gone', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('id')]);
  let order: NodeHandle[] = [];
  driver.onOutput = ({ node }) => order.push(node);
  const add = (name: string) => kernel.addNode({ stream }, linked(encode({ [name]: 0 }, {})));
  const nodes = ['a', 'b', 'c', 'd', 'e'].map(add);
  const orderOf = (id: number) => {
    order = [];
    driver.feed(stream, text([{ id }]));
    return order;
  };
  assert.equal(orderOf(1), nodes);
  for (const gone of [0, 1, 2]) {
    // The first, then one in the middle, then the last.
    kernel.releaseNode(nodes.splice([0, 1, nodes.length - 1][gone] as number, 1)[0] as number);
    nodes.push(add(`f${gone}`));
    assert.equal(orderOf(gone), nodes);
  }
  for (const node of nodes.splice(0)) kernel.releaseNode(node);
  assert.equal(orderOf(9), []);
  nodes.push(add('g'));
  assert.equal(orderOf(10), nodes);
});

test.run();

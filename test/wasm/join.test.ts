import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { col, type JoinStep, type NodePlan, reg } from '../../kernels/ir.js';
import { drive, encode, field, lines, linked } from './drive.js';

/** Columns of the merge: 0 branch, 1 timestamp, then id and value of each branch. The window adds start, end, trigger. */
const widths = (branches: number) => Array.from({ length: branches }, () => 2);

export function joinPlan(steps: JoinStep[], branches = 2): Extract<NodePlan, { kind: 'join' }> {
  return {
    kind: 'join',
    input: { node: 0 },
    program: null,
    branch: col(0),
    branches: Array.from({ length: branches }, (_, b) => [2 + 2 * b, 3 + 2 * b]),
    steps,
    columns: 2 + 2 * branches + 3,
    name: 'join',
  };
}

/** `left.id = right.id`, with the key told or not. */
export function onId(type: JoinStep['type'], branch = 1, leftBranch = 0, withKey = true): JoinStep {
  const left = col(2 + 2 * leftBranch);
  const right = col(2 + 2 * branch);
  return {
    type,
    branch,
    program: { ops: [{ op: 'compare.eq', dst: 100, a: left, b: right }], consts: [] },
    condition: reg(100),
    keys: withKey ? [{ leftBranch, left, right }] : [],
  };
}

export function collecting(
  branches: number,
  window: Extract<NodePlan, { kind: 'window' }>['window'],
  eventTime: boolean,
): NodePlan {
  return {
    kind: 'window',
    input: { node: 0 },
    program: null,
    window,
    isEventTime: eventTime,
    ...(eventTime ? { timestamp: col(1) } : {}),
    grouped: false,
    keys: [],
    keep: Array.from({ length: 2 + 2 * branches }, (_, i) => col(i)),
    aggs: [],
    sendEmpty: false,
    name: 'window',
  };
}

function open(steps: JoinStep[], branches = 2, eventTime = false) {
  const driver = drive();
  const { kernel } = driver;
  const before = kernel.memory().inUse;
  const streams = Array.from({ length: branches }, () => kernel.openStream(lines));
  const maps = streams.map((stream) => kernel.useColumns(stream, [field('id'), field('v'), field('ts')]));
  const merge = kernel.addNode(
    null,
    linked({ kind: 'merge', input: null, branches: widths(branches), name: 'merge' }, { sendError: true }),
  );
  const ports = streams.map((stream, branch) =>
    kernel.addNode(
      { stream },
      linked(
        {
          kind: 'port',
          input: { source: branch },
          into: 0,
          branch,
          program: null,
          timestamp: col(2),
          columns: [col(0), col(1)],
          name: 'port',
        },
        { columnMap: maps[branch] as number[], target: merge, sendError: true },
      ),
    ),
  );
  const nodes: number[] = [merge];
  const below = (plan: NodePlan): number => {
    const node = kernel.addNode({ node: nodes[nodes.length - 1] as number }, linked(plan, { sendError: true, now: 0 }));
    nodes.push(node);
    return node;
  };
  if (eventTime) {
    below({
      kind: 'eventTime',
      input: { node: 0 },
      timestamp: col(1),
      lateToleranceMs: 0,
      columns: 2 + 2 * branches,
      name: 'watermark',
    });
  }
  below(collecting(branches, { kind: 'tumbling', unitMs: 1000, lengthMs: 10_000 }, eventTime));
  const join = below(joinPlan(steps, branches));
  const fields: Record<string, number> = {};
  for (let b = 0; b < branches; b++) {
    fields[`id${b}`] = 2 + 2 * b;
    fields[`v${b}`] = 3 + 2 * b;
  }
  const out = below(encode(fields, { sendSingle: false, sendError: true }));
  const rows = () =>
    driver
      .of(out)
      .splice(0)
      .map((text) => JSON.parse(text));
  const close = () => {
    for (const port of ports) kernel.releaseNode(port);
    for (const node of nodes.reverse()) kernel.releaseNode(node);
    streams.forEach((stream, i) => {
      kernel.releaseColumns(stream, maps[i] as number[]);
      kernel.closeStream(stream);
    });
    return kernel.memory().inUse - before;
  };
  return { driver, kernel, streams, merge, ports, join, out, rows, close, nodes };
}

const text = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

test('INNER JOIN in a tumbling window of processing time pairs equal ids in the order of the left stream', () => {
  const { driver, kernel, streams, rows } = open([onId('inner')]);
  kernel.tick(0);
  driver.feed(
    streams[0] as number,
    text([
      { id: 1, v: 'a' },
      { id: 2, v: 'b' },
      { id: 1, v: 'c' },
    ]),
    100,
  );
  driver.feed(
    streams[1] as number,
    text([
      { id: 1, v: 'x' },
      { id: 3, v: 'y' },
      { id: 1, v: 'z' },
    ]),
    200,
  );
  kernel.tick(10_000);
  assert.equal(rows(), [
    [
      { id0: 1, id1: 1, v0: 'a', v1: 'x' },
      { id0: 1, id1: 1, v0: 'a', v1: 'z' },
      { id0: 1, id1: 1, v0: 'c', v1: 'x' },
      { id0: 1, id1: 1, v0: 'c', v1: 'z' },
    ],
  ]);
});

test('LEFT, RIGHT and FULL JOIN give unmatched rows their place; an empty result sends nothing', () => {
  const results = (['left', 'right', 'full', 'inner'] as const).map((type) => {
    const { driver, kernel, streams, rows } = open([onId(type)]);
    kernel.tick(0);
    driver.feed(streams[0] as number, text([{ id: 1, v: 'a' }, { v: 'b' }, { id: 2, v: 'c' }]), 100);
    driver.feed(streams[1] as number, text([{ id: 3, v: 'x' }, { id: 2, v: 'y' }, { v: 'z' }]), 200);
    kernel.tick(10_000);
    return rows()
      .flat()
      .map((row) => `${row.v0 ?? ''}${row.v1 ?? ''}`);
  });
  assert.equal(results, [['a', 'b', 'cy'], ['x', 'cy', 'z'], ['a', 'b', 'cy', 'x', 'z'], ['cy']]);
});

test('event time: the watermark is that of the slowest stream, and memory goes back when all nodes are released', () => {
  const { driver, streams, rows, close } = open([onId('inner')], 2, true);
  driver.feed(
    streams[0] as number,
    text([
      { id: 1, v: 'a', ts: 1000 },
      { id: 9, v: 'e', ts: 50_000 },
    ]),
  );
  assert.equal(rows(), []);
  driver.feed(streams[1] as number, text([{ id: 1, v: 'x', ts: 2000 }]));
  assert.equal(rows(), []);
  driver.feed(streams[1] as number, text([{ id: 8, v: 'y', ts: 11_000 }]));
  assert.equal(rows(), [[{ id0: 1, id1: 1, v0: 'a', v1: 'x' }]]);
  close();
});

test.run();

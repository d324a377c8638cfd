import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { col, type NodePlan } from '../../../kernels/plan/ir.js';
import { drive, encode, linked, windowOfRows } from '../../support/kernel/drive.js';
import { idOf, joinPlan, onId, openJoin, text } from '../../support/kernel/join-drive.js';
import { field, lines } from '../../support/kernel/streams.js';

const lefts = [{ id: 1, v: 'a' }, { v: 'b' }, { id: 2, v: 'c' }];
const rights = [{ id: 3, v: 'x' }, { id: 2, v: 'y' }, { v: 'z' }, { id: 2, v: 'w' }];

/** Values of v of both sides, as text. */
const pairs = (messages: (object[] | string)[]): string[] =>
  messages.flatMap((message) =>
    (message as { v0?: string; v1?: string }[]).map(({ v0, v1 }) => `${v0 ?? ''}${v1 ?? ''}`),
  );

test('INNER, LEFT, RIGHT, FULL and CROSS JOIN of a window: order of the rows, unmatched rows in their place', () => {
  const results = (['inner', 'left', 'right', 'full', 'cross'] as const).map((type) => {
    const { driver, kernel, streams, taken } = openJoin([onId(type)]);
    driver.feed(streams[1] as number, text(rights), 100);
    driver.feed(streams[0] as number, text(lefts), 200);
    kernel.tick(10_000);
    return pairs(taken()).join(' ');
  });
  assert.equal(results, ['cy cw', 'a b cy cw', 'x cy z cw', 'a b cy cw x z', 'ax ay az aw bx by bz bw cx cy cz cw']);
});

test('a join without rows sends no message, and windows stay apart', () => {
  const { driver, kernel, streams, taken } = openJoin([onId('inner')]);
  driver.feed(streams[0] as number, text([{ id: 1, v: 'a' }]), 100);
  kernel.tick(10_000);
  driver.feed(streams[1] as number, text([{ id: 1, v: 'x' }]), 11_000);
  kernel.tick(20_000);
  assert.equal(taken(), []);
  driver.feed(streams[0] as number, text([{ id: 1, v: 'b' }]), 21_000);
  driver.feed(streams[1] as number, text([{ id: 1, v: 'y' }]), 22_000);
  kernel.tick(30_000);
  assert.equal(pairs(taken()), ['by']);
});

test('the watermark of several streams is that of the slowest', () => {
  const { driver, streams, taken } = openJoin([onId('inner')], { eventTime: true });
  const [x, y] = streams as [number, number];
  driver.feed(
    x,
    text([
      { id: 1, v: 'a', ts: 1000 },
      { id: 9, v: 'e', ts: 50_000 },
    ]),
  );
  driver.feed(y, text([{ id: 1, v: 'x', ts: 2000 }]));
  assert.equal(taken(), []);
  driver.feed(y, text([{ id: 8, v: 'y', ts: 11_000 }]));
  assert.equal(pairs(taken()), ['ax']);
});

test('ids that do not compare fail the message of their window and no other', () => {
  const { driver, kernel, streams, join, taken } = openJoin([onId('left')]);
  const [x, y] = streams as [number, number];
  driver.feed(x, text([{ id: 1, v: 'a' }]), 100);
  driver.feed(y, text([{ id: 'one', v: 'x' }]), 100);
  kernel.tick(10_000);
  driver.feed(x, text([{ id: 1, v: 'b' }]), 10_100);
  kernel.tick(20_000);
  const [failed, next] = taken();
  assert.type(failed, 'string');
  assert.equal(next, [{ id0: 1, v0: 'b' }]);
  const { exceptions, lastException, recordsIn, recordsOut } = kernel.counters(join);
  assert.equal(
    { exceptions, lastException, recordsIn, recordsOut },
    {
      exceptions: 1,
      lastException: failed,
      recordsIn: 3,
      recordsOut: 1,
    },
  );
});

test('payloads that do not decode pass a join as errors of their own', () => {
  const { driver, kernel, streams, taken } = openJoin([onId('inner')]);
  driver.feed(streams[0] as number, 'no json\n', 100);
  const messages = taken();
  assert.is(messages.length, 1);
  assert.type(messages[0], 'string');
  kernel.tick(10_000);
  assert.equal(taken(), []);
});

test('ports and merge count the rows that they pass on', () => {
  const { driver, kernel, streams, merge, ports } = openJoin([onId('inner')]);
  driver.feed(streams[0] as number, text(lefts), 100);
  driver.feed(streams[1] as number, text(rights), 100);
  const counts = [...ports, merge].map((node) => {
    const { recordsIn, recordsOut, lastInvocation } = kernel.counters(node);
    return [recordsIn, recordsOut, lastInvocation];
  });
  assert.equal(counts, [
    [3, 3, 100],
    [4, 4, 100],
    [7, 7, 100],
  ]);
});

test('a cross join of 1,100 by 1,100 rows goes out in batches and its memory goes back', () => {
  const { driver, kernel, streams, join, taken } = openJoin([onId('cross')], {
    fields: {},
    kernel: { maxMemoryBytes: 64 << 20 },
  });
  const rows = text(Array.from({ length: 1100 }, (_, i) => ({ id: i, v: `row ${i}` })));
  const window = (from: number): void => {
    for (const stream of streams) driver.feed(stream, rows, from + 100);
    kernel.tick(from + 10_000);
  };
  window(0);
  const after = kernel.counters(join).memoryBytes;
  window(10_000);
  assert.is(kernel.counters(join).memoryBytes, after);
  assert.is(kernel.counters(join).recordsOut, 2 * 1100 * 1100);
  assert.ok(after < 100_000, `${after} bytes are held between the messages`);
  taken();
});

test('a message that exhausts the memory fails; the next one is joined', () => {
  // Computed keys are gone with their batch: the rows are copied, which the window above has already.
  const { driver, kernel, streams, join, taken } = openJoin([onId('inner', { condition: 'id + 1' })], {
    kernel: { maxMemoryBytes: 80 << 20 },
    fields: { v0: 3 },
  });
  const [x, y] = streams as [number, number];
  const padding = 'p'.repeat(20_000);
  const many = text(Array.from({ length: 500 }, (_, i) => ({ id: i, v: `${i}${padding}` })));
  for (let i = 0; i < 5; i++) driver.feed(x, many, 100);
  kernel.tick(10_000);
  assert.is(kernel.counters(join).exceptions, 1);
  assert.is(kernel.counters(join).lastException, 'out of memory');
  assert.equal(taken(), ['out of memory']);
  driver.feed(x, text([{ id: 1, v: 'a' }]), 10_100);
  driver.feed(y, text([{ id: 1, v: 'x' }]), 10_100);
  kernel.tick(20_000);
  assert.equal(taken(), [[{ v0: 'a' }]]);
});

test('GROUP BY over a join: each message is a window with the times of the window above', () => {
  const grouped: NodePlan = {
    kind: 'window',
    input: { node: 0 },
    program: null,
    window: { kind: 'message', start: col(6), end: col(7), trigger: col(8) },
    isEventTime: false,
    grouped: true,
    keys: [idOf(0)],
    keep: [idOf(0)],
    aggs: [{ fn: 'count', args: [idOf(1)] }],
    sendEmpty: false,
    name: 'group',
  };
  const { driver, kernel, streams, taken, nodes } = openJoin([onId('inner')], {
    below: [grouped],
    fields: { id: 0, n: 1, start: 2, end: 3, trigger: 4 },
  });
  const [x, y] = streams as [number, number];
  for (const from of [0, 10_000]) {
    driver.feed(x, text([{ id: 1 }, { id: 2 }, { id: 1 }]), from + 100);
    driver.feed(y, text([{ id: 1 }, { id: 2 }, { id: 1 }]), from + 200);
    kernel.tick(from + 10_000);
    const times = { start: from, end: from + 10_000, trigger: from + 10_000 };
    assert.equal(taken(), [
      [
        { id: 1, n: 4, ...times },
        { id: 2, n: 1, ...times },
      ],
    ]);
  }
  // A failed message goes through; the rows gathered before don't come back.
  driver.feed(x, text([{ id: 1 }, { id: 1 }]), 20_100);
  driver.feed(y, text([{ id: 1 }, { id: 'x' }]), 20_100);
  kernel.tick(30_000);
  assert.equal(
    taken().map((message) => typeof message),
    ['string'],
  );
  const group = kernel.counters(nodes[nodes.length - 2] as number);
  assert.is(group.exceptions, 0);
});

test('ungrouped windows of messages keep rows and add the times', () => {
  const rows: NodePlan = {
    kind: 'window',
    input: { node: 0 },
    program: null,
    window: { kind: 'message', start: col(6), end: col(7), trigger: col(8) },
    isEventTime: false,
    grouped: false,
    keys: [],
    keep: [col(3), col(5)],
    aggs: [],
    sendEmpty: false,
    name: 'rows',
  };
  const { driver, kernel, streams, taken } = openJoin([onId('left')], {
    below: [rows],
    fields: { a: 0, b: 1, start: 2, end: 3 },
  });
  driver.feed(streams[0] as number, text(lefts), 100);
  driver.feed(streams[1] as number, text(rights), 100);
  kernel.tick(10_000);
  const times = { start: 0, end: 10_000 };
  assert.equal(taken(), [
    [
      { a: 'a', ...times },
      { a: 'b', ...times },
      { a: 'c', b: 'y', ...times },
      { a: 'c', b: 'w', ...times },
    ],
  ]);
});

/** A stream whose rows join a table at once: each row is a message. */
function openTable(type: 'inner' | 'left' | 'right', retainRows: number) {
  const opened = openJoin([onId('inner')]);
  const { driver, kernel } = opened;
  const [stream, table] = [kernel.openStream(lines), kernel.openStream(lines)];
  const maps = [stream, table].map((of) => kernel.useColumns(of, [field('id'), field('v')]));
  const row = windowOfRows({ kind: 'row' }, [0, 1]);
  const window = kernel.addNode({ stream }, linked(row, { columnMap: maps[0] as number[] }));
  // Columns of the input: id, v, start, end, trigger; those of the table lie behind.
  const plan: NodePlan = {
    ...joinPlan([]),
    program: null,
    branch: 0xffff,
    branches: [
      [0, 1],
      [5, 6],
    ],
    steps: [
      {
        type,
        branch: 1,
        program: { ops: [{ op: 'compare.eq', dst: 200, a: col(0), b: col(5) }], consts: [] },
        condition: 200,
        keys: [{ leftBranch: 0, left: col(0), right: col(5) }],
      },
    ],
    columns: 7,
    tables: [{ branch: 1, retainRows }],
  };
  const join = kernel.addNode({ node: window }, linked(plan));
  const port: NodePlan = {
    kind: 'port',
    input: { source: 1 },
    into: 0,
    branch: 1,
    program: null,
    columns: [col(0), col(1)],
    name: 'port',
  };
  const portNode = kernel.addNode({ stream: table }, linked(port, { columnMap: maps[1] as number[], target: join }));
  const out = kernel.addNode({ node: join }, linked(encode({ v0: 1, v1: 6 }, { sendSingle: false })));
  const taken = () =>
    driver
      .of(out)
      .splice(0)
      .map((message) => JSON.parse(message));
  return { driver, kernel, stream, table, taken, nodes: [portNode, out, join, window] };
}

test('rows of a stream join the table as it is when they come', () => {
  const { driver, stream, table, taken } = openTable('left', 0);
  driver.feed(stream, text([{ id: 1, v: 'a' }]));
  driver.feed(
    table,
    text([
      { id: 1, v: 'x' },
      { id: 2, v: 'y' },
      { id: 1, v: 'z' },
    ]),
  );
  driver.feed(
    stream,
    text([
      { id: 1, v: 'b' },
      { id: 3, v: 'c' },
    ]),
  );
  assert.equal(taken(), [
    [{ v0: 'a' }],
    [
      { v0: 'b', v1: 'x' },
      { v0: 'b', v1: 'z' },
    ],
    [{ v0: 'c' }],
  ]);
});

test('a table of many rows is looked up by key, also after rows have come to it or kinds have changed', () => {
  const { driver, kernel, stream, table, taken, nodes } = openTable('left', 500);
  const fill = (from: number, count: number): void =>
    driver.feed(table, text(Array.from({ length: count }, (_, i) => ({ id: (from + i) % 250, v: from + i }))));
  const ask = (ids: unknown[]) => {
    driver.feed(stream, text(ids.map((id) => ({ id, v: 'a' }))));
    return taken().map((message) => (message as { v1?: number }[]).map(({ v1 }) => v1));
  };
  const ids = Array.from({ length: 19 }, (_, i) => i * 13);
  fill(0, 500);
  assert.equal(ask([...ids, 1000, null]), [...ids.map((id) => [id, id + 250]), [undefined], [undefined]]);
  fill(500, 250);
  assert.equal(
    ask(ids),
    ids.map((id) => [id + 250, id + 500]),
  );
  const before = kernel.counters(nodes[2] as number).exceptions;
  assert.equal(ask(['text']), []);
  assert.is(kernel.counters(nodes[2] as number).exceptions, before + 1);
});

test('RETAIN_SIZE: a table has its newest rows only, and takes no more memory than they need', () => {
  const { driver, kernel, stream, table, taken, nodes } = openTable('right', 3);
  const join = nodes[2] as number;
  const fill = (from: number): void =>
    driver.feed(table, text(Array.from({ length: 1000 }, (_, i) => ({ id: (from + i) % 2, v: `${from + i}` }))));
  fill(0);
  const held = kernel.counters(join).memoryBytes;
  for (let round = 1; round < 20; round++) fill(1000 * round);
  assert.ok(kernel.counters(join).memoryBytes <= held + 8192, 'the memory of dropped rows goes back');
  driver.feed(stream, text([{ id: 0, v: 'a' }]));
  assert.equal(taken(), [[{ v1: '19997' }, { v0: 'a', v1: '19998' }, { v1: '19999' }]]);
});

test('a merge is released after its ports', () => {
  const { kernel, merge, ports, nodes, close } = openJoin([onId('full')], { eventTime: true });
  assert.throws(() => kernel.releaseNode(merge), /operators below/);
  for (const node of nodes.splice(1).reverse()) kernel.releaseNode(node);
  assert.throws(() => kernel.releaseNode(merge), /2 ports/);
  close();
  for (const node of [merge, ...ports]) assert.throws(() => kernel.counters(node), RangeError);
});

test('all memory goes back with the nodes, whatever they still hold', () => {
  const driver = drive();
  const life = (): number => {
    const steps = [onId('full'), onId('cross', { branch: 2 })];
    const { streams, close } = openJoin(steps, { driver, branches: 3, eventTime: true });
    for (const ts of [1, 2, 20_000, 20_001]) {
      for (const stream of streams) {
        driver.feed(stream, text(Array.from({ length: 90 }, (_, id) => ({ id, v: `row ${id} at ${ts}`, ts }))));
      }
    }
    close();
    return driver.kernel.memory().inUse;
  };
  // The first life leaves room behind that all nodes share.
  const first = life();
  assert.is(life(), first);
  assert.is(life(), first);
});

test('nodes of joins are refused where they cannot stand', () => {
  const { kernel, merge, streams } = openJoin([onId('inner')]);
  const plan: NodePlan = { kind: 'merge', input: null, branches: [1], name: 'merge' };
  assert.throws(() => kernel.addNode({ node: merge }, linked(plan)), /cannot have a parent/);
  assert.throws(() => kernel.addNode(null, linked(encode({ id: 0 }))), /needs a parent/);
  const port: NodePlan = {
    kind: 'port',
    input: { source: 0 },
    into: 0,
    branch: 0,
    program: null,
    columns: [],
    name: 'port',
  };
  assert.throws(() => kernel.addNode({ stream: streams[0] as number }, linked(port)), /no operator/);
});

test.run();

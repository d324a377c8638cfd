/** Saving and loading of single nodes and of streams, through the interface of the kernel. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keptBy } from '../../../host/plan/kept/index.js';
import { savedAs } from '../../../host/run/plane/state/checkpoint/saved-as.js';
import type { LinkedNode, LoadReport, NodeHandle, StreamHandle, StreamSpec } from '../../../kernels/api.js';
import { NodeKind, Tag } from '../../../kernels/gen/layouts.js';
import type { AggregateName } from '../../../kernels/gen/ops.js';
import type { KernelOptions } from '../../../kernels/index.js';
import { type ColumnUse, col, type NodePlan } from '../../../kernels/plan/ir.js';
import { type Driver, drive, encode, f64, filter, kernelUnderTest, linked } from '../../support/kernel/drive.js';
import { checkOf, headCheckOf, slicesOf } from '../../support/kernel/slices.js';
import { field, lines, mqtt, publish } from '../../support/kernel/streams.js';
import { unreached } from '../../support/kernel/test-module.js';

/** How the last of a chain of nodes below a stream is told from others; nothing where it keeps nothing. */
function savedBelow(columns: ColumnUse[], ...chain: NodePlan[]): Pick<LinkedNode, 'saved'> {
  const nodes = chain.map((plan, i) => ({ ...plan, input: i === 0 ? { source: 0 } : { node: i - 1 } }) as NodePlan);
  const kept = keptBy({ sources: [{ stream: 's', columns }], nodes }, ['log']).get(nodes.length - 1);
  return kept === undefined ? {} : { saved: savedAs(kept) };
}

const window: Extract<NodePlan, { kind: 'window' }> = {
  kind: 'window',
  input: { source: 0 },
  program: null,
  window: { kind: 'count', length: 4, step: 4 },
  isEventTime: false,
  grouped: true,
  keys: [],
  keep: [],
  aggs: [{ fn: 'collect', args: [col(0)] }],
  sendEmpty: false,
  name: 'window',
};

function saved(driver: Driver, of: number): Buffer {
  const slices: Uint8Array[] = [];
  driver.kernel.saveNode(of, (bytes) => slices.push(bytes.slice()));
  return Buffer.concat(slices);
}

function load(driver: Driver, of: number, state: Uint8Array): LoadReport {
  let left = state;
  return driver.kernel.loadNode(of, (into) => {
    const part = left.subarray(0, into.length);
    into.set(part);
    left = left.subarray(part.length);
    return part.length;
  });
}

const whole: LoadReport = { loaded: 1, unclaimed: 0, brokenOff: null, failed: [] };

interface Rule {
  driver: Driver;
  stream: StreamHandle;
  filter: NodeHandle;
  window: NodeHandle;
  encoder: NodeHandle;
}

/** `over`: what the filter above the window asks for; `before`: columns that other rules of the stream use already. */
function ruleOf(over: number, before: ColumnUse[] = [], options: KernelOptions = {}, spec: StreamSpec = lines): Rule {
  const driver = drive(options);
  const { kernel } = driver;
  const stream = kernel.openStream(spec);
  kernel.useColumns(stream, before);
  const columnMap = kernel.useColumns(stream, [field('a')]);
  const above = filter('compare.gt', 0, f64(over));
  const below = encode({ x: 0 });
  const top = kernel.addNode({ stream }, linked(above, { columnMap }));
  const saved = savedBelow([field('a')], above, window);
  const middle = kernel.addNode({ node: top }, linked(window, { columnMap, ...saved }));
  const encoder = kernel.addNode({ node: middle }, linked(below, savedBelow([field('a')], above, window, below)));
  return { driver, stream, filter: top, window: middle, encoder };
}

const values = (...list: unknown[]): string => list.map((a) => `{"a":${JSON.stringify(a)},"b":"text"}\n`).join('');

test('a window goes on in another kernel, whatever number its column has there', () => {
  const one = ruleOf(0);
  one.driver.feed(one.stream, values(1, 2, 3));
  const state = saved(one.driver, one.window);
  const other = ruleOf(0, [field('z'), field('b')]);
  assert.equal(load(other.driver, other.window, state), whole);
  other.driver.feed(other.stream, values(4, 5));
  assert.equal(other.driver.of(other.encoder), ['{"x":[1,2,3,4]}']);
});

test('what is loaded takes the place of what was there', () => {
  const one = ruleOf(0);
  one.driver.feed(one.stream, values(1, 2, 3));
  const state = saved(one.driver, one.window);
  one.driver.feed(one.stream, values(7, 8, 9));
  assert.equal(load(one.driver, one.window, state), whole);
  one.driver.feed(one.stream, values(4));
  assert.equal(one.driver.of(one.encoder), ['{"x":[1,2,3,7]}', '{"x":[1,2,3,4]}']);
});

test('a window below a filter that was changed is another one and starts empty', () => {
  const one = ruleOf(0);
  one.driver.feed(one.stream, values(1, 2, 3));
  const other = ruleOf(0.5);
  const { loaded, unclaimed, failed } = load(other.driver, other.window, saved(one.driver, one.window));
  assert.equal({ loaded, unclaimed }, { loaded: 0, unclaimed: 1 });
  assert.equal(failed, [
    {
      of: other.window,
      reason: 'other',
      text: 'what was saved is of another operator, or of one that was changed since',
    },
  ]);
  other.driver.feed(other.stream, values(1, 2, 3, 4));
  assert.equal(other.driver.of(other.encoder), ['{"x":[1,2,3,4]}']);
});

test('a window of another column is another one', () => {
  const one = ruleOf(0);
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  const columnMap = kernel.useColumns(stream, [field('b')]);
  const above = filter('compare.gt', 0, f64(0));
  const top = kernel.addNode({ stream }, linked(above, { columnMap }));
  const node = kernel.addNode({ node: top }, linked(window, { columnMap, ...savedBelow([field('b')], above, window) }));
  assert.is(load(driver, node, saved(one.driver, one.window)).failed[0]?.reason, 'other');
});

test('a node without bytes says that nothing was saved for it', () => {
  const one = ruleOf(0);
  one.driver.feed(one.stream, values(1, 2, 3));
  // A filter keeps nothing.
  const report = load(one.driver, one.window, saved(one.driver, one.filter));
  assert.equal(report.failed, [{ of: one.window, reason: 'nothing', text: 'nothing was saved for it' }]);
  one.driver.feed(one.stream, values(4, 5, 6, 7));
  assert.equal(one.driver.of(one.encoder), ['{"x":[4,5,6,7]}']);
});

test('state without room leaves the node empty, and what was taken is given back', () => {
  const one = ruleOf(0);
  const text = 'x'.repeat(100_000);
  const list = (driver: Driver, on: StreamHandle): NodeHandle => {
    const columnMap = driver.kernel.useColumns(on, [field('b')]);
    const counting: NodePlan = { ...window, window: { kind: 'count', length: 1000, step: 1000 } };
    return driver.kernel.addNode(
      { stream: on },
      linked(counting, { columnMap, ...savedBelow([field('b')], counting) }),
    );
  };
  const from = list(one.driver, one.stream);
  for (let i = 0; i < 120; i++) one.driver.feed(one.stream, `{"a":0,"b":"${text}"}\n`);
  const state = saved(one.driver, from);
  assert.ok(state.length > 12_000_000);
  const small = drive({ maxMemoryBytes: 24 << 20 });
  const stream = small.kernel.openStream(lines);
  const to = list(small, stream);
  const { inUse } = small.kernel.memory();
  assert.is(load(small, to, state).failed[0]?.reason, 'memory');
  assert.is(small.kernel.memory().inUse, inUse);
});

test('nodes that were not added to be saved are refused', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  const columnMap = kernel.useColumns(stream, [field('a')]);
  const node = kernel.addNode({ stream }, linked(window, { columnMap }));
  assert.throws(() => saved(driver, node), /operator \d+ was not added to be saved/);
});

test('a tree is saved without the nodes that were not added to be saved', () => {
  const one = ruleOf(0);
  const columnMap = one.driver.kernel.useColumns(one.stream, [field('a')]);
  one.driver.kernel.addNode({ stream: one.stream }, linked(window, { columnMap }));
  one.driver.feed(one.stream, values(1, 2, 3));
  const parts: Buffer[] = [];
  one.driver.kernel.saveTree([one.stream], (bytes) => parts.push(Buffer.from(bytes)));
  assert.ok(Buffer.concat(parts).length > 0);
});

test('what the host throws comes out, and the kernel goes on', () => {
  const one = ruleOf(0);
  one.driver.feed(one.stream, values(1, 2, 3));
  const full = (): never => {
    throw new Error('the disk is full');
  };
  assert.throws(() => one.driver.kernel.saveNode(one.window, full), /the disk is full/);
  assert.throws(() => one.driver.kernel.loadNode(one.window, full), /the disk is full/);
  const call = (): void => one.driver.kernel.flush(one.encoder);
  assert.throws(() => one.driver.kernel.saveNode(one.window, call), /while the kernel is at work/);
  one.driver.feed(one.stream, values(4, 5, 6, 7));
  assert.equal(one.driver.of(one.encoder), ['{"x":[4,5,6,7]}']);
});

test('the part of a message that was read goes along, short or long', () => {
  for (const length of [10, 70_000, 3_000_000]) {
    const message = `{"a":1,"b":"${'x'.repeat(length)}"}\n`;
    const one = ruleOf(0);
    const at = Math.floor(message.length / 2);
    one.driver.feed(one.stream, message.slice(0, at));
    const other = ruleOf(0);
    assert.equal(load(other.driver, other.stream, saved(one.driver, one.stream)), whole);
    other.driver.feed(other.stream, message.slice(at) + values(2, 3, 4));
    assert.equal(other.driver.of(other.encoder), ['{"x":[1,2,3,4]}']);
  }
});

test('topic aliases and messages that are skipped go along', () => {
  const spec: StreamSpec = { ...mqtt, mqttVersion: 5, maxMessageBytes: 100 };
  const alias = (id: number) => Buffer.from([0x23, 0, id]);
  const driverOf = () => {
    const driver = drive();
    const stream = driver.kernel.openStream(spec);
    const columnMap = driver.kernel.useColumns(stream, [field('a'), { kind: 'meta', key: 'topic' }]);
    const encoder = driver.kernel.addNode({ stream }, linked(encode({ a: 0, topic: 1 }), { columnMap }));
    return { driver, stream, encoder };
  };
  const one = driverOf();
  one.driver.feed(one.stream, publish('long/topic', '{"a":1}', { properties: alias(7) }));
  const tooLong = publish('t', `{"a":"${'x'.repeat(200_000)}"}`, { properties: Buffer.alloc(0) });
  one.driver.feed(one.stream, tooLong.subarray(0, 150_000));
  const other = driverOf();
  assert.equal(load(other.driver, other.stream, saved(one.driver, one.stream)), whole);
  other.driver.feed(other.stream, tooLong.subarray(150_000));
  other.driver.feed(other.stream, publish('', '{"a":2}', { properties: alias(7) }));
  assert.equal(other.driver.of(other.encoder), ['{"a":2,"topic":"long/topic"}']);
});

/** Windows of the counts given below one stream, made in that order. */
function windowsOf(...counts: number[]) {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  const columnMap = kernel.useColumns(stream, [field('a')]);
  const encoders = new Map<number, NodeHandle>();
  for (const n of counts) {
    const counting: NodePlan = { ...window, window: { kind: 'count', length: n, step: n } };
    const below = encode({ x: 0 });
    const node = kernel.addNode({ stream }, linked(counting, { columnMap, ...savedBelow([field('a')], counting) }));
    encoders.set(n, kernel.addNode({ node }, linked(below, savedBelow([field('a')], counting, below))));
  }
  return { driver, stream, encoders };
}

function savedTree({ driver, stream }: { driver: Driver; stream: StreamHandle }): Buffer {
  const slices: Uint8Array[] = [];
  driver.kernel.saveTree([stream], (bytes) => slices.push(bytes.slice()));
  return Buffer.concat(slices);
}

function loadTree({ driver, stream }: { driver: Driver; stream: StreamHandle }, state: Uint8Array): LoadReport {
  let left = state;
  return driver.kernel.loadTree([stream], (into) => {
    const part = left.subarray(0, into.length);
    into.set(part);
    left = left.subarray(part.length);
    return part.length;
  });
}

test('each operator of a stream gets its own, in whatever order they were made', () => {
  const one = windowsOf(3, 4, 5);
  one.driver.feed(one.stream, values(1, 2));
  const other = windowsOf(5, 3, 4);
  const { loaded, ...rest } = loadTree(other, savedTree(one));
  assert.equal(rest, { unclaimed: 0, brokenOff: null, failed: [] });
  assert.is(loaded, 7);
  other.driver.feed(other.stream, values(3, 4));
  assert.equal(other.driver.of(other.encoders.get(3)!), ['{"x":[1,2,3]}']);
  assert.equal(other.driver.of(other.encoders.get(4)!), ['{"x":[1,2,3,4]}']);
});

test('operators that went and came leave their parts unclaimed and begin empty', () => {
  const one = windowsOf(3, 4);
  one.driver.feed(one.stream, values(1, 2));
  const other = windowsOf(4, 5);
  const report = loadTree(other, savedTree(one));
  // The window: what writes messages for the same sink is the same, whatever they are made of.
  assert.is(report.unclaimed, 1);
  assert.equal(
    report.failed.map(({ reason }) => reason),
    ['other'],
  );
  other.driver.feed(other.stream, values(3, 4, 5, 6, 7));
  assert.equal(other.driver.of(other.encoders.get(4)!), ['{"x":[1,2,3,4]}']);
  assert.equal(other.driver.of(other.encoders.get(5)!), ['{"x":[3,4,5,6,7]}']);
});

/** A window over all rows with one aggregate, which has taken the values in. */
function aggregateOf(
  fn: AggregateName,
  ...rows: unknown[]
): { driver: Driver; stream: StreamHandle; window: NodeHandle } {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  const columnMap = kernel.useColumns(stream, [field('a')]);
  const plan = { ...window, aggs: [{ fn, args: [col(0)] }] };
  const node = kernel.addNode({ stream }, linked(plan, { columnMap, ...savedBelow([field('a')], plan) }));
  kernel.addNode({ node }, linked(encode({ x: 0 })));
  driver.feed(stream, values(...rows));
  return { driver, stream, window: node };
}

/**
 * Identity, three lists of members (one column, no value, one aggregate), no deadline, version, form, number of values
 * and aggregates, function of the aggregate.
 */
const headBytes = 8 + (1 + (1 + 8) + 1 + (1 + 8)) + 6;

/** What the first saved as if it were the second, all checks right. */
function exchanged(content: Buffer, owner: Buffer): Buffer {
  const state = Buffer.from(content);
  slicesOf(owner)[0]!.payload.copy(slicesOf(state)[0]!.payload, 0, 0, headBytes);
  slicesOf(state).forEach(({ bytes, payload }, number) => {
    bytes.writeUInt16LE(headCheckOf(bytes, number), 6);
    bytes.writeBigUInt64LE(checkOf(payload, number), 8);
  });
  return state;
}

for (const [from, item] of [
  ['collect', 'text'],
  ['median', 7],
] as const) {
  test(`objects to merge are objects, not what ${from} has saved`, () => {
    const own = aggregateOf('mergeAgg', { b: 1 }, { c: 2 });
    const foreign = aggregateOf(from, item, item);
    const state = exchanged(saved(foreign.driver, foreign.window), saved(own.driver, own.window));
    const other = aggregateOf('mergeAgg');
    assert.equal(
      load(other.driver, other.window, state).failed.map(({ reason }) => reason),
      ['damaged'],
    );
    other.driver.feed(other.stream, values({ b: 1 }, { b: 2 }, { c: 3 }, {}));
    assert.equal([...other.driver.messages.values()], [['{"x":{"b":2,"c":3}}']]);
  });
}

test('a sum that is a text is no sum', () => {
  const one = aggregateOf('sum', 0, 0);
  const state = saved(one.driver, one.window);
  const { payload } = slicesOf(state)[0]!;
  // The one state of the one group: that it is a whole number, then zero.
  const tags = [...payload.keys()].filter((at) => payload[at] === Tag.error + 2 && payload[at + 1] === 0);
  assert.is(tags.length, 1);
  payload[tags[0]!] = Tag.str;
  const other = aggregateOf('sum');
  const report = load(other.driver, other.window, exchanged(state, state));
  assert.equal(
    report.failed.map(({ reason }) => reason),
    ['damaged'],
  );
  other.driver.feed(other.stream, values(1, 2, 3, 4));
  assert.equal([...other.driver.messages.values()], [['{"x":10}']]);
});

test('damage in one part leaves the others whole', () => {
  const one = windowsOf(3, 4);
  one.driver.feed(one.stream, values(1, 2));
  const state = savedTree(one);
  const slices = slicesOf(state);
  // The stream, then each window with its encoder.
  const { payload } = slices[3]!;
  payload[payload.length - 1] = payload[payload.length - 1]! ^ 1;
  const other = windowsOf(3, 4);
  const report = loadTree(other, state);
  assert.is(report.loaded, 4);
  assert.equal(
    report.failed.map(({ reason }) => reason),
    ['damaged'],
  );
  other.driver.feed(other.stream, values(3, 4, 5, 6));
  assert.equal(other.driver.of(other.encoders.get(3)!), ['{"x":[1,2,3]}', '{"x":[4,5,6]}']);
  assert.equal(other.driver.of(other.encoders.get(4)!), ['{"x":[3,4,5,6]}']);
});

// biome-ignore lint/suspicious/noExplicitAny: the border to Wasm
function testKernel(): any {
  // biome-ignore lint/suspicious/noExplicitAny: the border to Wasm
  const exports: any = new WebAssembly.Instance(kernelUnderTest, unreached).exports;
  assert.ok(exports.kernelInit());
  return exports;
}

test('every kind of operator is in the list of the kernel', () => {
  const exports = testKernel();
  const lacking = Object.entries(NodeKind).filter(([kind, number]) => {
    return kind !== 'source' && exports.operatorFunctions(number) === 0;
  });
  assert.equal(lacking, []);
});

test('every kind of operator that keeps something saves it', () => {
  // What these hold goes with the message that it is of, and none is open between two inputs.
  // A late node takes back a mark of the node above.
  const withinMessages = ['filter', 'sort', 'lookup', 'late'];
  const names = ['open', 'push', 'signal', 'tick', 'save', 'load', 'free'];
  const exports = testKernel();
  const lacking = Object.entries(NodeKind).filter(([kind, number]) => {
    const functions = exports.operatorFunctions(number);
    const has = (name: string): boolean => (functions & (1 << names.indexOf(name))) !== 0;
    const keeps = (has('free') || has('tick')) && !withinMessages.includes(kind);
    return has('save') !== has('load') || has('save') !== keeps;
  });
  assert.equal(lacking, []);
});

test.run();

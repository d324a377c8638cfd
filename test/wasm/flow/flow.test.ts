/** Filters, limits, timers and error rows, seen from the kernel's public door. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { constant, type NodePlan, reg } from '../../../kernels/plan/ir.js';
import { drive, encode, f64, filter, linked } from '../../support/kernel/drive.js';
import { field, lines } from '../../support/kernel/streams.js';

const ids = (values: unknown[]) => `${values.map((t, id) => JSON.stringify({ t, id })).join('\n')}\n`;

function setUp(plan: NodePlan, sendError = false) {
  const driver = drive();
  const stream = driver.kernel.openStream({ ...lines });
  driver.kernel.useColumns(stream, [field('t'), field('id')]);
  const node = driver.kernel.addNode({ stream }, linked(plan, { sendError }));
  const sink = driver.kernel.addNode({ node }, linked(encode({ id: 1 }, { sendError }), { sendError }));
  return { driver, stream, node, sink, kernel: driver.kernel };
}

test('a filter keeps the rows for which its condition is true', () => {
  const { driver, stream, sink } = setUp(filter('compare.gt', 0, f64(2)));
  driver.feed(stream, ids([1, 2, 3, 2.5, -7]));
  assert.equal(driver.of(sink), ['{"id":2}', '{"id":3}']);
});

test('null and missing values drop the row without an exception', () => {
  const { driver, stream, sink, node, kernel } = setUp(filter('compare.gt', 0, f64(2)));
  driver.feed(stream, '{"id":0}\n{"t":null,"id":1}\n{"t":3,"id":2}\n');
  assert.equal(driver.of(sink), ['{"id":2}']);
  assert.is(kernel.counters(node).exceptions, 0);
});

test('a failing condition is counted and drops only its row', () => {
  const { driver, stream, sink, node, kernel } = setUp(filter('compare.gt', 0, f64(2)));
  driver.feed(stream, ids([3, 'warm', 4]), 5000);
  assert.equal(driver.of(sink), ['{"id":0}', '{"id":2}']);
  const counters = kernel.counters(node);
  assert.is(counters.exceptions, 1);
  assert.is(counters.lastExceptionAt, 5000);
  assert.ok(counters.lastException.length > 0);
});

test('with sendError a failing condition reaches the sink at its place', () => {
  const { driver, stream, sink } = setUp(filter('compare.gt', 0, f64(2)), true);
  driver.feed(stream, ids([3, 'warm', 1, 4]));
  const messages = driver.of(sink);
  assert.is(messages.length, 3);
  assert.is(messages[0], '{"id":0}');
  assert.not.match(messages[1] as string, /^\{/);
  assert.is(messages[2], '{"id":3}');
});

test('a condition that is no boolean is an error', () => {
  const plan: NodePlan = {
    kind: 'filter',
    input: { source: 0 },
    program: { ops: [], consts: [f64(1)] },
    condition: constant(0),
    name: 'filter',
  };
  const { driver, stream, sink, node, kernel } = setUp(plan);
  driver.feed(stream, ids([1, 2]));
  assert.equal(driver.of(sink), []);
  assert.is(kernel.counters(node).exceptions, 2);
  assert.match(kernel.counters(node).lastException, 'not a boolean');
});

test('payloads that do not decode reach only rules that send errors', () => {
  const { driver, stream, sink, kernel } = setUp(filter('compare.gt', 0, f64(2)));
  const loud = kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(2)), { sendError: true }));
  const loudSink = kernel.addNode({ node: loud }, linked(encode({ id: 1 }, { sendError: true }), { sendError: true }));
  driver.feed(stream, '{"t":3,"id":0}\n{"t":\n{"t":4,"id":2}\n');
  assert.equal(driver.of(sink), ['{"id":0}', '{"id":2}']);
  assert.is(driver.of(loudSink).length, 3);
  assert.is(driver.of(loudSink)[2], '{"id":2}');
  assert.is(kernel.streamCounters(stream).decodeErrors, 1);
  assert.is(kernel.counters(loud).exceptions, 0);
});

test('filters below filters narrow the selection further and siblings are not disturbed', () => {
  const { driver, stream, node, sink, kernel } = setUp(filter('compare.gt', 0, f64(1)));
  const inner = kernel.addNode({ node }, linked(filter('compare.lt', 0, f64(4), 1)));
  const innerSink = kernel.addNode({ node: inner }, linked(encode({ id: 1, t: 0 })));
  const late = kernel.addNode({ node }, linked(encode({ t: 0 })));
  driver.feed(stream, ids([0, 2, 3, 5]));
  assert.equal(driver.of(sink), ['{"id":1}', '{"id":2}', '{"id":3}']);
  assert.equal(driver.of(innerSink), ['{"id":1,"t":2}', '{"id":2,"t":3}']);
  assert.equal(driver.of(late), ['{"t":2}', '{"t":3}', '{"t":5}']);
});

test('a limit without window passes every message, and LIMIT 0 none', () => {
  for (const [count, kept] of [
    [1, 3],
    [0, 0],
  ] as const) {
    const { driver, stream, sink } = setUp({ kind: 'limit', input: { source: 0 }, count, name: 'limit' });
    driver.feed(stream, ids([1, 2, 3]));
    assert.is(driver.of(sink).length, kept);
  }
});

test('ticks run every due timer in the order of time and say whose it is', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('id')]);
  const order: number[] = [];
  const sinks = [300, 100, 200, 500, 400].map((lingerMs) => {
    const plan = encode({ id: 0 }, { sendSingle: false, batchSize: 10, lingerMs });
    return kernel.addNode({ stream }, linked(plan, { host: lingerMs }));
  });
  driver.onOutput = ({ node }) => order.push(sinks.indexOf(node));
  driver.feed(stream, '{"id":1}\n', 1000);
  assert.is(kernel.nextDeadline(), 1100);
  kernel.tick(1099);
  assert.equal(order, []);
  kernel.tick(1300);
  assert.equal(order, [1, 2, 0]);
  assert.is(kernel.nextDeadline(), 1400);
  kernel.releaseNode(sinks[4] as number);
  assert.is(kernel.nextDeadline(), 1500);
  kernel.tick(9999);
  assert.equal(order, [1, 2, 0, 3]);
  assert.equal(driver.ticked, [100, 200, 300, 500]);
  assert.is(kernel.nextDeadline(), Number.POSITIVE_INFINITY);
});

test('constant expressions are evaluated or say why not', () => {
  const { kernel } = drive();
  const sum = {
    ops: [{ op: 'arith.add' as const, dst: 3, a: constant(0), b: constant(1) }],
    consts: [f64(2), f64(0.5)],
  };
  assert.equal(kernel.evaluate(sum, reg(3)), { value: { tag: 'f64', value: 2.5 } });
  assert.equal(kernel.evaluate(sum, constant(1)), { value: { tag: 'f64', value: 0.5 } });
  const bad = { ops: [{ op: 'arith.div' as const, dst: 0, a: constant(0), b: constant(1) }], consts: [f64(2), f64(0)] };
  assert.ok('error' in kernel.evaluate(bad, reg(0)));
  assert.throws(
    () => kernel.evaluate({ ops: [{ op: 'move.move', dst: 0, a: 0x4000 }], consts: [] }, reg(0)),
    /columns/,
  );
});

test.run();

/** Messages of several rows: what windows, the filters below them and encode nodes make of them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { col, type NodePlan, type OutputPlan, type Program, reg } from '../../../kernels/plan/ir.js';
import { drive, encode, f64, filter, linked, windowOfRows } from '../../support/kernel/drive.js';
import { field, lines, output } from '../../support/kernel/streams.js';

type EncodePlan = Extract<NodePlan, { kind: 'encode' }>;

const threeRows = windowOfRows({ kind: 'count', length: 3, step: 3 }, [0, 1]);

const quotientProgram: Program = { ops: [{ op: 'arith.div', dst: 5, a: col(0), b: col(1) }], consts: [] };

function quotient(wishes: Partial<OutputPlan> = {}): EncodePlan {
  const shape: OutputPlan['shape'] = { kind: 'fields', fields: [{ name: 'q', operand: reg(5), plain: false }] };
  return { ...(encode({}) as EncodePlan), program: quotientProgram, output: { ...output, shape, ...wishes } };
}

function setUp(plans: NodePlan[], below: NodePlan | null = null, sendError = false) {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('a'), field('b')]);
  let node = kernel.addNode({ stream }, linked(threeRows, { sendError }));
  if (below !== null) node = kernel.addNode({ node }, linked(below, { sendError }));
  const sinks = plans.map((plan) => kernel.addNode({ node }, linked(plan, { sendError })));
  const send = (...rows: [number, number][]) =>
    driver.feed(stream, rows.map(([a, b]) => `${JSON.stringify({ a, b })}\n`).join(''));
  return { driver, kernel, stream, sinks, send, of: (i: number) => driver.of(sinks[i] as number) };
}

test('the rows of a window are one message, or one each with sendSingle', () => {
  const plans = [
    encode({ a: 0 }, { sendSingle: false }),
    encode({ b: 1 }),
    encode({ b: 1 }, { framing: 'messages' }),
    encode({ a: 0 }, { sendSingle: false, framing: 'messages' }),
  ];
  const { send, of } = setUp(plans);
  send([1, 2], [3, 4], [5, 6], [7, 8]);
  assert.equal(of(0), ['[{"a":1},{"a":3},{"a":5}]']);
  assert.equal(of(1), ['{"b":2}', '{"b":4}', '{"b":6}']);
  assert.equal(of(2), of(1));
  assert.equal(of(3), of(0));
});

test("a row that can't be sent by itself stands where it was, however messages are told apart", () => {
  const shape: OutputPlan['shape'] = { kind: 'object', operand: col(0) };
  const wishes: Partial<OutputPlan> = { shape, sendError: true, sendSingle: true };
  const framings = [{}, { framing: 'messages' }, { framing: 'messages', head: col(1) }] as const;
  const { driver, kernel, stream, sinks } = setUp(framings.map((more) => encode({}, { ...wishes, ...more })));
  const places = new Map<number, number[]>();
  driver.onOutput = ({ node, errors }) => places.set(node, [...(places.get(node) ?? []), ...errors]);
  const [good, bad] = ['{"a":{"x":1},"b":{"y":2}}\n', '{"a":5,"b":{"y":3}}\n'];
  driver.feed(stream, good + bad + good + bad + bad + bad);
  const [lined, framed, headed] = sinks.map((sink) => driver.of(sink));
  const failed = 'row is not an object';
  assert.equal(lined, ['{"x":1}', failed, '{"x":1}', failed, failed, failed]);
  assert.equal(framed, lined);
  assert.equal(
    headed,
    lined!.flatMap((text) => (text === failed ? [failed, failed] : ['{"y":2}', text])),
  );
  assert.equal([...places.values()], [[], [1, 0, 1, 2], [3, 1, 3, 5]]);
  assert.equal(
    sinks.map((sink) => kernel.counters(sink).exceptions),
    [4, 4, 4],
  );
  assert.is(driver.rows, 6);
});

test('one failing row takes its whole message, the next is good', () => {
  const plans = [
    quotient({ sendSingle: false }),
    quotient({ sendSingle: false, sendError: true }),
    quotient({ sendError: true, framing: 'messages' }),
  ];
  const { send, of, kernel, sinks } = setUp(plans);
  send([4, 2], [1, 0], [9, 3], [8, 4], [6, 3], [1, 1]);
  assert.equal(of(0), ['[{"q":2},{"q":2},{"q":1}]']);
  assert.is(kernel.counters(sinks[0] as number).exceptions, 1);
  assert.is(of(1).length, 2);
  assert.not.match(of(1)[0] as string, /^\[/);
  assert.equal(of(1)[1], of(0)[0]);
  assert.is(of(2).length, 4);
  assert.equal(of(2).slice(1), ['{"q":2}', '{"q":2}', '{"q":1}']);
});

test('a message that loses all its rows in a filter is not sent', () => {
  const { send, of } = setUp([encode({ a: 0 }, { sendSingle: false })], filter('compare.gt', 0, f64(3), 4));
  send([1, 0], [2, 0], [3, 0], [3, 0], [4, 0], [5, 0]);
  assert.equal(of(0), ['[{"a":4},{"a":5}]']);
});

test('a failing condition takes the whole message', () => {
  const plan: NodePlan = {
    kind: 'filter',
    input: { source: 0 },
    program: {
      ops: [
        { op: 'arith.div', dst: 3, a: col(0), b: col(1) },
        { op: 'compare.gt', dst: 4, a: reg(3), b: 0x8000 },
      ],
      consts: [f64(0)],
    },
    condition: reg(4),
    name: 'having',
  };
  for (const sendError of [false, true]) {
    const { send, of } = setUp([encode({ a: 0 }, { sendSingle: false, sendError })], plan, sendError);
    send([1, 1], [2, 0], [3, 1], [1, 1], [2, 1], [3, 1]);
    const messages = of(0);
    assert.is(messages.length, sendError ? 2 : 1);
    assert.is(messages.at(-1), '[{"a":1},{"a":2},{"a":3}]');
  }
});

test('a limit cuts each message; LIMIT 0 sends none', () => {
  const limit = (count: number): NodePlan => ({ kind: 'limit', input: { source: 0 }, count, name: 'limit' });
  const two = setUp([encode({ a: 0 }, { sendSingle: false })], limit(2));
  two.send([1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0]);
  assert.equal(two.of(0), ['[{"a":1},{"a":2}]', '[{"a":4},{"a":5}]']);
  const none = setUp([encode({ a: 0 }, { sendSingle: false })], limit(0));
  none.send([1, 0], [2, 0], [3, 0]);
  assert.equal(none.of(0), []);
});

test('LIMIT 0 sends no rows, but tells of the failure of a message', () => {
  const failing: NodePlan = {
    kind: 'filter',
    input: { source: 0 },
    program: { ops: [...quotientProgram.ops, { op: 'compare.gt', dst: 6, a: reg(5), b: 0x8000 }], consts: [f64(0)] },
    condition: reg(6),
    name: 'having',
  };
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('a'), field('b')]);
  const window = kernel.addNode({ stream }, linked(threeRows, { sendError: true }));
  const having = kernel.addNode({ node: window }, linked(failing, { sendError: true }));
  const none: NodePlan = { kind: 'limit', input: { source: 0 }, count: 0, name: 'limit' };
  const limit = kernel.addNode({ node: having }, linked(none, { sendError: true }));
  const sink = kernel.addNode(
    { node: limit },
    linked(encode({ a: 0 }, { sendSingle: false, sendError: true }), { sendError: true }),
  );
  driver.feed(stream, '{"a":1,"b":1}\n{"a":1,"b":0}\n{"a":1,"b":1}\n');
  const messages = driver.of(sink);
  assert.is(messages.length, 1);
  assert.match(messages[0] as string, /divi/);
  driver.feed(stream, '{"a":1,"b":1}\n{"a":1,"b":1}\n{"a":1,"b":1}\n');
  assert.is(driver.of(sink).length, 1);
});

test('a batch counts windows and has a list for each, with sendSingle all their rows', () => {
  const wishes = [{ sendSingle: false }, { sendSingle: true }].map((form) =>
    encode({ a: 0 }, { ...form, batchSize: 2 }),
  );
  const { send, of, kernel, sinks } = setUp(wishes);
  send([1, 0], [2, 0], [3, 0]);
  assert.equal(of(0), []);
  send([4, 0], [5, 0], [6, 0], [7, 0], [8, 0], [9, 0]);
  assert.equal(of(0), ['[[{"a":1},{"a":2},{"a":3}],[{"a":4},{"a":5},{"a":6}]]']);
  assert.equal(of(1), ['[{"a":1},{"a":2},{"a":3},{"a":4},{"a":5},{"a":6}]']);
  for (const sink of sinks) kernel.flush(sink as number);
  assert.equal(of(0)[1], '[[{"a":7},{"a":8},{"a":9}]]');
  assert.equal(of(1)[1], '[{"a":7},{"a":8},{"a":9}]');
});

test.run();

/** What encode nodes write: shapes, nulls, errors, gathering and framing. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { col, type NodePlan, type OutputPlan, type Program, reg } from '../../../kernels/plan/ir.js';
import { drive, encode, linked } from '../../support/kernel/drive.js';
import { field, lines, mqtt, output, publish } from '../../support/kernel/streams.js';

type EncodePlan = Extract<NodePlan, { kind: 'encode' }>;

function setUp(plan: ReturnType<typeof encode>, names = ['a', 'b']) {
  const driver = drive();
  const stream = driver.kernel.openStream(lines);
  driver.kernel.useColumns(stream, names.map(field));
  const sink = driver.kernel.addNode({ stream }, linked(plan));
  return { driver, stream, sink, kernel: driver.kernel };
}

function messagesOf(input: string, plan: ReturnType<typeof encode>): string[] {
  const { driver, stream, sink } = setUp(plan);
  driver.feed(stream, input);
  return driver.of(sink);
}

/** An encode node with one computed field: a / b. */
function quotient(wishes: Partial<OutputPlan> = {}): EncodePlan {
  const program: Program = { ops: [{ op: 'arith.div', dst: 0, a: col(0), b: col(1) }], consts: [] };
  const shape: OutputPlan['shape'] = { kind: 'fields', fields: [{ name: 'q', operand: reg(0), plain: false }] };
  return { ...(encode({}) as object), program, output: { ...output, shape, ...wishes } } as EncodePlan;
}

test('rows of a stream are arrays of one row, or bare objects with sendSingle', () => {
  assert.equal(messagesOf('{"a":1,"b":"x"}\n', encode({ a: 0, b: 1 }, { sendSingle: false })), ['[{"a":1,"b":"x"}]']);
  assert.equal(messagesOf('{"a":1,"b":"x"}\n', encode({ a: 0, b: 1 })), ['{"a":1,"b":"x"}']);
});

test('plain columns keep null and leave out what is missing', () => {
  assert.equal(messagesOf('{"a":null}\n{"b":true}\n{}\n', encode({ a: 0, b: 1 })), ['{"a":null}', '{"b":true}', '{}']);
});

test('computed nulls are left out unless sendNil asks for them', () => {
  const input = '{"a":null,"b":2}\n{"a":6,"b":2}\n';
  assert.equal(messagesOf(input, quotient()), ['{}', '{"q":3}']);
  assert.equal(messagesOf(input, quotient({ sendNil: true })), ['{"q":null}', '{"q":3}']);
  const shape: OutputPlan['shape'] = {
    kind: 'fields',
    fields: [{ name: 'q', operand: reg(0), plain: false, omitNull: true }],
  };
  assert.equal(messagesOf(input, quotient({ sendNil: true, shape })), ['{}', '{"q":3}']);
});

test('sendNil writes absent columns as null', () => {
  assert.equal(messagesOf('{"a":1}\n', encode({ a: 0, b: 1 }, { sendNil: true })), ['{"a":1,"b":null}']);
});

test('omitIfEmpty drops objects without members only with sendSingle', () => {
  assert.equal(messagesOf('{}\n{"a":null}\n', encode({ a: 0 }, { omitIfEmpty: true })), ['{"a":null}']);
  assert.equal(messagesOf('{}\n', encode({ a: 0 }, { omitIfEmpty: true, sendSingle: false })), ['[{}]']);
});

test('a failing row is counted, or its error takes its place', () => {
  const input = '{"a":1,"b":0}\n{"a":1,"b":4}\n';
  const quiet = setUp(quotient());
  quiet.driver.feed(quiet.stream, input);
  assert.equal(quiet.driver.of(quiet.sink), ['{"q":0.25}']);
  assert.is(quiet.kernel.counters(quiet.sink).exceptions, 1);
  const loud = messagesOf(input, quotient({ sendError: true, sendSingle: false }));
  assert.is(loud.length, 2);
  assert.not.match(loud[0] as string, /^\[/);
  assert.is(loud[1], '[{"q":0.25}]');
});

test('numbers that JSON does not have are errors', () => {
  const plan = quotient({ sendError: true });
  plan.program = { ops: [{ op: 'arith.mul', dst: 0, a: col(0), b: col(1) }], consts: [] };
  assert.equal(messagesOf('{"a":1e200,"b":1e200}\n{"a":-1e200,"b":1e200}\n{"a":2,"b":3}\n', plan), [
    'json: unsupported value: +Inf',
    'json: unsupported value: -Inf',
    '{"q":6}',
  ]);
});

test('names and texts are escaped alike', () => {
  const name = 'a<"&\u2028é';
  const { driver, stream, sink } = setUp(encode({ [name]: 0 }), ['x']);
  driver.feed(stream, `${JSON.stringify({ x: name })}\n`);
  const text = driver.of(sink)[0] as string;
  assert.equal(JSON.parse(text), { [name]: name });
  assert.is(text, '{"a\\u003c\\"\\u0026\\u2028é":"a\\u003c\\"\\u0026\\u2028é"}');
});

test('texts of each length are written whole, what has to be escaped at each place', () => {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const texts: string[] = [];
  for (let length = 0; length <= 50; length++) {
    texts.push(letters.slice(0, length));
    for (const other of ['"', '\n', 'é']) {
      for (let i = 0; i < length; i++) texts.push(letters.slice(0, i) + other + letters.slice(i + 1, length));
    }
  }
  const rows = texts.map((text) => JSON.stringify({ a: text }));
  assert.equal(messagesOf(rows.map((row) => `${row}\n`).join(''), encode({ a: 0 })), rows);
});

test('bytes of each length are base64, one column beside another', () => {
  const payloads = Array.from({ length: 300 }, (_, length) => Buffer.alloc(length, 'payload of a message'));
  // All that arrive at once are short, or some are long.
  for (const sent of [payloads.slice(0, 250), payloads]) {
    const driver = drive();
    const stream = driver.kernel.openStream({ ...mqtt, format: 'binary' });
    driver.kernel.useColumns(stream, [{ kind: 'self' }, { kind: 'meta', key: 'topic' }]);
    const sink = driver.kernel.addNode({ stream }, linked(encode({ self: 0, topic: 1 })));
    driver.feed(stream, Buffer.concat(sent.map((payload, i) => publish(`topic/${i}`, payload))));
    const expected = sent.map((bytes, i) => JSON.stringify({ self: bytes.toString('base64'), topic: `topic/${i}` }));
    assert.equal(driver.of(sink), expected);
  }
});

test('the whole row is written as an object', () => {
  const driver = drive();
  const stream = driver.kernel.openStream(lines);
  const [row] = driver.kernel.useColumns(stream, [{ kind: 'row' }]);
  const shape: OutputPlan['shape'] = { kind: 'object', operand: col(row as number) };
  const sink = driver.kernel.addNode({ stream }, linked(encode({}, { shape })));
  driver.feed(stream, '{"z":[1,{"k":null}],"a":"x"}\n');
  assert.equal(driver.of(sink), ['{"a":"x","z":[1,{"k":null}]}']);
});

test('gathers rows of several messages up to batchSize and sends the rest when asked', () => {
  const { driver, stream, sink, kernel } = setUp(encode({ a: 0 }, { sendSingle: true, batchSize: 3 }));
  driver.feed(stream, '{"a":1}\n{"a":2}\n{"a":3}\n{"a":4}\n');
  assert.equal(driver.of(sink), ['[{"a":1},{"a":2},{"a":3}]']);
  kernel.flush(sink);
  assert.equal(driver.of(sink).slice(1), ['[{"a":4}]']);
  kernel.flush(sink);
  assert.is(driver.of(sink).length, 2);
});

test('a stream names the nodes that hold rows for a batch, and no others', () => {
  const { driver, stream, sink, kernel } = setUp(encode({ a: 0 }, { sendSingle: true, batchSize: 3 }));
  const limited = kernel.addNode({ stream }, linked({ kind: 'limit', input: { source: 0 }, count: 1, name: 'limit' }));
  const batch = (batchSize: number) => linked(encode({ a: 0 }, { sendSingle: true, batchSize }));
  const nodes = [kernel.addNode({ node: limited }, batch(2)), kernel.addNode({ stream }, batch(5)), sink];
  kernel.addNode({ stream }, linked(encode({ a: 0 })));
  const other = kernel.openStream(lines);
  const holding = () =>
    kernel
      .gathering(stream)
      .map((node) => nodes.indexOf(node))
      .sort();
  const feed = (count: number) => driver.feed(stream, '{"a":1}\n'.repeat(count));
  assert.equal(holding(), []);
  feed(1);
  assert.equal(holding(), [0, 1, 2]);
  assert.equal(kernel.gathering(other), []);
  feed(1);
  assert.equal(holding(), [1, 2], 'a batch is full');
  feed(1);
  assert.equal(holding(), [0, 1]);
  kernel.flush(nodes[1]!);
  assert.equal(holding(), [0], 'sent when asked');
  kernel.flush(nodes[0]!);
  assert.equal(holding(), []);
  feed(1);
  assert.equal(holding(), [0, 1, 2]);
  kernel.releaseNode(nodes[1]!);
  assert.equal(holding(), [0, 2], 'a node goes with its rows');
  kernel.releaseNode(sink);
  kernel.releaseNode(nodes[0]!);
  assert.equal(holding(), []);
});

test('the end of the input takes an unfinished line and sends gathered rows', () => {
  const { driver, stream, sink, kernel } = setUp(encode({ a: 0 }, { sendSingle: true, batchSize: 3 }));
  driver.feed(stream, '{"a":1}\n{"a":2}');
  kernel.endInput(stream, 2000);
  assert.equal(driver.of(sink), ['[{"a":1},{"a":2}]']);
});

test('the linger time counts from the first gathered row', () => {
  const plan = encode({ a: 0 }, { sendSingle: true, batchSize: 100, lingerMs: 50 });
  const { driver, stream, sink, kernel } = setUp(plan);
  driver.feed(stream, '{"a":1}\n', 1000);
  driver.feed(stream, '{"a":2}\n', 1040);
  assert.is(kernel.nextDeadline(), 1050);
  kernel.tick(1050);
  assert.equal(driver.of(sink), ['[{"a":1},{"a":2}]']);
  assert.is(kernel.nextDeadline(), Number.POSITIVE_INFINITY);
});

test('format none counts rows and calls nobody', () => {
  const { driver, stream, sink, kernel } = setUp(encode({ a: 0 }, { format: 'none' }));
  driver.feed(stream, '{"a":1}\n{"a":2}\n');
  assert.is(driver.calls, 0);
  assert.is(kernel.counters(sink).recordsOut, 2);
});

test('rows in the binary form come back through a stream that reads it', () => {
  const shape: OutputPlan['shape'] = {
    kind: 'fields',
    fields: [
      { name: 'a', operand: col(0), plain: true },
      { name: 'b', operand: col(1), plain: true },
    ],
  };
  for (const sendSingle of [true, false]) {
    const { driver, stream, kernel } = setUp(encode({}, { shape, format: 'rows', framing: 'messages', sendSingle }));
    const frames: Uint8Array[] = [];
    driver.onOutput = ({ bytes, ends }) => {
      let from = 0;
      for (const end of ends ?? []) {
        const head = new Uint8Array(8);
        new DataView(head.buffer).setUint32(0, end - from, true);
        frames.push(head, bytes.slice(from, end));
        from = end;
      }
    };
    driver.feed(stream, '{"a":[1,"x",{"k":null}],"b":2.5}\n{"a":null}\n');
    driver.onOutput = undefined;
    const copy = kernel.openStream({ ...lines, framing: 'frames', format: 'rows' });
    const columns = kernel.useColumns(copy, [field('a'), field('b')]);
    const sink = kernel.addNode({ stream: copy }, linked(encode({ a: columns[0] as number, b: columns[1] as number })));
    driver.feed(copy, Buffer.concat(frames));
    assert.equal(driver.of(sink), ['{"a":[1,"x",{"k":null}],"b":2.5}', '{"a":null}']);
  }
});

test('a message longer than the output region arrives in one piece', () => {
  const long = 'x<'.repeat(400_000);
  for (const wishes of [{}, { sendSingle: false }, { framing: 'messages' as const }]) {
    const { driver, stream, sink } = setUp(encode({ a: 0 }, wishes));
    driver.feed(stream, `{"a":"first"}\n${JSON.stringify({ a: long })}\n{"a":"last"}\n`);
    const texts = driver.of(sink).map((text) => [JSON.parse(text)].flat()[0].a);
    assert.equal(texts, ['first', long, 'last']);
  }
});

test('output larger than the region arrives complete and in order', () => {
  for (const framing of ['lines', 'messages'] as const) {
    const { driver, stream, sink } = setUp(encode({ a: 0, b: 1 }, { framing }));
    const rows = Array.from({ length: 70_000 }, (_, i) => ({ a: i, b: 'text of a row' }));
    driver.feed(stream, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
    assert.equal(
      driver.of(sink),
      rows.map((row) => JSON.stringify(row)),
    );
    assert.is(driver.rows, rows.length);
  }
});

test('any values arrive as they were sent', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ a: fc.jsonValue(), b: fc.jsonValue() }), { minLength: 1, maxLength: 8 }),
      (rows) => {
        const input = `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`;
        const back = messagesOf(input, encode({ a: 0, b: 1 })).map((text) => JSON.parse(text));
        assert.equal(back, JSON.parse(JSON.stringify(rows)));
      },
    ),
    { numRuns: 60 },
  );
});

test.run();

/** Input in any pieces, sharing and release of operators, faults of callers and callbacks. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { KernelError, ProtocolError } from '../../../kernels/index.js';
import { drive, encode, f64, filter, linked } from '../../support/kernel/drive.js';
import { field, lines, mqtt, publish } from '../../support/kernel/streams.js';

test('the output does not depend on how the input is cut', () => {
  const message = fc.record({
    t: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string(), fc.constant(null)),
    id: fc.string({ unit: 'grapheme', maxLength: 300 }),
    qos: fc.integer({ min: 0, max: 1 }),
  });
  const packets = (messages: { t: unknown; id: string; qos: number }[]) =>
    Buffer.concat([
      ...messages.map(({ t, id, qos }, i) => publish('plant/a', JSON.stringify({ t, id }), { qos, id: i + 1 })),
      Buffer.from([0xd0, 0]),
    ]);
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), fc.integer({ min: 1, max: 200 }), (messages, chunk) => {
      const outputs = [Number.POSITIVE_INFINITY, chunk].map((size) => {
        const driver = drive();
        const stream = driver.kernel.openStream(mqtt);
        driver.kernel.useColumns(stream, [field('t'), field('id')]);
        const kept = driver.kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(0))));
        const sink = driver.kernel.addNode({ node: kept }, linked(encode({ t: 0, id: 1 })));
        driver.feed(stream, packets(messages), 1000, size);
        return { lines: driver.of(sink), acknowledged: driver.acknowledged, packets: driver.packets.length };
      });
      assert.equal(outputs[0], outputs[1]);
      assert.is(outputs[0]?.packets, 1);
      assert.equal(
        outputs[0]?.acknowledged,
        messages.flatMap(({ qos }, i) => (qos === 1 ? [i + 1] : [])),
      );
    }),
    { numRuns: 40 },
  );
});

test('a message longer than the input region is put together', () => {
  const text = 'abc'.repeat(900_000);
  for (const [spec, bytes] of [
    [lines, Buffer.from(`{"a":"${text}"}\n{"a":"b"}\n`)],
    [mqtt, Buffer.concat([publish('x', `{"a":"${text}"}`), publish('x', '{"a":"b"}')])],
  ] as const) {
    const driver = drive();
    const stream = driver.kernel.openStream(spec);
    driver.kernel.useColumns(stream, [field('a')]);
    const sink = driver.kernel.addNode({ stream }, linked(encode({ a: 0 })));
    driver.feed(stream, bytes, 1000, 100_000);
    assert.equal(
      driver.of(sink).map((line) => JSON.parse(line).a),
      [text, 'b'],
    );
  }
});

test('a message beyond maxMessageBytes is skipped and counted', () => {
  const driver = drive();
  const stream = driver.kernel.openStream({ ...lines, maxMessageBytes: 1000 });
  driver.kernel.useColumns(stream, [field('a')]);
  const sink = driver.kernel.addNode({ stream }, linked(encode({ a: 0 })));
  driver.feed(stream, `{"a":1}\n{"a":"${'x'.repeat(300_000)}"}\n{"a":2}\n`, 1000, 5000);
  assert.equal(driver.of(sink), ['{"a":1}', '{"a":2}']);
  assert.is(driver.kernel.streamCounters(stream).oversized, 1);
});

test('streams keep their half messages apart', () => {
  const driver = drive();
  const parts = ['{"a":', '"half"}', '\n'];
  const streams = [0, 1, 2].map((i) => {
    const stream = driver.kernel.openStream(lines);
    driver.kernel.useColumns(stream, [field('a')]);
    return {
      stream,
      sink: driver.kernel.addNode({ stream }, linked(encode({ a: 0 }, { framing: i === 1 ? 'messages' : 'lines' }))),
    };
  });
  for (const part of parts) for (const { stream } of streams) driver.feed(stream, part);
  for (const { sink } of streams) assert.equal(driver.of(sink), ['{"a":"half"}']);
  driver.feed(streams[0]?.stream as number, '{"a":1');
  driver.kernel.resetInput(streams[0]?.stream as number);
  driver.feed(streams[0]?.stream as number, '{"a":2}\n');
  assert.equal(driver.of(streams[0]?.sink as number).at(-1), '{"a":2}');
});

test('bytes that are no MQTT are refused, the stream works again after a reset', () => {
  const driver = drive();
  const stream = driver.kernel.openStream(mqtt);
  driver.kernel.useColumns(stream, [field('a')]);
  const sink = driver.kernel.addNode({ stream }, linked(encode({ a: 0 })));
  const bytes = Buffer.concat([publish('x', '{"a":1}'), Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0xff])]);
  assert.throws(
    () => driver.feed(stream, bytes),
    (error: unknown) => error instanceof ProtocolError,
  );
  driver.kernel.resetInput(stream);
  driver.feed(stream, publish('x', '{"a":2}'));
  assert.equal(driver.of(sink), ['{"a":1}', '{"a":2}']);
});

test('equal stateless operators are one; the last user frees it', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('t'), field('id')]);
  const add = (limit: number) => kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(limit))));
  const [a, b, c] = [add(1), add(1), add(2)] as [number, number, number];
  assert.is(a, b);
  assert.is.not(a, c);
  assert.is.not(a, kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(1)), { sendError: true })));
  const sinks = [encode({ id: 1 }), encode({ id: 1 }), encode({ id: 1 }, { batchSize: 2, sendSingle: false })].map(
    (plan) => kernel.addNode({ node: a }, linked(plan)),
  );
  assert.is(sinks[0], sinks[1]);
  const again = kernel.addNode({ node: a }, linked(encode({ id: 1 }, { batchSize: 2, sendSingle: false })));
  assert.is.not(sinks[2], again);
  kernel.releaseNode(b);
  assert.throws(() => kernel.releaseNode(a), /below/);
  kernel.releaseNode(sinks[0] as number);
  driver.feed(stream, '{"t":5,"id":7}\n');
  assert.equal(driver.of(sinks[0] as number), ['{"id":7}']);
  kernel.releaseNode(sinks[1] as number);
  assert.throws(() => kernel.counters(sinks[1] as number), /no operator/);
});

test('columns of a rule are found in the batch of the stream', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('x'), field('id'), field('t')]);
  const columnMap = kernel.useColumns(stream, [field('t'), field('id')]);
  assert.equal(columnMap, [2, 1]);
  const node = kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(1)), { columnMap }));
  const sink = kernel.addNode({ node }, linked(encode({ id: 1, t: 0 }), { columnMap }));
  driver.feed(stream, '{"x":9,"id":1,"t":0}\n{"x":9,"id":2,"t":2}\n');
  assert.equal(driver.of(sink), ['{"id":2,"t":2}']);
});

test('release gives all memory back', () => {
  const driver = drive();
  const { kernel } = driver;
  const round = () => {
    const stream = kernel.openStream(mqtt);
    const columns = kernel.useColumns(stream, [field('t'), field('id')]);
    const nodes = Array.from({ length: 50 }, (_, i) => {
      const node = kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(i % 10))));
      const wishes = i % 3 === 0 ? { sendSingle: false, batchSize: 7, lingerMs: 1000 } : {};
      return [node, kernel.addNode({ node }, linked(encode({ id: 1, [`n${i}`]: 0 }, wishes)))] as const;
    });
    for (let i = 0; i < 40; i++) {
      driver.feed(stream, publish('a', JSON.stringify({ t: i, id: 'x'.repeat(i * 50) })), 1000, 77);
    }
    driver.feed(stream, publish('a', '{"t":"bad"}'));
    driver.feed(stream, publish('a', `{"id":"${'y'.repeat(300_000)}"}`).subarray(0, 200_000));
    for (const [node, sink] of nodes) {
      kernel.releaseNode(sink);
      kernel.releaseNode(node);
    }
    kernel.releaseColumns(stream, columns);
    kernel.closeStream(stream);
  };
  round(); // memory that all rules use in turns is made once
  const { inUse } = kernel.memory();
  for (let i = 0; i < 5; i++) round();
  assert.is(kernel.memory().inUse, inUse);
});

test('ten thousand rules on a stream work on every batch without a call for those that are silent', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(mqtt);
  kernel.useColumns(stream, [field('t'), field('id')]);
  const count = 10_000;
  const sinks = Array.from({ length: count }, (_, i) => {
    const node = kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(i)), { host: i }));
    return kernel.addNode({ node }, linked(encode({ id: 1 }), { host: i }));
  });
  const before = kernel.memory().inUse;
  const batch = Buffer.concat([0, 1, 2, 3, 2.5].map((t) => publish('a', JSON.stringify({ t, id: 'dev' }))));
  for (let i = 0; i < 20; i++) driver.feed(stream, batch);
  assert.equal(
    sinks.map((sink) => driver.of(sink).length).filter((length) => length > 0),
    [80, 60, 40],
  );
  assert.is(driver.calls, 60);
  assert.ok(kernel.memory().inUse - before < 30 * count);
});

test('an error in a callback is thrown after the kernel has done its work', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, [field('a')]);
  const sinks = [encode({ a: 0 }), encode({ b: 0 })].map((plan) => kernel.addNode({ stream }, linked(plan)));
  driver.onOutput = ({ node }) => {
    if (node === sinks[0]) throw new Error('the sink is broken');
  };
  assert.throws(() => driver.feed(stream, '{"a":1}\n'), /the sink is broken/);
  driver.onOutput = () => kernel.nextDeadline();
  driver.feed(stream, '{"a":2}\n');
  assert.equal(driver.of(sinks[1] as number), ['{"b":1}', '{"b":2}']);
  driver.onOutput = () => void kernel.addNode({ stream }, linked(encode({ c: 0 })));
  assert.throws(() => driver.feed(stream, '{"a":3}\n'), /at work/);
});

test('exhausted memory refuses what is new and keeps what runs', () => {
  const driver = drive({ maxMemoryBytes: 17 << 20 });
  const { kernel } = driver;
  const isExhausted = (error: unknown) => error instanceof KernelError && !error.isFatal;
  const stream = kernel.openStream({ ...lines, maxMessageBytes: 64 << 20 });
  kernel.useColumns(stream, [field('a')]);
  const sink = kernel.addNode({ stream }, linked(encode({ a: 0 })));
  driver.feed(stream, '{"a":1}\n');
  const long = Buffer.from(`{"a":"${'x'.repeat(8 << 20)}"}\n`);
  assert.throws(() => driver.feed(stream, long), /room for \d+ of/);
  kernel.resetInput(stream);
  driver.feed(stream, '{"a":2}\n');
  assert.throws(() => {
    for (let i = 0; i < 100_000; i++) kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(i))));
  }, isExhausted);
  driver.feed(stream, '{"a":3}\n');
  assert.equal(driver.of(sink), ['{"a":1}', '{"a":2}', '{"a":3}']);
});

test('unknown handles and too long input are refused', () => {
  const { kernel } = drive();
  assert.throws(() => kernel.feed(12345, 1, 0), /no stream/);
  assert.throws(() => kernel.releaseNode(12345), /no operator/);
  const stream = kernel.openStream(lines);
  assert.throws(() => kernel.feed(stream, kernel.inputBuffer(stream).length + 1, 0), RangeError);
  assert.throws(() => kernel.feed(stream, -1, 0), RangeError);
  const node = kernel.addNode({ stream }, linked(encode({ a: 0 })));
  assert.throws(() => kernel.closeStream(stream), /operators/);
  kernel.releaseNode(node);
  kernel.closeStream(stream);
});

test.run();

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { received } from '../../../host/connectors/messages/receipts.js';
import type { ColumnUse } from '../../../kernels/plan/ir.js';
import { field, publish, varint } from '../../support/kernel/streams.js';
import { joined, loadTextKernel, TestSource } from '../../support/kernel/text-kernel.js';

const kernel = loadTextKernel();
const meta = (key: string): ColumnUse => ({ kind: 'meta', key });

function frame(payload: string, metadata = ''): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(Buffer.byteLength(payload), 0);
  head.writeUInt32LE(Buffer.byteLength(metadata), 4);
  return Buffer.concat([head, Buffer.from(metadata), Buffer.from(payload)]);
}

/** Cuts bytes at the given places. */
function chunks(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.subarray(from, places[i] ?? bytes.length));
}

test('finds the same messages however the bytes are cut', () => {
  const text = fc.oneof(fc.string({ maxLength: 300 }), fc.string()).map((s) => s.replace(/[\n\r]/g, ' '));
  fc.assert(
    fc.property(
      fc.constantFrom('mqtt', 'lines', 'frames'),
      fc.array(fc.tuple(text, fc.nat({ max: 2 })), { maxLength: 20 }),
      fc.array(fc.nat(), { maxLength: 10 }),
      (framing, messages, cuts) => {
        const bytes = Buffer.concat(
          messages.map(([payload, qos], i) =>
            framing === 'mqtt'
              ? publish(`t/${i}`, payload, { qos, id: i + 1 })
              : framing === 'lines'
                ? Buffer.from(`${payload}${qos ? '\r' : ''}\n`)
                : frame(payload, qos ? '{"k":1}' : ''),
          ),
        );
        const source = new TestSource(kernel, { framing: framing as 'mqtt', format: 'binary' }, [{ kind: 'self' }]);
        const all = joined(chunks(bytes, cuts).flatMap((chunk) => source.feed(chunk)));
        assert.equal(
          all.columns[0] ?? [],
          messages.map(([payload]) => new TextEncoder().encode(payload)),
        );
        if (framing === 'mqtt')
          assert.equal(
            all.acks,
            messages.flatMap(([, qos], i) => (qos ? [i + 1 + (qos === 2 ? received : 0)] : [])),
          );
        source.close();
      },
    ),
    { numRuns: 500 },
  );
});

test('hands other packets on in their place', () => {
  const source = new TestSource(kernel, { framing: 'mqtt' }, [field('a')]);
  const pingresp = Buffer.from([0xd0, 0]);
  const released = Buffer.from([0x62, 2, 0, 5]);
  const message = (a: number) => publish('t', `{"a":${a}}`);
  const batches = source.feed(Buffer.concat([message(1), message(2), pingresp, released, message(3), pingresp]));
  assert.equal(
    batches.map((batch) => [batch.columns[0], batch.packets]),
    [
      [
        [1, 2],
        [pingresp, released],
      ],
      [[3], [pingresp]],
    ],
  );
  source.close();
});

test('names messages of QoS 2 apart from those of QoS 1', () => {
  const source = new TestSource(kernel, { framing: 'mqtt' }, [field('a')]);
  const message = (qos: number, id: number) => publish('t', `{"a":${id}}`, { qos, id });
  const all = joined(source.feed(Buffer.concat([message(2, 5), message(1, 6), message(2, 7)])));
  assert.equal(all.columns[0], [5, 6, 7]);
  assert.equal(all.acks, [received + 5, 6, received + 7]);
  assert.equal(all.packets, []);
  source.close();
});

test('gives metadata of MQTT messages', () => {
  const source = new TestSource(kernel, { framing: 'mqtt', mqttVersion: 5 }, [
    meta('topic'),
    meta('qos'),
    meta('messageId'),
    meta('properties'),
    meta('who'),
    { kind: 'metaAll' },
  ]);
  const text = (value: string) => Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)]);
  const user = Buffer.concat([Buffer.from([0x26]), text('who'), text('me'), Buffer.from([1, 1, 2, 0, 0, 0, 9])]);
  const parts = [[8], text('re'), [9], text('\u0001x'), [3], text('application/json')];
  const answer = parts.map((part) => Buffer.from(part));
  const properties = Buffer.concat([user, ...answer]);
  const all = joined(source.feed(publish('a/b', '{}', { qos: 1, id: 7, properties })));
  assert.equal(
    all.columns.map((column) => column[0]),
    [
      'a/b',
      1n,
      7n,
      { who: 'me' },
      null,
      {
        contentType: 'application/json',
        correlationData: new Uint8Array([1, 120]),
        messageExpiryInterval: 9n,
        messageId: 7n,
        payloadFormatIndicator: 1n,
        properties: { who: 'me' },
        qos: 1n,
        responseTopic: 're',
        retained: false,
        topic: 'a/b',
      },
    ],
  );
  source.close();
});

test('gives metadata of frames', () => {
  const source = new TestSource(kernel, { framing: 'frames' }, [
    field('a'),
    meta('topic'),
    meta('n'),
    { kind: 'metaAll' },
  ]);
  const all = joined(source.feed(Buffer.concat([frame('{"a":1}', '{"topic":"x","n":5}'), frame('{"a":2}')])));
  assert.equal(all.columns, [
    [1, 2],
    ['x', null],
    [5n, null],
    [{ n: 5n, topic: 'x' }, {}],
  ]);
  source.close();
});

test('resolves topic aliases of MQTT 5 and refuses unknown ones', () => {
  const source = new TestSource(kernel, { framing: 'mqtt', mqttVersion: 5 }, [meta('topic')]);
  const alias = (n: number) => Buffer.from([0x23, n >> 8, n & 255]);
  const batches = source.feed(
    Buffer.concat([
      publish('first', '{}', { properties: alias(1) }),
      publish('', '{}', { properties: alias(1) }),
      publish('second', '{}', { properties: alias(1) }),
      publish('', '{}', { properties: alias(1) }),
      publish('third', '{}', { properties: Buffer.alloc(0) }),
    ]),
  );
  assert.equal(joined(batches).columns[0], ['first', 'first', 'second', 'second', 'third']);
  assert.is(source.feed(publish('', '{}', { properties: alias(2) }))[0]!.protocolError, 6);
  source.close();
});

test('reports bytes that are no MQTT and keeps the messages before them', () => {
  const bad: [Buffer, number][] = [
    [Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0x01]), 1],
    [Buffer.from([0x00, 0]), 2],
    [Buffer.from([0xf0, 0]), 2],
    [Buffer.from([0x36, 5, 0, 1, 0x61, 0, 1]), 2],
    [Buffer.from([0x30, 1, 0]), 3],
    [Buffer.from([0x30, 3, 0, 9, 0x61]), 3],
    [Buffer.from([0x32, 5, 0, 1, 0x61, 0, 0]), 3],
    [Buffer.from([0x30, 2, 0, 0]), 4],
  ];
  for (const [bytes, error] of bad) {
    const source = new TestSource(kernel, { framing: 'mqtt' }, [field('a')]);
    const batches = source.feed(Buffer.concat([publish('t', '{"a":1}'), bytes]));
    assert.equal(batches[0]!.columns[0], [1]);
    assert.is(batches.at(-1)!.protocolError, error, bytes.toString('hex'));
    source.close();
  }
});

test('counts and skips messages that are too long, across chunks, and acknowledges them', () => {
  for (const framing of ['mqtt', 'lines', 'frames'] as const) {
    for (const size of [150, 200_000]) {
      const make = (payload: string, id: number) =>
        framing === 'mqtt'
          ? publish('t', payload, { qos: 1, id })
          : framing === 'lines'
            ? Buffer.from(`${payload}\n`)
            : frame(payload);
      const bytes = Buffer.concat([make('{"a":1}', 1), make(`{"a":"${'x'.repeat(size)}"}`, 2), make('{"a":3}', 3)]);
      const source = new TestSource(kernel, { framing, maxMessageBytes: 100 }, [field('a')]);
      const parts: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += 1000) parts.push(bytes.subarray(at, at + 1000));
      const all = joined(parts.flatMap((part) => source.feed(part)));
      assert.equal(all.columns[0], [1, 3], `${framing} ${size}`);
      assert.is(Number(kernel.sourceOversized(source.node)), 1);
      if (framing === 'mqtt') assert.equal(all.acks, [1, 2, 3]);
      source.close();
    }
  }
});

test('never traps on garbage, and reads nothing but the input', () => {
  const mutated = fc
    .tuple(fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 6 }), fc.nat({ max: 2 }))
    .map(([changes, qos]) => {
      const bytes = Buffer.concat([
        publish('t/u', '{"a":1,"b":[{"c":"d\\u0041"}]}', { qos, properties: Buffer.from([0x23, 0, 1]) }),
        publish('t', '[{"a":2.5e3}]', { properties: Buffer.alloc(0) }),
        Buffer.from([0x40, 2, 0, 1]),
        publish('', '{"a":"é"}', { properties: Buffer.from([0x23, 0, 1, 0x26, 0, 1, 0x61, 0, 0]) }),
      ]);
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      return bytes;
    });
  const garbage = fc.oneof(
    fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
    mutated,
  );
  const uses: ColumnUse[] = [
    field('a'),
    field('b'),
    { kind: 'row' },
    { kind: 'metaAll' },
    meta('topic'),
    { kind: 'self' },
  ];
  fc.assert(
    fc.property(
      fc.constantFrom('mqtt', 'lines', 'frames'),
      fc.constantFrom('json', 'binary', 'rows'),
      fc.constantFrom(4, 5),
      fc.array(garbage, { maxLength: 4 }),
      (framing, format, mqttVersion, parts) => {
        const source = new TestSource(
          kernel,
          { framing: framing as 'mqtt', format: format as 'json', mqttVersion: mqttVersion as 4, maxMessageBytes: 300 },
          uses,
        );
        for (const part of parts) if (source.feed(part).some((batch) => batch.protocolError)) break;
        source.close();
      },
    ),
    { numRuns: 2500 },
  );
});

test('stays in sync over a megabyte of garbage lines', () => {
  const source = new TestSource(kernel, {}, [field('a')], 1 << 21);
  const bytes = Buffer.alloc(1 << 20);
  let random = 7;
  for (let i = 0; i < bytes.length; i++) {
    random = (random * 1103515245 + 12345) >>> 0;
    bytes[i] = random >>> 16;
  }
  const all = joined(source.feed(Buffer.concat([bytes, Buffer.from('\n{"a":42}\n')])));
  assert.is(all.columns[0]!.at(-1), 42);
  assert.ok(all.errors.length > 1000);
  source.close();
});

assert.equal(varint(321), Buffer.from([0xc1, 2]));
test.run();

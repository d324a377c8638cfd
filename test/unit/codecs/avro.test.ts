/** Avro as JSON and back, compared with what its library reads and writes; logical types, framings, hostile bytes. */
import avro from 'avsc';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { columnsOf } from '../../../host/codecs/avro/columns.js';
import { AvroDecoder } from '../../../host/codecs/avro/decoder.js';
import { AvroEncoder } from '../../../host/codecs/avro/encoder.js';
import { fingerprintOf } from '../../../host/codecs/avro/fingerprint.js';
import { decodeSettings, encodeSettings } from '../../../host/codecs/avro/props.js';
import { typeOf } from '../../../host/codecs/avro/schema.js';
import type { OutputChunk } from '../../../kernels/api.js';

type Row = Record<string, unknown>;

function inputOf(schemas: Record<string, unknown>, schemaId: string, props: Row) {
  const schemaText = (name: string) => {
    if (schemas[name] === undefined) throw new Error(`schema ${name} of type avro is not found`);
    return JSON.stringify(schemas[name]);
  };
  return { props, schemaId, schema: null, schemaText };
}

const decoderOf = (schemas: Record<string, unknown>, schemaId = 's', props: Row = {}) =>
  new AvroDecoder(decodeSettings(inputOf(schemas, schemaId, props)));

const decoded = (schema: unknown, message: Uint8Array): string =>
  Buffer.from(decoderOf({ s: schema }).decode(message)).toString();

/** Messages that are made of JSON texts, or the reasons why there are none. */
function encoded(schema: unknown, texts: readonly string[], props: Row = {}): (Buffer | string)[] {
  const settings = encodeSettings(inputOf({ s: schema }, 's', { schemaId: 's', ...props }));
  const context = { sink: 'sink x', framing: 'messages', sendError: true, isBatch: false } as const;
  const bytes = Buffer.from(texts.join(''));
  let end = 0;
  const ends = Uint32Array.from(texts, (text) => {
    end += Buffer.byteLength(text);
    return end;
  });
  const counts = { messages: texts.length, rows: texts.length, errors: new Set<number>() };
  const chunk: OutputChunk = { node: 1, host: 1, bytes, ends, ...counts };
  const failures: string[] = [];
  const made = new AvroEncoder(settings, context).encode(chunk, (reason) => failures.push(reason));
  let from = 0;
  return [...made.ends!].map((to) => {
    const message = Buffer.from(made.bytes.subarray(from, to));
    from = to;
    return failures.includes(message.toString()) ? message.toString() : message;
  });
}

const hexOf = (message: Buffer | string | undefined) => (Buffer.isBuffer(message) ? message.toString('hex') : message);

const record = (...fields: [name: string, type: unknown, more?: Row][]) => ({
  type: 'record',
  name: 'R',
  namespace: 'a.b',
  fields: fields.map(([name, type, more]) => ({ name, type, ...more })),
});

const logical = (type: string, logicalType: string, more: Row = {}) => ({ type, logicalType, ...more });

const everything = record(
  ['yes', 'boolean'],
  ['i', 'int'],
  ['l', 'long'],
  ['f', 'float'],
  ['d', 'double'],
  ['raw', 'bytes'],
  ['text', 'string'],
  ['nothing', 'null'],
  ['kind', { type: 'enum', name: 'Kind', symbols: ['A', 'B'] }],
  ['four', { type: 'fixed', name: 'Four', size: 4 }],
  ['list', { type: 'array', items: 'long' }],
  ['map', { type: 'map', values: 'string' }],
  ['maybe', ['null', 'string']],
  ['next', ['null', 'R']],
);

test('all types', () => {
  const value = {
    yes: true,
    i: -5,
    l: 2 ** 40,
    f: 0.5,
    d: 1.1,
    raw: Buffer.from([1, 2]),
    text: 'ü"',
    nothing: null,
    kind: 'B',
    four: Buffer.from([1, 2, 3, 4]),
    list: [1, -1],
    map: { a: 'x' },
    maybe: { string: 'y' },
    next: null,
  };
  const nested = { ...value, maybe: null, next: { 'a.b.R': value } };
  const message = avro.Type.forSchema(everything as never, { wrapUnions: 'always' } as never).toBuffer(nested);
  const json =
    '"yes":true,"i":-5,"l":1099511627776,"f":0.5,"d":1.1,"raw":"AQI=","text":"ü\\"","nothing":null,"kind":"B",' +
    '"four":"AQIDBA==","list":[1,-1],"map":{"a":"x"}';
  const all = `{${json},"maybe":null,"next":{${json},"maybe":"y","next":null}}`;
  assert.is(decoded(everything, message), all);
  assert.is(hexOf(encoded(everything, [all])[0]), message.toString('hex'));
});

test('integers of 64 bits are exact', () => {
  for (const value of [0n, -1n, 63n, -64n, 2n ** 48n, -(2n ** 49n), 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
    const [message] = encoded(record(['l', 'long']), [`{"l":${value}}`]);
    assert.is(decoded(record(['l', 'long']), message as Buffer), `{"l":${value}}`);
  }
  assert.is(hexOf(encoded('long', ['-9223372036854775808'])[0]), 'ffffffffffffffffff01');
});

test('what logical types stand for', () => {
  const cases: readonly (readonly [type: unknown, hex: string, json: string])[] = [
    [logical('bytes', 'decimal', { precision: 9, scale: 2 }), '04fb2e', '-12.34'],
    [logical('bytes', 'decimal', { precision: 9, scale: 2 }), '0205', '0.05'],
    [{ type: 'fixed', name: 'F', size: 4, logicalType: 'decimal', precision: 5, scale: 1 }, 'fffffff6', '-1.0'],
    [
      logical('string', 'uuid'),
      `48${Buffer.from('00010203-0405-0607-0809-0a0b0c0d0e0f').toString('hex')}`,
      '"00010203-0405-0607-0809-0a0b0c0d0e0f"',
    ],
    [
      { type: 'fixed', name: 'F', size: 16, logicalType: 'uuid' },
      '000102030405060708090a0b0c0d0e0f',
      '"00010203-0405-0607-0809-0a0b0c0d0e0f"',
    ],
    [logical('int', 'date'), '92b602', '"2024-05-06"'],
    [logical('int', 'date'), '01', '"1969-12-31"'],
    [logical('int', 'time-millis'), 'd00f', '"00:00:01"'],
    [logical('long', 'time-micros'), '02', '"00:00:00.000001"'],
    [logical('long', 'timestamp-millis'), '02', '1'],
    [logical('long', 'timestamp-micros'), '01', '"1969-12-31T23:59:59.999999Z"'],
    [logical('long', 'timestamp-nanos'), '02', '"1970-01-01T00:00:00.000000001Z"'],
    [logical('long', 'local-timestamp-millis'), '02', '"1970-01-01T00:00:00.001"'],
    [
      { type: 'fixed', name: 'F', size: 12, logicalType: 'duration' },
      '010000000200000003000000',
      '{"months":1,"days":2,"millis":3}',
    ],
    [logical('long', 'unheard-of'), '02', '1'],
    [logical('int', 'decimal', { precision: 3 }), '02', '1'],
  ];
  for (const [type, hex, json] of cases) {
    assert.is(decoded(type, Buffer.from(hex, 'hex')), json, JSON.stringify(type));
    assert.is(hexOf(encoded(type, [json])[0]), hex, JSON.stringify(type));
  }
});

test('decimals have all their digits, also in texts', () => {
  const type = logical('bytes', 'decimal', { precision: 30, scale: 1 });
  const [message] = encoded(type, ['"472236648286964521369.5"']);
  assert.is(hexOf(message), '1400ffffffffffffffffff');
  assert.is(decoded(type, message as Buffer), '472236648286964521369.5');
});

test('times may be written of texts and of the numbers of the engine', () => {
  const micros = logical('long', 'timestamp-micros');
  assert.is(decoded(micros, encoded(micros, ['1700000000123'])[0] as Buffer), '"2023-11-14T22:13:20.123Z"');
  const zoned = encoded(micros, ['"2023-11-14T23:13:20.5+01:00"'])[0] as Buffer;
  assert.is(decoded(micros, zoned), '"2023-11-14T22:13:20.5Z"');
  const millis = logical('long', 'timestamp-millis');
  assert.is(decoded(millis, encoded(millis, ['"1969-12-31T23:59:59.9995Z"'])[0] as Buffer), '-1');
  assert.match(String(encoded(millis, ['"yesterday"'])[0]), /"yesterday" is no timestamp-millis/);
});

test('defaults stand in for members that are not there, further members are left out', () => {
  const schema = record(
    ['a', 'int'],
    ['b', 'string', { default: 'x' }],
    ['c', ['null', 'long'], { default: null }],
    ['d', ['long', 'null']],
    ['e', logical('int', 'date'), { default: 1 }],
  );
  const [message, missing] = encoded(schema, ['{"a":1,"z":2}', '{"b":"y"}']);
  assert.is(decoded(schema, message as Buffer), '{"a":1,"b":"x","c":null,"d":null,"e":"1970-01-02"}');
  assert.is(missing, 'sink x: format avro: a: is missing');
});

test('what does not fit is refused with its place', () => {
  const cases: readonly (readonly [type: unknown, json: string, reason: RegExp])[] = [
    ['int', '2147483648', /2147483648 is no int/],
    ['int', '1.5', /1.5 is no int/],
    ['long', '9223372036854775808', /is no long/],
    ['string', '5', /5 is no string/],
    ['bytes', '"%"', /"%" is no base64 text/],
    ['boolean', '"true"', /is no boolean/],
    ['null', '1', /is no null/],
    [{ type: 'enum', name: 'E', symbols: ['A'] }, '"B"', /"B" is no symbol of A/],
    [{ type: 'fixed', name: 'F', size: 2 }, '"AQ=="', /base64 text of 2 bytes/],
    [{ type: 'array', items: 'int' }, '[1,"x"]', /\[1\]: "x" is no int/],
    [{ type: 'map', values: 'int' }, '{"k":"x"}', /k: "x" is no int/],
    [['null', 'int'], '"x"', /"x" is no null or int/],
    [
      record(['r', { type: 'record', name: 'I', fields: [{ name: 'n', type: 'int' }] }]),
      '{"r":{"n":"x"}}',
      /r: n: "x" is no int/,
    ],
    [record(['n', 'int']), '[{"n":1}]', /a list is no a.b.R: sendSingle/],
    [logical('bytes', 'decimal', { precision: 4, scale: 2 }), '1.005', /more than 2 decimals/],
    [logical('bytes', 'decimal', { precision: 4, scale: 2 }), '100', /more than 4 digits/],
    [logical('string', 'uuid'), '"x"', /is no uuid/],
    [logical('int', 'date'), '"2024-02-30x"', /is no date/],
  ];
  for (const [type, json, reason] of cases) assert.match(String(hexOf(encoded(type, [json])[0])), reason, json);
});

test('a union takes the first type that fits, of records that with all members', () => {
  const one = { type: 'record', name: 'One', fields: [{ name: 'a', type: 'int' }] };
  const two = {
    type: 'record',
    name: 'Two',
    fields: [
      { name: 'a', type: 'int' },
      { name: 'b', type: 'int' },
    ],
  };
  const union = ['null', one, two, 'double', 'string'];
  const messages = encoded(union, ['{"a":1}', '{"a":1,"b":2}', '1', '"x"', 'null']);
  assert.equal(
    messages.map((message) => (message as Buffer)[0]! / 2),
    [1, 2, 3, 4, 0],
  );
});

test('single objects say by which schema they were written', () => {
  const schemas = { old: record(['a', 'int']), new: record(['a', 'int'], ['b', 'string', { default: '' }]) };
  const [message] = encoded(schemas.old, ['{"a":1}'], { singleObject: true });
  assert.match(hexOf(message)!, /^c301[\da-f]{16}02$/);
  const decoder = decoderOf(schemas, 'new, old', { singleObject: true });
  assert.is(Buffer.from(decoder.decode(message as Buffer)).toString(), '{"a":1}');
  const [other] = encoded('int', ['1'], { singleObject: true });
  assert.throws(() => decoder.decode(other as Buffer), /the fingerprint [\da-f]{16}, which is none of new, old/);
  assert.throws(() => decoder.decode(Buffer.from('02', 'hex')), /mark of single objects/);
});

test('fingerprints are those of the specification', () => {
  const prints: readonly [string, string][] = [
    ['"null"', '63dd24e7cc258f8a'],
    ['"boolean"', '9f42fc78a4d4f764'],
    ['"int"', '7275d51a3f395c8f'],
  ];
  for (const [schema, print] of prints) assert.is(fingerprintOf(typeOf([schema])).toString(16), print);
});

test('numbers of schemas stand before messages', () => {
  const schemas = { old: record(['a', 'int']), new: record(['b', 'string']) };
  const [message] = encoded(schemas.old, ['{"a":1}'], { schemaRegistry: 'confluent', schemaNumber: 258 });
  assert.is(hexOf(message), '000000010202');
  const props = { schemaRegistry: 'confluent' };
  const text = (decoder: AvroDecoder, given: Buffer) => Buffer.from(decoder.decode(given)).toString();
  assert.is(text(decoderOf(schemas, 'old', props), message as Buffer), '{"a":1}');
  const byId = decoderOf(schemas, '', { ...props, schemaIds: { 258: 'old', 7: 'new' } });
  assert.is(text(byId, message as Buffer), '{"a":1}');
  assert.is(text(byId, Buffer.from('00000000070278', 'hex')), '{"b":"x"}');
  assert.throws(() => text(byId, Buffer.from('00000000080278', 'hex')), /the number 8, which schemaIds does not have/);
  assert.throws(() => text(byId, Buffer.from('01', 'hex')), /does not begin with a zero/);
});

test('a type may be meant within a schema', () => {
  const both = [record(['a', 'int']), { type: 'record', name: 'T', fields: [{ name: 'r', type: 'a.b.R' }] }];
  for (const name of ['s.a.b.R', 's.R']) {
    const decoder = decoderOf({ s: both }, name);
    assert.is(Buffer.from(decoder.decode(Buffer.from([2]))).toString(), '{"a":1}');
  }
  assert.throws(() => decoderOf({ s: both }, 's.X'), /schema s: it has no type X, it has a.b.R, T/);
});

test('columns follow from the schema', () => {
  const inner = { type: 'record', name: 'I', fields: [{ name: 'x', type: 'long' }] };
  const schema = record(
    ['a', ['null', 'int']],
    ['b', { type: 'array', items: inner }],
    ['c', { type: 'map', values: 'int' }],
    ['d', logical('long', 'timestamp-micros')],
    ['e', ['int', 'string']],
    ['next', ['null', 'R']],
  );
  const x = { type: 'struct', fields: [{ name: 'x', type: { type: 'bigint' } }] };
  assert.equal(columnsOf(JSON.stringify(schema), ''), [
    { name: 'a', type: { type: 'bigint' } },
    { name: 'b', type: { type: 'array', element: x } },
    { name: 'c', type: { type: 'struct', fields: [] } },
    { name: 'd', type: { type: 'datetime' } },
    { name: 'e', type: { type: 'any' } },
    { name: 'next', type: { type: 'struct', fields: [] } },
  ]);
  assert.equal(columnsOf('"int"', ''), []);
});

test('properties that can not be are refused', () => {
  const cases: readonly (readonly [props: Row, schemaId: string, reason: RegExp])[] = [
    [{}, '', /SCHEMAID is missing/],
    [{}, 'none', /schema none of type avro is not found/],
    [{}, 's,s', /several schemas/],
    [{ singleObject: true, schemaRegistry: 'confluent' }, 's', /exclude each other/],
    [{ schemaRegistry: 'other' }, 's', /schemaRegistry/],
    [{ schemaRegistryUrl: 'http://x' }, 's', /needs schemaRegistry/],
    [{ schemaRegistry: 'confluent', schemaRegistryUrl: 'x' }, 's', /http or https/],
    [{ schemaRegistry: 'confluent', schemaIds: { x: 's' } }, '', /schemaIds must have/],
    [{ schemaIds: { 1: 's' } }, '', /schemaIds is for/],
    [{ singleObject: 'maybe' }, 's', /singleObject/],
  ];
  for (const [props, schemaId, reason] of cases) {
    assert.throws(() => decodeSettings(inputOf({ s: 'int' }, schemaId, props)), reason, JSON.stringify(props));
  }
  const sink = (props: Row) => () => encodeSettings(inputOf({ s: 'int' }, '', props));
  assert.throws(sink({}), /schemaId is missing/);
  assert.throws(sink({ schemaId: 's', schemaRegistry: 'confluent' }), /schemaNumber is missing/);
  const url = { schemaRegistry: 'confluent', schemaRegistryUrl: 'http://x' };
  assert.throws(sink({ schemaId: 's', ...url }), /schemaSubject is missing/);
});

/** A schema, and values of it as the library takes them. */
const schemaAndValue = fc.letrec<{ pair: { type: unknown; json: unknown } }>((tie) => ({
  pair: fc.oneof(
    { depthSize: 'small' },
    fc.constant({ type: 'null', json: null }),
    fc.boolean().map((json) => ({ type: 'boolean', json })),
    fc.integer().map((json) => ({ type: 'int', json })),
    // The library is not exact beyond.
    fc.integer({ min: -(2 ** 51), max: 2 ** 51 }).map((json) => ({ type: 'long', json })),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((json) => ({ type: 'double', json })),
    fc.string({ unit: 'grapheme' }).map((json) => ({ type: 'string', json })),
    fc.uint8Array().map((bytes) => ({ type: 'bytes', json: Buffer.from(bytes).toString('base64') })),
    tie('pair').map(({ type, json }) => ({ type: { type: 'array', items: type }, json: [json, json] })),
    tie('pair').map(({ type, json }) => ({ type: { type: 'map', values: type }, json: { 'a key': json } })),
    fc.array(tie('pair'), { maxLength: 4 }).map((pairs) => ({
      type: { type: 'record', fields: pairs.map(({ type }, i) => ({ name: `f${i}`, type })) },
      json: Object.fromEntries(pairs.map(({ json }, i) => [`f${i}`, json])),
    })),
  ),
})).pair;

test('what is written is read as it was, by the library too', () => {
  const plain = (value: unknown) => JSON.stringify(value).replaceAll('-0,', '0,');
  fc.assert(
    fc.property(schemaAndValue, ({ type, json }) => {
      const text = JSON.stringify(json);
      const [message] = encoded(type, [text]);
      assert.ok(Buffer.isBuffer(message), String(message));
      assert.equal(JSON.parse(decoded(type, message as Buffer)), JSON.parse(text));
      const own = avro.Type.forSchema(type as never, { wrapUnions: 'always' } as never).fromBuffer(message as Buffer);
      const buffers = (_key: string, value: { type?: string; data?: number[] }) =>
        value?.type === 'Buffer' ? Buffer.from(value.data!).toString('base64') : value;
      assert.is(plain(JSON.parse(JSON.stringify(own, buffers as never))), plain(JSON.parse(text)));
    }),
    { numRuns: 500 },
  );
});

test('any bytes give JSON or a reason', () => {
  const decoder = decoderOf({ s: everything });
  const [good] = encoded(everything, [
    '{"yes":true,"i":-5,"l":5,"f":0.5,"d":1.1,"raw":"AQI=","text":"ü","nothing":null,"kind":"B","four":"AQIDBA==",' +
      '"list":[1,-1],"map":{"a":"x"},"maybe":"y","next":null}',
  ]);
  const damaged = fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => {
    const message = Buffer.from(good as Buffer);
    message[at % message.length] = byte;
    return message;
  });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 100 }), damaged), (message) => {
      let json: string;
      try {
        json = Buffer.from(decoder.decode(message)).toString();
      } catch (error) {
        assert.not.instance(error, TypeError);
        assert.not.instance(error, RangeError);
        return;
      }
      JSON.parse(json);
    }),
    { numRuns: 5000 },
  );
});

test('lists and depth are bounded', () => {
  assert.throws(
    () => decoded({ type: 'array', items: 'null' }, Buffer.from('fe ff ff ff 0f 00'.replaceAll(' ', ''), 'hex')),
    /ends in the middle of a list/,
  );
  assert.throws(() => decoded({ type: 'array', items: 'int' }, Buffer.from('feffffff0f', 'hex')), /middle of a list/);
  const list = record(['next', ['null', 'R']]);
  assert.throws(() => decoded(list, Buffer.from('02'.repeat(1000), 'hex')), /deeper than 512/);
  const empties = { type: 'array', items: 'null' };
  assert.is(decoded(empties, Buffer.from('0600', 'hex')), '[null,null,null]');
});

test.run();

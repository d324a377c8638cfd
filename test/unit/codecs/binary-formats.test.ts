/** MessagePack and CBOR as JSON and back: all forms of values, what their libraries write, and hostile bytes. */
import { ExtData, decode as fromMsgpack, encode as toMsgpack } from '@msgpack/msgpack';
import { decode as fromCbor, encode as toCbor } from 'cborg';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readExactJson } from '../../../host/base/text/exact-json.js';
import { CborDecoder } from '../../../host/codecs/cbor/decoder.js';
import type { MessageDecoder } from '../../../host/codecs/define.js';
import { loadEncoder, openEncoder } from '../../../host/codecs/index.js';
import { MsgpackDecoder } from '../../../host/codecs/msgpack/decoder.js';
import type { OutputChunk } from '../../../kernels/api.js';

const decoders: Readonly<Record<'msgpack' | 'cbor', MessageDecoder>> = {
  msgpack: new MsgpackDecoder(),
  cbor: new CborDecoder(),
};

const jsonOf = (format: keyof typeof decoders, message: Uint8Array): string =>
  Buffer.from(decoders[format].decode(message)).toString();
const ofHex = (format: keyof typeof decoders, hex: string): string => jsonOf(format, Buffer.from(hex, 'hex'));
const refused = (format: keyof typeof decoders, hex: string): string => {
  try {
    return `took it for ${ofHex(format, hex)}`;
  } catch (error) {
    return (error as Error).message;
  }
};

/** Examples of RFC 8949, appendix A, and what they are in JSON. */
const cborExamples: readonly (readonly [hex: string, json: string])[] = [
  ['00', '0'],
  ['17', '23'],
  ['1818', '24'],
  ['1903e8', '1000'],
  ['1a000f4240', '1000000'],
  ['1b000000e8d4a51000', '1000000000000'],
  ['1bffffffffffffffff', '18446744073709551615'],
  ['c249010000000000000000', '18446744073709551616'],
  ['3bffffffffffffffff', '-18446744073709551616'],
  ['c349010000000000000000', '-18446744073709551617'],
  ['20', '-1'],
  ['3903e7', '-1000'],
  ['f90000', '0'],
  ['f93c00', '1'],
  ['fb3ff199999999999a', '1.1'],
  ['f97bff', '65504'],
  ['fa47c35000', '100000'],
  ['fb7e37e43c8800759c', '1e+300'],
  ['f90001', '5.960464477539063e-8'],
  ['f9c400', '-4'],
  ['fa3dcccccd', '0.1'],
  ['f97c00', 'null'],
  ['f97e00', 'null'],
  ['fbfff0000000000000', 'null'],
  ['f4', 'false'],
  ['f5', 'true'],
  ['f6', 'null'],
  ['f7', 'null'],
  ['c074323031332d30332d32315432303a30343a30305a', '"2013-03-21T20:04:00Z"'],
  ['c11a514b67b0', '"2013-03-21T20:04:00Z"'],
  ['c1fb41d452d9ec200000', '"2013-03-21T20:04:00.5Z"'],
  ['c120', '"1969-12-31T23:59:59Z"'],
  ['d74401020304', '"AQIDBA=="'],
  ['d82076687474703a2f2f7777772e6578616d706c652e636f6d', '"http://www.example.com"'],
  ['d82550000102030405060708090a0b0c0d0e0f', '"00010203-0405-0607-0809-0a0b0c0d0e0f"'],
  ['d8641a00004d89', '"2024-05-06"'],
  ['c48221196ab3', '27315e-2'],
  ['d9d9f783010203', '[1,2,3]'],
  ['40', '""'],
  ['62225c', '"\\"\\\\"'],
  ['62c3bc', '"ü"'],
  ['64f0908591', '"𐅑"'],
  ['6101', '"\\u0001"'],
  ['80', '[]'],
  ['8301820203820405', '[1,[2,3],[4,5]]'],
  ['a201020304', '{"1":2,"3":4}'],
  ['a2f5002002', '{"true":0,"-1":2}'],
  ['a26161016162820203', '{"a":1,"b":[2,3]}'],
  ['5f42010243030405ff', '"AQIDBAU="'],
  ['7f657374726561646d696e67ff', '"streaming"'],
  ['9fff', '[]'],
  ['9f018202039f0405ffff', '[1,[2,3],[4,5]]'],
  ['bf6346756ef563416d7421ff', '{"Fun":true,"Amt":-2}'],
];

const msgpackExamples: readonly (readonly [hex: string, json: string])[] = [
  ['7f', '127'],
  ['e0', '-32'],
  ['c0', 'null'],
  ['c2', 'false'],
  ['ccff', '255'],
  ['cdffff', '65535'],
  ['ceffffffff', '4294967295'],
  ['cfffffffffffffffff', '18446744073709551615'],
  ['d080', '-128'],
  ['d18000', '-32768'],
  ['d280000000', '-2147483648'],
  ['d38000000000000000', '-9223372036854775808'],
  ['ca3dcccccd', '0.1'],
  ['cb3ff199999999999a', '1.1'],
  ['cb7ff8000000000000', 'null'],
  ['a3616263', '"abc"'],
  ['d90161', '"a"'],
  ['da000161', '"a"'],
  ['db0000000161', '"a"'],
  ['c403010203', '"AQID"'],
  ['c50001ff', '"/w=="'],
  ['c600000001ff', '"/w=="'],
  ['93010203', '[1,2,3]'],
  ['dc0001c3', '[true]'],
  ['dd00000001c3', '[true]'],
  ['81a16101', '{"a":1}'],
  ['de0001a16101', '{"a":1}'],
  ['df00000001a16101', '{"a":1}'],
  ['840102ff03c304cb3ff800000000000005', '{"1":2,"-1":3,"true":4,"1.5":5}'],
  ['81c401ff01', '{"/w==":1}'],
  ['d6ff514b67b0', '"2013-03-21T20:04:00Z"'],
  ['d7ff00000004514b67b0', '"2013-03-21T20:04:00.000000001Z"'],
  ['c70cff3b9ac9ffffffffffffffffff', '"1969-12-31T23:59:59.999999999Z"'],
];

test('all forms of CBOR', () => {
  for (const [hex, json] of cborExamples) assert.is(ofHex('cbor', hex), json, hex);
});

test('all forms of MessagePack', () => {
  for (const [hex, json] of msgpackExamples) assert.is(ofHex('msgpack', hex), json, hex);
});

test('what can be no JSON is refused with the reason', () => {
  const msgpack: readonly [string, RegExp][] = [
    ['', /ends in the middle/],
    ['a3', /ends in the middle/],
    ['dd7fffffff', /ends in the middle/],
    ['c1', /the byte c1/],
    ['0101', /1 bytes follow/],
    ['d40501', /extension type 5,/],
    ['c705ff0102030405', /timestamp of 5 bytes/],
    ['c70cff3b9aca000000000000000000', /time outside the years/],
    ['81900101', /the key of a map/],
    ['a1ff', /not UTF-8/],
    ['91'.repeat(600), /deeper than 512/],
  ];
  for (const [hex, reason] of msgpack) assert.match(refused('msgpack', hex), reason, hex);
  const cbor: readonly [string, RegExp][] = [
    ['', /ends in the middle/],
    ['9b7fffffffffffffff', /ends in the middle/],
    ['5bffffffffffffffff', /ends in the middle/],
    ['9f01', /ends in the middle/],
    ['1c', /a head that is none: 28/],
    ['ff', /the end of a list/],
    ['f0', /the simple value 16,/],
    ['c16161', /is no integer/],
    ['c1f97e00', /tag 1 is no number/],
    ['c21a00000001', /number of a tag is no bytes/],
    ['c401', /decimal of tag 4/],
    ['d8254100', /UUID of 1 bytes/],
    ['d9010001', /the tag 256,/],
    ['a1800101', /the key of a map/],
    ['5f6161ff', /a chunk/],
    ['0000', /1 bytes follow/],
    ['61ff', /not UTF-8/],
    ['81'.repeat(600), /deeper than 512/],
    ['c0'.repeat(600), /deeper than 512/],
    [`c2590400${'01'.repeat(1024)}`, /more than 128 bytes/],
  ];
  for (const [hex, reason] of cbor) assert.match(refused('cbor', hex), reason, hex);
  const ofExtension = Buffer.from(toMsgpack({ a: new ExtData(7, new Uint8Array(3)) })).toString('hex');
  assert.match(refused('msgpack', ofExtension), /extension type 7,/);
});

test('a text of CBOR in millions of chunks takes no more memory than its bytes', () => {
  const message = Buffer.alloc(4 << 20, 0x60);
  message.set([0x7f, 0x61, 0x61]);
  message.set([0x61, 0x62, 0xff], message.length - 3);
  const before = process.memoryUsage().heapUsed;
  assert.is(Buffer.from(new CborDecoder().decode(message)).toString(), '"ab"');
  assert.ok(process.memoryUsage().heapUsed - before < 64 << 20);
});

/** What JSON can hold, with integers of 64 bits. */
const { value: jsonValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.string({ unit: 'grapheme' }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((one) => !Object.is(one, -0)),
    fc.maxSafeInteger().filter((one) => !Object.is(one, -0)),
    fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).filter((one) => one > 2n ** 53n || one < -(2n ** 53n)),
    fc.array(tie('value')),
    fc.dictionary(
      fc.string().filter((name) => name !== '__proto__'),
      tie('value'),
    ),
  ),
}));

const same = (value: unknown): string =>
  JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one === 'bigint') return `${one}`;
    if (typeof one === 'number' && Math.abs(one) > Number.MAX_SAFE_INTEGER) return `${BigInt(one)}`;
    if (typeof one !== 'object' || one === null || Array.isArray(one)) return one;
    return Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)));
  });

test('what the libraries write is read as it was', () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      assert.is(same(readExactJson(jsonOf('msgpack', toMsgpack(value, { useBigInt64: true })))), same(value));
      assert.is(same(readExactJson(jsonOf('cbor', toCbor(value)))), same(value));
    }),
    { numRuns: 500 },
  );
});

/** Chunk of messages as the kernel gives it to encoders. */
function chunkOf(texts: readonly string[], errors: readonly number[] = []): OutputChunk {
  const bytes = Buffer.from(texts.join(''));
  let end = 0;
  const ends = Uint32Array.from(texts, (text) => (end += Buffer.byteLength(text)));
  return { node: 1, host: 1, bytes, ends, messages: texts.length, rows: texts.length, errors: new Set(errors) };
}

async function encoded(format: string, chunk: OutputChunk): Promise<{ messages: Buffer[]; failures: string[] }> {
  await loadEncoder({ format });
  const failures: string[] = [];
  const context = { sink: 'sink x', framing: 'messages', sendError: true, isBatch: false } as const;
  const made = openEncoder({ format }, context)!.encode(chunk, (reason) => failures.push(reason));
  let from = 0;
  const messages = [...made.ends!].map((end) => {
    const message = Buffer.from(made.bytes.subarray(from, end));
    from = end;
    return message;
  });
  return { messages, failures };
}

test('results become messages that the libraries read; errors stay texts', async () => {
  const texts = ['{"b":9007199254740993,"a":[1.5,null,"ü"]}', 'it failed', '[{"x":-9223372036854775808}]'];
  const packed = await encoded('msgpack', chunkOf(texts, [1]));
  assert.equal(packed.failures, []);
  const [first, error, second] = packed.messages;
  assert.equal(fromMsgpack(first!, { useBigInt64: true }), { b: 9007199254740993n, a: [1.5, null, 'ü'] });
  assert.is(error!.toString(), 'it failed');
  assert.equal(fromMsgpack(second!, { useBigInt64: true }), [{ x: -(2n ** 63n) }]);
  const { messages } = await encoded('cbor', chunkOf(texts, [1]));
  assert.equal(fromCbor(messages[0]!), { b: 9007199254740993n, a: [1.5, null, 'ü'] });
  assert.is(messages[0]!.toString('hex').slice(0, 6), 'a26162', 'names stay in the order of the columns');
  assert.equal(fromCbor(messages[2]!), [{ x: -(2n ** 63n) }]);
});

test('a message that is nested too deep fails alone', async () => {
  const deep = '['.repeat(600) + ']'.repeat(600);
  const { messages, failures } = await encoded('msgpack', chunkOf(['{"a":1}', deep, '{"a":2}']));
  assert.is(messages.length, 3);
  assert.equal(failures, [messages[1]!.toString()]);
  assert.match(failures[0]!, /^sink x: format msgpack: Too deep/);
});

test('any bytes give JSON or a reason', () => {
  const bytes = fc.uint8Array({ maxLength: 200 });
  const damaged = fc.tuple(jsonValue, fc.nat(), fc.nat(255)).map(([value, at, byte]) => {
    const message = Buffer.from(toCbor(value));
    message[at % message.length] = byte;
    return message;
  });
  fc.assert(
    fc.property(fc.oneof(bytes, damaged), (message) => {
      for (const format of ['msgpack', 'cbor'] as const) {
        let json: string;
        try {
          json = jsonOf(format, message);
        } catch (error) {
          assert.not.instance(error, TypeError);
          assert.not.instance(error, RangeError);
          continue;
        }
        JSON.parse(json);
      }
    }),
    { numRuns: 5000 },
  );
});

test.run();

/** Protobuf messages: rows of random schemas as a plain decoder gives them, and what is said of broken bytes. */
import fc from 'fast-check';
import type { Type } from 'protobufjs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { StreamSpec } from '../../../kernels/api.js';
import type { ColumnUse } from '../../../kernels/plan/ir.js';
import { col } from '../../../kernels/plan/ir.js';
import type { MessageTypes } from '../../../kernels/plan/message-types.js';
import { fieldsOf, NotDecoded, naiveDecode, plainText } from '../../support/formats/naive-protobuf.js';
import { framed, messageBytes, messageIn, schemas, varintOf } from '../../support/formats/protobuf.js';
import { drive, encode, linked } from '../../support/kernel/drive.js';
import { field, lines } from '../../support/kernel/streams.js';

const driver = drive();
const whole: ColumnUse[] = [{ kind: 'row' }];

/** What comes of messages: JSON of the columns, or of whole rows; errors as they are. */
function rowsOf(
  messages: MessageTypes,
  uses: ColumnUse[],
  payloads: readonly Uint8Array[],
  more: Partial<StreamSpec> = {},
) {
  const { kernel } = driver;
  const stream = kernel.openStream({ ...lines, ...more, framing: 'frames', format: 'protobuf', messages });
  const columnMap = kernel.useColumns(stream, uses);
  const names = uses.flatMap((use, i) => ('name' in use ? [[use.name, i] as const] : []));
  const plan =
    names.length === 0
      ? encode({}, { framing: 'messages', sendError: true, shape: { kind: 'object', operand: col(0) } })
      : encode(Object.fromEntries(names), { framing: 'messages', sendError: true });
  const node = kernel.addNode({ stream }, linked(plan, { columnMap, sendError: true }));
  driver.messages.delete(node);
  driver.feed(stream, Buffer.concat(payloads.map(framed)));
  const rows = driver.of(node);
  kernel.releaseNode(node);
  kernel.releaseColumns(stream, columnMap);
  kernel.closeStream(stream);
  return rows;
}

/** Numbers with a point or an exponent as JavaScript writes them. */
function canonical(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi, (token) => {
    if (token.startsWith('"')) return JSON.stringify(JSON.parse(token));
    return /[.e]/i.test(token) ? String(Number(token)) : token;
  });
}

function naiveText(type: Type, payload: Uint8Array, names?: readonly string[]): string {
  const row = naiveDecode(type, payload);
  for (const name of [...row.keys()]) if (names?.includes(name) === false) row.delete(name);
  return plainText(row);
}

/** What the plain decoder gives, undefined for messages that it refuses. */
function expected(type: Type, payload: Uint8Array, names?: readonly string[]): string | undefined {
  try {
    return canonical(naiveText(type, payload, names));
  } catch (error) {
    if (error instanceof NotDecoded) return undefined;
    throw error;
  }
}

const isError = (row: string): boolean => !row.startsWith('{');

/** Numbers below a bound, from a list that repeats. */
function numbersOf(list: readonly number[]): (below: number) => number {
  let at = 0;
  return (below) => (below === 0 ? 0 : (list[at++ % list.length] ?? 0) % below);
}

const choices = fc.array(fc.nat(1_000_000), { minLength: 20, maxLength: 120 });

test('random messages of random schemas, whole and by columns', () => {
  let rows = 0;
  fc.assert(
    fc.property(schemas, fc.array(choices, { minLength: 1, maxLength: 6 }), fc.nat(), (content, lists, mask) => {
      const { type, messages } = messageIn(content, 'M0');
      const payloads = lists.map((list) => messageBytes(type, numbersOf(list)));
      const wanted = payloads.map((payload) => expected(type, payload));
      const all = rowsOf(messages, whole, payloads);
      for (const [i, row] of all.entries()) assert.is(isError(row) ? undefined : canonical(row), wanted[i], row);
      rows += wanted.filter((row) => row !== undefined).length;
      const names = fieldsOf(type).flatMap(({ name }, i) => ((mask >> i) & 1 ? [name] : []));
      if (names.length === 0) return;
      const some = rowsOf(messages, names.map(field), payloads);
      for (const [i, payload] of payloads.entries()) {
        if (wanted[i] === undefined) continue;
        assert.is(canonical(some[i] ?? ''), expected(type, payload, names));
      }
    }),
    { numRuns: 400 },
  );
  assert.ok(rows > 500, `only ${rows} rows`);
});

test('broken messages are errors exactly where the plain decoder refuses them', () => {
  let errors = 0;
  fc.assert(
    fc.property(
      schemas,
      choices,
      fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom('set', 'insert', 'cut', 'drop')), { maxLength: 4 }),
      (content, list, changes) => {
        const { type, messages } = messageIn(content, 'M0');
        let payload = messageBytes(type, numbersOf(list));
        for (const [place, value, how] of changes) {
          const at = payload.length === 0 ? 0 : place % payload.length;
          const rest = how === 'insert' ? payload.subarray(at) : payload.subarray(at + 1);
          const middle = how === 'set' || how === 'insert' ? [value] : [];
          payload = Buffer.concat([
            payload.subarray(0, at),
            Buffer.from(middle),
            how === 'cut' ? Buffer.alloc(0) : rest,
          ]);
        }
        const wanted = expected(type, payload);
        const [row = ''] = rowsOf(messages, whole, [payload]);
        assert.is(isError(row) ? undefined : canonical(row), wanted, `${payload.toString('hex')} ${row}`);
        if (wanted === undefined) errors++;
      },
    ),
    { numRuns: 3000 },
  );
  assert.ok(errors > 300, `only ${errors} errors`);
});

/** Messages written of the rows that messages give; errors as texts. */
function writtenOf(messages: MessageTypes, uses: ColumnUse[], payload: Uint8Array): (Buffer | string)[] {
  const { kernel } = driver;
  const stream = kernel.openStream({ ...lines, framing: 'frames', format: 'protobuf', messages });
  const columnMap = kernel.useColumns(stream, uses);
  const wishes = { framing: 'messages', sendError: true, format: 'protobuf', messages } as const;
  const names = uses.flatMap((use, i) => ('name' in use ? [[use.name, i] as const] : []));
  const shape = names.length === 0 && { shape: { kind: 'object', operand: col(0) } as const };
  const plan = encode(Object.fromEntries(names), { ...wishes, ...shape });
  const node = kernel.addNode({ stream }, linked(plan, { columnMap, sendError: true }));
  const found: (Buffer | string)[] = [];
  driver.onOutput = ({ bytes, ends, errors }) => {
    let from = 0;
    for (const [i, end] of (ends ?? []).entries()) {
      const message = Buffer.from(bytes.subarray(from, end));
      found.push(errors.has(i) ? message.toString() : message);
      from = end;
    }
  };
  driver.feed(stream, framed(payload));
  driver.onOutput = undefined;
  kernel.releaseNode(node);
  kernel.releaseColumns(stream, columnMap);
  kernel.closeStream(stream);
  return found;
}

test('rows are written as messages that give the same rows, as columns and as objects', () => {
  let rows = 0;
  fc.assert(
    fc.property(schemas, choices, (content, list) => {
      // A row does not tell such a value without bytes from none.
      const { type, messages } = messageIn(content.replaceAll('BytesValue', 'StringValue'), 'M0');
      const payload = messageBytes(type, numbersOf(list));
      const wanted = expected(type, payload);
      if (wanted === undefined) return;
      const columns = fieldsOf(type).map(({ name }) => field(name));
      for (const uses of columns.length === 0 ? [whole] : [whole, columns]) {
        const [made] = writtenOf(messages, uses, payload);
        // Rows have no unsigned numbers of 64 bits: large ones are negative. Bytes that are not there are null.
        if (typeof made === 'string') {
          assert.match(made, /^invalid type for uint type|failed to encode .* uint slice|field .* not found/);
        } else {
          assert.is(expected(type, made ?? Buffer.alloc(0)), wanted);
          rows++;
        }
      }
    }),
    { numRuns: 1000 },
  );
  assert.ok(rows > 500, `only ${rows} rows`);
});

test('valid messages are what protobufjs decodes', () => {
  const { type, messages } = messageIn(
    `syntax = "proto3"; message A { int64 big = 1; repeated sint32 list = 2; map<string, B> m = 3; B b = 4;
       string s = 5; bool t = 6; double d = 7; bytes y = 8; enum E { X = 0; Y = 5; } E e = 9; }
     message B { uint32 u = 1; float f = 2; repeated string words = 3; }`,
    'A',
  );
  const inner = { u: 4_000_000_000, f: 0.5, words: ['x', ''] };
  const given = { big: '-9223372036854775808', list: [1, -1, 2147483647], m: { k: inner }, b: inner, s: 'ü', t: true };
  const object = { ...given, d: 1e300, y: 'AQID', e: 5 };
  const [row = ''] = rowsOf(messages, whole, [type.encode(type.fromObject(object)).finish()]);
  assert.equal(JSON.parse(row.replace(/"big":(-?\d+)/, '"big":"$1"')), object);
});

const { messages: small } = messageIn(
  `syntax = "proto2"; message A { optional int32 n = 1; optional string s = 2; optional A inner = 3;
     repeated fixed32 list = 4; required bool must = 5; }`,
  'A',
);
const must = Buffer.from([0x28, 1]);

test('errors name the byte, the field and the reason', () => {
  const cases: [bytes: number[], text: string][] = [
    [[0x08], 'byte 1, field n: the message ends within a number'],
    [[0x08, ...varintOf(1n << 40n)], 'byte 1, field n: a number has more than 32 bits'],
    [[0x08, ...Array(10).fill(0xff), 1], 'byte 1, field n: a number has more than 64 bits'],
    [[0x09, 0, 0, 0, 0, 0, 0, 0, 0], 'byte 1, field n: its wire type is not that of the schema'],
    [[0x12, 5, 0x61], 'byte 1, field s: a length goes beyond the end of the message'],
    [[0x12, 2, 0xc3, 0x28], 'byte 2, field s: the text is not UTF-8'],
    [[0x1a, 4, 0x1a, 2, 0x08, 0x80], 'byte 6, field inner.inner.n: the message ends within a number'],
    [[0x22, 3, 1, 2, 3], 'byte 5, field list: the message ends within a number'],
    [[0x00, 1], 'byte 0: there is no such field number'],
    [[0x7e], 'byte 1: there is no such wire type'],
    [[0x7c], 'byte 1: a group ends that did not begin'],
    [[0x7b, 0x08, 1], 'byte 3: the message ends within a group'],
    [[0x08, 1], 'byte 2, field must: a required field is missing'],
    [[0x1a, 0, 0x28, 1], 'byte 4, field inner.must: a required field is missing'],
  ];
  for (const [bytes, text] of cases) {
    const names = ['n', 's', 'inner', 'list'].map(field);
    assert.equal(rowsOf(small, names, [Buffer.from(bytes)]), [`invalid protobuf message at ${text}`]);
  }
});

test('messages in messages are bounded, also in groups that nobody reads', () => {
  let nested = must;
  for (let i = 0; i < 40; i++) {
    nested = Buffer.concat([must, Buffer.from([0x1a]), varintOf(BigInt(nested.length)), nested]);
  }
  assert.match(
    rowsOf(small, whole, [nested], { maxDepth: 30 })[0]!,
    /^invalid protobuf message at byte .*nested too deep/,
  );
  assert.ok(rowsOf(small, whole, [nested], { maxDepth: 64 })[0]!.startsWith('{'));
  const groups = Buffer.concat([must, Buffer.alloc(100_000, 0x7b)]);
  assert.match(rowsOf(small, whole, [groups])[0]!, /nested too deeply$/);
});

test('an error takes no other message with it, batches of many rows are complete', () => {
  const payloads = Array.from({ length: 3000 }, (_, i) =>
    i % 7 === 3 ? Buffer.from([0x08]) : Buffer.concat([Buffer.from([0x08]), varintOf(BigInt(i)), must]),
  );
  const rows = rowsOf(small, [field('n'), field('list')], payloads);
  for (const [i, row] of rows.entries()) {
    assert.is(
      row,
      i % 7 === 3
        ? 'invalid protobuf message at byte 1, field n: the message ends within a number'
        : `{"list":null,"n":${i}}`,
    );
  }
  assert.is(rows.length, 3000);
});

test('a message for which there is no memory is an error, the next one is read', () => {
  const tight = drive({ maxMemoryBytes: 48 << 20 });
  const { messages } = messageIn('syntax = "proto3"; message A { repeated bool many = 1; int32 n = 2; }', 'A');
  const stream = tight.kernel.openStream({ ...lines, framing: 'frames', format: 'protobuf', messages });
  const columnMap = tight.kernel.useColumns(stream, [field('many'), field('n')]);
  const plan = encode({ n: 1 }, { framing: 'messages', sendError: true });
  const node = tight.kernel.addNode({ stream }, linked(plan, { columnMap, sendError: true }));
  const many = Buffer.concat([Buffer.from([0x0a]), varintOf(2_000_000n), Buffer.alloc(2_000_000, 1)]);
  tight.feed(stream, Buffer.concat([many, Buffer.from([0x10, 7])].map(framed)));
  assert.equal(tight.of(node), ['protobuf message, field many: memory is exhausted', '{"n":7}']);
});

test('a type of its own under the name of a wrapper is a message', () => {
  const { type, messages } = messageIn(
    `syntax = "proto3"; package google.protobuf; message A { Int32Value a = 1; repeated BoolValue b = 2; }
     message Int32Value { int32 value = 1; A more = 2; string x = 3; string y = 4; }
     message BoolValue { A value = 1; }`,
    'A',
  );
  const inner = { value: 1, more: { b: [{ value: {} }] }, x: 'x', y: 'y' };
  const payload = type.encode(type.fromObject({ a: inner, b: [{ value: { a: inner } }] })).finish();
  const [row = ''] = rowsOf(messages, whole, [payload]);
  assert.equal(JSON.parse(row).a.x, 'x');
  assert.equal(JSON.parse(row).b[0].value.a.y, 'y');
});

test('a stream of the same messages with more fields takes over what was kept', () => {
  const open = (fields: string) => {
    const { messages } = messageIn(`syntax = "proto3"; message A { int32 n = 1; ${fields} }`, 'A');
    return driver.kernel.openStream({ ...lines, framing: 'frames', format: 'protobuf', messages });
  };
  const [before, after] = [open(''), open('string s = 2;')];
  const saved: Uint8Array[] = [];
  driver.kernel.saveNode(before, (bytes) => saved.push(bytes.slice()));
  let rest = Buffer.concat(saved);
  const { loaded, failed } = driver.kernel.loadNode(after, (into) => {
    const part = rest.subarray(0, into.length);
    into.set(part);
    rest = rest.subarray(part.length);
    return part.length;
  });
  assert.equal([loaded, failed], [1, []]);
  for (const stream of [before, after]) driver.kernel.closeStream(stream);
});

test.run();

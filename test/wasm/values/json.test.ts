import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadTextKernel } from '../../support/kernel/text-kernel.js';

const kernel = loadTextKernel();
const capacity = 1 << 18;
const at: number = kernel.alloc(capacity + 64, 0);
const pool = kernel.scratch.value ?? kernel.scratch;

function parse(text: string | Uint8Array, options: { flags?: number; depth?: number } = {}): unknown {
  const bytes = Buffer.from(text as string);
  // Behind the text stand bytes that would go on with it.
  new Uint8Array(kernel.memory.buffer).fill(0x30, at, at + bytes.length + 64).set(bytes, at);
  kernel.scratchReset();
  if (!kernel.parseDocument(at, bytes.length, pool, options.flags ?? 0, options.depth ?? 64, 0)) {
    kernel.faultMessage(at);
    throw new Error(Buffer.from(kernel.memory.buffer, kernel.messageOff(), kernel.messageLen()).toString());
  }
  return kernel.value(kernel.valueTag.value, kernel.valuePayload.value);
}

function write(): string {
  const { value: tag } = kernel.valueTag;
  const { value: payload } = kernel.valuePayload;
  const bound = Number(kernel.jsonSizeBound(tag, payload));
  const out = kernel.alloc(bound, 0) >>> 0;
  const end = kernel.jsonWriteValue(out, tag, payload) >>> 0;
  if (end !== 0 && end - out > bound) throw new Error(`wrote ${end - out} of ${bound}`);
  const text = Buffer.from(kernel.memory.buffer, out, Math.max(0, end - out)).toString();
  kernel.free(out, bound, 0);
  if (end === 0) throw new Error('not finite');
  return text;
}

/** What JSON.parse gives, with surrogates that have no partner replaced. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.from(value).toString();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (value === null || typeof value !== 'object') return value;
  const object: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    Object.defineProperty(object, wellFormed(key) as string, {
      value: wellFormed(member),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
}

test('parses what JSON.parse parses, to the same values', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5, stringUnit: 'binary' }), fc.constantFrom(undefined, 1, '\t'), (text, indent) => {
      const value = JSON.parse(text);
      const spaced = JSON.stringify(value, null, indent);
      assert.equal(parse(spaced), wellFormed(value));
    }),
    { numRuns: 3000 },
  );
});

test('accepts and rejects mutated texts as JSON.parse does', () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      fc.nat(),
      fc.constantFrom(
        '',
        '"',
        '\\',
        '\\u12',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '0',
        '-',
        '.',
        'e',
        'n',
        ' ',
        '\u0001',
        'é',
      ),
      (text, from, drop, insert) => {
        const i = from % (text.length + 1);
        const mutated = text.slice(0, i) + insert + text.slice(i + (drop % 3));
        let expected: unknown;
        try {
          expected = JSON.parse(mutated);
        } catch {
          assert.throws(() => parse(mutated), undefined, mutated);
          return;
        }
        assert.equal(parse(mutated), wellFormed(expected));
      },
    ),
    { numRuns: 8000 },
  );
});

test('never traps on random bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        parse(bytes);
      } catch (error) {
        assert.match((error as Error).message, /^invalid JSON at byte \d+: /);
      }
    }),
    { numRuns: 5000 },
  );
});

test('writes objects with sorted keys and Go escapes, and reads them back', () => {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(sorted);
    if (value === null || typeof value !== 'object') return value;
    const entries = Object.entries(value).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${text(member)}`).join(',')}}`;
  };
  const text = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(text).join(',')}]`;
    if (value !== null && typeof value === 'object') return sorted(value) as string;
    return Object.is(value, -0) ? '-0' : JSON.stringify(value);
  };
  fc.assert(
    fc.property(fc.json({ maxDepth: 4, stringUnit: 'binary' }), (json) => {
      const value = wellFormed(JSON.parse(json));
      parse(JSON.stringify(value));
      const expected = text(value).replace(
        /[<>&\u2028\u2029]/g,
        (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
      assert.is(write(), expected);
    }),
    { numRuns: 3000 },
  );
});

test('unescapes, joins surrogate pairs and replaces lone ones', () => {
  assert.is(parse(String.raw`"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00"`), '"\\/\b\f\n\r\tA😀');
  assert.is(parse(String.raw`"\ud83d"`), '\ufffd');
  assert.is(parse(String.raw`"\ude00x"`), '\ufffdx');
  assert.is(parse(String.raw`"\ud83d\u0041"`), '\ufffdA');
  assert.is(parse(String.raw`"\ud83d\ud83d\ude00"`), '\ufffd😀');
});

test('keeps the last of members with one name, sorts keys by bytes', () => {
  assert.equal(Object.entries(parse('{"b":1,"a":2,"b":3,"é":4,"Z":5}') as object), [
    ['Z', 5],
    ['a', 2],
    ['b', 3],
    ['é', 4],
  ]);
  const many = Array.from({ length: 500 }, (_, i) => `"k${(i * 7919) % 250}":${i}`);
  assert.equal(parse(`{${many.join(',')}}`), JSON.parse(`{${many.join(',')}}`));
});

test('reads whole numbers as exact integers when asked', () => {
  assert.equal(parse('[9007199254740993,-1,1.0,1e2]', { flags: 1 }), [9007199254740993n, -1n, 1, 100]);
  assert.throws(() => parse('9223372036854775808', { flags: 1 }), /out of range/);
});

test('names what is wrong and where', () => {
  for (const [text, message] of [
    ['', 'invalid JSON at byte 0: the text ends where a value was expected'],
    ['{"a" 1}', "invalid JSON at byte 5: ':' was expected after the key"],
    ['{"a":1,}', 'invalid JSON at byte 7: a key was expected'],
    ['[1 2]', "invalid JSON at byte 3: ',' or ']' was expected"],
    ['"a\\x"', 'invalid JSON at byte 2: invalid escape in a string'],
    ['"abc', 'invalid JSON at byte 1: string without closing quote'],
    ['1 x', 'invalid JSON at byte 2: text after the value'],
    ['nul', 'invalid JSON at byte 0: a value was expected'],
  ] as const) {
    assert.throws(
      () => parse(text),
      (error: Error) => error.message === message,
      `${text}: ${message}`,
    );
  }
  assert.throws(() => parse(Buffer.from([0x22, 0xc3, 0x28, 0x22])), /invalid UTF-8/);
  assert.throws(() => parse('[[[[1]]]]', { depth: 3 }), /nested too deeply/);
  assert.equal(parse('[[[1]]]', { depth: 3 }), [[[1]]]);
});

test('copes with nesting as deep as allowed', () => {
  const deep = '['.repeat(1000) + ']'.repeat(1000);
  parse(deep, { depth: 1000 });
  assert.is(write(), deep);
  assert.throws(() => parse('['.repeat(100_000), { depth: 1000 }), /nested too deeply/);
});

test('carries values in the binary form of rows and rejects what is broken', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat({ max: 255 }), (json, where, byte) => {
      fc.pre(!/\d{19}/.test(json));
      const value = parse(json, { flags: 1 });
      const { value: tag } = kernel.valueTag;
      const { value: payload } = kernel.valuePayload;
      const size = Number(kernel.rowsSize(tag, payload));
      const out = kernel.alloc(size + 64, 0) >>> 0;
      assert.is(kernel.rowsWrite(out, tag, payload) - out, size);
      assert.is(kernel.rowsRead(out, out + size, pool, 64) - out, size);
      assert.equal(kernel.value(kernel.rowsTag.value, kernel.rowsPayload.value), value);
      for (let cut = 0; cut < size; cut += 1 + (size >> 3)) assert.is(kernel.rowsRead(out, out + cut, pool, 64), 0);
      new Uint8Array(kernel.memory.buffer)[out + (where % size)] = byte;
      const stopped = kernel.rowsRead(out, out + size, pool, 64) >>> 0;
      assert.ok(stopped === 0 || (stopped > out && stopped <= out + size));
      kernel.free(out, size + 64, 0);
    }),
    { numRuns: 2000 },
  );
});

test.run();

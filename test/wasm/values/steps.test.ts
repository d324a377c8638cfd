/** Steps of the decoder: messages that share keys, order and space are read by literals learnt from earlier ones. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ColumnUse } from '../../../kernels/plan/ir.js';
import { field, publish } from '../../support/kernel/streams.js';
import { leftBehind, loadTextKernel, TestSource } from '../../support/kernel/text-kernel.js';

const kernel = loadTextKernel();

/** Values of the columns for each message, after `before` has been seen twice; an error row is the string 'error'. */
function decoded(before: string[], messages: (string | Buffer)[], columns = ['a', 'b', 's']): unknown[] {
  const source = new TestSource(kernel, { framing: 'mqtt' }, columns.map(field), 1 << 23);
  const seen = [...before, ...before];
  const packets = [...seen, ...messages].map((text) => publish('t', text as string));
  const rows: unknown[] = [];
  for (const batch of source.feed(Buffer.concat(packets))) {
    batch.errors.forEach((error, row) => {
      const values = columns
        .map((name, i) => [name, batch.columns[i]![row]])
        .filter(([, value]) => value !== undefined);
      rows.push(error === undefined ? Object.fromEntries(values) : 'error');
    });
  }
  source.close();
  return rows.slice(seen.length);
}

/** What JSON.parse makes of the message, for the columns. */
function expected(text: string | Buffer, columns = ['a', 'b', 's']): unknown {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(text as string)));
  } catch {
    return 'error';
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return 'error';
  return Object.fromEntries(
    columns.filter((name) => name in (value as object)).map((name) => [name, (value as never)[name]]),
  );
}

const known = [
  '{"a":1.25,"b":-17,"s":"text","n":{"k":[1,"x"]}}',
  '{ "s" : "a longer text of more than sixteen bytes", "b" : 123456789, "a" : true }',
  '{"b":12345678901234,"extra":null,"a":1e3,\n  "s":"\\u00e9\\n"}',
  '{"key of more than sixteen bytes":0,"a":0,"key of more than thirty-two bytes, all the same":"é","s":""}',
];

test('reads known messages that break off at any byte as errors, whatever follows', () => {
  const cut = known.flatMap((text) => Array.from({ length: text.length }, (_, n) => text.slice(0, n)));
  // Each is followed by a packet whose first byte is the digit 0.
  assert.equal(
    decoded(known, cut),
    cut.map(() => 'error'),
  );
  assert.equal(
    decoded(known, known),
    known.map((text) => expected(text)),
  );
});

test('accepts and rejects known messages with one byte changed, put in or taken out as JSON.parse does', () => {
  const bytes = [0x00, 0x20, 0x22, 0x2c, 0x2d, 0x2e, 0x30, 0x39, 0x3a, 0x5b, 0x5c, 0x5d, 0x65, 0x7b, 0x7d, 0xc3, 0xff];
  for (const text of known) {
    const whole = Buffer.from(text);
    const changed: Buffer[] = [];
    for (let i = 0; i <= whole.length; i++) {
      if (i < whole.length) changed.push(Buffer.concat([whole.subarray(0, i), whole.subarray(i + 1)]));
      for (const byte of bytes) {
        changed.push(Buffer.concat([whole.subarray(0, i), Buffer.of(byte), whole.subarray(i + 1)]));
        changed.push(Buffer.concat([whole.subarray(0, i), Buffer.of(byte), whole.subarray(i)]));
      }
    }
    decoded(known, changed).forEach((row, i) => {
      assert.equal(row, expected(changed[i]!), JSON.stringify(changed[i]!.toString('latin1')));
    });
  }
});

test('compares keys of every length as a whole', () => {
  for (let length = 1; length <= 80; length++) {
    const key = 'k'.repeat(length);
    const text = (name: string) => `{"${name}":1, "a":2}`;
    const others = Array.from({ length }, (_, i) => `${key.slice(0, i)}x${key.slice(i + 1)}`);
    const names = [key, others[length >> 1]!];
    const messages = [text(key), ...others.map(text), text(key)];
    assert.equal(
      decoded([text(key)], messages, names),
      messages.map((message) => expected(message, names)),
    );
  }
});

test('reads strings and numbers of every length around blocks of 16 bytes', () => {
  const messages: string[] = [];
  for (let length = 0; length <= 50; length++) {
    const digits = '1234567890'.repeat(5).slice(0, length);
    messages.push(
      JSON.stringify({ s: 'x'.repeat(length), a: length }),
      JSON.stringify({ s: `${'x'.repeat(length)}é`, a: length }),
      JSON.stringify({ s: `${'x'.repeat(length)}"\\\n`, a: length }),
      JSON.stringify({ n: 'x'.repeat(length), a: length }),
      `{"s":"","a":-${digits || 0},"b":0.${digits || 0}}`,
      `{"s":"","n":-${digits || 0}.5 ,"b":${digits || 0}.5}`,
      `{"n":${digits || 0},"b":${digits || 0}}`,
    );
  }
  assert.equal(
    decoded(messages, messages),
    messages.map((text) => expected(text)),
  );
});

test('reads and refuses escapes at every place of blocks of 16 bytes', () => {
  const escapes = [
    '\\n',
    '\\"',
    '\\\\',
    '\\/',
    '\\b\\f\\r\\t',
    '\\u00e9',
    '\\ud83d\\ude00',
    '\\u20AC\\u0041',
    'é\\u0000',
  ];
  const broken = ['\\', '\\x', '\\u', '\\u12', '\\u12g4', '\\N', '\\a', '\\]', '\\u', '\u0001'];
  const messages: string[] = [];
  for (let before = 0; before < 20; before++) {
    for (const one of [...escapes, ...broken]) {
      for (const after of ['', 'y', 'y'.repeat(15)]) {
        messages.push(
          `{"s":"${'x'.repeat(before)}${one}${after}"}`,
          `{"n":"${'x'.repeat(before)}${one}${after}","a":1}`,
          `{"${'x'.repeat(before)}${one}${after}":1,"a":1}`,
        );
      }
    }
  }
  assert.equal(
    decoded(messages, messages),
    messages.map((text) => expected(text)),
  );
});

test('reads exponents as JSON.parse does', () => {
  const messages: string[] = [];
  for (const digits of ['0', '-0', '1', '-1.5', '123456789012345', '0.1', '17.00000000001', '12345678901234567']) {
    for (const exponent of [
      '0',
      '1',
      '+2',
      '-3',
      '22',
      '23',
      '-22',
      '-23',
      '007',
      '99',
      '100',
      '-300',
      '310',
      '-400',
      '',
      '+',
      '-',
      'x',
      '1.5',
    ]) {
      messages.push(
        `{"a":${digits}e${exponent},"b":1}`,
        `{"n":${digits}E${exponent}}`,
        `{"a":[${digits}E${exponent}]}`,
      );
    }
  }
  const finite = messages.filter((text) => !/null/.test(JSON.stringify(expected(text))));
  assert.equal(
    decoded(messages, finite),
    finite.map((text) => expected(text)),
  );
});

test('reads a number behind numbers of another shape as it reads it in a first message', () => {
  const numbers = [
    '0',
    '-0',
    '7',
    '-7',
    '42',
    '-4.5',
    '4.5',
    '4.50',
    '0.5',
    '0.0000001',
    '0.1234567',
    '00',
    '01.5',
    '0.0',
    '100',
  ];
  numbers.push(
    '-0.0',
    '1234567.25',
    '123456789012345',
    '-123456789012345',
    '1234567890.12345',
    '12345678901.2345',
    '1e3',
  );
  numbers.push(
    '1234567890123456',
    '12345.678901234567',
    '1.5e2',
    '99E-1',
    '1.',
    '.5',
    '-',
    '1.2.3',
    '5-',
    '4e',
    'true',
    '"6"',
  );
  const text = (number: string) => `{"a":${number},"n":${number},"b":1}\n`;
  const types = ['any', 'float', 'bigint', 'string'] as const;
  for (const type of types) {
    const columns: ColumnUse[] = [{ kind: 'field', name: 'a', type: { type } }, field('b')];
    const read = (source: TestSource, number: string) => {
      const { columns: values, raw, errors } = source.feed(Buffer.from(text(number)))[0]!;
      return { values, raw, isError: errors[0] !== undefined };
    };
    for (const before of numbers) {
      const source = new TestSource(kernel, {}, columns);
      for (const number of numbers) {
        for (let i = 0; i < 6; i++) read(source, before);
        const first = new TestSource(kernel, {}, columns);
        assert.equal(read(source, number), read(first, number), `${number} behind ${before} as ${type}`);
        first.close();
      }
      source.close();
    }
  }
});

test(
  'reads numbers of several shapes in turn, with other bytes behind them, as it reads each in a first ' + 'message',
  () => {
    const numbers = [
      '-0',
      '0',
      '-7',
      '42',
      '4.5',
      '-4.5',
      '4.50',
      '0.5',
      '01.5',
      '100',
      '-100.25',
      '12345678901.2345',
      '1e3',
    ];
    const behind = ['', ' ', '\t', '\n'];
    let seed = 1;
    const next = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    for (const type of ['any', 'float', 'bigint'] as const) {
      const columns: ColumnUse[] = [{ kind: 'field', name: 'a', type: { type } }, field('b')];
      const read = (source: TestSource, message: string) => {
        const { columns: values, raw, errors } = source.feed(publish('t', message))[0]!;
        return { values, raw, isError: errors[0] !== undefined };
      };
      for (let round = 0; round < 60; round++) {
        const source = new TestSource(kernel, { framing: 'mqtt' }, columns);
        const some = Array.from({ length: 2 + (round % 3) }, () => numbers[next(numbers.length)]!);
        const ends = Array.from({ length: 1 + (round % 2) }, () => behind[next(behind.length)]!);
        for (let i = 0; i < 40; i++) {
          const number = some[next(some.length)]! + ends[next(ends.length)]!;
          const message = `{"a":${number},"n":${number},"b":${number}}`;
          const first = new TestSource(kernel, { framing: 'mqtt' }, columns);
          assert.equal(read(source, message), read(first, message), `${message} as ${type}, among ${some.join(' ')}`);
          first.close();
        }
        source.close();
      }
    }
  },
);

test('keeps the last of equal keys, in known and unknown order', () => {
  const messages = ['{"a":1,"a":2}', '{"a":1,"b":3,"a":"z"}', '{"a":1,"a":2,"a":3}'];
  assert.equal(decoded(messages, messages), [{ a: 2 }, { a: 'z', b: 3 }, { a: 3 }]);
});

test('reads keys in any order, keys that never come again and more keys than are learnt', () => {
  let seed = 7;
  const below = (n: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
  const messages = Array.from({ length: 9000 }, (_, i) => {
    const keys = ['a', 'b', 's', ...Array.from({ length: 6 }, () => `k${below(i < 3000 ? 12 : 300)}`), `once${i}`];
    for (let k = keys.length - 1; k > 0; k--) {
      const j = below(k + 1);
      [keys[k], keys[j]] = [keys[j]!, keys[k]!];
    }
    return `{${keys.map((key) => `"${key}":${key === 's' ? `"${i}"` : i}`).join(below(2) ? ',' : ', ')}}`;
  });
  assert.equal(
    decoded(messages.slice(0, 500), messages),
    messages.map((text) => expected(text)),
  );
});

test('reads lists of known objects, and objects with space around them', () => {
  const one = '{"a":1,"s":"x"}';
  const list = `[${one}, ${one} ,\n{"s":"y","a":2}]`;
  const before = [one, list, ` ${one} `];
  assert.equal(decoded(before, [list, `\n${one}\t`, `[${one}`, `[${one}}]`, `${one}]`, `${one} x`, one]).slice(-9), [
    { a: 1, s: 'x' },
    { a: 1, s: 'x' },
    { a: 2, s: 'y' },
    { a: 1, s: 'x' },
    'error',
    'error',
    'error',
    'error',
    { a: 1, s: 'x' },
  ]);
});

test('gives a value to all columns of its name, each in its own type', () => {
  const source = new TestSource(kernel, {}, [
    { kind: 'field', name: 'a', type: { type: 'string' } },
    { kind: 'field', name: 'a', type: { type: 'bigint' } },
    field('b'),
  ]);
  const [batch] = source.feed(Buffer.from('{"b":0,"a":1}\n{"b":0,"a":2}\n{"b":0,"a":3}\n{"b":0,"a":4}\n'));
  assert.equal(batch!.columns, [
    ['1', '2', '3', '4'],
    [1n, 2n, 3n, 4n],
    [0, 0, 0, 0],
  ]);
  source.close();
});

test('forgets what was learnt when the columns in use change', () => {
  const source = new TestSource(kernel, {}, [field('a')]);
  const line = Buffer.from('{"a":1,"b":2}\n');
  for (let i = 0; i < 3; i++) source.feed(line);
  source.use(field('b'));
  assert.equal(source.feed(line)[0]!.columns, [[1], [2]]);
  kernel.sourceRelease(source.node, 0);
  assert.equal(source.feed(line)[0]!.columns[1], [2]);
  source.close();
});

test('learns all keys of messages with many of them, whichever names they have', () => {
  const keys = 24;
  for (let names = 0; names < 100; names++) {
    const text = `{${Array.from({ length: keys }, (_, i) => `"${names}-${i}":${i}`).join(',')}}`;
    const source = new TestSource(kernel, { framing: 'mqtt' }, [field(`${names}-0`)]);
    source.feed(Buffer.concat(Array.from({ length: 50 }, () => publish('t', text))));
    // Three that every source has, one for each key, the end.
    assert.is(kernel.stepCount(source.node), 3 + keys + 1, text);
    source.close();
  }
});

test('gives the memory of the steps back with the source', () => {
  const once = () => {
    const source = new TestSource(kernel, {}, [field('a')]);
    const keys = Array.from({ length: 400 }, (_, i) => `"k${i}":${i}`).join(',');
    for (let i = 0; i < 4; i++) source.feed(Buffer.from(`{${keys},"a":1}\n`));
    source.close();
  };
  assert.is(leftBehind(kernel, once), 0n);
});

test.run();

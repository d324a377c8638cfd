import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { StreamSpec } from '../../../kernels/api.js';
import type { ColumnType, ColumnUse } from '../../../kernels/plan/ir.js';
import { Instant } from '../../../kernels/values/value.js';
import { field, publish } from '../../support/kernel/streams.js';
import { joined, leftBehind, loadTextKernel, TestSource } from '../../support/kernel/text-kernel.js';

const kernel = loadTextKernel();

const typed = (name: string, type: ColumnType): ColumnUse => ({ kind: 'field', name, type });

/** Rows of one column over JSON lines; an error row gives { error }. */
function rows(spec: Partial<StreamSpec>, use: ColumnUse, lines: string[]): unknown[] {
  const source = new TestSource(kernel, spec, [use]);
  const all = joined(source.feed(Buffer.from(`${lines.join('\n')}\n`)));
  source.close();
  return all.errors.map((error, row) => (error === undefined ? all.columns[0]![row] : { error }));
}

const bytes = (text: string) => new TextEncoder().encode(text);

/** The inputs of the recorded cases about declared columns. */
const inputs = ['1', '1.9', '"12"', '"abc"', 'true', 'null', '[1]', '{"k":1}']
  .map((value) => `{"a":${value}}`)
  .concat('{}');
const wrong = (found: string, expected: string) => ({ error: `a has wrong type:${found}, expect:${expected}` });

test('decodes the columns in use from MQTT packets', () => {
  const source = new TestSource(kernel, { framing: 'mqtt' }, [
    field('id'),
    field('device'),
    field('temp'),
    field('none'),
  ]);
  const packets = Array.from({ length: 3000 }, (_, i) =>
    publish('a/b', `{"id":${i},"device":"dev-${i % 7}","temp":${i / 10},"hum":55.1,"ts":1700000000000}`),
  );
  const batches = source.feed(Buffer.concat(packets));
  assert.is(batches.length, 3);
  assert.equal(batches[0]!.uniform, [4, 5, 4, 0]);
  const all = joined(batches);
  assert.equal(
    all.columns[0],
    packets.map((_, i) => i),
  );
  assert.equal(
    all.columns[1],
    packets.map((_, i) => `dev-${i % 7}`),
  );
  assert.equal(
    all.columns[2],
    packets.map((_, i) => i / 10),
  );
  assert.ok(all.columns[3]!.every((value) => value === undefined));
  assert.is(batches[0]!.raw[2]![15], '1.5');
  source.close();
});

test('converts declared columns and refuses wrong types', () => {
  const cases: [ColumnType, unknown[]][] = [
    [
      { type: 'bigint' },
      [
        1n,
        { error: 'a is not a whole number, expect:bigint: 1.9' },
        wrong('string', 'bigint'),
        wrong('string', 'bigint'),
        wrong('true', 'bigint'),
        null,
        wrong('array', 'bigint'),
        wrong('object', 'bigint'),
        undefined,
      ],
    ],
    [
      { type: 'float' },
      [
        1,
        1.9,
        wrong('string', 'float'),
        wrong('string', 'float'),
        wrong('true', 'float'),
        null,
        wrong('array', 'float'),
        wrong('object', 'float'),
        undefined,
      ],
    ],
    [
      { type: 'string' },
      [
        '1',
        '1.9',
        '12',
        'abc',
        wrong('true', 'string'),
        null,
        wrong('array', 'string'),
        wrong('object', 'string'),
        undefined,
      ],
    ],
    [
      { type: 'datetime' },
      [
        1,
        1.9,
        '12',
        'abc',
        wrong('true', 'datetime'),
        null,
        wrong('array', 'datetime'),
        wrong('object', 'datetime'),
        undefined,
      ],
    ],
    [
      { type: 'boolean' },
      [
        true,
        true,
        wrong('string', 'boolean'),
        wrong('string', 'boolean'),
        true,
        null,
        wrong('array', 'boolean'),
        wrong('object', 'boolean'),
        undefined,
      ],
    ],
    [
      { type: 'bytea' },
      [
        wrong('number', 'bytea'),
        wrong('number', 'bytea'),
        bytes('12'),
        bytes('abc'),
        wrong('true', 'bytea'),
        null,
        wrong('array', 'bytea'),
        wrong('object', 'bytea'),
        undefined,
      ],
    ],
    [
      { type: 'array', element: { type: 'bigint' } },
      [
        wrong('number', 'array'),
        wrong('number', 'array'),
        wrong('string', 'array'),
        wrong('string', 'array'),
        wrong('true', 'array'),
        null,
        [1n],
        wrong('object', 'array'),
        undefined,
      ],
    ],
    [
      { type: 'struct', fields: [{ name: 'k', type: { type: 'bigint' } }] },
      [
        wrong('number', 'struct'),
        wrong('number', 'struct'),
        wrong('string', 'struct'),
        wrong('string', 'struct'),
        wrong('true', 'struct'),
        null,
        wrong('array', 'struct'),
        { k: 1n },
        undefined,
      ],
    ],
  ];
  for (const [type, expected] of cases) {
    const spec = { schema: [{ name: 'a', type }] };
    // Twice, so that the second time goes by learnt shapes.
    assert.equal(rows(spec, typed('a', type), [...inputs, ...inputs]), [...expected, ...expected], type.type);
  }
});

test('validates strictly: missing and null columns, defaults, times', () => {
  const strict = (type: ColumnType, lines: string[], value?: number) =>
    rows(
      {
        strict: true,
        schema: [{ name: 'a', type, default: value === undefined ? undefined : { tag: 'i64', value: BigInt(value) } }],
      },
      typed('a', type),
      lines,
    );
  assert.equal(strict({ type: 'bigint' }, ['{"a":3}', '{"a":null}', '{}']), [
    3n,
    { error: 'field a type mismatch: cannot convert null to bigint' },
    { error: 'field a is not found' },
  ]);
  assert.equal(strict({ type: 'bigint' }, ['{}', '{"a":3}'], 7), [7n, 3n]);
  assert.equal(strict({ type: 'datetime' }, ['{"a":1}', '{"a":1.9}', '{"a":"2024-02-03T04:05:06Z"}', '{"a":"abc"}']), [
    new Instant(1_000_000n),
    new Instant(1_000_000n),
    new Instant(1706933106000000000n),
    { error: "field a type mismatch: Can't parse string as time: abc" },
  ]);
  assert.equal(strict({ type: 'array', element: { type: 'bigint' } }, ['{"a":null}']), [null]);
});

test('types and prunes nested values', () => {
  const type: ColumnType = {
    type: 'struct',
    fields: [
      { name: 'x', type: { type: 'bigint' } },
      {
        name: 'l',
        type: { type: 'array', element: { type: 'struct', fields: [{ name: 'v', type: { type: 'float' } }] } },
      },
    ],
  };
  assert.equal(rows({}, typed('s', type), ['{"s":{"y":{"z":[1]},"x":1,"l":[{"v":1,"w":2},{}]}}', '{"s":{"x":"1"}}']), [
    { x: 1n, l: [{ v: 1 }, {}] },
    { error: 'x has wrong type:string, expect:bigint' },
  ]);
  const matrix: ColumnType = { type: 'array', element: { type: 'array', element: { type: 'bigint' } } };
  assert.equal(rows({}, typed('m', matrix), ['{"m":[[1,2],[]]}', '{"m":[1]}', '{"m":[["x"]]}']), [
    [[1n, 2n], []],
    { error: 'array has wrong type:number, expect:array' },
    { error: 'array has wrong type:string, expect:bigint' },
  ]);
});

test('treats odd payloads as rows or as one error each', () => {
  const lines = [
    '{"a":1}',
    'not json',
    '[1,2]',
    '[{"a":2},{"a":3}]',
    '5',
    'null',
    '{"a":1,"a":2}',
    '{"a":1e400}',
    '{"a":"\\u00e9\\n"}',
    '{}',
    '{"a":01}',
    '{"a":1,}',
    '',
    '[]',
    '{"a":1} x',
  ];
  const result = rows({}, field('a'), lines).map((value) => (value instanceof Object ? 'error' : value));
  assert.equal(result, [
    1,
    'error',
    'error',
    2,
    3,
    'error',
    'error',
    2,
    Infinity,
    'é\n',
    undefined,
    'error',
    'error',
    'error',
    'error',
  ]);
});

test('spreads long lists of rows over batches and refuses them as a whole', () => {
  const source = new TestSource(kernel, {}, [field('a')]);
  const list = (n: number, last = '') => `[${Array.from({ length: n }, (_, i) => `{"a":${i}}`).join(', ')}${last}]\n`;
  const all = joined(
    source.feed(Buffer.from(`{"a":-1}\n${list(1000)}${list(3000)}${list(2500, ',{"a":x}')}${list(1023)}{"a":-2}\n`)),
  );
  const count = (n: number) => Array.from({ length: n }, (_, i) => i);
  assert.equal(all.columns[0], [-1, ...count(1000), ...count(3000), undefined, ...count(1023), -2]);
  assert.is(all.errors.filter((error) => error !== undefined).length, 1);
  assert.is(Number(kernel.sourceMessages(source.node)), 6);
  assert.is(Number(kernel.sourceDecodeErrors(source.node)), 1);
  source.close();
});

const value = fc.oneof(
  fc.json({ maxDepth: 2, stringUnit: 'binary' }),
  fc.double().map((v) => (Number.isFinite(v) ? String(v) : '1')),
  fc.nat().map(String),
);
const payload = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'long name of a column', 'ü', 'x', 'y'), value), { maxLength: 8 })
  .chain((members) =>
    fc.constantFrom('', ' ', '\t ').map((space) => {
      const list = members.map(([key, text]) => [JSON.stringify(key), ':', text].join(space));
      return ['{', list.join(`,${space}`), '}'].join(space);
    }),
  );

test('gives what JSON.parse gives, whatever the shapes', () => {
  const names = ['a', 'long name of a column', 'ü', 'none'];
  fc.assert(
    fc.property(
      fc.array(fc.tuple(payload, fc.nat({ max: 3 })), { minLength: 1, maxLength: 12 }),
      fc.nat({ max: 2 }),
      (messages, breakAt) => {
        const source = new TestSource(kernel, { framing: 'mqtt' }, names.map(field));
        const texts = messages.flatMap(([text, times]) => Array.from({ length: times + 1 }, () => text));
        if (breakAt === 1) texts.push(texts[0]!.slice(0, -1), texts[0]!);
        const all = joined(source.feed(Buffer.concat(texts.map((text) => publish('t', text)))));
        texts.forEach((text, row) => {
          let expected: Record<string, unknown>;
          try {
            expected = JSON.parse(text) as Record<string, unknown>;
          } catch {
            assert.is.not(all.errors[row], undefined, text);
            return;
          }
          assert.is(all.errors[row], undefined, `${text}: ${all.errors[row]}`);
          names.forEach((name, column) => {
            const cell = all.columns[column]![row];
            const wellFormed = JSON.parse(Buffer.from(JSON.stringify(expected[name] ?? null)).toString());
            const fixed = JSON.parse(JSON.stringify(wellFormed).replace(/\\u(d[89a-f]..)/gi, '\ufffd'));
            if (expected[name] === undefined) assert.is(cell, undefined);
            else if (typeof cell === 'number') assert.is(cell, expected[name]);
            else assert.is(JSON.stringify(cell, sortKeys), JSON.stringify(fixed, sortKeys));
          });
        });
        source.close();
      },
    ),
    { numRuns: 800 },
  );
});

function sortKeys(_key: string, item: unknown): unknown {
  if (item === null || typeof item !== 'object' || Array.isArray(item)) return item;
  return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
}

test('detects broken values in columns nobody needs, also in a known shape', () => {
  const good = '{"a":1,"b":2,"s":"x","n":{"k":[1]}}';
  const broken = [
    '{"a":1,"b":2x,"s":"x","n":{"k":[1]}}',
    '{"a":1,"b":-,"s":"x","n":{"k":[1]}}',
    '{"a":1,"b":2,"s":"\u0001","n":{"k":[1]}}',
    '{"a":1,"b":2,"s":"x","n":{"k":[1}}',
    '{"a":1,"b":2,"s":"x","n":{"k":[1]}',
    '{"a":1,"b":2.,"s":"x","n":nul}',
    '{"a":1,"b":2,"s":"\\q","n":1}',
  ];
  const lines = Buffer.from(broken.flatMap((text) => [good, text]).join('\n'));
  const source = new TestSource(kernel, {}, [field('a')]);
  const invalid = Buffer.from('{"a":1,"b":2,"s":"\u00e9","n":1}');
  invalid[19] = 0x28;
  const all = joined(source.feed(Buffer.concat([lines, Buffer.from('\n'), invalid, Buffer.from('\n')])));
  assert.equal(
    all.errors.map((error) => error !== undefined),
    [...broken.flatMap(() => [false, true]), true],
  );
  source.close();
});

test('reads whole numbers as integers when asked', () => {
  assert.equal(
    rows({ wholeNumbersAreInts: true }, field('a'), ['{"a":9007199254740993}', '{"a":1}', '{"a":1.0}', '{"a":-0}']),
    [9007199254740993n, 1n, 1, 0n],
  );
});

test('gives the whole row, the raw payload and the arrival time', () => {
  kernel.setNow(1234);
  assert.equal(rows({}, { kind: 'row' }, ['{"b":1,"a":{"c":null}}', '{}']), [{ a: { c: null }, b: 1 }, {}]);
  assert.equal(rows({ format: 'binary' }, { kind: 'self' }, ['xyz', '']), [bytes('xyz'), bytes('')]);
  assert.equal(rows({ format: 'binary' }, field('self'), ['xyz']), [bytes('xyz')]);
  assert.equal(rows({}, { kind: 'arrival' }, ['{}']), [1234n]);
});

test('reuses the index of a released column and counts its uses', () => {
  const source = new TestSource(kernel, {}, [field('a'), field('b'), field('a')]);
  assert.equal(source.indexes, [0, 1, 0]);
  kernel.sourceRelease(source.node, 0);
  assert.equal(joined(source.feed(Buffer.from('{"a":1,"b":2}\n'))).columns, [[1], [2], [1]]);
  kernel.sourceRelease(source.node, 0);
  assert.is(source.use(field('c')), 0);
  assert.equal(joined(source.feed(Buffer.from('{"c":1,"b":2}\n'))).columns[0], [1]);
  source.close();
});

test('gives back all memory', () => {
  const types = Array.from({ length: 40 }, (_, i) => field(`c${i}`));
  const once = () => {
    const source = new TestSource(kernel, { framing: 'mqtt', mqttVersion: 5 }, types);
    const alias = Buffer.from([0x23, 0, 7]);
    source.feed(
      Buffer.concat([
        publish('t', '{"c1":1}', { properties: alias }),
        publish('t', '{"c2":1}', { properties: Buffer.alloc(0) }),
      ]),
    );
    source.close();
  };
  assert.is(leftBehind(kernel, once), 0n);
});

test.run();

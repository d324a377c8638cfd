/** Values have a longest length: what would be longer is an error of its row that names the function. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressions } from '../../../host/base/bytes/compression.js';
import { openRule } from '../../support/engine/rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s", FORMAT="json")';
const maxValueBytes = 4096;
const long = 'x'.repeat(2500);

const tooLong: [expression: string, name: string][] = [
  ['concat(a, a)', 'concat'],
  ['concat(a, "-", a, a)', 'concat'],
  ['lpad(a, 2000)', 'lpad'],
  ['rpad(a, 2000)', 'rpad'],
  ['upper(concat(b, b, b, b))', 'concat'],
  ['array_create(a, a)', 'array_create'],
  ['array_concat(array_create(a), array_create(a))', 'array_concat'],
  ['regexp_replace(a, "x", "xxx")', 'regexp_replace'],
  ['[a, a]', 'array'],
  ['[[[b, b], [b, b]], [[b, b], [b, b]]]', 'array'],
];

for (const [expression, name] of tooLong) {
  test(`${expression} is refused when it is too long, and other rows are not`, () => {
    const rule = openRule([stream], `SELECT id, ${expression} AS r FROM s`, { limits: { maxValueBytes } });
    rule.feed('s', [
      { id: 1, a: long, b: 'y'.repeat(1100), o: { k: 1 } },
      { id: 2, a: 'short', b: 's', o: { k: 1 } },
    ]);
    const [first, second] = rule.taken();
    assert.type(first, 'string', JSON.stringify(first).slice(0, 300));
    assert.match(
      first as string,
      new RegExp(`(${name})[^]*longer than a value may be: 4096 bytes \\(maxValueBytes\\)`),
    );
    assert.is((second as { id: number }[])[0]?.id, 2);
    rule.close();
  });
}

for (const [call, name] of [
  ['collect(a)', 'collect'],
  ['collect(*)', 'collect'],
  ['merge_agg(*)', 'merge_agg'],
  ['deduplicate(a, true)', 'deduplicate'],
]) {
  test(`${call} of a window is refused when it is too long: the window sends the error`, () => {
    const sql = `SELECT ${call} AS r FROM s GROUP BY COUNTWINDOW(3)`;
    const rule = openRule([stream], sql, { limits: { maxValueBytes } });
    const row = (i: number, text: string) => ({ id: i, [`a${i}`]: text, a: `${i}${text}` });
    rule.feed(
      's',
      [0, 1, 2].map((i) => row(i, long)),
    );
    rule.feed(
      's',
      [0, 1, 2].map((i) => row(i, 'short')),
    );
    const [first, second] = rule.taken();
    assert.is(first, `${name}: the result is longer than a value may be: 4096 bytes (maxValueBytes)`);
    assert.type(second, 'object');
    rule.close();
  });
}

test('arrays that hold themselves twice from column to column end at the longest value, not in time', () => {
  const names = Array.from({ length: 40 }, (_, i) => `c${i}`);
  const columns = names.map((name, i) => `[${i === 0 ? 'a, a' : `c${i - 1}, c${i - 1}`}] AS ${name}`);
  const rule = openRule([stream], `SELECT ${columns.join(', ')} FROM s`);
  rule.feed(
    's',
    Array.from({ length: 100 }, () => ({ a: 1 })),
  );
  const taken = rule.taken();
  assert.is(taken.length, 100);
  for (const message of taken) assert.match(String(message), /^array: the (result|values)/);
  rule.close();
});

test('rows of a list have no more beside the elements than the length of eight values', () => {
  const rule = openRule([stream], 'SELECT unnest(l) AS u, a FROM s', { limits: { maxValueBytes } });
  const list = Array.from({ length: 20 }, (_, i) => i);
  rule.feed('s', [
    { l: list, a: 'x'.repeat(2000) },
    { l: list, a: 'x'.repeat(1000) },
  ]);
  const [first, ...others] = rule.taken();
  assert.match(String(first), /^unnest: the columns beside the elements take more than 32768 bytes/);
  assert.is(others.length, 20);
  rule.close();
});

test('texts that double from column to column end at the bound of a batch, and their memory is used again', () => {
  const names = 'abcdefghij';
  const doubling = [...names].map(
    (name, i) => `concat(${i === 0 ? 't, t' : `${names[i - 1]}, ${names[i - 1]}`}) AS ${name}`,
  );
  const { kernel, close } = openRule([stream], 'SELECT t FROM s', { limits: { maxValueBytes: 1 << 20 } });
  const rows = Array.from({ length: 1024 }, () => ({ t: 'x'.repeat(900) }));
  const totals: number[] = [];
  const held: number[] = [];
  for (let cycle = 0; cycle < 4; cycle++) {
    const rule = openRule([stream], `SELECT ${doubling.join(', ')} FROM s`, { kernel });
    rule.feed('s', rows);
    const { exceptions, recordsIn, lastException } = kernel.counters(rule.node('encode'));
    assert.is(recordsIn, rows.length);
    assert.ok(exceptions > 0);
    assert.is(lastException, 'concat: the values computed for one batch of rows take more than 67108864 bytes');
    rule.close();
    totals.push(kernel.memory().total);
    held.push(kernel.memory().inUse);
  }
  assert.ok(totals[0]! < 200 << 20, `${totals[0]! >> 20} MiB`);
  assert.is(totals[3], totals[2]);
  assert.is(held[3], held[0]);
  assert.ok(held[0]! < 32 << 20, `${held[0]! >> 20} MiB are held`);
  close();
});

test('a kernel without memory gives errors, whatever function asks for it', () => {
  const limits = { maxMemoryBytes: 24 << 20, maxValueBytes: 1 << 30 };
  const a = 'ä'.repeat(300_000);
  for (const call of [
    'concat(a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a)',
    'upper(concat(a,a,a,a,a,a))',
    'length(concat(a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a))',
    'split_value(concat(a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a), "x", 0)',
    'array_concat([concat(a,a,a,a,a,a,a,a)], [concat(a,a,a,a,a,a,a,a), concat(a,a,a,a,a,a,a,a)])',
    'length([concat(a,a,a,a,a,a,a,a), concat(a,a,a,a,a,a,a,a), concat(a,a,a,a,a,a,a,a)])',
    'cast([concat(a,a,a,a,a,a,a,a), concat(a,a,a,a,a,a,a,a), concat(a,a,a,a,a,a,a,a)], "string")',
  ]) {
    const rule = openRule([stream], `SELECT ${call} AS r FROM s`, { limits });
    for (let i = 0; i < 3; i++) rule.feed('s', [{ a }, { a: 'b' }]);
    const taken = rule.taken();
    assert.is(taken.length, 6, call);
    const failed = taken.filter((message) => typeof message === 'string');
    assert.ok(failed.length >= 3, `${call}: ${failed.length} failed`);
    for (const message of failed) assert.match(String(message), /memory/, call);
    rule.close();
  }
});

for (const [method, { compress }] of Object.entries(compressions)) {
  test(`${method}: what unfolds to more than a value may be is an error, and is not unfolded any further`, () => {
    const sql = `SELECT length(cast(decompress(decode(a, "base64"), "${method}"), "string")) AS r FROM s`;
    const rule = openRule([stream], sql, { limits: { maxValueBytes } });
    const packed = (bytes: number) => Buffer.from(compress(Buffer.alloc(bytes, 120))).toString('base64');
    rule.feed('s', [{ a: packed(2 << 20) }, { a: packed(4000) }]);
    const [first, second] = rule.taken();
    assert.match(first as string, new RegExp(`cannot decompress by ${method}: .*more than 4096 bytes`));
    assert.equal(second, [{ r: 4000 }]);
    rule.close();
  });
}

test.run();

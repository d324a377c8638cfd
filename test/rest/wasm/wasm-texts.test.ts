/**
 * Functions of WebAssembly plugins over texts, times, lists and batches, aggregates: what comes in and out, and what
 * guests get wrong.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);
const bytes = readFileSync(new URL('../../guests/texts.wasm', import.meta.url));

test('a module with its manifest in a section brings functions over texts', async () => {
  const answer = await server.request('POST', '/plugins/wasm', { name: 'texts', bytecode: bytes.toString('base64') });
  assert.is(answer.status, 201, answer.text);
  assert.ok(answer.json.functions.includes('nulls_among'));
  assert.equal(
    await rule.results('SELECT shout(a) AS s, glue(a, b) AS g, SIZE_OF(a) AS n, is_long(b, 3) AS l FROM s', [
      { a: 'été', b: 'long' },
      { a: '', b: '' },
      { a: 'x'.repeat(100), b: '\u{1f600}' },
    ]),
    [
      { s: 'éTé!', g: 'étélong', n: 5, l: true },
      { s: '!', g: '', n: 0, l: false },
      { s: `${'X'.repeat(100)}!`, g: `${'x'.repeat(100)}\u{1f600}`, n: 100, l: true },
    ],
  );
});

test('times, bytes, objects, lists and any value go in and come back', async () => {
  assert.equal(
    await rule.results(
      `SELECT later(cast(t, "datetime"), 1.5) AS t, same_object(o) AS o, same_array(l) AS l,
         same_any(o->x) AS x, encode(same_bytes(cast(s, "bytea")), "base64") AS y FROM s`,
      [{ t: 1000, o: { x: 1, y: [true, null, 'z"'] }, l: [1, 2.5, {}], s: 'ab' }],
    ),
    [{ t: '1970-01-01T00:00:02.5Z', o: { x: 1, y: [true, null, 'z"'] }, l: [1, 2.5, {}], x: 1, y: 'YWI=' }],
  );
});

test('values of other types and results that are something else are errors of their rows', async () => {
  const rows = [{ v: 1 }, { v: 'a' }, { v: '[1]' }, { v: '{"a":2}' }, {}];
  assert.equal(await rule.results('SELECT as_object(v) AS r FROM s', rows), [
    'function as_object of texts: argument 1 is a float, not a string',
    `function as_object of texts: the result is no JSON: Unexpected token 'a', "a" is not valid JSON`,
    'function as_object of texts: the result is JSON, but no object',
    { r: { a: 2 } },
    {},
  ]);
});

test('a guest says which rows fail or are null, and which arguments are', async () => {
  assert.equal(
    await rule.results(
      'SELECT positive(v) AS r FROM s',
      [3, -1, 0, 4].map((v) => ({ v })),
    ),
    [{ r: 3 }, 'function positive of texts: it is below zero', {}, { r: 4 }],
  );
  assert.equal(
    await rule.results('SELECT nulls_among(a, b) AS r FROM s', [{ a: 'x', b: 1 }, { a: null, b: 1 }, { a: 'x' }, {}]),
    [{ r: 'none' }, { r: 'a' }, { r: 'b' }, { r: 'a and b' }],
  );
});

test('wild results, texts that are no UTF-8, traps and endless loops cost their own rows only', async () => {
  const rows = await rule.results(
    'SELECT sick_text(v) AS r FROM s',
    [0, 1, 2, 3, 4, 5, 6, 7, 8].map((v) => ({ v })),
  );
  const of = 'function sick_text of texts:';
  assert.equal(rows, [
    { r: 'ok' },
    `${of} the result lies outside of its memory`,
    `${of} the result lies outside of its memory`,
    `${of} the result is no UTF-8`,
    `${of} unreachable`,
    `${of} the call took more fuel than it may`,
    {},
    { r: '' },
    { r: 'ok' },
  ]);
});

test('texts longer than the room for them come out whole, what the guest has no memory for is an error', async () => {
  const rows = await rule.results(
    'SELECT length(many_x(v)) AS r FROM s',
    [10, 200_000, 70_000, 10, 1_000_000_000].map((v) => ({ v })),
  );
  assert.equal(rows, [{ r: 10 }, { r: 200_000 }, { r: 70_000 }, { r: 10 }, 'function many_x of texts: no memory']);
});

test(
  'a function that takes a batch is called for all rows, and those that it cannot take fail by ' + 'themselves',
  async () => {
    assert.equal(
      await rule.results('SELECT sums(a, 0.5) AS r FROM s', [
        { a: 1 },
        { a: 13 },
        {},
        { a: 14 },
        { a: 'x' },
        { a: 2.5 },
        { a: 13 },
      ]),
      [
        { r: 1.5 },
        'function sums of texts: unreachable',
        {},
        {},
        'function sums of texts: argument 1 is a string, not a float',
        { r: 3 },
        'function sums of texts: unreachable',
      ],
    );
    assert.equal(await rule.results('SELECT trims(a) AS r FROM s', [{ a: '  é x ' }, { a: ' ' }, { a: 'y' }]), [
      { r: 'é x' },
      'function trims of texts: nothing is left',
      { r: 'y' },
    ]);
    assert.equal(await rule.results('SELECT refuses(a) AS r FROM s', [{ a: 1 }]), [
      'function refuses of texts: it gave code 7',
    ]);
  },
);

test('an aggregate goes through the rows of each group', async () => {
  const select = 'SELECT k, longest(v) AS r FROM s GROUP BY k, COUNTWINDOW(4)';
  const of = (v: (string | null)[]) => v.map((text, i) => ({ v: text, k: i % 2 }));
  assert.equal(await rule.results(select, of(['a', 'bb', 'ccc', null])), [
    { k: 0, r: 'ccc' },
    { k: 1, r: 'bb' },
  ]);
  assert.equal(await rule.results(select, of(['a', 'bb', 'x'.repeat(70), ''])), [
    'function longest of texts: a text has more than 64 bytes',
  ]);
});

test('rows that trap leave the others of a batch their fuel', async () => {
  const rows = Array.from({ length: 100 }, (_, i) => ({ v: i % 2 === 0 ? 4 : 8 }));
  const results = await rule.results('SELECT sick_text(v) AS r FROM s', rows);
  assert.is(results.filter((row) => row === 'function sick_text of texts: unreachable').length, 50);
  assert.is(results.filter((row) => typeof row === 'object').length, 50);
});

test('a guest of the development kits of Extism gets a text and gives one', async () => {
  const kit = readFileSync(new URL('../../guests/kit.wasm', import.meta.url));
  const body = { name: 'kit', bytecode: kit.toString('base64') };
  const answer = await server.request('POST', '/plugins/wasm', body);
  assert.is(answer.status, 201, answer.text);
  assert.equal(answer.json.functions, ['loud', 'times', 'trips', 'fails', 'silent', 'strays']);
  assert.equal(
    await rule.results('SELECT loud(a) AS x, loud(b) AS y, loud(a, b, 1) AS z, times(a) AS n, silent(a) AS s FROM s', [
      { a: 'hello, world', b: { c: [1, 'x'] } },
      { a: 'é', b: true },
      { b: 1 },
    ]),
    [
      { x: 'HELLO, WORLD', y: '{"C":[1,"X"]}', z: '["HELLO, WORLD",{"C":[1,"X"]},1]', n: '1', s: '' },
      { x: 'é', y: 'TRUE', z: '["é",TRUE,1]', n: '2', s: '' },
      { y: '1' },
    ],
  );
  assert.equal(await rule.results('SELECT fails(a) AS r FROM s', [{ a: 'x' }, { a: '' }]), [
    'function fails of kit: nothing of this kind',
    'function fails of kit: it failed and did not say why',
  ]);
  const rows = await rule.results(
    'SELECT strays(v) AS r FROM s',
    ['o', 'i', 'l', 'e', 'a', 'h', 'c', 'x'].map((v) => ({ v })),
  );
  const of = 'function strays of kit:';
  assert.equal(rows, [
    `${of} the result lies outside of its memory`,
    `${of} unreachable`,
    `${of} unreachable`,
    `${of} it failed with a message that lies outside of the memory`,
    { r: '' },
    `${of} HTTP requests are not given to plugins`,
    { r: '' },
    { r: '' },
  ]);
  // Inputs and outputs that together are more than the 64 MiB that are given out at once.
  const long = Array.from({ length: 180 }, () => ({ v: 'y'.repeat(200_000) }));
  const lengths = await rule.results('SELECT length(loud(v)) AS r FROM s', long);
  assert.equal([...new Set(lengths.map((row) => JSON.stringify(row)))], ['{"r":200000}']);
});

test.run();

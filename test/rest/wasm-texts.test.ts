/** Functions of WebAssembly plugins over texts, times, lists and batches, aggregates: what comes in and out, and what guests get wrong. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../host/plugins/wasm/embed.js';
import { eventually, startServer } from '../harness.js';
import { compileText } from '../unit/plugins/modules.js';
import { RowsThrough } from './rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);
const bytes = readFileSync(new URL('../guests/texts.wasm', import.meta.url));

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

test('a function that takes a batch is called for all rows, and those that it cannot take fail by themselves', async () => {
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
});

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

const script = `
  @external("haumea", "fail") declare function fail(at: usize, length: i32): void;
  export function reversed(text: string): string { return text.split("").reverse().join(""); }
  export function joined(a: string, b: string): string { return a + "/" + b; }
  export function letters(text: string): i32 { return text.length; }
  export function found(text: string): string | null { return text.length > 2 ? text : null; }
  export function halved(bytes: ArrayBuffer): ArrayBuffer { return bytes.slice(0, bytes.byteLength / 2); }
  export function strict(text: string): string { if (text == "") throw new Error("nothing given"); return text; }
  export function wild(what: i32): usize { return what == 0 ? 0x7fffffff : what == 1 ? 3 : changetype<usize>(new Array<i32>(4)); }
  export function repeated(text: string, times: i64): string { return text.repeat(<i32>times); }`;

test('a guest of AssemblyScript takes and gives strings, buffers and nulls', async () => {
  const module = await compileText(script, '--runtime', 'incremental', '--exportRuntime');
  const one = (name: string, args: string[], result: string) => ({ name, args, result });
  const functions = [
    one('reversed', ['string'], 'string'),
    one('joined', ['string', 'string'], 'string'),
    one('letters', ['string'], 'bigint'),
    one('found', ['string'], 'string'),
    one('halved', ['bytea'], 'bytea'),
    one('strict', ['string'], 'string'),
    one('wild', ['bigint'], 'string'),
    one('repeated', ['string', 'bigint'], 'string'),
  ];
  const bytecode = withManifest(module, JSON.stringify({ abi: 1, functions }));
  const body = { name: 'strings', bytecode: Buffer.from(bytecode).toString('base64') };
  const answer = await server.request('POST', '/plugins/wasm', body);
  assert.is(answer.status, 201, answer.text);
  assert.equal(
    await rule.results(
      `SELECT reversed(a) AS r, joined(a, b) AS j, letters(a) AS l, found(a) AS f,
         encode(halved(cast(a, "bytea")), "base64") AS h FROM s`,
      [
        { a: 'abc', b: 'd' },
        { a: 'é\u{20ac}', b: '\u{1f600}' },
      ],
    ),
    [
      { r: 'cba', j: 'abc/d', l: 3, f: 'abc', h: 'YQ==' },
      { r: '\u{20ac}é', j: 'é\u{20ac}/\u{1f600}', l: 2, h: 'w6k=' },
    ],
  );
  const of = 'function wild of strings: the result';
  assert.equal(
    await rule.results(
      'SELECT wild(v) AS r FROM s',
      [0, 1, 2].map((v) => ({ v })),
    ),
    [`${of} lies outside of its memory`, `${of} lies outside of its memory`, `${of} is no String`],
  );
  const texts = await rule.results('SELECT strict(v) AS r FROM s', [{ v: 'a' }, { v: '' }, { v: 'b' }]);
  assert.equal([texts[0], texts[2]], [{ r: 'a' }, { r: 'b' }]);
  assert.match(String(texts[1]), /^function strict of strings: nothing given \(\d+:\d+\)$/);
  // More garbage than the memory holds, in batches that have fuel for it.
  const rows = Array.from({ length: 20_000 }, (_, i) => ({ v: String(i % 10) }));
  const lengths = await rule.results('SELECT length(repeated(v, 2000)) AS r FROM s', rows);
  assert.equal([...new Set(lengths.map((row) => JSON.stringify(row)))], ['{"r":2000}']);
});

test('a guest of the development kits of Extism gets a text and gives one', async () => {
  const kit = readFileSync(new URL('../guests/kit.wasm', import.meta.url));
  const body = { name: 'kit', bytecode: kit.toString('base64') };
  const answer = await server.request('POST', '/plugins/wasm', body);
  assert.is(answer.status, 201, answer.text);
  assert.equal(answer.json.functions, ['loud', 'times', 'fails', 'silent', 'strays']);
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
  // More than is given out at once.
  const long = Array.from({ length: 300 }, () => ({ v: 'y'.repeat(200_000) }));
  const lengths = await rule.results('SELECT length(loud(v)) AS r FROM s', long);
  assert.equal([...new Set(lengths.map((row) => JSON.stringify(row)))], ['{"r":200000}']);
});

const pairs = `
  export function read_pairs(message: ArrayBuffer): string {
    const parts = String.UTF8.decode(message).split(";");
    let out = "";
    for (let i = 0; i < parts.length; i++) {
      const at = parts[i].indexOf("=");
      if (at < 0) throw new Error("no pair: " + parts[i]);
      out += (i == 0 ? "{" : ",") + '"' + parts[i].substring(0, at) + '":' + parts[i].substring(at + 1);
    }
    return out + "}";
  }
  export function write_pairs(row: string): ArrayBuffer {
    const text = row.substring(1, row.length - 1).replaceAll('"', "").replaceAll(":", "=");
    return String.UTF8.encode(text.replaceAll(",", ";"));
  }`;

test('functions read and write messages of a form of their own', async () => {
  const module = await compileText(pairs, '--runtime', 'incremental', '--exportRuntime');
  const functions = [
    { name: 'read_pairs', args: ['bytea'], result: 'object' },
    { name: 'write_pairs', args: ['object'], result: 'bytea' },
  ];
  const bytecode = Buffer.from(withManifest(module, JSON.stringify({ abi: 1, functions }))).toString('base64');
  const answer = await server.request('POST', '/plugins/wasm', { name: 'pairs', bytecode });
  assert.is(answer.status, 201, answer.text);
  const [source, sink] = [join(server.data, 'rows', 'pairs.in'), join(server.data, 'rows', 'pairs.out')];
  writeFileSync(source, 'a=1;b=2\nnothing\na=5;b=7\n');
  const sql = `CREATE STREAM lines_of_pairs () WITH (TYPE="file", DATASOURCE="${source}", FORMAT="binary", CONF_KEY="lines")`;
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const made = await server.request('POST', '/rules', {
    id: 'pairs',
    sql: `SELECT write_pairs(object_construct("sum", a + b)) AS self
      FROM (SELECT extract(read_pairs(self)) FROM lines_of_pairs) AS p`,
    actions: [{ file: { path: sink, fileType: 'lines', format: 'binary', sendSingle: true } }],
    options: { sendError: true },
  });
  assert.is(made.status, 201, made.text);
  await eventually('the end of the rule', async () =>
    /^stopped/i.test((await server.request('GET', '/rules/pairs/status')).json.status),
  );
  const [first, wrong, last] = readFileSync(sink, 'utf8').split('\n');
  assert.equal([first, last], ['sum=3', 'sum=12']);
  assert.match(wrong ?? '', /^function read_pairs of pairs: no pair: nothing/);
});

test('an allocator that gives nothing, lies, traps or does not end is an error of the rows that need it', async () => {
  const allocators: [body: string, reason: string][] = [
    ['return 0;', 'its allocator gave no memory for'],
    ['return 0x7fff0000;', 'lie outside of its memory'],
    ['unreachable(); return 0;', 'unreachable'],
    ['while (true) size |= 1; return size;', 'the call took more fuel than it may'],
    ['return again(size);', 'the stack is exhausted'],
  ];
  for (const [i, [body, reason]] of allocators.entries()) {
    const module = await compileText(
      `function again(n: i32): i32 { return n == -1 ? 0 : again(n + 1) + again(n + 2); }
       export function haumea_alloc(size: i32): i32 { ${body} }
       export function letters${i}(text: i32, length: i32): i64 { return length; }
       export function more${i}(n: i64): i64 { return n + 1; }`,
    );
    const functions = [
      { name: `letters${i}`, args: ['string'], result: 'bigint' },
      { name: `more${i}`, args: ['bigint'], result: 'bigint' },
    ];
    const bytecode = Buffer.from(withManifest(module, JSON.stringify({ abi: 1, functions }))).toString('base64');
    const answer = await server.request('POST', '/plugins/wasm', { name: `taker${i}`, bytecode });
    assert.is(answer.status, 201, answer.text);
    const [text, number] = await rule.results(`SELECT letters${i}(v) AS r, more${i}(n) AS n FROM s`, [
      { v: 'a', n: 1 },
      { n: 1 },
    ]);
    assert.match(String(text), reason === 'the stack is exhausted' ? /stack|fuel/ : new RegExp(reason));
    assert.equal(number, { n: 2 });
  }
});

test.run();

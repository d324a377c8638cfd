/** Guests of AssemblyScript: strings and buffers of its run time, formats of messages, allocators that fail. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { eventually, startServer } from '../../support/harness.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);
const guest = (name: string) => readFileSync(new URL(`../../guests/${name}.wasm`, import.meta.url));

test('a guest of AssemblyScript takes and gives strings, buffers and nulls', async () => {
  const one = (name: string, args: string[], result: string) => ({ name, args, result });
  const functions = [
    one('reversed', ['string'], 'string'),
    one('joined', ['string', 'string'], 'string'),
    one('letters', ['string'], 'bigint'),
    one('found', ['string'], 'string'),
    one('halved', ['bytea'], 'bytea'),
    one('strict', ['string'], 'string'),
    one('wild', ['bigint'], 'string'),
    one('wasted', ['string', 'bigint'], 'bigint'),
    one('read_pairs', ['bytea'], 'object'),
    one('write_pairs', ['object'], 'bytea'),
  ];
  const bytecode = withManifest(guest('strings'), JSON.stringify({ abi: 1, functions }));
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
  const rows = Array.from({ length: 2000 }, (_, i) => ({ v: String(i % 10) }));
  const lengths = await rule.results('SELECT wasted(v, 100000) AS r FROM s', rows);
  assert.equal([...new Set(lengths.map((row) => JSON.stringify(row)))], ['{"r":100001}']);
});

test('functions read and write messages of a form of their own', async () => {
  const [source, sink] = [join(server.data, 'rows', 'pairs.in'), join(server.data, 'rows', 'pairs.out')];
  mkdirSync(join(server.data, 'rows'), { recursive: true });
  writeFileSync(source, 'a=1;b=2\nnothing\na=5;b=7\n');
  const key = await server.request('PUT', '/metadata/sources/file/confKeys/lines', { fileType: 'lines' });
  assert.is(key.status, 200, key.text);
  const sql =
    `CREATE STREAM lines_of_pairs () WITH (TYPE="file", DATASOURCE="${source}", FORMAT="binary", ` +
    'CONF_KEY="lines")';
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
  assert.match(wrong ?? '', /^function read_pairs of strings: no pair: nothing/);
});

test('an allocator that gives nothing, lies, traps or does not end is an error of the rows that need it', async () => {
  const functions = [
    { name: 'taker_mode', args: ['bigint'], result: 'bigint' },
    { name: 'letters_taken', args: ['string'], result: 'bigint' },
  ];
  const bytecode = withManifest(guest('allocators'), JSON.stringify({ abi: 1, functions }));
  const body = { name: 'taker', bytecode: Buffer.from(bytecode).toString('base64') };
  const answer = await server.request('POST', '/plugins/wasm', body);
  assert.is(answer.status, 201, answer.text);
  const reasons = [
    /its allocator gave no memory for \d+ bytes/,
    /its allocator gave \d+ bytes that lie outside of its memory/,
    /unreachable/,
    /the call took more fuel than it may/,
    /stack|fuel/,
  ];
  for (const [mode, reason] of reasons.entries()) {
    const select = 'SELECT taker_mode(m) AS m, letters_taken(v) AS r FROM s';
    const [text, ...others] = await rule.results(select, [{ m: mode, v: 'a' }, { m: mode }]);
    assert.match(String(text), reason);
    assert.equal(others, [{ m: mode }]);
  }
});

test.run();

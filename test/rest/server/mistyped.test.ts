/** Words that are mistyped: the answer names the one that was meant, and offers nothing that would be refused. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import { Commands } from '../../support/rest/commands.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});

async function made(path: string, body: object): Promise<void> {
  const answer = await server.request('POST', path, body);
  assert.is(answer.status, 201, answer.text);
}
const memory = 'TYPE="memory", DATASOURCE="t"';
await made('/streams', { sql: `CREATE STREAM demo () WITH (${memory})` });
await made('/streams', { sql: `CREATE STREAM typed (a BIGINT, o STRUCT(x BIGINT)) WITH (${memory})` });
await made('/udf/javascript', { id: 'dew_point', script: 'function dew_point(t) { return t; }', isAgg: false });

async function refused(path: string, sql: string): Promise<string> {
  const body = path === '/rules' ? { id: 'r', sql, actions: [{ log: {} }] } : { sql };
  const { status, json } = await server.request('POST', path, body);
  assert.is(status, 400, sql);
  return json.message;
}

const sources: readonly [path: string, sql: string, reason: RegExp][] = [
  ['/streams', `CREATE STREAM x () WITH (${memory}, FORMAT="jsn")`, /FORMAT is "jsn", did you mean json\?$/],
  [
    '/streams',
    `CREATE STREAM x () WITH (${memory}, FORMAT="xyz")`,
    /expected one of json, avro, binary, cbor, .*, xml$/,
  ],
  ['/streams', `CREATE STREAM x () WITH (${memory}, FORMT="json")`, /unknown option FORMT, did you mean FORMAT\?$/],
  [
    '/streams',
    `CREATE STREAM x (a INTEGR) WITH (${memory})`,
    /found "INTEGR", expected a column type .*, did you mean INTEGER\?$/,
  ],
  ['/streams', `CREATE STEAM x () WITH (${memory})`, /expected STREAM or TABLE, did you mean STREAM\?$/],
  [
    '/tables',
    'CREATE TABLE x () WITH (TYPE="mqtt", DATASOURCE="t", KIND="lookup", KEY="a")',
    /mqtt not found, expected one of httppull, memory, nats, redis, simulator, sql$/,
  ],
  [
    '/tables',
    'CREATE TABLE x () WITH (TYPE="memroy", DATASOURCE="t", KIND="lookup", KEY="a")',
    /memroy not found, did you mean memory\?$/,
  ],
];

test('statements of streams and tables', async () => {
  for (const [path, sql, reason] of sources) assert.match(await refused(path, sql), reason);
});

test('what errors offer for FORMAT and lookup tables is taken, and can be read', async () => {
  const offered = async (path: string, sql: string) =>
    /expected one of (.*)$/.exec(await refused(path, sql))![1]!.split(', ');
  for (const format of await offered('/streams', `CREATE STREAM x () WITH (${memory}, FORMAT="?")`)) {
    const more = format === 'custom' ? ', SCHEMAID="c"' : format === 'binary' ? '' : ', DELIMITER=","';
    const columns = format === 'binary' ? '(self BYTEA)' : '()';
    const sql = `CREATE STREAM of_${format} ${columns} WITH (${memory}, FORMAT="${format}"${more})`;
    const answer = await server.request('POST', '/streams', { sql });
    assert.is(answer.status, 201, answer.text);
    // The codec is made up, and so are the schemas.
    if (!['custom', 'avro', 'protobuf'].includes(format)) assert.not.match(answer.text, /no rule can read it/);
  }
  const lookup = (type: string) => {
    const source = type === 'redis' ? '0' : 't';
    const extra = type === 'sql' ? ', EXTRA="{\\"dburl\\":\\"file.db\\"}"' : '';
    const options = `TYPE="${type}", DATASOURCE="${source}", KIND="lookup", KEY="a"${extra}`;
    return `CREATE TABLE of_${type.length} () WITH (${options})`;
  };
  for (const type of await offered('/tables', lookup('?'))) {
    const answer = await server.request('POST', '/tables', { sql: lookup(type) });
    assert.is(answer.status, 201, answer.text);
    assert.not.match(answer.text, /no rule can read it/);
  }
});

test('the format of an action', async () => {
  const actions = [{ log: { format: 'jsno' } }];
  const { json } = await server.request('POST', '/rules', { id: 'r', sql: 'SELECT * FROM demo', actions });
  assert.match(json.message, /sink property format: jsno is not known, did you mean json\?$/);
});

const statements: readonly [sql: string, reason: RegExp][] = [
  ['SELECT * FROM dmo', /stream dmo is not known, did you mean demo\?$/],
  ['SELECT * FROM nothing_like_it', /stream nothing_like_it is not known, check that it was created$/],
  [
    'SELECT * FROM demo LIMT 3',
    /column 25: found "3", expected the end of the statement, is "LIMT" before it meant as LIMIT\?$/,
  ],
  ['SELECT * FROM demo WERE a > 1', /is "WERE" before it meant as WHERE\?$/],
  [
    'SELECT a FROM demo WHERE a > 1 GROP BY b',
    /found "GROP", expected the end of the statement, did you mean GROUP\?$/,
  ],
  ['SELECT DISTNCT a FROM demo', /is "DISTNCT" before it meant as DISTINCT\?$/],
  ['SELECT a FROM demo WHERE a BETWEN 1 AND 2', /did you mean BETWEEN\?$/],
  ['SELECT lag(a) OVER (PARTITION BY b WHN a > 1) FROM demo', /did you mean WHEN\?$/],
  [
    'SELECT count(*) FROM demo GROUP BY TUMBLINWINDOW(ss, 10)',
    /GROUP BY needs a window, did you mean TUMBLINGWINDOW\? \(line 1, column 36\)$/,
  ],
  ['SELECT uper(a) FROM demo', /unknown function uper, did you mean upper\?/],
  ['SELECT dew_pont(a) FROM demo', /unknown function dew_pont, did you mean dew_point\?/],
  ['SELECT tpyed.a FROM typed', /unknown stream tpyed, did you mean typed\? \(line 1, column 8\)$/],
];

test('statements of rules', async () => {
  for (const [sql, reason] of statements) assert.match(await refused('/rules', sql), reason);
});

test('nothing is suggested where nothing is near', async () => {
  assert.match(await refused('/rules', 'SELECT a b c FROM demo'), /found "b", expected ",", AS or FROM$/);
  assert.match(await refused('/rules', 'SELECT a FROM demo t u'), /found "u", expected the end of the statement$/);
});

test('what is taken although it looks mistyped is remarked', async () => {
  const warnings = async (sql: string) => {
    const { json } = await server.request('POST', '/rules/validate', { id: 'r', sql, actions: [{ log: {} }] });
    assert.is(json.valid, true);
    return json.warnings ?? [];
  };
  const join = (kind: string) =>
    `SELECT demo.a FROM demo ${kind} JOIN typed ON demo.a = typed.a GROUP BY TUMBLINGWINDOW(ss, 1)`;
  assert.equal(await warnings(join('LEF')), ['demo is called LEF before JOIN: is that meant as LEFT JOIN?']);
  assert.equal(await warnings(join('LEFT')), []);
  assert.equal(await warnings('SELECT demmo.a, demmo.a AS b FROM demo'), [
    'no stream is called demmo: demmo.a is the member a of a column, did you mean demo.a?',
  ]);
  assert.equal(await warnings('SELECT o.x FROM typed'), []);
});

test('a rule whose file was read to its end says so, in status, list and command line', async () => {
  writeFileSync(join(server.data, 'in'), '{"a":1}\n{"a":2}\n');
  await server.request('PUT', '/metadata/sources/file/confKeys/in', { path: server.data, fileType: 'lines' });
  await made('/streams', { sql: 'CREATE STREAM lines () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")' });
  await made('/rules', { id: 'ends', sql: 'SELECT a FROM lines', actions: [{ log: {} }] });
  const status = async () => (await server.request('GET', '/rules/ends/status')).json;
  await eventually('the end', async () => (await status()).status === 'Stopped');
  // The message is that of clients which look for it.
  const { message, ended } = await status();
  assert.equal({ message, ended }, { message: 'done', ended: 'all of its input was read: lines' });
  const list = (await server.request('GET', '/rules?trouble=true')).json;
  assert.is(list.find(({ id }: { id: string }) => id === 'ends').ended, 'all of its input was read: lines');
  const { out } = await new Commands(process.cwd(), { HAUMEA_URL: server.base }).done('show rules');
  assert.match(out, /ends .*Stopped: all of its input was read: lines/);
  await server.request('POST', '/rules/ends/start');
  await server.request('POST', '/rules/ends/stop');
  await eventually('the stop', async () => (await status()).status === 'Stopped');
});

test.run();

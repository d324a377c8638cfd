/**
 * Lookup tables that are asked, through REST: what rules get, what the status tells, what a table in use withstands.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

type Row = Record<string, unknown>;

const rows = [
  { id: 1, name: 'one' },
  { id: 2, name: 'two' },
];

let server: TestServer;

test.before(async () => {
  server = await startServer();
  await accepted('PUT', '/metadata/sources/file/confKeys/here', { path: server.data, fileType: 'lines' });
});
test.after(async () => void (await server.stop()));

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

async function createTable(name: string, lookup: Row): Promise<void> {
  const extra = JSON.stringify({ data: rows, lookup }).replaceAll('"', '\\"');
  await accepted('POST', '/tables', {
    sql: `CREATE TABLE ${name} () WITH (TYPE="simulator", KIND="lookup", KEY="id", EXTRA="${extra}")`,
  });
}

/** A rule over a file with these rows, to its end: what it has written, and its figures then. */
async function run(id: string, from: readonly Row[], sql: string): Promise<{ messages: Row[][]; status: Row }> {
  const path = join(server.data, `${id}.out`);
  writeFileSync(join(server.data, `${id}.in`), from.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const options = `DATASOURCE="${id}.in", TYPE="file", CONF_KEY="here", FORMAT="json"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${options})` });
  await accepted('POST', '/rules', { id, sql, actions: [{ file: { path, interval: 1 } }] });
  const status = await eventually(`the end of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return /^stopped/i.test(json.status) ? json : undefined;
  });
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [''];
  return { messages: lines.slice(0, -1).map((line) => JSON.parse(line) as Row[]), status };
}

test('a rule whose stream is at its end waits for the last answers; equal values are asked for once', async () => {
  await createTable('plain', {});
  const ids = Array.from({ length: 3000 }, (_, i) => ({ id: i % 3, n: i }));
  const { messages, status } = await run(
    'ended',
    ids,
    'SELECT ended.n, name FROM ended LEFT JOIN plain ON ended.id = plain.id',
  );
  assert.equal(
    messages,
    ids.map(({ id, n }) => [id === 0 ? { n } : { n, name: rows[id - 1]!.name }]),
  );
  assert.is(status.op_plain_0_records_in_total, 3000);
  assert.is(status.op_plain_0_records_out_total, 3000);
  assert.is(status.op_plain_0_buffer_length, 0);
  assert.ok(
    (status.op_plain_0_lookup_asked_total as number) < 30,
    `${status.op_plain_0_lookup_asked_total} were asked for`,
  );
});

test('answers that are remembered are asked for once, those without rows only if that is wanted', async () => {
  const ids = Array.from({ length: 5000 }, (_, i) => ({ id: i % 2 === 0 ? 1 : 9, n: i }));
  for (const [name, cacheMissingKey, most] of [
    ['hits', true, 2],
    ['misses', false, 100],
  ] as const) {
    await createTable(name, { cache: true, cacheTtl: 600, cacheMissingKey });
    const sql = `SELECT ${name}s.n, name FROM ${name}s INNER JOIN ${name} ON ${name}s.id = ${name}.id`;
    const { messages, status } = await run(`${name}s`, ids, sql);
    assert.is(messages.length, 2500);
    const asked = status[`op_${name}_0_lookup_asked_total`] as number;
    assert.ok(asked >= 2 && asked <= most, `${asked} were asked for`);
    assert.is(asked + (status[`op_${name}_0_lookup_hits_total`] as number), 5000);
  }
});

test('a table that a rule asks stays; what it can’t do is refused when it or the rule is made', async () => {
  await createTable('used', {});
  await accepted('POST', '/streams', { sql: 'CREATE STREAM asks () WITH (DATASOURCE="a", TYPE="memory")' });
  const sql = 'SELECT asks.id, name FROM asks INNER JOIN used ON asks.id = used.id';
  await accepted('POST', '/rules', { id: 'user', sql, actions: [{ nop: {} }] });
  const drop = await server.request('DELETE', '/tables/used');
  assert.is(drop.status, 400);
  assert.match(drop.text, /table used has been referenced by other rules: user/);
  const plan = (await server.request('GET', '/rules/user/explain')).text;
  assert.match(
    plan,
    /LookupPlan_1.*joinType:INNER_JOIN, table:used, asked: rows wait for its answers, keys:\[ used\.id = asks\.id \]/,
  );
  const topo = await server.request('GET', '/rules/user/topo');
  assert.equal(topo.json.sources, ['source_asks']);
  assert.equal(topo.json.edges.source_asks, ['op_used']);
  await accepted('DELETE', '/rules/user');
  await accepted('DELETE', '/tables/used');
  const unfinished = { sql: 'CREATE TABLE cellar () WITH (TYPE="sql", DATASOURCE="a", KIND="lookup")' };
  await accepted('POST', '/tables', unfinished);
  const refused = await server.request('POST', '/rules', {
    id: 'later',
    sql: 'SELECT asks.id FROM asks INNER JOIN cellar ON asks.id = cellar.id',
    actions: [{ nop: {} }],
  });
  assert.is(refused.status, 400);
  assert.match(refused.text, /sql lookup.*dburl is required/);
  const wrong = await createWrong('{"lookup":{"cacheTtl":"soon"}}');
  assert.match(wrong, /cacheTtl must be seconds, or a duration/);
});

/** The reason why a rule on a table with these properties is refused. */
async function createWrong(extra: string): Promise<string> {
  const sql = `CREATE TABLE wrong () WITH (TYPE="simulator", KIND="lookup", EXTRA="${extra.replaceAll('"', '\\"')}")`;
  await accepted('POST', '/tables', { sql });
  const { status, text } = await server.request('POST', '/rules', {
    id: 'wrong',
    sql: 'SELECT asks.id FROM asks INNER JOIN wrong ON asks.id = wrong.id',
    actions: [{ nop: {} }],
  });
  assert.is(status, 400);
  return text;
}

test.run();

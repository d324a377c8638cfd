/** Redis through REST: rows are looked up there, and what comes out is set there. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';
import { needsRedis, openRedis, type TestRedis } from '../../support/servers/redis.js';

if (!needsRedis('redis through REST')) process.exit(0);

let server: TestServer;
let redis: TestRedis;

test.before(async () => {
  redis = await openRedis();
  server = await startServer();
  await accepted('PUT', '/metadata/sources/file/confKeys/here', { path: server.data, fileType: 'lines' });
  await accepted('PUT', '/metadata/sources/redis/confKeys/own', { addr: redis.addr });
});
test.after(async () => {
  await server.stop();
  await redis.close();
});

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

/** Creates a stream of the rows. */
async function stream(name: string, rows: readonly unknown[]): Promise<void> {
  writeFileSync(join(server.data, `${name}.in`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const options = `DATASOURCE="${name}.in", TYPE="file", CONF_KEY="here", FORMAT="json"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
}

/** The status of a rule at its end. */
function ended(id: string) {
  return eventually(`the end of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return /^stopped/i.test(json.status) ? json : undefined;
  });
}

test('rows get what Redis has for their key, and are set by keys made of them', async () => {
  await redis.client.mSet({ 1: '{"id":1,"name":"one","big":9007199254740993}', 2: '{"id":2,"name":"two"}' });
  const options = 'TYPE="redis", DATASOURCE="0", KIND="lookup", CONF_KEY="own", KEY="id"';
  await accepted('POST', '/tables', { sql: `CREATE TABLE names () WITH (${options})` });
  await stream('asks', [{ id: 1 }, { id: 2 }, { id: 3 }]);
  const sql = 'SELECT asks.id, name, big FROM asks LEFT JOIN names ON asks.id = names.id';
  const actions = [{ redis: { addr: redis.addr, db: 1, key: 'row:{{.id}}' } }];
  await accepted('POST', '/rules', { id: 'names', sql, actions });
  const status = await ended('names');
  assert.is(status.op_names_0_exceptions_total, 0);
  await redis.client.select(1);
  assert.equal(await redis.client.mGet(['row:1', 'row:2', 'row:3']), [
    '{"big":9007199254740993,"id":1,"name":"one"}',
    '{"id":2,"name":"two"}',
    '{"id":3}',
  ]);
  await redis.client.select(0);
});

test('a row each is set, whatever sendSingle says; batches are refused', async () => {
  await stream('each', [{ id: 'a' }, { id: 'b' }]);
  const rule = (props: object) => ({
    id: 'each',
    sql: 'SELECT * FROM each',
    actions: [{ redis: { addr: redis.addr, field: 'id', sendSingle: false, ...props } }],
  });
  const refused = await server.request('POST', '/rules', rule({ batchSize: 2 }));
  assert.is(refused.status, 400);
  assert.match(refused.text, /sink redis takes each row by itself, which batchSize and lingerInterval exclude/);
  await accepted('POST', '/rules', rule({}));
  await ended('each');
  assert.equal(await redis.client.mGet(['a', 'b']), ['{"id":"a"}', '{"id":"b"}']);
});

test('the connection is checked, its password masked, wrong databases refused', async () => {
  for (const part of ['sinks', 'lookups']) {
    const check = await server.request('POST', `/metadata/${part}/connection/redis`, { addr: redis.addr, key: 'a' });
    assert.equal([check.status, check.text], [200, '']);
  }
  await accepted('POST', '/connections', { id: 'cellar', typ: 'redis', props: { addr: redis.addr, password: 'hush' } });
  const shown = await server.request('GET', '/connections/cellar');
  assert.not.match(shown.text, /hush/);
  const table = { sql: 'CREATE TABLE far () WITH (TYPE="redis", DATASOURCE="16", KIND="lookup")' };
  const refused = await server.request('POST', '/tables', table);
  assert.is(refused.status, 400);
  assert.match(refused.text, /the number of a Redis database, 0 to 15/);
});

test.run();

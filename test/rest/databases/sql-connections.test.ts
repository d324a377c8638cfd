/** How many connections to one database there are: `basic.sql.maxConnections` bounds them, whatever rules there are. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';
import { needsPostgres, sharedPostgres, type TestDatabase } from '../../support/servers/postgres.js';

if (!needsPostgres('connections to databases')) process.exit(0);

const most = 4;
/** Half of them are for sources, the others for sinks. */
const forSinks = 2;
const rules = 10;

let server: TestServer;
let postgres: TestDatabase;

test.before(async () => {
  postgres = await sharedPostgres();
  await postgres.query('CREATE TABLE given (id int)');
  await postgres.query('INSERT INTO given SELECT generate_series(1, 20000)');
  await postgres.query('CREATE TABLE few AS SELECT id FROM given LIMIT 10');
  server = await startServer({ env: { KUIPER__BASIC__SQL__MAXCONNECTIONS: String(most) } });
  const key = { data: [{ id: 1 }], interval: 20 };
  await accepted('PUT', '/metadata/sources/simulator/confKeys/ticks', key);
  await accepted('POST', '/streams', { sql: 'CREATE STREAM ticks () WITH (TYPE="simulator", CONF_KEY="ticks")' });
});
test.after(async () => {
  await server.stop();
  await postgres.close();
});

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

/** A rule that writes to the table all the time. */
async function writes(id: string, table: string, props: object = {}): Promise<void> {
  const sink = { sql: { dburl: postgres.url, table, fields: ['id'], sendSingle: true, ...props } };
  const options = { forceExitTimeout: '100ms' };
  await accepted('POST', '/rules', { id, sql: 'SELECT id FROM ticks', actions: [sink], options });
}

const reading = (table: string) => ({ dburl: postgres.url, interval: 10, internalSqlQueryCfg: { table } });

/** A rule that reads the table again and again. */
async function reads(id: string, table: string, props: object = {}): Promise<void> {
  await accepted('PUT', `/metadata/sources/sql/confKeys/${id}`, { ...reading(table), ...props });
  const options = `DATASOURCE="${table}", TYPE="sql", CONF_KEY="${id}"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${options})` });
  await accepted('POST', '/rules', { id, sql: `SELECT id FROM ${id}`, actions: [{ nop: {} }] });
}

/** Connections of the engine, as the database sees them. */
async function connections(): Promise<number> {
  const where = "datname = current_database() AND application_name = 'haumea'";
  const [row] = await postgres.query(`SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${where}`);
  return row!.n as number;
}

const out = (id: string, count: number) =>
  eventually(`${count} rows of ${id}`, async () => Number((await status(id)).sinkRecordsOutTotal) >= count);

async function deleteAll(ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => accepted('DELETE', `/rules/${id}`)));
  await eventually('the end of all connections', async () => (await connections()) === 0);
}

test('rules that read and write go on, over no more connections than there may be', async () => {
  await postgres.query('CREATE TABLE written (id int)');
  // Each row takes its time, so that rules have to wait for each other.
  const wait = 'BEGIN PERFORM pg_sleep(0.005); RETURN NEW; END';
  await postgres.query(`CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS '${wait}'`);
  await postgres.query('CREATE TRIGGER slow BEFORE INSERT ON written FOR EACH ROW EXECUTE FUNCTION slowly()');
  const writers = Array.from({ length: rules }, (_, i) => `writer${i}`);
  const readers = Array.from({ length: rules }, (_, i) => `reader${i}`);
  for (const id of writers) await writes(id, 'written');
  for (const id of readers) await reads(id, 'few');
  let highest = 0;
  await eventually('rows of all rules', async () => {
    highest = Math.max(highest, await connections());
    const all = await Promise.all([...writers, ...readers].map(status));
    return all.every(({ sinkRecordsOutTotal }) => sinkRecordsOutTotal >= 20);
  });
  assert.is(highest, most);
  for (const id of [...writers, ...readers]) {
    const { sinkRecordsFailedTotal, sourceExceptionsTotal = 0 } = await status(id);
    assert.equal([sinkRecordsFailedTotal, sourceExceptionsTotal], [0, 0], id);
  }
  await deleteAll([...writers, ...readers]);
});

test('rules that find all connections in use say so, and go on when one is free', async () => {
  await postgres.query('CREATE TABLE locked (id int); CREATE TABLE open (id int)');
  const lock = await lockOf('locked');
  const holders = Array.from({ length: forSinks }, (_, i) => `holder${i}`);
  for (const id of holders) await writes(id, 'locked');
  await eventually('all that wait for the lock', async () => (await lock.waiting()) === forSinks);
  await writes('other', 'open', { timeout: '30s' });
  // Another time limit, another pool: the same address is one database only with equal properties. A statement that
  // waits for the lock has that limit as well, so the rules have to begin at once: the last of them waits the longest.
  const pooled = Array.from({ length: 8 }, (_, i) => `short${i}`);
  await Promise.all(pooled.map((id) => writes(id, 'locked', { timeout: 700 })));
  await eventually('the reason', async () => {
    const all = await Promise.all(pooled.map(status));
    return all.some((one) => /all connections to the database are in use for 0.7 s/.test(JSON.stringify(one)));
  });
  assert.is((await status('other')).sinkRecordsOutTotal, 0);
  await lock.release();
  for (const id of [...holders, 'other', ...pooled]) await out(id, 10);
  for (const id of [...holders, 'other', ...pooled]) assert.is((await status(id)).sinkRecordsFailedTotal, 0, id);
  await deleteAll([...holders, 'other', ...pooled]);
});

test('a rule that ends while the database is at its statement gives its connection to the others at once', async () => {
  await postgres.query('CREATE TABLE held (id int); CREATE TABLE free (id int)');
  const lock = await lockOf('held');
  const holders = Array.from({ length: forSinks }, (_, i) => `stuck${i}`);
  const timeout = '10m';
  for (const id of holders) await writes(id, 'held', { timeout });
  await eventually('all that wait for the lock', async () => (await lock.waiting()) === forSinks);
  await writes('waiting', 'free', { timeout });
  await accepted('DELETE', `/rules/${holders[0]}`);
  await out('waiting', 10);
  await lock.release();
  await deleteAll([holders[1]!, 'waiting']);
});

test('a rule that ends while its sinks take no more of a large table gives its connection back', async () => {
  const readers = Array.from({ length: forSinks }, (_, i) => `full${i}`);
  for (const id of readers) {
    const key = { ...reading('given'), timeout: '9m' };
    await accepted('PUT', `/metadata/sources/sql/confKeys/${id}`, key);
    const options = `DATASOURCE="given", TYPE="sql", CONF_KEY="${id}"`;
    await accepted('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${options})` });
    const nobody = { rest: { url: 'http://127.0.0.1:1', sendSingle: true } };
    const bounds = { maxBacklogBytes: 20_000, forceExitTimeout: '100ms' };
    await accepted('POST', '/rules', { id, sql: `SELECT id FROM ${id}`, actions: [nobody], options: bounds });
  }
  await eventually('both to stand still', async () => {
    const all = await Promise.all(readers.map(status));
    return all.every(({ message }) => /holds source/.test(String(message)));
  });
  await reads('behind', 'given', { timeout: '9m' });
  await accepted('DELETE', `/rules/${readers[0]}`);
  await out('behind', 20_000);
  await deleteAll([readers[1]!, 'behind']);
});

/** Somebody who has the table for himself. */
async function lockOf(table: string) {
  const { Client } = (await import('pg')).default;
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(`LOCK TABLE ${table}`);
  const where = "datname = current_database() AND wait_event_type = 'Lock'";
  return {
    /** Connections that wait for it. */
    waiting: async () => {
      const [row] = await postgres.query(`SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${where}`);
      return row!.n as number;
    },
    release: async () => {
      await client.query('COMMIT');
      await client.end();
    },
  };
}

test.run();

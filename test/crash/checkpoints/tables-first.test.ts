/**
 * A rule with checkpoints joins a stream that flows with a table of a file: it gets its rows, and no other, with the
 * table.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SessionBroker } from '../../support/brokers/session-broker.js';
import { eventually, startServer, temporaryFolder } from '../../support/harness.js';

/** So many are read in some tenths of a second. */
const names = 60_000;
const joined = 'SELECT asks.id, name FROM asks LEFT JOIN names ON asks.id = names.id';

const broker = await SessionBroker.open();
const data = temporaryFolder();
let server = await startServer({ data });
let sent = 0;
test.after(async () => {
  await server.stop();
  broker.close();
});

const rule = (id: string, sql: string, options: object = {}) => ({
  id,
  sql,
  actions: [{ file: { path: join(data, `${id}.txt`), sendSingle: true } }],
  options: { qos: 1, checkpointInterval: '1s', ...options },
});

async function accepted(method: string, path: string, body?: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
}

function send(count: number): void {
  for (let i = 0; i < count; i++) broker.send([JSON.stringify({ id: sent++ })]);
}

function written(id: string): { id: number; name?: string }[] {
  const path = join(data, `${id}.txt`);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.slice(0, -1).flatMap((line) => JSON.parse(line));
}

async function allAreThere(): Promise<void> {
  await eventually('all rows', () => written('near').length >= sent && written('far').length >= sent);
  const ids = Array.from({ length: sent }, (_, id) => id);
  assert.equal(
    written('near'),
    ids.map((id) => ({ id })),
  );
  assert.equal(
    written('far'),
    ids.map((id) => ({ id, name: `n${id}` })),
  );
}

test('a rule that comes to a stream whose log opens gets its first row when its table is read', async () => {
  const row = (id: number) => `${JSON.stringify({ id, name: `n${id}`, unread: 'x'.repeat(1000) })}\n`;
  // The names that are asked for come last.
  writeFileSync(join(data, 'names.json'), Array.from({ length: names }, (_, i) => row(names - 1 - i)).join(''));
  await accepted('PUT', '/metadata/sources/file/confKeys/here', { path: data, fileType: 'lines' });
  const mqtt = { server: broker.url, qos: 1, clientid: 'tables', enableClientSession: true };
  await accepted('PUT', '/metadata/sources/mqtt/confKeys/in', mqtt);
  const table = `DATASOURCE="names.json", CONF_KEY="here", FORMAT="json", RETAIN_SIZE="${names}"`;
  await accepted('POST', '/tables', { sql: `CREATE TABLE names () WITH (${table})` });
  const stream = 'TYPE="mqtt", DATASOURCE="asks", CONF_KEY="in", FORMAT="json", SHARED="true"';
  await accepted('POST', '/streams', { sql: `CREATE STREAM asks () WITH (${stream})` });
  await Promise.all([
    accepted('POST', '/rules', rule('near', 'SELECT id FROM asks')),
    accepted('POST', '/rules', rule('far', joined)),
  ]);
  for (const id of ['near', 'far']) {
    await eventually(`${id} to run`, async () => {
      const { status } = (await server.request('GET', `/rules/${id}/status`)).json;
      return /^running/i.test(status);
    });
  }
  send(20);
  await allAreThere();
});

test('rules that come back together read the stream when the tables of all are read', async () => {
  await server.stop();
  send(20);
  server = await startServer({ data });
  send(20);
  await allAreThere();
});

test('a rule that is updated while others read on gets what came meanwhile', async () => {
  for (let round = 0; round < 3; round++) {
    let isBack = false;
    const updated = accepted('PUT', '/rules/far', rule('far', joined, { debug: round % 2 === 0 })).then(() => {
      isBack = true;
    });
    while (!isBack) {
      send(1);
      await eventually('the row', () => written('near').length === sent);
    }
    await updated;
    send(20);
    await allAreThere();
  }
});

test.run();

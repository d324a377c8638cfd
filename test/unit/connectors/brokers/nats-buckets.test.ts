/** Buckets of NATS as lookup tables and as streams of changes, and metadata of messages, by rules of a server. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KV, Kvm } from '@nats-io/kv';
import { headers } from '@nats-io/transport-node';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../../support/harness.js';
import { managerOf, needsNats, openNats, type TestNats } from '../../../support/servers/nats.js';

if (!needsNats('buckets of NATS')) process.exit(0);

let nats: TestNats;
let server: TestServer;
let bucket: KV;
test.before(async () => {
  nats = await openNats();
  bucket = await new Kvm(nats.client).create('devices', { history: 5 });
  server = await startServer();
});
test.after(async () => {
  await server?.stop();
  await nats?.close();
});

let number = 0;

async function ask(method: string, path: string, body: unknown): Promise<void> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, text);
}

async function make(kind: 'STREAM' | 'TABLE', dataSource: string, more: string, props: object = {}): Promise<string> {
  const name = `n${++number}`;
  await ask('PUT', `/metadata/sources/nats/confKeys/${name}`, { server: nats.url, ...props });
  const options = `DATASOURCE="${dataSource}", TYPE="nats", FORMAT="json", CONF_KEY="${name}"${more}`;
  await ask('POST', kind === 'STREAM' ? '/streams' : '/tables', {
    sql: `CREATE ${kind} ${name} () WITH (${options})`,
  });
  return name;
}

/** Starts a rule; returns the rows that it has brought so far. */
async function rows(sql: string): Promise<() => Record<string, unknown>[]> {
  const path = join(temporaryFolder(), 'out.txt');
  const id = `r${++number}`;
  await ask('POST', '/rules', { id, sql, actions: [{ file: { path, fileType: 'lines', sendSingle: true } }] });
  await eventually('the connection', async () => {
    const { text } = await server.request('GET', `/rules/${id}/status`);
    return /"source_[^"]*connection_status": ?1/.test(text);
  });
  return () =>
    existsSync(path)
      ? readFileSync(path, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((one) => JSON.parse(one))
      : [];
}

test('rows of a bucket are looked up by key; keys that are missing, deleted or no rows do no harm', async () => {
  await bucket.put('a', '{"name":"first"}');
  await bucket.put('b', '{"name":"gone"}');
  await bucket.delete('b');
  await bucket.put('c', 'no row');
  const stream = await make('STREAM', 'asked', '');
  const table = await make('TABLE', 'devices', ', KIND="lookup", KEY="id"');
  const found = await rows(
    `SELECT ${stream}.id, ${table}.name FROM ${stream} LEFT JOIN ${table} ON ${stream}.id = ${table}.id`,
  );
  for (const id of ['b', 'x y', 'none', 'c', 'a']) nats.client.publish('asked', JSON.stringify({ id }));
  await eventually('the last row', () => found().some((row) => row.name === 'first'));
  const named = found().filter(({ name }) => name !== undefined && name !== null);
  assert.equal(named, [{ id: 'a', name: 'first' }]);
});

test('changes of a bucket come with their keys, the last of each key first', async () => {
  const changes = await new Kvm(nats.client).create('changes', { history: 5 });
  await changes.put('k.1', '{"v":1}');
  await changes.put('k.1', '{"v":2}');
  const stream = await make('STREAM', 'k.>', '', { bucket: 'changes' });
  const found = await rows(`SELECT v, meta(key) AS k, meta(operation) AS op FROM ${stream}`);
  await eventually('the value there is', () => found().length === 1);
  await changes.put('k.2', '{"v":3}');
  await changes.put('other', '{"v":4}');
  await changes.delete('k.1');
  await eventually('all changes', () => found().length === 3);
  assert.equal(
    found().map(({ v, k, op }) => [v ?? null, k, op ?? null]),
    [
      [2, 'k.1', null],
      [3, 'k.2', null],
      [null, 'k.1', 'DEL'],
    ],
  );
});

test('metadata of messages are subject, reply, headers; of streams also their number', async () => {
  const manager = await managerOf(nats.client);
  await manager.streams.add({ name: 'M', subjects: ['kept.*'] });
  const head = headers();
  head.set('kind', 'x');
  const plain = await make('STREAM', 'plain.>', '');
  const kept = await make('STREAM', 'kept.*', '', { stream: 'M' });
  const ofPlain = await rows(`SELECT meta(subject) AS s, meta(reply) AS r, meta(headers) AS h FROM ${plain}`);
  const ofKept = await rows(`SELECT meta(subject) AS s, meta(sequence) AS n, meta(headers) AS h FROM ${kept}`);
  nats.client.publish('plain.a', '{}', { headers: head, reply: 'back' });
  nats.client.publish('kept.b', '{}', { headers: head });
  await eventually('both', () => ofPlain().length === 1 && ofKept().length === 1);
  assert.equal(ofPlain(), [{ s: 'plain.a', r: 'back', h: { kind: 'x' } }]);
  assert.equal(ofKept(), [{ s: 'kept.b', n: 1, h: { kind: 'x' } }]);
});

test.run();

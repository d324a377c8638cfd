/** Created means subscribed: what is sent right after the answer reaches the rule. */
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleState } from '../../../host/model/engine.js';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { type Answer, eventually, freePort, request, startServer } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';
import { EngineDouble } from '../../support/rest/engine-double.js';
import { run } from '../../support/rest/fake-server.js';

const dataPort = await freePort();
const server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort) } });
const broker = await openBroker();
const client = await connectClient(broker.url);
const mute = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
await once(mute, 'listening');
test.after(async () => {
  await client.endAsync();
  await broker.close();
  await server.stop();
  mute.close();
});

const post = (path: string, body: object) => server.request('POST', path, body);
const sinkOf = (id: string) => [{ file: { path: `${id}.txt`, sendSingle: true } }];
const linesOf = (id: string, count: number) =>
  eventually(`${count} lines of ${id}`, () => {
    try {
      const lines = readFileSync(join(server.data, `${id}.txt`), 'utf8')
        .split('\n')
        .filter((line) => line !== '');
      return lines.length >= count ? lines : undefined;
    } catch {
      return undefined;
    }
  });

/** An answer without a remark means that the rule is subscribed; on a busy machine it may be `starting`. */
async function subscribed(id: string, { text, headers }: Answer, expected: string): Promise<void> {
  assert.is(text, expected);
  if (headers.get('warning') === null) return;
  assert.match(headers.get('warning') ?? '', /the rule is starting/);
  await eventually('the connection', async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return json[`source_m${id.slice('rule'.length)}_0_connection_status`] === 1 || undefined;
  });
}

test('the first message after the answer is not lost, neither over MQTT nor pushed', async () => {
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/here', { server: broker.url, qos: 0 });
  await post('/streams', { sql: 'CREATE STREAM pushed () WITH (TYPE="httppush", DATASOURCE="/in")' });
  for (let i = 0; i < 10; i++) {
    await post('/streams', { sql: `CREATE STREAM m${i} () WITH (TYPE="mqtt", DATASOURCE="t${i}", CONF_KEY="here")` });
    const id = `rule${i}`;
    const created = await post('/rules', { id, sql: `SELECT a FROM m${i}`, actions: sinkOf(id) });
    await subscribed(id, created, `Rule ${id} was created successfully.`);
    await client.publishAsync(`t${i}`, `{"a":${i}}`);
    assert.equal(await linesOf(id, 1), [`{"a":${i}}`]);
  }
  const push = await post('/rules', { id: 'push', sql: 'SELECT a FROM pushed', actions: sinkOf('push') });
  if (push.headers.get('warning') !== null) return;
  assert.is((await request(`http://127.0.0.1:${dataPort}`, 'POST', '/in', { a: 1 })).status, 200);
  assert.equal(await linesOf('push', 1), ['{"a":1}']);
});

test('the same after a start and a restart', async () => {
  await post('/rules/rule0/stop', {});
  await subscribed('rule0', await post('/rules/rule0/start', {}), 'Rule rule0 was started');
  await client.publishAsync('t0', '{"a":"started"}');
  await linesOf('rule0', 2);
  await subscribed('rule0', await post('/rules/rule0/restart', {}), 'Rule rule0 was restarted');
  await client.publishAsync('t0', '{"a":"again"}');
  assert.equal(await linesOf('rule0', 3), ['{"a":0}', '{"a":"started"}', '{"a":"again"}']);
});

/** Its first rule waits for a thread that comes up slowly. */
class ColdEngine extends EngineDouble {
  #startedAt = 0;

  override start(id: string): void {
    super.start(id);
    this.#startedAt = performance.now();
  }

  override state(id: string): RuleState | undefined {
    return performance.now() - this.#startedAt < 1500 ? 'starting' : super.state(id);
  }
}

test('the answer to the first rule waits for a thread that comes up slowly', async () => {
  const cold = await startControlPlane(undefined, {}, { createEngine: ({ catalog }) => new ColdEngine(catalog) });
  try {
    const sql = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")';
    assert.is((await cold.request('POST', '/streams', { sql })).status, 201);
    const rule = { id: 'first', sql: 'SELECT a FROM s', actions: [{ nop: {} }] };
    const { text, headers } = await cold.request('POST', '/rules', rule);
    assert.is(text, 'Rule first was created successfully.');
    assert.is(headers.get('warning'), null);
  } finally {
    await cold.close();
  }
});

test('the answer says when it is not so', async () => {
  const { port } = mute.address() as { port: number };
  const dead = await freePort();
  for (const [id, at] of [
    ['mute', port],
    ['dead', dead],
  ] as const) {
    await server.request('PUT', `/metadata/sources/mqtt/confKeys/${id}`, { server: `tcp://127.0.0.1:${at}` });
    await post('/streams', { sql: `CREATE STREAM ${id} () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="${id}")` });
  }
  const refused = await post('/rules', { id: 'dead', sql: 'SELECT * FROM dead', actions: [{ nop: {} }] });
  assert.is(refused.status, 201);
  assert.is(refused.text, 'Rule dead was created successfully.');
  const reason =
    /^299 - "(source dead is not connected to tcp:\S+: .*ECONNREFUSED.*, still trying|the rule is starting.*)"$/;
  assert.match(refused.headers.get('warning') ?? '', reason);
  const silent = await post('/rules', { id: 'mute', sql: 'SELECT * FROM mute', actions: [{ nop: {} }] });
  assert.is(silent.text, 'Rule mute was created successfully.');
  assert.match(silent.headers.get('warning') ?? '', /^299 - "the rule is starting, its sources are not connected yet/);
  const shown = await run(server.base, ['restart', 'rule', 'dead']);
  assert.match(shown.out, /^Rule dead was restarted\nWarning: .*not connected/);
  const { source_mute_0_connection_status: state } = (await server.request('GET', '/rules/mute/status')).json;
  assert.is(state, 0);
});

test('the answer says that a file to read or a broker to send to is not there', async () => {
  const missing = join(server.data, 'missing.jsonl');
  await server.request('PUT', '/metadata/sources/file/confKeys/later', { fileType: 'lines', interval: '50ms' });
  const sql = (name: string, more: string) =>
    `CREATE STREAM ${name} () WITH (TYPE="file", DATASOURCE="${missing}"${more})`;
  await post('/streams', { sql: sql('gone', '') });
  await post('/streams', { sql: sql('later', ', CONF_KEY="later"') });
  const refused = await post('/rules', { id: 'gone', sql: 'SELECT * FROM gone', actions: [{ nop: {} }] });
  assert.is(refused.status, 400);
  assert.match(refused.text, /missing\.jsonl is not there/);
  writeFileSync(missing, '');
  for (const id of ['gone', 'later']) {
    const { status, text } = await post('/rules', { id, sql: `SELECT a FROM ${id}`, actions: sinkOf(id) });
    assert.is(status, 201, text);
  }
  rmSync(missing);
  const gone = await post('/rules/gone/restart', {});
  assert.match(gone.headers.get('warning') ?? '', /the rule has ended: file source: ENOENT/);
  const later = await post('/rules/later/restart', {});
  assert.match(later.headers.get('warning') ?? '', /source later is not connected: ENOENT/);
  writeFileSync(missing, '{"a":1}\n');
  assert.is((await linesOf('later', 1))[0], '{"a":1}');
  const sink = { mqtt: { server: `tcp://127.0.0.1:${await freePort()}`, topic: 't' } };
  const away = await post('/rules', { id: 'away', sql: 'SELECT a FROM later', actions: [sink] });
  assert.match(away.headers.get('warning') ?? '', /sink mqtt is not connected to tcp:.*ECONNREFUSED/);
});

test.run();

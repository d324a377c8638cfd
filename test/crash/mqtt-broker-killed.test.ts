/**
 * The broker goes away, or is killed hard with its messages on disk, while the engine has messages in its input log
 * whose acknowledgements the broker may not have: rows of a rule of qos 2 are in the file once and in order, and what
 * came again is counted.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto, publishAll } from '../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../support/harness.js';

if (!hasMosquitto) announceSkip('brokers that are killed in a session', 'mosquitto is not installed');
const real = hasMosquitto ? test : test.skip;
const onEachChange = ['allow_anonymous true', 'autosave_interval 1', 'autosave_on_changes true'];
/** The broker sends so many that are not acknowledged. */
const window = 20;

let broker: Mosquitto;
let folder: string;
let sender: MqttClient;
let server: TestServer;
let data: string;
let sent: number;
let qos: 1 | 2;

test.before.each(async () => {
  if (!hasMosquitto) return;
  data = temporaryFolder();
  folder = temporaryFolder();
  broker = await openMosquitto(undefined, folder, onEachChange);
  sender = await connectClient(broker.url);
  server = await startServer({ data, env: { KUIPER__BASIC__CONNECTION__MAXRECONNECTINTERVAL: '200ms' } });
  sent = 0;
});

/** A rule that writes each message to a file, exactly once. */
async function listen(ofQos: 1 | 2): Promise<void> {
  qos = ofQos;
  const conf = { server: broker.url, qos, clientid: 'killed', enableClientSession: true };
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/in', conf);
  await made('/streams', { sql: 'CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="in")' });
  await made('/rules', {
    id: 'r',
    sql: 'SELECT id FROM s',
    actions: [{ file: { path: join(data, 'out'), sendSingle: true } }],
    options: { qos: 2, checkpointInterval: '1h' },
  });
  await figure('source_s_0_connection_status', (value) => value === 1);
}

test.after.each(async () => {
  if (!hasMosquitto) return;
  server.child.kill('SIGCONT');
  await server.stop('SIGKILL');
  await sender.endAsync(true);
  await broker.close();
});

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

const figure = (of: string, fits: (value: number) => boolean) =>
  eventually(of, async () => {
    const { json } = await server.request('GET', '/rules/r/status');
    return fits(Number(json[of])) ? json : undefined;
  });

async function send(count: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, i) => `{"id":${sent + i}}`);
  sent += count;
  await publishAll(sender, 't', messages, qos);
}

/** The broker confirms messages before it writes them, and writes the last one with a later change. */
const saved = () =>
  eventually('messages on disk', async () => {
    await sender.publishAsync('other', 'a change', { qos: 1, retain: true });
    return readFileSync(join(folder, 'mosquitto.db')).includes(`{"id":${sent - 1}}`);
  });

function ids(): number[] {
  const path = join(data, 'out');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { id: number }).id);
}

/** The broker comes back where it was. */
async function comeBack(): Promise<void> {
  broker = await openMosquitto(broker.port, folder, onEachChange);
  sender = await connectClient(broker.url);
  await figure('source_s_0_connection_status', (value) => value === 1);
}

async function checkRows(): Promise<void> {
  // What is wrong in the end is told by the rows.
  await eventually('all rows', () => new Set(ids()).size === sent, 30_000).catch(() => {});
  assert.equal(
    ids(),
    Array.from({ length: sent }, (_, id) => id),
  );
  const { json } = await server.request('GET', '/rules/r/status');
  assert.is(json.source_s_0_messages_processed_total, sent);
}

for (const [end, ofQos] of [
  ['stop', 1],
  ['close', 1],
  // One that is killed hard may have forgotten which ids it freed: see decision 0093.
  ['stop', 2],
] as const) {
  real(
    `QoS ${ofQos}: a broker that is ${end === 'stop' ? 'away' : 'killed hard'} before it has any acknowledgement ` +
      'of what is here',
    async () => {
      await listen(ofQos);
      await send(50);
      await eventually('rows', () => ids().length === 50);
      // The broker fills the window while nobody answers, and has all of it on disk when it confirms what comes next.
      server.child.kill('SIGSTOP');
      await send(window + 30);
      await saved();
      await broker[end]();
      await sender.endAsync(true);
      server.child.kill('SIGCONT');
      // The engine reads what had come to the socket, unless the system throws it away with the connection.
      await figure('source_s_0_connection_status', (value) => value !== 1);
      await comeBack();
      await checkRows();
      await send(10);
      await checkRows();
    },
  );
}

real('a broker that is killed hard in a backlog, before or after it has on disk what it has sent', async () => {
  await listen(1);
  const rounds = 3;
  for (let round = 1; round <= rounds; round++) {
    server.child.kill('SIGSTOP');
    await send(150);
    await saved();
    server.child.kill('SIGCONT');
    const seen = ids().length;
    await eventually('some rows', () => ids().length >= seen + 30 * round);
    await broker.close();
    await sender.endAsync(true);
    await comeBack();
  }
  await eventually('all rows', () => new Set(ids()).size === sent, 30_000);
  const rows = ids();
  assert.equal([...new Set(rows)], [...Array(sent).keys()]);
  // It may have forgotten as well that it has an acknowledgement: what it sends as new then can't be told from a new
  // message. Each time that is a window at most.
  assert.ok(rows.length - sent <= rounds * window, `${rows.length} rows of ${sent} messages`);
});

test.run();

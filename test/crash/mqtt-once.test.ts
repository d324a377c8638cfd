/**
 * MQTT QoS 1 and 2 with a session into a file at qos 2 is exactly once: over kill -9 of the engine at any moment,
 * connections that another client takes over, and a broker that is away. `HAUMEA_ONCE_ROUNDS=30` runs as many rounds as
 * a release wants.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto, publishAll } from '../support/brokers/mosquitto.js';
import { announceSkip, eventually, startServer, type TestServer, temporaryFolder } from '../support/harness.js';

const rounds = Number(process.env.HAUMEA_ONCE_ROUNDS ?? 2);
if (!hasMosquitto) announceSkip('MQTT exactly once', 'mosquitto is not installed');
const real = hasMosquitto ? test : test.skip;
const name = 'once-test';

let broker: Mosquitto;
let sender: MqttClient;
let server: TestServer;
let data: string;
let sent: number;

test.before.each(async () => {
  if (!hasMosquitto) return;
  data = temporaryFolder();
  broker = await openMosquitto(undefined, temporaryFolder());
  sender = await connectClient(broker.url);
  server = await startServer({ data });
  sent = 0;
});
test.after.each(async () => {
  if (!hasMosquitto) return;
  await server.stop('SIGKILL');
  await sender.endAsync(true);
  await broker.close();
});

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** A rule that writes each message to a file, exactly once. */
async function listen(checkpointInterval: string, qos = 1): Promise<void> {
  const conf = { server: broker.url, qos, clientid: name, enableClientSession: true };
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/in', conf);
  await made('/streams', { sql: 'CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="in")' });
  await made('/rules', {
    id: 'r',
    sql: 'SELECT id FROM s',
    actions: [{ file: { path: join(data, 'out'), sendSingle: true } }],
    options: { qos: 2, checkpointInterval },
  });
  await figure('source_s_0_connection_status', (value) => value === 1);
}

const figure = (of: string, fits: (value: number) => boolean) =>
  eventually(`${of}`, async () => {
    const { json } = await server.request('GET', '/rules/r/status');
    return fits(Number(json[of])) ? json : undefined;
  });

function ids(): number[] {
  const path = join(data, 'out');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { id: number }).id);
}

async function send(count: number, qos: 1 | 2 = 1): Promise<void> {
  const messages = Array.from({ length: count }, (_, i) => `{"id":${sent + i}}`);
  sent += count;
  await publishAll(sender, 't', messages, qos);
}

/** Rows of the file: all that were sent, each once and in order. */
async function checkRows(): Promise<void> {
  await eventually('all rows', () => new Set(ids()).size === sent, 60_000).catch(() => {});
  assert.equal(
    ids(),
    Array.from({ length: sent }, (_, id) => id),
  );
}

for (const [qos, checkpointInterval] of [
  [1, '1s'],
  [1, '1h'],
  [2, '1s'],
  [2, '1h'],
] as const) {
  real(
    `kill -9 at any moment, QoS ${qos}, checkpoints every ${checkpointInterval}: each message is a row, once`,
    async () => {
      await listen(checkpointInterval, qos);
      for (let round = 0; round < rounds; round++) {
        const sending = send(2000, qos);
        const seen = ids().length + 300 * (1 + (round % 4));
        await eventually('some rows', () => ids().length >= seen, 30_000);
        await server.stop('SIGKILL');
        server = await startServer({ data });
        await sending;
      }
      await checkRows();
    },
  );
}

real('EXPLAIN says what holds, and on what condition', async () => {
  await listen('1s', 2);
  const { text } = await server.request('GET', '/rules/r/explain');
  assert.match(text, /exactly once/);
  assert.match(text, /the broker keeps the session of client once-test/);
});

test.run();

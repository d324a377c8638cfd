/**
 * Another client takes over the client id again and again, is sent what the session holds, and acknowledges nothing of
 * it: each message is a row once, though the broker has sent it many times, and to the other first. The broker writes
 * to disk on each change.
 */
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configSpec } from '../../../host/base/config/config-spec.js';
import { parse } from '../../../host/base/fields/field.js';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto, publishAll } from '../../support/brokers/mosquitto.js';
import { openEngine, type TestEngine } from '../../support/engine/engine-harness.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';

/** `HAUMEA_TAKEOVERS=60 HAUMEA_TAKEOVER_MESSAGES=130` is what a release wants. */
const takeovers = Number(process.env.HAUMEA_TAKEOVERS ?? 12);
const perTakeover = Number(process.env.HAUMEA_TAKEOVER_MESSAGES ?? 25);
if (!hasMosquitto) announceSkip('sessions that are taken over', 'mosquitto is not installed');
const real = hasMosquitto ? test : test.skip;
const name = 'taken';

let opened: TestEngine;
let broker: Mosquitto;
let sender: MqttClient;
let path: string;
test.before.each(async () => {
  if (!hasMosquitto) return;
  const options = ['allow_anonymous true', 'autosave_interval 1', 'autosave_on_changes true'];
  broker = await openMosquitto(undefined, temporaryFolder(), options);
  sender = await connectClient(broker.url);
  opened = openEngine({
    config: parse(configSpec, { basic: { connection: { maxReconnectInterval: 100 } } }),
    folders: { data: temporaryFolder() },
  });
  path = join(temporaryFolder(), 'out');
});
test.after.each(async () => {
  if (!hasMosquitto) return;
  await opened.close();
  await sender.endAsync(true);
  await broker.close();
});

/**
 * Connects as the engine does, in its session, reads for some time and acknowledges nothing. Ended by the client it
 * took over from.
 */
function takeOver(level: number): Promise<void> {
  const id = Buffer.from(name);
  const body = Buffer.concat([
    Buffer.from([0, 4, 0x4d, 0x51, 0x54, 0x54, level, 0, 0, 60]),
    ...(level === 5 ? [Buffer.from([5, 0x11, 0, 0, 1, 0])] : []),
    Buffer.from([0, id.length]),
    id,
  ]);
  return new Promise((resolve) => {
    const socket = connect(broker.port, '127.0.0.1', () => {
      socket.write(Buffer.concat([Buffer.from([0x10, body.length]), body]));
    });
    socket.on('data', () => {});
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });
}

function ids(): number[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { id: number }).id);
}

for (const [version, sourceQos, qos] of [
  ['3.1.1', 1, 0],
  ['5', 1, 2],
  ['3.1.1', 2, 2],
  ['5', 2, 0],
] as const) {
  real(`MQTT ${version} with QoS ${sourceQos}, a rule of qos ${qos}: taken over again and again`, async () => {
    const session = { clientid: name, enableClientSession: true, sessionExpiryIntervalSeconds: 600 };
    opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="t", CONF_KEY="s")', {
      server: broker.url,
      qos: sourceQos,
      protocolVersion: version,
      ...session,
    });
    const options = qos === 0 ? {} : { qos, checkpointIntervalMs: 500 };
    opened.run('r', 'SELECT id FROM s', [['file', { path, sendSingle: true }]], options);
    await opened.figure('r', 'source_s_0_connection_status', (value) => value === 1);
    let sent = 0;
    let sending = Promise.resolve();
    for (let round = 0; round < takeovers; round++) {
      const messages = Array.from({ length: perTakeover }, (_, i) => `{"id":${sent + i}}`);
      sent += perTakeover;
      sending = sending.then(() => publishAll(sender, 't', messages, sourceQos));
      await takeOver(version === '5' ? 5 : 4);
    }
    await sending;
    // What is wrong in the end is told by the rows.
    await eventually('all rows', () => new Set(ids()).size === sent, 60_000).catch(() => {});
    assert.equal(
      ids(),
      Array.from({ length: sent }, (_, id) => id),
    );
    const { metrics } = await opened.engine.status('r');
    const repeated = Number(metrics.source_s_0_messages_repeated_total);
    assert.ok(repeated > takeovers, `${repeated} came again`);
    assert.is(metrics.source_s_0_messages_processed_total, sent);
  });
}

test.run();

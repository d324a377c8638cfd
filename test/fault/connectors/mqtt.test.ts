/** Faults of an MQTT broker, both ways, with acknowledgements. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';
import { test } from 'uvu';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { sourceFaults } from '../../support/connectors/faults/sources.js';
import { announceSkip, freePort, temporaryFolder } from '../../support/harness.js';

/** A broker that keeps sessions, and a client that has heard and says what the test wants. */
async function openSide() {
  const port = await freePort();
  const folder = temporaryFolder();
  const users = join(temporaryFolder(), 'users');
  spawnSync('mosquitto_passwd', ['-b', '-c', users, 'rows', 'mqtt-secret-20']);
  const ids: number[] = [];
  let broker: Mosquitto;
  let client: MqttClient | undefined;
  const side = {
    url: `tcp://127.0.0.1:${port}`,
    ids,
    start: async () => {
      broker = await openMosquitto(port, folder, ['allow_anonymous true', `password_file ${users}`]);
      client = mqtt.connect(side.url, { clientId: 'test', clean: false, reconnectPeriod: 0 });
      // What the session has kept comes right behind the answer of the broker.
      client.on('message', (_topic, payload) => ids.push((JSON.parse(payload.toString()) as { id: number }).id));
      await new Promise((resolve) => client!.once('connect', resolve));
      client.on('error', () => {});
      await client.subscribeAsync('out', { qos: 1 });
    },
    kill: async () => {
      await client?.endAsync(true);
      // It writes what it has confirmed when it is asked to end.
      await broker.stop();
    },
    pause: () => broker.pause(),
    resume: () => broker.resume(),
    close: async () => {
      await client?.endAsync(true);
      await broker.close();
    },
    send: async (messages: readonly (string | Buffer)[]) => {
      for (const message of messages) await client?.publishAsync('in', message, { qos: 1 });
    },
  };
  await side.start();
  return side;
}

if (hasMosquitto) {
  sourceFaults(test, 'mqtt', async () => {
    const side = await openSide();
    const props = { server: side.url, qos: 1, enableClientSession: true, clientid: 'rows' };
    const tls = {
      props: (port: number) => ({ server: `ssl://127.0.0.1:${port}`, username: 'rows', password: 'mqtt-secret-22' }),
      secret: 'mqtt-secret-22',
    };
    const refusal = {
      props: { username: 'rows', password: 'mqtt-wrong-21', clientid: 'wrong' },
      reason: /not authorized|bad user/i,
      secret: 'mqtt-wrong-21',
    };
    return Object.assign(side, { dataSource: 'in', props, tls, refusal });
  });
} else {
  if (process.env.CI === 'true') throw new Error('faults of MQTT: mosquitto is not installed');
  announceSkip('faults of MQTT', 'mosquitto is not installed');
}

test.run();

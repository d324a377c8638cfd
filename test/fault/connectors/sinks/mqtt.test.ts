/** Faults of an MQTT broker that takes messages of at most 1 MB, and says so. */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';
import { test } from 'uvu';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../../support/brokers/mosquitto.js';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { announceSkip, freePort, temporaryFolder } from '../../../support/harness.js';

const login = { username: 'rows', password: 'mqtt-secret-21' };

/** A broker that keeps sessions, and a client that has heard what came. */
async function openSide() {
  const port = await freePort();
  const folder = temporaryFolder();
  const users = join(folder, 'users');
  execFileSync('mosquitto_passwd', ['-b', '-c', users, login.username, login.password], { stdio: 'ignore' });
  const options = ['allow_anonymous false', `password_file ${users}`, 'max_packet_size 1000000'];
  const texts: string[] = [];
  let broker: Mosquitto;
  let client: MqttClient | undefined;
  const side = {
    port,
    props: { server: `tcp://127.0.0.1:${port}`, ...login, topic: 'out', qos: 1, protocolVersion: '5' },
    arrived: () => idsOf(texts),
    start: async () => {
      broker = await openMosquitto(port, folder, options);
      client = mqtt.connect(side.props.server, { ...login, clientId: 'test', clean: false, reconnectPeriod: 0 });
      // What the session has kept comes right behind the answer of the broker.
      client.on('message', (_topic, payload) => texts.push(payload.toString()));
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
    refusal: { props: { password: 'mqtt-wrong-22' }, reason: /not authori|bad user/i, secret: 'mqtt-wrong-22' },
    tls: {
      props: (to: number) => ({ server: `ssl://127.0.0.1:${to}` }),
      plainPort: port,
      secret: login.password,
    },
    rejects: { row: { text: 'x'.repeat(2_000_000) }, reason: /larger|too large|packet size/i },
  };
  await side.start();
  return side;
}

const hasTools = hasMosquitto && spawnSync('mosquitto_passwd', []).error === undefined;
if (hasTools) {
  sinkFaults(test, 'mqtt', openSide, { lacks: { full: 'mosquitto has no answer that says so' } });
} else {
  if (process.env.CI === 'true') throw new Error('faults of MQTT as a sink: mosquitto is not installed');
  announceSkip('faults of MQTT as a sink', 'mosquitto is not installed');
}

test.run();

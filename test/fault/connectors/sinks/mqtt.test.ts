/** Faults of an MQTT broker that takes messages of at most 1 MB, and says so. */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import { openHeardBroker } from '../../../support/brokers/heard-broker.js';
import { hasMosquitto } from '../../../support/brokers/mosquitto.js';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { announceSkip, temporaryFolder } from '../../../support/harness.js';

const login = { username: 'rows', password: 'mqtt-secret-21' };

/** A broker that keeps sessions, and a client that has heard what came. */
async function openSide() {
  const users = join(temporaryFolder(), 'users');
  execFileSync('mosquitto_passwd', ['-b', '-c', users, login.username, login.password], { stdio: 'ignore' });
  const options = ['allow_anonymous false', `password_file ${users}`, 'max_packet_size 1000000'];
  const texts: string[] = [];
  const broker = await openHeardBroker((message) => texts.push(message.toString()), options, login);
  return Object.assign(broker, {
    props: { server: broker.url, ...login, topic: 'out', qos: 1, protocolVersion: '5' },
    arrived: () => idsOf(texts),
    refusal: { props: { password: 'mqtt-wrong-22' }, reason: /not authori|bad user/i, secret: 'mqtt-wrong-22' },
    tls: {
      props: (to: number) => ({ server: `ssl://127.0.0.1:${to}` }),
      plainPort: broker.port,
      secret: login.password,
    },
    rejects: { row: { text: 'x'.repeat(2_000_000) }, reason: /larger|too large|packet size/i },
  });
}

const hasTools = hasMosquitto && spawnSync('mosquitto_passwd', []).error === undefined;
if (hasTools) {
  sinkFaults(test, 'mqtt', openSide, { lacks: { full: 'mosquitto has no answer that says so' } });
} else {
  if (process.env.CI === 'true') throw new Error('faults of MQTT as a sink: mosquitto is not installed');
  announceSkip('faults of MQTT as a sink', 'mosquitto is not installed');
}

test.run();

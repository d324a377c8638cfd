/** Faults of an MQTT broker whose topics are read, with acknowledgements. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import { openHeardBroker } from '../../support/brokers/heard-broker.js';
import { hasMosquitto } from '../../support/brokers/mosquitto.js';
import { sourceFaults } from '../../support/connectors/faults/sources.js';
import { announceSkip, temporaryFolder } from '../../support/harness.js';

/** A broker that keeps sessions, and a client that says what the test wants. */
async function openSide() {
  const users = join(temporaryFolder(), 'users');
  spawnSync('mosquitto_passwd', ['-b', '-c', users, 'rows', 'mqtt-secret-20']);
  const broker = await openHeardBroker(() => {}, ['allow_anonymous true', `password_file ${users}`]);
  return Object.assign(broker, {
    send: async (messages: readonly (string | Buffer)[]) => {
      for (const message of messages) await broker.publish('in', message);
    },
  });
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

/**
 * MQTT QoS 1 and 2 with a session into a file at qos 2 is exactly once: over kill -9 of the engine at any moment,
 * connections that another client takes over, and a broker that is away. `HAUMEA_ONCE_ROUNDS=30` runs as many rounds as
 * a release wants.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, type Mosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { NumberedMessages, SessionRule } from '../../support/brokers/session-rule.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_ONCE_ROUNDS ?? 2);
if (!hasMosquitto) announceSkip('MQTT exactly once', 'mosquitto is not installed');
const real = hasMosquitto ? test : test.skip;
const clientid = 'once-test';

let broker: Mosquitto;
let rule: SessionRule;
let messages: NumberedMessages;

test.before.each(async () => {
  if (!hasMosquitto) return;
  broker = await openMosquitto(undefined, temporaryFolder());
  rule = await SessionRule.start();
  messages = new NumberedMessages(rule, await connectClient(broker.url));
});
test.after.each(async () => {
  if (!hasMosquitto) return;
  await rule.close();
  await messages.client.endAsync(true);
  await broker.close();
});

for (const [qos, checkpointInterval] of [
  [1, '1s'],
  [1, '1h'],
  [2, '1s'],
  [2, '1h'],
] as const) {
  real(
    `kill -9 at any moment, QoS ${qos}, checkpoints every ${checkpointInterval}: each message is a row, once`,
    async () => {
      await rule.listen({ url: broker.url, qos, clientid, checkpointInterval });
      for (let round = 0; round < rounds; round++) {
        const sending = messages.send(2000, qos);
        const seen = rule.ids().length + 300 * (1 + (round % 4));
        await eventually('some rows', () => rule.ids().length >= seen, 30_000);
        await rule.kill();
        await sending;
      }
      await messages.checkRows(60_000);
    },
  );
}

real('EXPLAIN says what holds, and on what condition', async () => {
  await rule.listen({ url: broker.url, qos: 2, clientid, checkpointInterval: '1s' });
  const { text } = await rule.server.request('GET', '/rules/r/explain');
  assert.match(text, /exactly once/);
  assert.match(text, /the broker keeps the session of client once-test/);
});

test.run();

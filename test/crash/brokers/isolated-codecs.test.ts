/**
 * Messages that a codec on a thread of its own reads and writes, between MQTT with a session and a file at qos 2: each
 * is a row once, over kill -9 of the server at any moment. `HAUMEA_ONCE_ROUNDS=30` runs as many rounds as a release
 * wants.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { connectClient } from '../../support/brokers/broker.js';
import { hasMosquitto, openMosquitto } from '../../support/brokers/mosquitto.js';
import { NumberedMessages, SessionRule } from '../../support/brokers/session-rule.js';
import { announceSkip, eventually, temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_ONCE_ROUNDS ?? 1);
if (!hasMosquitto) announceSkip('codecs with threads, exactly once', 'mosquitto is not installed');
const real = hasMosquitto ? test : test.skip;

for (const qos of [1, 2] as const) {
  real(`kill -9 at any moment, QoS ${qos}: each message is a row, once`, async () => {
    const broker = await openMosquitto(undefined, temporaryFolder());
    const rule = await SessionRule.start();
    const messages = new NumberedMessages(rule, await connectClient(broker.url));
    try {
      const module = readFileSync(new URL('../../guests/texts.wasm', import.meta.url));
      const codecs = [{ name: 'same', decode: 'same', encode: 'same' }];
      const bytecode = Buffer.from(withManifest(module, JSON.stringify({ abi: 1, codecs }))).toString('base64');
      const made = await rule.server.request('POST', '/plugins/wasm', { name: 'same', bytecode, isolate: true });
      assert.is(made.status, 201, made.text);
      await rule.listen({ url: broker.url, qos, clientid: 'apart', checkpointInterval: '300ms', codec: 'same' });
      for (let round = 0; round < rounds; round++) {
        const sending = messages.send(2000, qos);
        const seen = rule.ids().length + 300 * (1 + (round % 4));
        await eventually('some rows', () => rule.ids().length >= seen, 30_000);
        await rule.kill();
        await sending;
      }
      await messages.checkRows(60_000);
    } finally {
      await rule.close();
      await messages.client.endAsync(true);
      await broker.close();
    }
  });
}

test.run();

/**
 * Messages that a broker sends again in a session: they are known, acknowledged and not handed on; new ones are never
 * taken for them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configSpec } from '../../../host/base/config/config-spec.js';
import { parse } from '../../../host/base/fields/field.js';
import { SessionBroker, type SessionBrokerOptions } from '../../support/brokers/session-broker.js';
import { openEngine, type TestEngine } from '../../support/engine/engine-harness.js';
import { eventually, temporaryFolder } from '../../support/harness.js';

let opened: TestEngine;
let broker: SessionBroker;
let path: string;
test.before.each(() => {
  opened = openEngine({ config: parse(configSpec, { basic: { connection: { maxReconnectInterval: 100 } } }) });
  path = join(temporaryFolder(), 'out');
});
test.after.each(async () => {
  await opened.close();
  broker.close();
});

/** A rule that writes what comes on topic `a` to a file. */
async function listen(options: SessionBrokerOptions = {}, conf: Record<string, unknown> = {}): Promise<void> {
  broker = await SessionBroker.open(options);
  opened.stream('CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="a", CONF_KEY="s")', {
    server: broker.url,
    qos: options.qos ?? 1,
    clientid: 'c',
    enableClientSession: true,
    ...conf,
  });
  opened.run('r', 'SELECT * FROM s', [['file', { path, sendSingle: true }]]);
  await connected(1);
}

const connected = (connections: number) =>
  eventually('a connection', () => broker.connections >= connections && broker.isConnected);

function ids(): number[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { id: number }).id);
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const messages = (from: number, to: number) => numbers(from, to).map((id) => `{"id":${id}}`);
const metric = async (name: string) => (await opened.engine.status('r')).metrics[name];
const allAcknowledged = () => eventually('all acknowledgements', () => broker.waiting === 0, 20_000);

for (const qos of [1, 2] as const) {
  test(`QoS ${qos}: forty connections that break: each message is a row, once and in order`, async () => {
    await listen({ qos });
    let sent = 0;
    for (let round = 1; round <= 40; round++) {
      broker.send(messages(sent, sent + 70));
      sent += 70;
      // Of three times it loses one what the client acknowledges, once before anything has come of it.
      broker.isDeaf = round % 3 === 0;
      if (round % 5 > 0) await eventually('the window', () => broker.waiting === 0 || broker.onTheirWay === 20);
      broker.cut();
      broker.isDeaf = false;
      await connected(round + 1);
    }
    await allAcknowledged();
    await eventually('all rows', () => ids().length >= sent);
    assert.equal(ids(), numbers(0, sent));
    assert.ok(broker.repeats > 40, `${broker.repeats} were sent again`);
    assert.equal(broker.wrong, []);
    assert.is(Number(await metric('source_s_0_messages_repeated_total')) > 0, true);
  });
}

for (const qos of [1, 2] as const) {
  test(`QoS ${qos}: acknowledgements that are lost are given again, and no row comes of them`, async () => {
    await listen({ qos });
    broker.isDeaf = true;
    broker.send(messages(0, 20));
    await eventually('rows', () => ids().length === 20);
    broker.cut();
    await connected(2);
    assert.is(broker.waiting, 20);
    broker.isDeaf = false;
    broker.cut();
    await connected(3);
    await allAcknowledged();
    broker.send(messages(20, 30));
    await eventually('new rows', () => ids().length >= 30);
    assert.equal(ids(), numbers(0, 30));
    assert.ok(Number(await metric('source_s_0_messages_repeated_total')) >= 20);
  });
}

for (const qos of [1, 2] as const) {
  test(
    `QoS ${qos}: an equal message under another id is new, and so is another message under a known id, whatever ` +
      'its flag says',
    async () => {
      await listen({ qos });
      broker.send(['{"id":1}', '{"id":1}', '{"id":1}']);
      await eventually('rows', () => ids().length === 3);
      await allAcknowledged();
      broker.sendInVain(['{"id":1}', '{"id":2}']);
      await connected(2);
      await eventually('more rows', () => ids().length === 5);
      await allAcknowledged();
      assert.equal(ids(), [1, 1, 1, 1, 2]);
      assert.is(await metric('source_s_0_messages_repeated_total'), 0);
    },
  );
}

for (const qos of [1, 2] as const) {
  test(`QoS ${qos}: a broker that has forgotten the session: equal ids and messages are new`, async () => {
    await listen({ qos });
    broker.isDeaf = true;
    broker.send(messages(0, 10));
    await eventually('rows', () => ids().length === 10);
    broker.forget();
    broker.isDeaf = false;
    await connected(2);
    broker.sendInVain(messages(0, 10));
    await connected(3);
    await allAcknowledged();
    await eventually('new rows', () => ids().length === 20);
    assert.equal(ids(), [...numbers(0, 10), ...numbers(0, 10)]);
  });
}

test(
  'a broker that gives ids again at once: an equal message that was lost on its first way is not taken for the one ' +
    'before',
  async () => {
    await listen({ reusesIds: true });
    // It shows itself: the same id, twice on one connection.
    for (let i = 0; i < 3; i++) {
      broker.send(['{"id":1}']);
      await eventually('a row', () => ids().length === i + 1);
      await allAcknowledged();
    }
    broker.sendInVain(['{"id":1}']);
    await connected(2);
    await allAcknowledged();
    await eventually('its row', () => ids().length === 4);
    // What was not acknowledged is known even so.
    broker.isDeaf = true;
    broker.send(['{"id":5}']);
    await eventually('another row', () => ids().length === 5);
    assert.equal(ids(), [1, 1, 1, 1, 5]);
  },
);

for (const qos of [1, 2] as const) {
  test(`QoS ${qos}: messages in pieces, with DUP on the edge of each`, async () => {
    await listen({ qos });
    const long = numbers(0, 10).map((id) => `{"id":${id},"text":"${'x'.repeat(9000)}"}`);
    broker.isDeaf = true;
    broker.send(long);
    await eventually('rows', () => ids().length === 10);
    broker.isDeaf = false;
    broker.cut();
    await connected(2);
    await allAcknowledged();
    broker.send(messages(10, 15));
    await eventually('new rows', () => ids().length >= 15);
    assert.equal(ids(), numbers(0, 15));
  });
}

test('a broker that has no time for pings but sends messages is alive, and one that is silent is not', async () => {
  await listen({}, { keepAlive: '1s' });
  broker.ignoresPings = true;
  let sent = 0;
  const sending = setInterval(() => broker.send(messages(sent, ++sent)), 50);
  await eventually('pings without an answer', () => broker.pings >= 4);
  clearInterval(sending);
  assert.is(broker.connections, 1);
  await connected(2);
  assert.match(String(await metric('source_s_0_connection_last_disconnected_message')), /Keepalive timeout/);
  await allAcknowledged();
  await eventually('all rows', () => ids().length >= sent);
  assert.equal(ids(), numbers(0, sent));
});

test.run();

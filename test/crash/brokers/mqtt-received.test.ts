/**
 * MQTT QoS 2 step by step, with a broker that loses what it is told to lose and an engine that is killed between the
 * steps: a message is one row however often it is sent before its id is free, and the id is free when the broker has
 * said so.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SessionBroker } from '../../support/brokers/session-broker.js';
import { SessionRule } from '../../support/brokers/session-rule.js';
import { eventually } from '../../support/harness.js';

const pubrec = 0x50;
const pubcomp = 0x70;

let broker: SessionBroker;
let rule: SessionRule;
test.before.each(async () => {
  rule = await SessionRule.start({ KUIPER__BASIC__CONNECTION__MAXRECONNECTINTERVAL: '200ms' });
});
test.after.each(async () => {
  await rule.close();
  broker.close();
});

async function listen(checkpointInterval: string, reusesIds = false): Promise<void> {
  broker = await SessionBroker.open({ qos: 2, reusesIds });
  await rule.listen({ url: broker.url, qos: 2, clientid: 'c', checkpointInterval, topic: 'a' });
  await connected(1);
}

const connected = (connections: number) =>
  eventually('a connection', () => broker.connections >= connections && broker.isConnected, 30_000);

/** Ends the server hard and has it back, connected. */
async function kill(): Promise<void> {
  const { connections } = broker;
  await rule.kill();
  await connected(connections + 1);
}

async function cut(): Promise<void> {
  const { connections } = broker;
  broker.cut();
  await connected(connections + 1);
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const messages = (from: number, to: number) => numbers(from, to).map((id) => `{"id":${id}}`);
const receiptsOf = (type: number) => broker.receipts.filter(([kind]) => kind === type);
const receipts = (type: number, count: number) =>
  eventually(`${count} receipts ${type}`, () => receiptsOf(type).length >= count, 20_000);
const allFree = () => eventually('all ids free', () => broker.waiting === 0, 20_000);

/** What is sent now is a row, and nothing else has come before it. */
async function checkRows(wanted: readonly number[]): Promise<void> {
  broker.send(['{"id":-1}']);
  await eventually('the last row', () => rule.ids().at(-1) === -1, 20_000);
  assert.equal(rule.ids(), [...wanted, -1]);
}

for (const interval of ['100ms', '1h']) {
  test(`sent again before it is answered, checkpoints every ${interval}`, async () => {
    await listen(interval);
    broker.send(messages(0, 10));
    broker.repeat();
    // Each copy has its answer.
    await receipts(pubrec, 20);
    await allFree();
    await checkRows(numbers(0, 10));
  });

  test(`sent again after it was answered, over a connection and kill -9, checkpoints every ${interval}`, async () => {
    await listen(interval);
    broker.isDeafTo = pubrec;
    broker.send(messages(0, 10));
    await receipts(pubrec, 10);
    broker.repeat();
    await receipts(pubrec, 20);
    await cut();
    await receipts(pubrec, 30);
    await kill();
    await receipts(pubrec, 40);
    await kill();
    await receipts(pubrec, 50);
    assert.equal(receiptsOf(pubcomp), []);
    assert.is(broker.waiting, 10);
    broker.isDeafTo = 0;
    await cut();
    await allFree();
    await checkRows(numbers(0, 10));
  });

  test(`an id freed again and again, over a connection and kill -9, checkpoints every ${interval}`, async () => {
    await listen(interval);
    broker.isDeafTo = pubcomp;
    broker.send(messages(0, 10));
    await receipts(pubcomp, 10);
    broker.repeat();
    await receipts(pubcomp, 20);
    await cut();
    await receipts(pubcomp, 30);
    await kill();
    await receipts(pubcomp, 40);
    broker.isDeafTo = 0;
    await cut();
    await allFree();
    assert.is(receiptsOf(pubrec).length, 10);
    // One that never stood for anything.
    broker.freeAgain(4711);
    await eventually('its answer', () => receiptsOf(pubcomp).some(([, id]) => id === 4711));
    await checkRows(numbers(0, 10));
  });

  test(`an equal message under an id that was free before kill -9 is new, checkpoints every ${interval}`, async () => {
    await listen(interval, true);
    for (let round = 1; round <= 3; round++) {
      // Its first delivery was lost, so it says that it is sent again.
      broker.sendInVain(['{"id":7}']);
      await eventually('its row', () => rule.ids().length === round, 20_000);
      await allFree();
      assert.equal(new Set(broker.receipts.map(([, id]) => id)), new Set([1]));
      await kill();
    }
    await checkRows([7, 7, 7]);
  });
}

/** `HAUMEA_RECEIVED_ROUNDS=30` is what a release wants. */
test('kill -9 at any step: each message is a row, once and in order', async () => {
  await listen('500ms');
  let sent = 0;
  for (let round = 0; round < Number(process.env.HAUMEA_RECEIVED_ROUNDS ?? 6); round++) {
    broker.isDeafTo = [0, pubrec, pubcomp][round % 3]!;
    broker.send(messages(sent, sent + 50));
    sent += 50;
    const before = broker.receipts.length;
    await eventually('receipts', () => broker.receipts.length > before + 5 * (round % 4), 20_000);
    broker.isDeafTo = 0;
    await kill();
  }
  await allFree();
  await checkRows(numbers(0, sent));
});

test.run();

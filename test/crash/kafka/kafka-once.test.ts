/** Rules with qos 2 from and to Kafka: each message once, over kill -9 of the engine and of the broker. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';
import { readCommitted } from '../../support/servers/kafka/committed.js';
import { makeTopic, produce, readTopic } from '../../support/servers/kafka/messages.js';
import { needsKafka, openKafka, type TestKafka } from '../../support/servers/kafka.js';

if (!needsKafka('rules with Kafka and qos 2')) process.exit(0);

let kafka: TestKafka;
let server: TestServer;
test.before(async () => {
  kafka = await openKafka();
  server = await startServer();
});
test.after(async () => {
  await server.stop();
  await kafka.close();
});

const restart = async () => {
  await server.stop('SIGKILL');
  server = await startServer({ data: server.data });
};

async function post(path: string, body: unknown): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.ok(status < 300, text);
}

/** A rule that copies a topic to another one. */
async function copy(id: string, from: string, to: string, options: object): Promise<void> {
  const conf = { brokers: kafka.brokers, groupID: id };
  await server.request('PUT', `/metadata/sources/kafka/confKeys/${id}`, conf);
  await post('/streams', { sql: `CREATE STREAM ${id} () WITH (TYPE="kafka", DATASOURCE="${from}", CONF_KEY="${id}")` });
  const actions = [{ kafka: { brokers: kafka.brokers, topic: to, sendSingle: true } }];
  await post('/rules', { id, sql: `SELECT id FROM ${id}`, actions, options: { qos: 2, ...options } });
}

const send = (topic: string, from: number, to: number) =>
  produce(
    kafka.brokers,
    Array.from({ length: to - from }, (_, i) => ({ topic, value: `{"id":${from + i}}`, partition: i % 3 })),
  );

/** Everything that was committed to the topic: what is written now comes behind it. */
async function allOf(topic: string): Promise<number[]> {
  await produce(
    kafka.brokers,
    upTo(3).map((partition) => ({ topic, value: '{"id":-1}', partition })),
  );
  const isLast = (id: number) => id === -1;
  const got = await readCommitted(kafka.brokers, topic, (all) => idsOf(all).filter(isLast).length === 3);
  return sorted(idsOf(got).filter((id) => !isLast(id)));
}

const idsOf = (got: readonly { value: string }[]) => got.map(({ value }) => JSON.parse(value).id as number);

const sorted = (ids: readonly number[]) => [...ids].sort((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

test('messages are seen when their checkpoint counts, and not before', async () => {
  for (const topic of ['in', 'out']) await makeTopic(kafka.brokers, topic, 3);
  await copy('held', 'in', 'out', { checkpointInterval: '1h' });
  assert.match((await server.request('GET', '/rules/held/explain')).text, /"guarantee":"exactly once"}/);
  await send('in', 0, 100);
  // The broker has them, and nobody who reads committed messages.
  const all = await readTopic(kafka.brokers, 'out', ({ length }) => length >= 100);
  assert.equal(sorted(idsOf(all)), upTo(100));
  await restart();
  await readTopic(kafka.brokers, 'out', ({ length }) => length >= 200);
  // An orderly end takes a checkpoint.
  await post('/rules/held/stop', '');
  const got = await readCommitted(kafka.brokers, 'out', ({ length }) => length >= 100);
  assert.equal(sorted(idsOf(got)), upTo(100));
  await post('/rules/held/start', '');
  await send('in', 100, 150);
  await readTopic(kafka.brokers, 'out', ({ length }) => length >= 250);
  await post('/rules/held/stop', '');
  const more = await readCommitted(kafka.brokers, 'out', ({ length }) => length >= 150);
  assert.equal(sorted(idsOf(more)), upTo(150));
});

test('each message is out once, however often the engine and the broker are killed', async () => {
  for (const topic of ['a', 'b']) await makeTopic(kafka.brokers, topic, 3);
  await copy('killed', 'a', 'b', { checkpointInterval: '200ms' });
  const count = 20_000;
  let sent = 0;
  /** Sender and kill of the broker take turns: what a sender does not know to be there would come twice. */
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>) => {
    turn = turn.then(work);
    return turn;
  };
  const sending = (async () => {
    while (sent < count) {
      await inTurn(() => send('a', sent, sent + 500));
      sent += 500;
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  })();
  const after = (messages: number) => eventually(`${messages} sent`, () => sent >= messages);
  await after(4000);
  await restart();
  await after(8000);
  await inTurn(async () => {
    await kafka.kill();
    await kafka.start();
  });
  await after(12_000);
  await restart();
  await sending;
  await readCommitted(kafka.brokers, 'b', ({ length }) => length >= count);
  await post('/rules/killed/stop', '');
  assert.equal(await allOf('b'), upTo(count));
});

test('rules on a shared stream each go on from their own place', async () => {
  for (const topic of ['e', 'f1', 'f2']) await makeTopic(kafka.brokers, topic, 3);
  await server.request('PUT', '/metadata/sources/kafka/confKeys/both', { brokers: kafka.brokers, groupID: 'both' });
  const options = 'TYPE="kafka", DATASOURCE="e", CONF_KEY="both", SHARED="TRUE"';
  await post('/streams', { sql: `CREATE STREAM both () WITH (${options})` });
  for (const [id, checkpointInterval] of [
    ['f1', '100ms'],
    ['f2', '700ms'],
  ] as const) {
    const actions = [{ kafka: { brokers: kafka.brokers, topic: id, sendSingle: true } }];
    await post('/rules', { id, sql: 'SELECT id FROM both', actions, options: { qos: 2, checkpointInterval } });
  }
  const rounds = 4;
  for (let round = 0; round < rounds; round++) {
    for (let part = 0; part < 10; part++) await send('e', round * 1000 + part * 100, round * 1000 + part * 100 + 100);
    await readCommitted(kafka.brokers, 'f1', ({ length }) => length >= round * 1000 + 300);
    await restart();
  }
  for (const topic of ['f1', 'f2']) {
    await readCommitted(kafka.brokers, topic, ({ length }) => length >= rounds * 1000);
    await post(`/rules/${topic}/stop`, '');
    assert.equal(await allOf(topic), upTo(rounds * 1000));
  }
});

test('what a deleted rule has prepared is committed, and what it has begun aborted', async () => {
  for (const topic of ['c', 'd']) await makeTopic(kafka.brokers, topic, 3);
  await copy('gone', 'c', 'd', { checkpointInterval: '1h' });
  await send('c', 0, 10);
  await readTopic(kafka.brokers, 'd', ({ length }) => length >= 10);
  const { status, text } = await server.request('DELETE', '/rules/gone');
  assert.is(status, 200, text);
  const ids = await allOf('d');
  assert.ok(ids.length === 0 || ids.length === 10, `${ids.length}`);
});

test.run();

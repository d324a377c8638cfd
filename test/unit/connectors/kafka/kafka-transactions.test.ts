/** What a sink of Kafka makes of transactions that an earlier run has left. */
import { Producer, stringSerializers } from '@platformatic/kafka';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../../host/base/errors.js';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { silent } from '../../../../host/base/log/log.js';
import { connectorOf } from '../../../../host/connectors/index.js';
import { KafkaSink, type KafkaSinkConf } from '../../../../host/connectors/kafka/sink.js';
import type { SinkContext } from '../../../../host/connectors/running.js';
import { eventually } from '../../../support/harness.js';
import { readCommitted } from '../../../support/servers/kafka/committed.js';
import { makeTopic } from '../../../support/servers/kafka/messages.js';
import { type KafkaBroker, needsKafka, sharedKafka } from '../../../support/servers/kafka.js';

if (!needsKafka('transactions of Kafka')) process.exit(0);

let kafka: KafkaBroker;
test.before(async () => {
  kafka = await sharedKafka();
});
test.after(() => kafka.close());

interface Told {
  readonly failures: string[];
  readonly losses: string[];
  accepted: number;
}

/** A sink with transactions of that name. */
function sinkOf(name: string, topic: string): { sink: KafkaSink; told: Told } {
  const spec = Object.entries(connectorOf('kafka')!.sink!.props).map(([key, { declared }]) => [key, declared.default]);
  const conf = { ...Object.fromEntries(spec), brokers: kafka.brokers, topic } as KafkaSinkConf;
  const told: Told = { failures: [], losses: [], accepted: 0 };
  const context = {
    ruleId: 'r',
    dynamic: new Set(),
    log: silent,
    transactionName: name,
    paths: AllowedPaths.any(),
    shared: <T>(_key: string, make: () => T) => make(),
    accepted: (_bytes: number, messages: number) => {
      told.accepted += messages;
    },
    failed: (_bytes: number, _messages: number, reason: string) => void told.failures.push(reason),
    refused: (_message: Uint8Array, _bytes: number, _messages: number, reason: string) =>
      void told.failures.push(reason),
    disconnected: (reason: string) => void told.losses.push(reason),
  } as unknown as SinkContext;
  return { sink: new KafkaSink(conf, context), told };
}

const chunk = (text: string) => {
  const bytes = Buffer.from(text);
  return { bytes, ends: null, messages: 1, rows: 1, errors: new Set<number>() } as unknown as Parameters<
    KafkaSink['write']
  >[0];
};

/** A transaction with one message, by another program. */
async function begun(id: string, topic: string, value: string) {
  const options = { clientId: 'test', bootstrapBrokers: [kafka.brokers], idempotent: true, transactionalId: id };
  const producer = new Producer({ ...options, serializers: stringSerializers, timeout: 60_000 });
  const transaction = await producer.beginTransaction();
  await transaction.send({ messages: [{ topic, value }] });
  return { producer, transaction };
}

const valuesOf = async (topic: string, count: number) =>
  (await readCommitted(kafka.brokers, topic, ({ length }) => length >= count)).map(({ value }) => value);

test('the transaction of the checkpoint is committed, and what came after it aborted', async () => {
  const topic = 'left';
  await makeTopic(kafka.brokers, topic);
  const prepared = await begun('haumea-left-1', topic, 'prepared');
  const open = await begun('haumea-left-2', topic, 'open');
  const { sink, told } = sinkOf('left', topic);
  sink.cutBack({ transaction: 5, messages: 1 });
  await sink.open();
  sink.write(chunk('again'));
  const position = sink.position()!;
  assert.equal(position, { transaction: 6, messages: 1 });
  await sink.sync();
  assert.equal(await valuesOf(topic, 1), ['prepared']);
  sink.commit(position);
  assert.equal(await valuesOf(topic, 2), ['prepared', 'again']);
  assert.equal([told.failures, told.losses, told.accepted], [[], [], 1]);
  await sink.close();
  for (const { producer } of [prepared, open]) await producer.close(true);
});

test('a transaction of the checkpoint that the broker has aborted is named, with its size', async () => {
  const topic = 'aborted';
  await makeTopic(kafka.brokers, topic);
  const { producer, transaction } = await begun('haumea-aborted-1', topic, 'gone');
  await transaction.abort();
  await producer.close();
  const { sink, told } = sinkOf('aborted', topic);
  sink.cutBack({ transaction: 5, messages: 7 });
  await sink.open();
  assert.is(told.failures.length, 1);
  assert.match(told.failures[0]!, /^7 messages of transaction 5 are lost: the broker has aborted it/);
  await sink.close();
});

test('what a run has left is aborted, which no reader takes for committed', async () => {
  const topic = 'several';
  await makeTopic(kafka.brokers, topic);
  const killed = sinkOf('several', topic);
  await killed.sink.open();
  for (const value of ['1', '2', '3', '4']) {
    killed.sink.write(chunk(value));
    killed.sink.position();
    await killed.sink.sync();
  }
  // The last of them has the id that is the first to begin anew, and so is aborted before the others.
  const { sink, told } = sinkOf('several', topic);
  await sink.open();
  sink.write(chunk('again'));
  const position = sink.position();
  await sink.sync();
  sink.commit(position);
  assert.equal(await valuesOf(topic, 1), ['again']);
  assert.equal(told.failures, []);
  await sink.close();
  await killed.sink.close();
});

test('ids serve again and again, and messages before the first connection are in a transaction as well', async () => {
  const topic = 'many';
  await makeTopic(kafka.brokers, topic);
  const { sink, told } = sinkOf('many', topic);
  sink.write(chunk('0'));
  let position = sink.position();
  sink.write(chunk('1'));
  await sink.open();
  await sink.sync();
  sink.commit(position);
  const rounds = 12;
  for (let i = 2; i < rounds; i++) {
    position = sink.position();
    sink.write(chunk(String(i)));
    await sink.sync();
    sink.commit(position);
  }
  const expected = Array.from({ length: rounds - 1 }, (_, i) => String(i));
  assert.equal(await valuesOf(topic, rounds - 1), expected);
  assert.equal([told.failures, told.losses], [[], []]);
  await sink.close();
});

test('a run that another one has taken the ids from ends with the reason', async () => {
  const topic = 'taken';
  await makeTopic(kafka.brokers, topic);
  const first = sinkOf('taken', topic);
  await first.sink.open();
  const second = sinkOf('taken', topic);
  await second.sink.open();
  first.sink.write(chunk('1'));
  await eventually('the loss', () => first.told.losses.length > 0 || undefined);
  const refusal = await first.sink.open().then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(refusal instanceof HaumeaError && refusal.kind === 'config', String(refusal));
  assert.match(refusal.message, /the transaction can't go on/);
  await first.sink.close();
  await second.sink.close();
});

test.run();

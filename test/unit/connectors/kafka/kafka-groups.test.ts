/** The source kafka as member of a group, and what it makes of a full engine and of transactions. */
import { Producer, stringSerializers } from '@platformatic/kafka';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../../host/connectors/index.js';
import { KafkaSource, type KafkaSourceConf } from '../../../../host/connectors/kafka/source.js';
import { type OpenedSource, openSource } from '../../../support/connectors/source.js';
import { eventually } from '../../../support/harness.js';
import { textsOf } from '../../../support/servers/kafka/frames.js';
import { addPartitions, committedOf, makeTopic, produce } from '../../../support/servers/kafka/messages.js';
import { type KafkaBroker, needsKafka, sharedKafka } from '../../../support/servers/kafka.js';

if (!needsKafka('groups of Kafka')) process.exit(0);

let kafka: KafkaBroker;
test.before(async () => {
  kafka = await sharedKafka();
});
test.after(() => kafka.close());

const conf = (change: Partial<KafkaSourceConf>) => {
  const spec = Object.entries(connectorOf('kafka')!.source!.props).map(([name, { declared }]) => [
    name,
    declared.default,
  ]);
  return { ...Object.fromEntries(spec), brokers: kafka.brokers, ...change } as KafkaSourceConf;
};

type Opened = OpenedSource<KafkaSource>;

function open(
  topic: string,
  groupID: string,
  given: { from?: unknown; isCommitted?: boolean } = {},
  change: object = {},
) {
  const make = (context: ConstructorParameters<typeof KafkaSource>[1]) =>
    new KafkaSource(
      conf({ groupID }),
      Object.defineProperties(Object.assign(context, { dataSource: topic }), Object.getOwnPropertyDescriptors(change)),
    );
  return openSource(make, given);
}

/** Partitions that a member reads: its position has offsets of others as well. */
function partitionsOf({ source }: Opened, topic: string): number[] {
  const { offsets } = source.position();
  const isRead = (partition: string) =>
    !source.isAt({ offsets: { ...offsets, [topic]: { ...offsets[topic], [partition]: -1 } } });
  return Object.keys(offsets[topic] ?? {})
    .filter(isRead)
    .map(Number);
}

const send = (topic: string, from: number, to: number, partitions: number) =>
  produce(
    kafka.brokers,
    Array.from({ length: to - from }, (_, i) => ({
      topic,
      value: String(from + i),
      partition: (from + i) % partitions,
    })),
  );

const numbers = (...opened: Opened[]) => opened.flatMap(({ written }) => textsOf(written).map(Number));
const sorted = (all: readonly number[]) => [...all].sort((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

test('members share the partitions; when one leaves, the other goes on where the group is', async () => {
  const topic = 'shared';
  await makeTopic(kafka.brokers, topic, 4);
  await send(topic, 0, 400, 4);
  const one = await open(topic, 'g1');
  await eventually('the first', () => numbers(one).length === 400);
  assert.equal(sorted(numbers(one)), upTo(400));
  const two = await open(topic, 'g1');
  await eventually(
    'two partitions each',
    () => [one, two].every((member) => partitionsOf(member, topic).length === 2) || undefined,
  );
  await send(topic, 400, 800, 4);
  await eventually('all', () => numbers(one, two).length >= 800);
  assert.equal(sorted(numbers(one, two)), upTo(800));
  assert.is(numbers(two).length, 200);
  await one.source.close();
  await eventually('all partitions', () => partitionsOf(two, topic).length === 4 || undefined);
  await send(topic, 800, 1000, 4);
  await eventually('the rest', () => numbers(one, two).length >= 1000);
  assert.equal(sorted(numbers(one, two)), upTo(1000));
  await two.source.close();
  assert.equal(await committedOf(kafka.brokers, 'g1', topic, [0, 1, 2, 3]), [250, 250, 250, 250]);
  const three = await open(topic, 'g1');
  await send(topic, 1000, 1004, 4);
  await eventually('the new ones', () => numbers(three).length >= 4);
  assert.equal(sorted(numbers(three)), [1000, 1001, 1002, 1003]);
  await three.source.close();
});

test('with checkpoints a group gets the offsets that a checkpoint has, and no others', async () => {
  const topic = 'checkpointed';
  await makeTopic(kafka.brokers, topic);
  await send(topic, 0, 10, 1);
  const one = await open(topic, 'g2', { isCommitted: true });
  await eventually('all', () => numbers(one).length === 10);
  const position = one.source.position();
  await send(topic, 10, 20, 1);
  await eventually('more', () => numbers(one).length === 20);
  one.source.commit(position);
  await eventually(
    'the commit',
    async () => (await committedOf(kafka.brokers, 'g2', topic, [0]))[0] === 10 || undefined,
  );
  await one.source.close();
  assert.equal(await committedOf(kafka.brokers, 'g2', topic, [0]), [10]);
  const behind = await open(topic, 'g2', { isCommitted: true, from: { offsets: { [topic]: { 0: 5 } } } });
  await eventually('what the group has not', () => numbers(behind).length === 10);
  assert.equal(numbers(behind), upTo(20).slice(10));
  await behind.source.close();
  const ahead = await open(topic, 'g2', { isCommitted: true, from: { offsets: { [topic]: { 0: 15 } } } });
  await eventually('what the checkpoint has not', () => numbers(ahead).length === 5);
  assert.equal(numbers(ahead), upTo(20).slice(15));
  await ahead.source.close();
});

test('a member that was killed is not waited for by the run that goes on with its position', async () => {
  const topic = 'killed';
  await makeTopic(kafka.brokers, topic);
  await send(topic, 0, 10, 1);
  const one = await open(topic, 'g3', { isCommitted: true });
  await eventually('all', () => numbers(one).length === 10);
  const began = Date.now();
  const two = await open(topic, 'g3', { isCommitted: true, from: one.source.position() });
  assert.ok(Date.now() - began < 8000, `${Date.now() - began} ms`);
  await two.source.close();
  await one.source.close();
});

test('a partition that another member has at first goes on at the position of the checkpoint', async () => {
  const topic = 'late';
  await makeTopic(kafka.brokers, topic, 2);
  await send(topic, 0, 100, 2);
  const other = await open(topic, 'g8', { isCommitted: true });
  await eventually('both', () => partitionsOf(other, topic).length === 2 || undefined);
  const from = { offsets: { [topic]: { 0: 40, 1: 30 } } };
  const one = await open(topic, 'g8', { isCommitted: true, from });
  await eventually('one each', () =>
    [one, other].every((member) => partitionsOf(member, topic).length === 1) ? true : undefined,
  );
  assert.equal(Object.keys(one.source.position().offsets[topic]!), ['0', '1']);
  await other.source.close();
  await eventually('the rest', () => numbers(one).length >= 30);
  await send(topic, 100, 102, 2);
  await eventually('new ones', () => numbers(one).length >= 32);
  const expected = upTo(102).filter((id) => id >= (id % 2 === 0 ? 80 : 60));
  assert.equal(sorted(numbers(one)), expected);
  await one.source.close();
});

test('rules that go on from several places are told between two writes', async () => {
  const topic = 'places';
  await makeTopic(kafka.brokers, topic, 2);
  await send(topic, 0, 200, 2);
  const at = (zero: number, one: number) => ({ offsets: { [topic]: { 0: zero, 1: one } } });
  const told: [number, number][] = [];
  let writing: Opened | undefined;
  const look = (one: Opened) => {
    writing = one;
  };
  const opened: Opened = await openSource(
    (context) => {
      const source = new KafkaSource(conf({ groupID: 'g6' }), Object.assign(context, { dataSource: topic }));
      source.seekAll([at(60, 70), at(20, 10), at(20, 50)], (index) => {
        told.push([index, writing === undefined ? 0 : numbers(writing).length]);
      });
      return source;
    },
    { look },
  );
  await eventually('all', () => numbers(opened).length >= 170);
  assert.equal(told, [
    [1, 0],
    [2, 40],
    [0, 100],
  ]);
  const ids = sorted(numbers(opened));
  const expected = upTo(200).filter((id) => (id % 2 === 0 ? id >= 40 : id >= 20));
  assert.equal(ids, expected);
  await opened.source.close();
});

test('partitions that a topic gets later are read', async () => {
  const topic = 'grown';
  await makeTopic(kafka.brokers, topic);
  const one = await open(topic, 'g7');
  await addPartitions(kafka.brokers, topic, 3);
  await eventually('the new partitions', () => partitionsOf(one, topic).length === 3 || undefined);
  await send(topic, 0, 30, 3);
  await eventually('all', () => numbers(one).length >= 30);
  assert.equal(sorted(numbers(one)), upTo(30));
  await one.source.close();
});

test('a full engine is given nothing more until it has room', async () => {
  const topic = 'full';
  await makeTopic(kafka.brokers, topic);
  const text = 'x'.repeat(10_000);
  const messages = Array.from({ length: 1000 }, () => ({ topic, value: text }));
  for (let i = 0; i < 10; i++) await produce(kafka.brokers, messages.slice(0, 90));
  let isFull = true;
  let release = () => {};
  const room = new Promise<void>((resolve) => {
    release = () => {
      isFull = false;
      resolve();
    };
  });
  const flow = { ready: () => room };
  Object.defineProperty(flow, 'isFull', { get: () => isFull, enumerable: true });
  const one = await open(topic, 'g4', {}, flow);
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.is(textsOf(one.written).length, 0);
  release();
  await eventually('all', () => textsOf(one.written).length === 900);
  await one.source.close();
});

test('messages of open and aborted transactions are left out', async () => {
  const topic = 'transacted';
  await makeTopic(kafka.brokers, topic);
  const producer = new Producer({
    clientId: 'test',
    bootstrapBrokers: [kafka.brokers],
    serializers: stringSerializers,
    transactionalId: 'test',
    idempotent: true,
  });
  const one = await open(topic, 'g5');
  for (const [values, isCommitted] of [
    [['a', 'b'], true],
    [['c', 'd'], false],
    [['e'], true],
  ] as const) {
    const transaction = await producer.beginTransaction();
    await transaction.send({ messages: values.map((value) => ({ topic, value })) });
    await (isCommitted ? transaction.commit() : transaction.abort());
  }
  await producer.close();
  await produce(kafka.brokers, [{ topic, value: 'plain' }]);
  await eventually('the last', () => textsOf(one.written).includes('plain') || undefined);
  assert.equal(textsOf(one.written), ['a', 'b', 'e', 'plain']);
  await one.source.close();
});

test('offsets that the broker has no more are skipped, and named', async () => {
  const topic = 'cut';
  await makeTopic(kafka.brokers, topic);
  await send(topic, 0, 10, 1);
  const reasons: string[] = [];
  const exception = (reason: string) => void reasons.push(reason);
  const from = { offsets: { [topic]: { 0: 100 } } };
  const one = await open(topic, '', { from }, { exception });
  await eventually('the loss', () => reasons.length > 0);
  assert.match(reasons[0]!, /cut\/0: offset 100 is gone, reading goes on at 10/);
  await send(topic, 10, 11, 1);
  await eventually('the new one', () => numbers(one).length === 1);
  await one.source.close();
});

test.run();

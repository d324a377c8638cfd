/** The source kafka with a share of the partitions, as the parts of a rule over several nodes read them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../../host/connectors/index.js';
import { KafkaSource, type KafkaSourceConf } from '../../../../host/connectors/kafka/source.js';
import { type OpenedSource, openSource } from '../../../support/connectors/source.js';
import { eventually } from '../../../support/harness.js';
import { textsOf } from '../../../support/servers/kafka/frames.js';
import { addPartitions, committedOf, makeTopic, produce } from '../../../support/servers/kafka/messages.js';
import { type KafkaBroker, needsKafka, sharedKafka } from '../../../support/servers/kafka.js';

if (!needsKafka('shares of partitions of Kafka')) process.exit(0);

let kafka: KafkaBroker;
test.before(async () => {
  kafka = await sharedKafka();
});
test.after(() => kafka.close());

type Opened = OpenedSource<KafkaSource>;

function open(dataSource: string, change: Partial<KafkaSourceConf>, given: object = {}): Promise<Opened> {
  const spec = Object.entries(connectorOf('kafka')!.source!.props);
  const defaults = Object.fromEntries(spec.map(([name, { declared }]) => [name, declared.default]));
  const conf = { ...defaults, brokers: kafka.brokers, ...change } as unknown as KafkaSourceConf;
  return openSource((context) => new KafkaSource(conf, Object.assign(context, { dataSource })), given);
}

/** Sends numbers from `from` on, each to the partition of its remainder. */
const send = (topic: string, from: number, to: number, partitions: number) =>
  produce(
    kafka.brokers,
    Array.from({ length: to - from }, (_, i) => ({
      topic,
      value: String(from + i),
      partition: (from + i) % partitions,
    })),
  );

const numbers = ({ written }: Opened) => textsOf(written).map(Number);
const sorted = (all: readonly number[]) => [...all].sort((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const partitionsIn = ({ source }: Opened, topic: string) =>
  Object.keys(source.position().offsets[topic] ?? {}).map(Number);

test('each partition is in one share; what a checkpoint has goes before what the group has', async () => {
  const topic = 'divided';
  await makeTopic(kafka.brokers, topic, 5);
  await send(topic, 0, 100, 5);
  const [even, odd] = await Promise.all([0, 1].map((part) => open(`${topic} {${part}/2}`, { groupID: 's1' })));
  await eventually('all', () => numbers(even!).length + numbers(odd!).length >= 100);
  assert.equal(partitionsIn(even!, topic), [0, 2, 4]);
  assert.equal(partitionsIn(odd!, topic), [1, 3]);
  assert.equal(sorted([...numbers(even!), ...numbers(odd!)]), upTo(100));
  await Promise.all([even!.source.close(), odd!.source.close()]);
  assert.equal(await committedOf(kafka.brokers, 's1', topic, upTo(5)), [20, 20, 20, 20, 20]);
  await send(topic, 100, 105, 5);
  const after = await open(`${topic} {1/2}`, { groupID: 's1' });
  await eventually('what came since', () => numbers(after).length >= 2);
  assert.equal(sorted(numbers(after)), [101, 103]);
  await after.source.close();
  const from = { offsets: { [topic]: { 1: 19, 3: 21 } } };
  const behind = await open(`${topic} {1/2}`, { groupID: 's1' }, { isCommitted: true, from });
  await eventually('what the checkpoint has not', () => numbers(behind).length >= 2);
  assert.equal(sorted(numbers(behind)), [96, 101]);
  await behind.source.close();
});

test('partitions that a topic gets later are read by the share that they fall to, from their begin', async () => {
  const topic = 'divided-more';
  await makeTopic(kafka.brokers, topic);
  const parts = await Promise.all([0, 1].map((part) => open(`${topic} {${part}/2}`, {})));
  assert.equal(
    parts.map(({ warnings }) => warnings),
    [[], ['part 1 of 2: no partition is left for it']],
  );
  await addPartitions(kafka.brokers, topic, 3);
  await send(topic, 0, 30, 3);
  await eventually('all', () => parts.flatMap(numbers).length >= 30, 40_000);
  assert.equal(
    sorted(numbers(parts[0]!)),
    upTo(30).filter((n) => n % 3 !== 1),
  );
  assert.equal(sorted(parts.flatMap(numbers)), upTo(30));
  for (const { source } of parts) await source.close();
});

test('without a group a share begins with what is new, and goes on where it was', async () => {
  const topic = 'divided-new';
  await makeTopic(kafka.brokers, topic, 2);
  await send(topic, 0, 10, 2);
  const one = await open(`${topic} {0/1}`, {});
  await send(topic, 10, 14, 2);
  await eventually('the new ones', () => numbers(one).length >= 4);
  assert.equal(sorted(numbers(one)), [10, 11, 12, 13]);
  const from = one.source.position();
  await one.source.close();
  await addPartitions(kafka.brokers, topic, 3, 2);
  await send(topic, 14, 20, 3);
  const next = await open(`${topic} {0/1}`, {}, { from });
  await eventually('the rest', () => numbers(next).length >= 6);
  assert.equal(sorted(numbers(next)), upTo(20).slice(14));
  await next.source.close();
});

test('offsets that the group has refused go to it later, also when nothing comes any more', async () => {
  const topic = 'divided-refused';
  await makeTopic(kafka.brokers, topic);
  await makeTopic(kafka.brokers, 'divided-other');
  // A group with members takes offsets of its members alone.
  const member = await open('divided-other', { groupID: 's3' });
  await send(topic, 0, 10, 1);
  const share = await open(`${topic} {0/1}`, { groupID: 's3' });
  await eventually('the refusal', () => share.warnings.some((text) => text.includes('group s3 takes no offsets')));
  assert.equal(numbers(share), upTo(10));
  await member.source.close();
  await eventually('the offsets', async () => (await committedOf(kafka.brokers, 's3', topic, [0]))[0] === 10);
  await share.source.close();
});

test('the property partition is refused with a share', async () => {
  await makeTopic(kafka.brokers, 'divided-wrong', 2);
  const refused = await open('divided-wrong {0/2}', { partition: 1 }).catch((error: Error) => error);
  assert.match(String(refused), 'property partition is for a rule that is not divided');
});

test.run();

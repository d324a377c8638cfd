/** Topics of a broker as another program sees them: by the library itself. */
import {
  Admin,
  Consumer,
  compatibilityPartitioner,
  type MessageToProduce,
  Producer,
  stringDeserializers,
  stringSerializers,
} from '@platformatic/kafka';
import { eventually } from '../../harness.js';

export interface Got {
  readonly key: string | undefined;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly partition: number;
  readonly offset: number;
}

let lastClient = 0;
const options = (brokers: string) => ({
  clientId: `test-${++lastClient}`,
  bootstrapBrokers: brokers.split(','),
  retries: 20,
  retryDelay: 100,
});

/** Makes a topic; `configs` are settings of it. */
export async function makeTopic(
  brokers: string,
  topic: string,
  partitions = 1,
  configs: Readonly<Record<string, string>> = {},
): Promise<void> {
  const admin = new Admin(options(brokers));
  const settings = Object.entries(configs).map(([name, value]) => ({ name, value }));
  await admin.createTopics({ topics: [topic], partitions, replicas: 1, configs: settings });
  await admin.close();
}

/** Gives a topic that has `from` partitions more, so many in all; the only broker has number 1. */
export async function addPartitions(brokers: string, topic: string, count: number, from = 1): Promise<void> {
  const admin = new Admin(options(brokers));
  const assignments = Array.from({ length: count - from }, () => ({ brokerIds: [1] }));
  await admin.createPartitions({ topics: [{ name: topic, count, assignments }] });
  await admin.close();
}

/**
 * Sends messages, each once. The library sends all partitions again when one is not ready yet, as after a topic was
 * made; the broker keeps what it has only of a producer that numbers its messages.
 */
export async function produce(
  brokers: string,
  messages: readonly MessageToProduce<string, string, string, string>[],
  compression: 'none' | 'gzip' | 'snappy' | 'lz4' = 'none',
): Promise<void> {
  const producer = new Producer({
    ...options(brokers),
    serializers: stringSerializers,
    partitioner: compatibilityPartitioner,
    idempotent: true,
  });
  await producer.send({ messages: [...messages], compression, acks: -1 });
  await producer.close();
}

/** Offsets that a group has committed, by partition; -1 without one. */
export async function committedOf(brokers: string, group: string, topic: string, partitions: number[]) {
  const consumer = new Consumer({ ...options(brokers), groupId: group });
  const offsets = await consumer.listCommittedOffsets({ topics: [{ topic, partitions }] });
  await consumer.close(true);
  return (offsets.get(topic) ?? []).map(Number);
}

/** Reads what a topic has until `isEnough`, with what is in open and aborted transactions. */
export async function readTopic(
  brokers: string,
  topic: string,
  isEnough: (got: readonly Got[]) => boolean,
): Promise<Got[]> {
  const consumer = new Consumer({
    ...options(brokers),
    groupId: `test-${process.pid}-${++lastClient}`,
    deserializers: stringDeserializers,
  });
  const got: Got[] = [];
  try {
    const stream = await consumer.consume({
      topics: [topic],
      mode: 'earliest',
      autocommit: false,
      maxWaitTime: 100,
      isolationLevel: 0,
    });
    stream.on('data', ({ key, value, headers, partition, offset }) => {
      const all = Object.fromEntries([...headers].map(([name, text]) => [String(name), String(text)]));
      got.push({ key: key || undefined, value, headers: all, partition, offset: Number(offset) });
    });
    await eventually(`the messages of ${topic}`, () => isEnough(got));
  } finally {
    await consumer.close(true);
  }
  return got;
}

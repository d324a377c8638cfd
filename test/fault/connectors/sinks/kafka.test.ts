/** Faults of a Kafka broker as a sink: a topic that all replicas confirm, and one for short messages. */
import { Admin, Consumer, MessagesStreamModes } from '@platformatic/kafka';
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { kafkaUser, needsKafka, openKafka } from '../../../support/servers/kafka.js';

const topics = ['out', 'short'];

async function openSide() {
  const kafka = await openKafka({ 'message.max.bytes': 33_554_432 });
  const client = { clientId: 'test', bootstrapBrokers: [kafka.brokers], retries: 100, retryDelay: 100 };
  const admin = new Admin(client);
  for (const topic of topics) {
    const configs = topic === 'short' ? [{ name: 'max.message.bytes', value: '4000' }] : [];
    await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1, configs });
  }
  await admin.close();
  const ids: number[] = [];
  /** The last offset that was read, by topic. */
  const read = new Map<string, number>();
  let consumer: Consumer | undefined;
  let group = 0;
  let isPaused = false;
  const side = {
    props: { brokers: kafka.brokers, topic: 'out', requiredACKs: -1, batchBytes: 20_000_000 },
    arrived: () => ids,
    start: async () => {
      await kafka.start();
      await side.listen();
    },
    /** Reads the topics from the begin. */
    listen: async () => {
      consumer = new Consumer({ ...client, groupId: `test${++group}`, maxBytes: 40 << 20 });
      const stream = await consumer.consume({ topics, mode: MessagesStreamModes.EARLIEST });
      stream.on('error', () => {});
      stream.on('data', ({ topic, offset, value }) => {
        if (Number(offset) <= (read.get(topic) ?? -1)) return;
        read.set(topic, Number(offset));
        ids.push(...idsOf([value ?? '']));
      });
    },
    kill: async () => {
      await Promise.resolve(consumer?.close(true)).catch(() => {});
      await kafka.kill();
    },
    pause: () => {
      isPaused = true;
      kafka.pause();
    },
    resume: () => {
      kafka.resume();
      if (!isPaused) return;
      isPaused = false;
      // The group of the reader may have given it up meanwhile.
      Promise.resolve(consumer?.close(true))
        .catch(() => {})
        .then(side.listen)
        .catch(() => {});
    },
    close: () => side.kill(),
    refusal: {
      props: {
        brokers: kafka.saslBrokers,
        saslAuthType: 'plain',
        saslUserName: kafkaUser.saslUserName,
        password: 'kafka-wrong-41',
      },
      reason: /authenticat/i,
      secret: 'kafka-wrong-41',
    },
    tls: {
      props: (to: number, rootCARaw: string) => ({ brokers: `127.0.0.1:${to}`, rootCARaw }),
      plainPort: Number(kafka.brokers.split(':')[1]),
    },
    rejects: { row: { text: 'x'.repeat(8000) }, props: { topic: 'short' }, reason: /large/i },
  };
  await side.listen();
  return side;
}

if (needsKafka('faults of Kafka as a sink')) {
  sinkFaults(test, 'kafka', openSide, { lacks: { full: 'a broker without room on disk ends, as one that is killed' } });
}

test.run();

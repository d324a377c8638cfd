/** Faults of a Kafka broker, both ways: a consumer group, and a topic that all replicas confirm. */
import { Consumer, MessagesStreamModes, Producer } from '@platformatic/kafka';
import { test } from 'uvu';
import { sourceFaults } from '../../support/connectors/faults/sources.js';
import { kafkaUser, needsKafka, openKafka } from '../../support/servers/kafka.js';

const refusal = {
  props: { saslAuthType: 'plain', saslUserName: kafkaUser.saslUserName, password: 'kafka-wrong-41' },
  reason: /authenticat/i,
  secret: 'kafka-wrong-41',
};

async function openSide() {
  const kafka = await openKafka({ 'message.max.bytes': 33_554_432 });
  const ids: number[] = [];
  let read = -1;
  let consumer: Consumer | undefined;
  let group = 0;
  const client = { clientId: 'test', bootstrapBrokers: [kafka.brokers], retries: 100, retryDelay: 100 };
  const side = {
    props: { brokers: kafka.brokers },
    refusal: { ...refusal, props: { ...refusal.props, brokers: kafka.saslBrokers } },
    ids,
    start: async () => {
      await kafka.start();
      await side.listen();
    },
    /** Reads what the topic `out` has, from the begin. */
    listen: async () => {
      consumer = new Consumer({ ...client, groupId: `test${++group}`, autocreateTopics: true, maxBytes: 40 << 20 });
      const stream = await consumer.consume({ topics: ['out'], mode: MessagesStreamModes.EARLIEST });
      stream.on('error', () => {});
      stream.on('data', ({ offset, value }) => {
        if (Number(offset) <= read) return;
        read = Number(offset);
        ids.push((JSON.parse(String(value)) as { id: number }).id);
      });
    },
    kill: async () => {
      await Promise.resolve(consumer?.close(true)).catch(() => {});
      await kafka.kill();
    },
    pause: () => kafka.pause(),
    resume: () => kafka.resume(),
    close: () => side.kill(),
    send: async (messages: readonly (string | Buffer)[]) => {
      const producer = new Producer({ ...client, autocreateTopics: true });
      const all = messages.map((message) => ({ topic: 'in', value: Buffer.from(message) }));
      await producer.send({ messages: all, acks: -1 });
      await producer.close();
    },
  };
  await side.listen();
  return side;
}

if (needsKafka('faults of Kafka')) {
  sourceFaults(test, 'kafka', async () => {
    const side = await openSide();
    const login = { saslAuthType: 'plain', saslUserName: 'rows', password: 'kafka-secret-42' };
    const tls = {
      props: (port: number, rootCARaw: string) => ({ ...login, brokers: `127.0.0.1:${port}`, rootCARaw }),
      secret: login.password,
    };
    return Object.assign(side, { dataSource: 'in', props: { ...side.props, groupID: 'rows' }, tls });
  });
}

test.run();

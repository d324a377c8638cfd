/** Faults of a Kafka broker: its topics are read by a consumer group. */
import { Producer } from '@platformatic/kafka';
import { test } from 'uvu';
import { sourceFaults } from '../../support/connectors/faults/sources.js';
import { kafkaUser, needsKafka, openKafka } from '../../support/servers/kafka.js';

const refusal = {
  props: { saslAuthType: 'plain', saslUserName: kafkaUser.saslUserName, password: 'kafka-wrong-41' },
  reason: /authenticat/i,
  secret: 'kafka-wrong-41',
};

/** Most bytes of one request: the broker ends the connection of a client that sends more. */
const mostBytes = 4 << 20;

async function openSide() {
  const kafka = await openKafka({ 'message.max.bytes': 33_554_432 });
  const client = { clientId: 'test', bootstrapBrokers: [kafka.brokers], retries: 100, retryDelay: 100 };
  return {
    props: { brokers: kafka.brokers },
    refusal: { ...refusal, props: { ...refusal.props, brokers: kafka.saslBrokers } },
    start: () => kafka.start(),
    kill: () => kafka.kill(),
    pause: () => kafka.pause(),
    resume: () => kafka.resume(),
    close: () => kafka.close(),
    send: async (messages: readonly (string | Buffer)[]) => {
      const producer = new Producer({ ...client, autocreateTopics: true });
      const all = messages.map((message) => ({ topic: 'in', value: Buffer.from(message) }));
      for (let from = 0; from < all.length; ) {
        let to = from + 1;
        let bytes = all[from]!.value.length;
        while (to < all.length && bytes + all[to]!.value.length <= mostBytes) bytes += all[to++]!.value.length;
        await producer.send({ messages: all.slice(from, to), acks: -1 });
        from = to;
      }
      await producer.close();
    },
  };
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

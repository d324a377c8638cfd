/** A topic of Kafka that all replicas confirm. */
import { Consumer, MessagesStreamModes } from '@platformatic/kafka';
import { needsKafka, openKafka } from '../../../test/support/servers/kafka.js';
import { HeardRows, type Keeper, KeptVictim, required } from './keeper.js';

export async function open(): Promise<Keeper> {
  required(needsKafka('chaos with Kafka'), 'Kafka');
  const kafka = await openKafka();
  const output = new HeardRows();
  const client = { clientId: 'chaos', bootstrapBrokers: [kafka.brokers], retries: 100, retryDelay: 100 };
  let read = -1;
  let group = 0;
  let consumer: Consumer | undefined;
  const listen = async () => {
    consumer = new Consumer({ ...client, groupId: `chaos${++group}`, autocreateTopics: true });
    const stream = await consumer.consume({ topics: ['out'], mode: MessagesStreamModes.EARLIEST });
    stream.on('error', () => {});
    stream.on('data', ({ offset, value }) => {
      if (Number(offset) <= read) return;
      read = Number(offset);
      output.heard.push(String(value));
    });
  };
  await listen();
  const server = {
    start: async () => {
      await kafka.start();
      await listen();
    },
    kill: async () => {
      await Promise.resolve(consumer?.close(true)).catch(() => {});
      await kafka.kill();
    },
    pause: () => kafka.pause(),
    resume: () => kafka.resume(),
  };
  return {
    process: new KeptVictim('kafka', server),
    output,
    action: { kafka: { brokers: kafka.brokers, topic: 'out', requiredACKs: -1, sendSingle: true } },
    close: server.kill,
  };
}

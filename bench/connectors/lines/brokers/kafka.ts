/** Topics of Kafka, both ways. */
import { Admin, Consumer, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka';
import { makeTopic, readTopic } from '../../../../test/support/servers/kafka/messages.js';
import { needsKafka, openKafka } from '../../../../test/support/servers/kafka.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 500_000;
const missing = () => (needsKafka('the bench of kafka') ? undefined : 'Java or the jars of Kafka are not there');
/** Messages of one request of the plain programs. */
const atOnce = 5000;
const client = (address: string) => ({ clientId: 'bench', bootstrapBrokers: [address] });

export const lines: readonly Line[] = [
  {
    name: 'kafka in',
    connectors: ['kafka'],
    rows,
    missing,
    open: async () => {
      const kafka = await openKafka();
      const { brokers } = kafka;
      await makeTopic(brokers, 'in');
      const producer = new Producer({ ...client(brokers), serializers: stringSerializers });
      for (let from = 0; from < rows; from += atOnce) {
        const part = Array.from({ length: Math.min(atOnce, rows - from) }, (_, i) => message(from + i));
        await producer.send({ messages: part.map((value) => ({ topic: 'in', value })), acks: 1 });
      }
      await producer.close();
      const admin = new Admin(client(brokers));
      return {
        address: brokers,
        source: { type: 'kafka', dataSource: 'in', props: { brokers, groupID: 'bench' } },
        // The group forgets what it has read.
        begin: async () => {
          await admin.deleteGroups({ groups: ['bench'] }).catch(() => {});
        },
        close: async () => {
          await admin.close();
          await kafka.close();
        },
      };
    },
    plain: async ({ address, ready }) => {
      const options = { groupId: `plain-${process.pid}`, deserializers: stringDeserializers };
      const consumer = new Consumer({ ...client(address), ...options });
      void ready();
      const stream = await consumer.consume({ topics: ['in'], mode: 'earliest', highWaterMark: 10_000 });
      let count = 0;
      await new Promise<void>((resolve) => {
        stream.on('data', ({ value }) => {
          work(value);
          if (++count === rows) resolve();
        });
      });
      await consumer.close(true);
    },
  },
  {
    name: 'kafka out',
    connectors: ['kafka'],
    rows,
    missing,
    open: async () => {
      const kafka = await openKafka();
      const { brokers } = kafka;
      await makeTopic(brokers, 'out');
      const consumer = new Consumer({ ...client(brokers), groupId: 'offsets' });
      const end = async () => Number((await consumer.listOffsets({ topics: ['out'] })).get('out')![0]);
      let begin = 0;
      return {
        address: brokers,
        sink: { type: 'kafka', props: { brokers, topic: 'out' } },
        begin: async () => {
          begin = await end();
        },
        arrived: async () => (await end()) - begin,
        check: async () => {
          const arrivals = new Arrivals(rows);
          arrivals.begin(true);
          for (const { value } of await readTopic(brokers, 'out', (got) => got.length >= rows)) arrivals.take(value);
          arrivals.check();
        },
        close: async () => {
          await consumer.close(true);
          await kafka.close();
        },
      };
    },
    plain: async ({ address, file, ready }) => {
      const producer = new Producer({ ...client(address), serializers: stringSerializers });
      void ready();
      let waiting: { topic: string; value: string }[] = [];
      const send = async () => {
        const messages = waiting;
        waiting = [];
        if (messages.length > 0) await producer.send({ messages, acks: 1 });
      };
      await eachLine(file, (text) => {
        waiting.push({ topic: 'out', value: work(text) });
        return waiting.length < atOnce ? undefined : send();
      });
      await send();
      await producer.close();
    },
  },
];

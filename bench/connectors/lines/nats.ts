/** Subjects and streams of NATS, both ways. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { needsNats, openNats, type TestNats } from '../../../test/support/servers/nats.js';
import { type Line, message, type Plain, work } from '../line.js';
import { eachLine } from '../lines-of-file.js';

const rows = 500_000;
const missing = () => (needsNats('the bench of nats') ? undefined : 'nats-server is not installed');
/** Messages that are sent before the server has to answer. */
const atOnce = 2000;

const open = (address: string) => connect({ servers: address, reconnect: false });

async function publishAll(client: NatsConnection, subject: string): Promise<void> {
  for (let id = 0; id < rows; id++) {
    client.publish(subject, message(id));
    if (id % atOnce === atOnce - 1) await client.flush();
  }
  await client.flush();
}

/** A server with the stream S in memory, whose subject is `in`. */
async function openStream(): Promise<TestNats> {
  const nats = await openNats();
  const manager = await jetstreamManager(nats.client);
  await manager.streams.add({ name: 'S', subjects: ['in'], storage: 'memory' });
  await publishAll(nats.client, 'in');
  return nats;
}

async function countArrivals(nats: TestNats, subject: string): Promise<{ count: number }> {
  const arrived = { count: 0 };
  nats.client.subscribe(subject, { callback: () => void arrived.count++ });
  await nats.client.flush();
  return arrived;
}

const publishWorked = async ({ address, file, ready }: Plain) => {
  const client = await open(address);
  ready();
  await eachLine(file, async (text, n) => {
    client.publish('out', work(text));
    if (n % atOnce === 0) await client.flush();
  });
  await client.flush();
};

export const natsLines: readonly Line[] = [
  {
    name: 'nats in',
    connector: 'nats',
    rows,
    missing,
    open: async () => {
      const nats = await openNats();
      return {
        address: nats.url,
        source: { type: 'nats', dataSource: 'in', props: { server: nats.url } },
        feed: () => publishAll(nats.client, 'in'),
        close: () => nats.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const client = await open(address);
      let count = 0;
      await new Promise<void>((resolve) => {
        client.subscribe('in', {
          callback: (_error, one) => {
            work(one.string());
            if (++count === rows) resolve();
          },
        });
        void client.flush().then(ready);
      });
    },
  },
  {
    name: 'nats stream in',
    connector: 'nats',
    rows,
    missing,
    open: async () => {
      const nats = await openStream();
      return {
        address: nats.url,
        source: { type: 'nats', dataSource: '', props: { server: nats.url, stream: 'S' } },
        close: () => nats.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const consumer = await jetstream(await open(address)).consumers.get('S');
      ready();
      let count = 0;
      for await (const one of await consumer.consume({ max_messages: 2000 })) {
        work(one.string());
        if (++count === rows) return;
      }
    },
  },
  {
    name: 'nats out',
    connector: 'nats',
    rows,
    missing,
    open: async () => {
      const nats = await openNats();
      const arrived = await countArrivals(nats, 'out');
      return {
        address: nats.url,
        sink: { type: 'nats', props: { server: nats.url, subject: 'out' } },
        begin: async () => {
          arrived.count = 0;
        },
        arrived: () => arrived.count,
        close: () => nats.close(),
      };
    },
    plain: publishWorked,
  },
];

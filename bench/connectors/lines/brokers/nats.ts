/** Subjects and streams of NATS, both ways. */
import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { needsNats, openNats, type TestNats } from '../../../../test/support/servers/nats.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, type Plain, type Row, work, worked } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 500_000;
const missing = () => (needsNats('the bench of nats') ? undefined : 'nats-server is not installed');
/** Messages that are sent before the server has to answer. */
const atOnce = 2000;
const bucketRows = 20_000;
/** Keys that are asked for together. */
const bucketAtOnce = 500;

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

/** A server with a bucket that has each row by its id. */
async function openBucket(): Promise<TestNats> {
  const nats = await openNats();
  const bucket = await new Kvm(nats.client).create('B', { storage: StorageType.Memory });
  for (let from = 0; from < bucketRows; from += bucketAtOnce) {
    const ids = Array.from({ length: bucketAtOnce }, (_, i) => from + i);
    await Promise.all(ids.map((id) => bucket.put(String(id), message(id))));
  }
  return nats;
}

const publishWorked = async ({ address, file, ready }: Plain) => {
  const client = await open(address);
  void ready();
  await eachLine(file, async (text, n) => {
    client.publish('out', work(text));
    if (n % atOnce === 0) await client.flush();
  });
  await client.flush();
};

export const lines: readonly Line[] = [
  {
    name: 'nats in',
    connectors: ['nats'],
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
    connectors: ['nats'],
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
      void ready();
      let count = 0;
      for await (const one of await consumer.consume({ max_messages: 2000 })) {
        work(one.string());
        if (++count === rows) return;
      }
    },
  },
  {
    name: 'nats out',
    connectors: ['nats'],
    rows,
    missing,
    open: async () => {
      const nats = await openNats();
      const arrivals = new Arrivals(rows);
      nats.client.subscribe('out', { callback: (_error, one) => arrivals.take(one.data) });
      await nats.client.flush();
      return {
        address: nats.url,
        sink: { type: 'nats', props: { server: nats.url, subject: 'out' } },
        begin: (isChecked) => arrivals.begin(isChecked),
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close: () => nats.close(),
      };
    },
    plain: publishWorked,
  },
  {
    name: 'nats bucket in',
    connectors: ['nats'],
    rows: bucketRows,
    missing,
    open: async () => {
      const nats = await openBucket();
      return {
        address: nats.url,
        source: { type: 'nats', dataSource: '', props: { server: nats.url, bucket: 'B', deliverPolicy: 'all' } },
        close: () => nats.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const bucket = await new Kvm(await open(address)).open('B');
      void ready();
      let count = 0;
      for await (const entry of await bucket.watch()) {
        work(entry.string());
        if (++count === bucketRows) return;
      }
    },
  },
  {
    name: 'nats bucket lookup',
    connectors: ['nats'],
    rows: bucketRows,
    select: (stream) =>
      `SELECT ${stream}.id AS id, looked.device AS device, looked.temperature AS temperature ` +
      `FROM ${stream} INNER JOIN looked ON ${stream}.id = looked.id`,
    missing,
    open: async () => {
      const nats = await openBucket();
      return {
        address: nats.url,
        prepare: async (engine) => {
          await engine.call('PUT', '/metadata/sources/nats/confKeys/looked', { server: nats.url });
          const options = 'TYPE="nats", DATASOURCE="B", CONF_KEY="looked", KIND="lookup", KEY="id", FORMAT="json"';
          await engine.call('POST', '/tables', { sql: `CREATE TABLE looked () WITH (${options})` });
        },
        close: () => nats.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const bucket = await new Kvm(await open(address)).open('B');
      void ready();
      let ids: unknown[] = [];
      const look = async () => {
        const found = await Promise.all(ids.map((id) => bucket.get(String(id))));
        found.forEach((entry, i) => {
          const { device, temperature } = entry!.json<Row>();
          worked({ id: ids[i], device, temperature });
        });
        ids = [];
      };
      await eachLine(file, (text) => {
        ids.push((JSON.parse(text) as Row).id);
        return ids.length < bucketAtOnce ? undefined : look();
      });
      if (ids.length > 0) await look();
    },
  },
];

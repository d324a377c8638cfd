/** Events of EdgeX on a bus of Redis, both ways: a row is an event with a reading for each column. */
import { createClient } from '@redis/client';
import { needsRedis, openRedis } from '../../../../test/support/servers/redis.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, type Row, reading, worked } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 50_000;
const missing = () => (needsRedis('the bench of edgex') ? undefined : 'redis-server is not installed');
/** Messages of the sender that are under way at a time. */
const atOnce = 1000;
const names = { deviceName: 'd', profileName: 'p', sourceName: 's' };
const head = { apiVersion: 'v3', receivedTopic: '', correlationID: '', requestID: '', errorCode: 0 };

interface Event {
  readonly readings: readonly { readonly resourceName: string; readonly valueType: string; readonly value: string }[];
}

function envelope({ id, device, temperature }: Row): string {
  const origin = Date.now() * 1_000_000;
  const one = (resourceName: string, valueType: string, value: string) => {
    return { id: '', origin, deviceName: 'd', profileName: 'p', resourceName, valueType, value };
  };
  const readings = [
    one('id', 'Int64', String(id)),
    one('device', 'String', String(device)),
    one('temperature', 'Float64', (temperature as number).toExponential()),
  ];
  const payload = { apiVersion: 'v3', id: `e${id}`, ...names, origin, readings };
  return JSON.stringify({ ...head, contentType: 'application/json', payload });
}

function rowOf(text: string | Uint8Array): Row {
  const { payload } = JSON.parse(String(text)) as { payload: Event | { event: Event } };
  const { readings } = 'event' in payload ? payload.event : payload;
  return Object.fromEntries(
    readings.map(({ resourceName, valueType, value }) => [
      resourceName,
      valueType === 'String' ? value : Number.parseFloat(value),
    ]),
  );
}

/** Publishes an event for each row, some at a time. */
async function publishAll(client: { publish(channel: string, text: string): Promise<unknown> }): Promise<void> {
  for (let from = 0; from < rows; from += atOnce) {
    const part = Array.from({ length: atOnce }, (_, i) => envelope(reading(from + i) as unknown as Row));
    await Promise.all(part.map((text) => client.publish('in', text)));
  }
}

const busOf = (port: number) => ({ type: 'redis', server: '127.0.0.1', port });
const connect = (address: string) => createClient({ url: `redis://${address}` }).connect();

export const lines: readonly Line[] = [
  {
    name: 'edgex in',
    connectors: ['edgex'],
    rows,
    missing,
    open: async () => {
      const redis = await openRedis();
      return {
        address: redis.addr,
        source: { type: 'edgex', dataSource: 'in', props: { ...busOf(redis.port), topic: 'in' } },
        feed: () => publishAll(redis.client),
        close: () => redis.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const client = await connect(address);
      let count = 0;
      await new Promise<void>((resolve) => {
        const subscribed = client.subscribe('in', (text) => {
          worked(rowOf(text));
          if (++count === rows) resolve();
        });
        void subscribed.then(ready);
      });
    },
  },
  {
    name: 'edgex out',
    connectors: ['edgex'],
    rows,
    missing,
    open: async () => {
      const redis = await openRedis();
      const arrivals = new Arrivals(rows, rowOf);
      await redis.client.subscribe('out', (text) => arrivals.take(text));
      return {
        address: redis.addr,
        sink: { type: 'edgex', props: { ...busOf(redis.port), topic: 'out', ...names } },
        begin: (isChecked) => arrivals.begin(isChecked),
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close: () => redis.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const client = await connect(address);
      void ready();
      let waiting: Promise<unknown>[] = [];
      await eachLine(file, async (text) => {
        waiting.push(client.publish('out', envelope(JSON.parse(text))));
        if (waiting.length < atOnce) return;
        await Promise.all(waiting);
        waiting = [];
      });
      await Promise.all(waiting);
    },
  },
];

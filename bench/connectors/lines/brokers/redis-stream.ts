/** Streams of Redis, both ways. */
import { createClient } from '@redis/client';
import { needsRedis, openRedis } from '../../../../test/support/servers/redis.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 200_000;
const missing = () => (needsRedis('the bench of redis') ? undefined : 'redis-server is not installed');
const connect = (address: string) => createClient({ url: `redis://${address}` }).connect();
/** Entries of a request, and messages that are under way at a time. */
const atOnce = 1000;

export const lines: readonly Line[] = [
  {
    name: 'redisStream in',
    connectors: ['redisStream'],
    rows,
    missing,
    open: async () => {
      const redis = await openRedis();
      for (let from = 0; from < rows; from += atOnce) {
        const ids = Array.from({ length: atOnce }, (_, i) => from + i);
        await Promise.all(ids.map((id) => redis.client.xAdd('in', '*', { data: message(id) })));
      }
      return {
        address: redis.addr,
        source: { type: 'redisStream', dataSource: 'in', props: { address: redis.addr, field: 'data' } },
        close: () => redis.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const client = await connect(address);
      void ready();
      let id = '0';
      for (let count = 0; count < rows; ) {
        const answer = await client.xRead({ key: 'in', id }, { COUNT: atOnce, BLOCK: 1000 });
        const [stream] = (answer ?? []) as { messages: { id: string; message: { data: string } }[] }[];
        for (const entry of stream?.messages ?? []) {
          work(entry.message.data);
          id = entry.id;
          count++;
        }
      }
    },
  },
  {
    name: 'redisStream out',
    connectors: ['redisStream'],
    rows,
    missing,
    open: async () => {
      const redis = await openRedis();
      const props = { address: redis.addr, stream: 'out', field: 'data' };
      return {
        address: redis.addr,
        sink: { type: 'redisStream', props },
        begin: async () => void (await redis.client.del('out')),
        arrived: () => redis.client.xLen('out'),
        check: async () => {
          const arrivals = new Arrivals(rows);
          arrivals.begin(true);
          const entries = await redis.client.xRange('out', '-', '+');
          for (const entry of entries ?? []) arrivals.take(entry!.message.data!);
          arrivals.check();
        },
        close: () => redis.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const client = await connect(address);
      void ready();
      let waiting: Promise<unknown>[] = [];
      await eachLine(file, async (text) => {
        waiting.push(client.xAdd('out', '*', { data: work(text) }));
        if (waiting.length < atOnce) return;
        await Promise.all(waiting);
        waiting = [];
      });
      await Promise.all(waiting);
    },
  },
];

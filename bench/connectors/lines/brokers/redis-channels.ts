/** Channels of Redis, both ways. */
import { createClient } from '@redis/client';
import { needsRedis, openRedis } from '../../../../test/support/servers/redis.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 300_000;
const missing = () => (needsRedis('the bench of redis') ? undefined : 'redis-server is not installed');
const connect = (address: string) => createClient({ url: `redis://${address}` }).connect();
/** Messages of the sender that are under way at a time. */
const atOnce = 2000;

export const lines: readonly Line[] = [
  {
    name: 'redisSub in',
    connectors: ['redisSub'],
    rows,
    missing,
    open: async () => {
      const redis = await openRedis();
      return {
        address: redis.addr,
        source: { type: 'redisSub', dataSource: '', props: { address: redis.addr, channels: ['in'] } },
        feed: async () => {
          for (let from = 0; from < rows; from += atOnce) {
            const part = Array.from({ length: Math.min(atOnce, rows - from) }, (_, i) => message(from + i));
            await Promise.all(part.map((text) => redis.client.publish('in', text)));
          }
        },
        close: () => redis.close(),
      };
    },
    plain: async ({ address, ready }) => {
      const client = await connect(address);
      let count = 0;
      await new Promise<void>((resolve) => {
        const subscribed = client.subscribe('in', (text) => {
          work(text);
          if (++count === rows) resolve();
        });
        void subscribed.then(ready);
      });
    },
  },
  {
    name: 'redisPub out',
    connectors: ['redisPub'],
    rows,
    missing,
    open: async () => {
      const redis = await openRedis();
      const arrivals = new Arrivals(rows);
      await redis.client.subscribe('out', (text) => arrivals.take(text));
      return {
        address: redis.addr,
        sink: { type: 'redisPub', props: { address: redis.addr, channel: 'out' } },
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
        waiting.push(client.publish('out', work(text)));
        if (waiting.length < atOnce) return;
        await Promise.all(waiting);
        waiting = [];
      });
      await Promise.all(waiting);
    },
  },
];

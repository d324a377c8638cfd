/** Keys of Redis: rows are set, and looked up for the rows of a stream. */
import { createClient } from '@redis/client';
import { needsRedis, openRedis } from '../../../../test/support/servers/redis.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, type Row, reading, work, worked } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 200_000;
const missing = () => (needsRedis('the bench of redis') ? undefined : 'redis-server is not installed');
const connect = (address: string) => createClient({ url: `redis://${address}` }).connect();
/** Commands that are under way at a time, and keys of a command. */
const atOnce = 1000;

const textOf = (id: number) => {
  const { device, temperature } = reading(id);
  return JSON.stringify({ device, temperature });
};

export const lines: readonly Line[] = [
  {
    name: 'redis out',
    connectors: ['redis'],
    rows,
    missing,
    open: async () => {
      const redis = await openRedis();
      return {
        address: redis.addr,
        sink: { type: 'redis', props: { addr: redis.addr, field: 'id' } },
        begin: async () => {
          await redis.client.flushDb();
        },
        arrived: () => redis.client.dbSize(),
        check: async () => {
          const arrivals = new Arrivals(rows);
          arrivals.begin(true);
          for (let from = 0; from < rows; from += atOnce) {
            const keys = Array.from({ length: atOnce }, (_, i) => String(from + i));
            for (const text of await redis.client.mGet(keys)) arrivals.take(text ?? '{}');
          }
          arrivals.check();
        },
        close: () => redis.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const client = await connect(address);
      void ready();
      let waiting: Promise<unknown>[] = [];
      await eachLine(file, async (text, n) => {
        waiting.push(client.set(String(n - 1), work(text)));
        if (waiting.length < atOnce) return;
        await Promise.all(waiting);
        waiting = [];
      });
      await Promise.all(waiting);
    },
  },
  {
    name: 'redis lookup',
    connectors: ['redis'],
    rows,
    select: (stream) =>
      `SELECT ${stream}.id AS id, looked.device AS device, looked.temperature AS temperature ` +
      `FROM ${stream} INNER JOIN looked ON ${stream}.id = looked.id`,
    missing,
    open: async () => {
      const redis = await openRedis();
      for (let from = 0; from < rows; from += atOnce) {
        const ids = Array.from({ length: atOnce }, (_, i) => from + i);
        await redis.client.mSet(ids.map((id): [string, string] => [String(id), textOf(id)]));
      }
      return {
        address: redis.addr,
        prepare: async (engine) => {
          await engine.call('PUT', '/metadata/sources/redis/confKeys/looked', { addr: redis.addr });
          const options = 'TYPE="redis", DATASOURCE="0", CONF_KEY="looked", KIND="lookup", KEY="id", FORMAT="json"';
          await engine.call('POST', '/tables', { sql: `CREATE TABLE looked () WITH (${options})` });
        },
        close: () => redis.close(),
      };
    },
    plain: async ({ address, file, ready }) => {
      const client = await connect(address);
      void ready();
      let ids: unknown[] = [];
      const look = async () => {
        const found = await client.mGet(ids.map(String));
        found.forEach((text, i) => {
          const { device, temperature } = JSON.parse(text!) as Row;
          worked({ id: ids[i], device, temperature });
        });
        ids = [];
      };
      await eachLine(file, (text) => {
        ids.push((JSON.parse(text) as Row).id);
        return ids.length < atOnce ? undefined : look();
      });
      if (ids.length > 0) await look();
    },
  },
];

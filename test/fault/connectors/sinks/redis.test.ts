/** Faults of Redis as a sink: its keys and its streams, which share a server. */
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { freePort, temporaryFolder } from '../../../support/harness.js';
import { needsRedis, openRedis, type TestRedis } from '../../../support/servers/redis.js';

const password = 'redis-secret-71';
const lacks = { tls: 'the client of Redis speaks no TLS' };

/** A server that keeps what it has confirmed. */
async function openSide() {
  const port = await freePort();
  const options = ['--appendonly', 'yes', '--appendfsync', 'always', '--dir', temporaryFolder()];
  let redis: TestRedis;
  const side = {
    address: `127.0.0.1:${port}`,
    get client() {
      return redis.client;
    },
    start: async () => {
      redis = await openRedis(port, options, password);
    },
    kill: () => redis.close(),
    pause: () => redis.pause(),
    resume: () => redis.resume(),
    close: () => redis.close(),
    refusal: { props: { password: 'wrong-secret-72' }, reason: /WRONGPASS|invalid/i, secret: 'wrong-secret-72' },
    full: {
      fill: () => redis.client.configSet('maxmemory', '1'),
      free: () => redis.client.configSet('maxmemory', '0'),
      reason: /OOM/,
    },
  };
  await side.start();
  return side;
}

if (needsRedis('faults of Redis as a sink')) {
  sinkFaults(
    test,
    'redis',
    async () => {
      const side = await openSide();
      const { address: addr } = side;
      const lists = new Set<string>();
      return Object.assign(side, {
        props: { addr, password, field: 'id', keyType: 'single', dataType: 'string' },
        arrived: async () => (await side.client.keys('*')).filter((key) => !lists.has(key)).map(Number),
        rejects: {
          prepare: (id: number) => {
            lists.add(String(id));
            return side.client.set(String(id), 'no list');
          },
          props: { dataType: 'list' },
          reason: /WRONGTYPE/,
        },
      });
    },
    { lacks: { ...lacks, empty: 'the key of a row stands in its text' } },
  );

  sinkFaults(
    test,
    'redisStream',
    async () => {
      const side = await openSide();
      const { address } = side;
      return Object.assign(side, {
        props: { address, password, field: 'data', stream: 'out' },
        arrived: async () => {
          const entries = (await side.client.xRange('out', '-', '+')) ?? [];
          return idsOf(entries.map(({ message }) => message.data));
        },
        rejects: {
          prepare: () => side.client.set('text', 'no stream'),
          row: { to: 'text' },
          props: { stream: '{{or .to "out"}}' },
          reason: /WRONGTYPE/,
        },
      });
    },
    { lacks },
  );
}

test.run();

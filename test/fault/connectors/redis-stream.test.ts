/** Faults of Redis: its streams both ways, read as a group and by position. */
import { test } from 'uvu';
import { sourceFaults } from '../../support/connectors/faults/sources.js';
import { freePort, temporaryFolder } from '../../support/harness.js';
import { needsRedis, openRedis, type TestRedis } from '../../support/servers/redis.js';

const password = 'redis-secret-73';
const refusal = { props: { password: 'wrong-secret-74' }, reason: /WRONGPASS|invalid/i, secret: 'wrong-secret-74' };

/** A server that keeps what it has confirmed. */
async function openKeeping() {
  const port = await freePort();
  const options = ['--appendonly', 'yes', '--appendfsync', 'always', '--dir', temporaryFolder()];
  let redis: TestRedis;
  const side = {
    props: { address: `127.0.0.1:${port}`, password, field: 'data' },
    start: async () => {
      redis = await openRedis(port, options, password);
    },
    kill: () => redis.close(),
    pause: () => redis.pause(),
    resume: () => redis.resume(),
    close: () => redis.close(),
    arrived: async () => {
      const entries = (await redis.client.xRange('out', '-', '+')) ?? [];
      return entries.map(({ message }) => (JSON.parse(message.data ?? '{}') as { id: number }).id);
    },
    send: async (messages: readonly (string | Buffer)[]) => {
      for (const data of messages) await redis.client.xAdd('in', '*', { data });
    },
    refusal,
    tls: {
      props: (port: number) => ({ address: `rediss://127.0.0.1:${port}` }),
      secret: password,
    },
  };
  await side.start();
  return side;
}

if (needsRedis('faults of Redis streams')) {
  for (const group of ['readers', '']) {
    sourceFaults(test, 'redisStream', async () => {
      const side = await openKeeping();
      return { ...side, dataSource: 'in', props: { ...side.props, group } };
    });
  }
}

test.run();

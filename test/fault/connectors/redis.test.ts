/** Faults of the channels of Redis. */
import { test } from 'uvu';
import { type SourceSide, sourceFaults } from '../../support/connectors/faults/sources.js';
import { freePort, temporaryFolder } from '../../support/harness.js';
import { needsRedis, openRedis, patient, type TestRedis } from '../../support/servers/redis.js';

const password = 'redis-secret-71';
const refusal = { props: { password: 'wrong-secret-72' }, reason: /WRONGPASS|invalid/i, secret: 'wrong-secret-72' };

/** A server that keeps what it has confirmed. */
async function openKeeping() {
  const port = await freePort();
  const folder = temporaryFolder();
  const options = ['--appendonly', 'yes', '--appendfsync', 'always', '--dir', folder, ...patient];
  let redis: TestRedis;
  const side = {
    addr: `127.0.0.1:${port}`,
    get redis() {
      return redis;
    },
    start: async () => {
      redis = await openRedis(port, options, password);
    },
    kill: () => redis.close(),
    pause: () => redis.pause(),
    resume: () => redis.resume(),
    close: () => redis.close(),
  };
  await side.start();
  return side;
}

async function channel(): Promise<SourceSide> {
  const side = await openKeeping();
  return Object.assign(side, {
    dataSource: '',
    props: { address: side.addr, password, channels: ['rows'] },
    send: async (messages: readonly (string | Buffer)[]) => {
      for (const message of messages) await side.redis.client.publish('rows', message.toString());
    },
    refusal,
    tls: {
      props: (port: number) => ({ address: `rediss://127.0.0.1:${port}` }),
      secret: password,
    },
    dropsWhenSlow: true,
  });
}

if (needsRedis('faults of Redis')) {
  sourceFaults(test, 'redisSub', channel, {
    lacks: { keeps: 'Redis forgets what it has published' },
  });
}

test.run();

/** A stream of Redis that is on disk before it is confirmed. */
import { freePort, temporaryFolder } from '../../../test/support/harness.js';
import { needsRedis, openRedis, type TestRedis } from '../../../test/support/servers/redis.js';
import { AskedRows, type Keeper, KeptVictim, required } from './keeper.js';

export async function open(): Promise<Keeper> {
  required(needsRedis('chaos with Redis'), 'redis-server');
  const port = await freePort();
  const options = ['--appendonly', 'yes', '--appendfsync', 'always', '--dir', temporaryFolder()];
  let redis: TestRedis;
  const server = {
    start: async () => {
      redis = await openRedis(port, options);
    },
    kill: () => redis.close(),
    pause: () => redis.pause(),
    resume: () => redis.resume(),
  };
  await server.start();
  return {
    process: new KeptVictim('redis-server', server),
    output: new AskedRows(async () => {
      const entries = (await redis.client.xRange('out', '-', '+')) ?? [];
      return entries.map(({ message }) => message.data ?? '');
    }),
    action: { redisStream: { address: `127.0.0.1:${port}`, stream: 'out', field: 'data', sendSingle: true } },
    close: server.kill,
  };
}

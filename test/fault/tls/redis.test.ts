/** TLS of Redis, with a server that demands a certificate: its keys, channels and streams, and as a bus of EdgeX. */
import { test } from 'uvu';
import { edgexNames, type SecureSide, secureSide } from '../../support/connectors/tls.js';
import { freePort } from '../../support/harness.js';
import { needsRedis, openRedis, type TestRedis } from '../../support/servers/redis.js';

const password = 'redis-secret-17';

type Given = Pick<SecureSide, 'part' | 'type' | 'props' | 'named'> & {
  readonly dataSource?: string;
  readonly sends?: (redis: TestRedis) => Promise<unknown>;
};

async function open({ sends, ...given }: Given): Promise<SecureSide> {
  const [port, plain] = [await freePort(), await freePort()];
  let redis: TestRedis | undefined;
  const login = { username: '', password };
  const addr = `rediss://127.0.0.1:${port}`;
  const address =
    given.type === 'edgex'
      ? { type: 'redis', protocol: 'rediss', server: '127.0.0.1', port }
      : { [given.type === 'redis' ? 'addr' : 'address']: addr, ...login };
  return {
    ...given,
    props: { ...address, ...given.props },
    secret: password,
    start: async (own, trusted) => {
      const files = ['--tls-cert-file', own.certFile, '--tls-key-file', own.keyFile];
      const clients = ['--tls-ca-cert-file', trusted.certFile, '--tls-auth-clients', 'yes'];
      redis = await openRedis(plain, ['--tls-port', String(port), ...files, ...clients], password);
    },
    close: async () => redis?.close(),
    ...(sends && { send: async () => redis && sends(redis) }),
  };
}

if (needsRedis('TLS of Redis')) {
  secureSide(test, 'redis', () => open({ part: 'sink', type: 'redis', props: { field: 'id' } }));
  secureSide(test, 'redisPub', () => open({ part: 'sink', type: 'redisPub', props: { channel: 'rows' } }));
  secureSide(test, 'redisSub', () =>
    open({
      part: 'source',
      type: 'redisSub',
      props: { channels: ['rows'] },
      sends: ({ client }) => client.publish('rows', '{"id":1}'),
    }),
  );
  const add = ({ client }: TestRedis) => client.xAdd('rows', '*', { id: '1' });
  secureSide(test, 'redisStream, source with a group', () =>
    open({ part: 'source', type: 'redisStream', dataSource: 'rows', props: { group: 'g' }, sends: add }),
  );
  secureSide(test, 'redisStream, sink', () => open({ part: 'sink', type: 'redisStream', props: { stream: 'out' } }));
  secureSide(test, 'edgex over Redis', () =>
    open({
      part: 'sink',
      type: 'edgex',
      props: { topic: 'out' },
      named: (all) => edgexNames(all, { Password: password }),
    }),
  );
}

test.run();

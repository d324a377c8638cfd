/** Messages of Redis channels. */
import { field } from '../../base/fields/field.js';
import { redisAddress, redisDatabase, redisLogin } from '../../clients/redis/connection.js';
import { commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

export default defineConnector({
  name: 'redisSub',
  doc: 'Subscribes to channels of a Redis server.',
  packages: ['@redis/client'],
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: {
      address: redisAddress.alias('addr').default('127.0.0.1:6379'),
      ...redisLogin,
      db: redisDatabase,
      ...tlsProps,
    },
    files: (conf) => tlsFiles(conf),
    renewable: ['username', 'password', ...tlsProofs],
    ping: async () => (await import('../servers/redis.js')).pingAddress,
  },
  source: {
    showsDecoder: true,
    defaultKey: { address: '127.0.0.1:6379', db: 0 },
    props: {
      ...commonSource,
      channels: field
        .list(field.string())
        .required()
        .check((channels) => (channels.some((name) => name !== '') ? undefined : 'must name a channel'))
        .doc('Channels to subscribe to; may have the wildcards *, ? and [ ]'),
    },
    form: () => ({ framing: 'frames' }),
    load: async () => {
      const { RedisSubSource } = await import('./source.js');
      return (conf, context) => new RedisSubSource(conf, context);
    },
  },
});

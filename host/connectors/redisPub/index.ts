/** Messages to a Redis channel. */
import { field } from '../../base/fields/field.js';
import { redisAddress, redisDatabase, redisLogin } from '../../clients/redis/connection.js';
import { commonSink } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

export default defineConnector({
  name: 'redisPub',
  doc: 'Publishes on a channel of a Redis server.',
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
  sink: {
    props: {
      ...commonSink,
      channel: field
        .string()
        .required()
        .check((channel) => (channel === '' ? 'must not be empty' : undefined))
        .doc('Channel to publish on'),
    },
    resendsTo: 'channel',
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { RedisPubSink } = await import('./sink.js');
      return (conf, context) => new RedisPubSink(conf, context);
    },
  },
});

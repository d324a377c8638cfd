/** Entries of Redis streams. */
import { field } from '../../base/fields/field.js';
import { redisAddress, redisDatabase, redisLogin } from '../../clients/redis/connection.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

export default defineConnector({
  name: 'redisStream',
  doc: 'Reads streams of a Redis server, and adds to them.',
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
    dataSource: { doc: 'Key of the stream', isNeeded: true },
    showsDecoder: true,
    defaultKey: { address: '127.0.0.1:6379', db: 0 },
    props: {
      ...commonSource,
      group: field
        .string()
        .default('')
        .doc('Consumer group, made if it is missing: the server keeps what is not acknowledged'),
      consumer: field.string().default('').doc('Name within the group; empty: name of the stream'),
      startId: field
        .string()
        .default('0')
        .check((id) =>
          /^(\$|\d{1,20}(-\d{1,20})?)$/.test(id) ? undefined : 'must be an id such as 0, 1700000000000-0 or $',
        )
        .doc('Id behind which it begins at first: 0 for all entries, $ for new ones'),
      field: field
        .string()
        .default('')
        .doc('Field of an entry that has the message; empty: a JSON object of all fields is the message'),
      claimAfter: field
        .duration()
        .min(1000)
        .default(60_000)
        .doc('Time after which entries are taken over that another consumer has not acknowledged'),
      maxPending: field.int().min(1).max(65_000).default(10_000).doc('Most entries that are not acknowledged'),
    },
    form: ({ group }) => ({ framing: 'frames', ...(group === '' ? {} : { acknowledges: true }) }),
    rewinds: ({ group }) => {
      if (group === '') return 'position';
      return { provided: `the server keeps the group ${group} and its entries`, mayRepeat: true };
    },
    load: async () => {
      const { makeRedisStream } = await import('./make-source.js');
      return makeRedisStream;
    },
  },
  sink: {
    props: {
      ...commonSink,
      stream: field
        .string()
        .required()
        .check((stream) => (stream === '' ? 'must not be empty' : undefined))
        .dynamic()
        .doc('Key of the stream to add to'),
      field: field
        .string()
        .default('')
        .doc('Field of an entry that gets the row as JSON; empty: each member of the row is a field'),
      maxLen: field
        .int()
        .min(0)
        .default(0)
        .doc('Number of entries beyond which the oldest go, or somewhat more; 0: none go'),
    },
    resendsTo: 'stream',
    form: { takes: 'messages', framing: 'messages', isRowByRow: true },
    load: async () => {
      const { RedisStreamSink } = await import('./sink.js');
      return (conf, context) => new RedisStreamSink(conf, context);
    },
  },
});

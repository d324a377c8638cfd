/** Redis: rows are looked up by key, and set. */

import { field } from '../../base/fields/field.js';
import { databaseReason, redisAddress, redisDatabase, redisLogin } from '../../clients/redis/connection.js';
import { commonLookup, commonSink } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

const dataType = field.string().oneOf('string', 'list').alias('datatype').default('string');

export default defineConnector({
  name: 'redis',
  doc: 'Looks rows up in a Redis server, and sets them there: JSON texts by key.',
  packages: ['@redis/client'],
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: { addr: redisAddress.alias('address').default('127.0.0.1:6379'), ...redisLogin, ...tlsProps },
    files: (conf) => tlsFiles(conf),
    renewable: ['username', 'password', ...tlsProofs],
    ping: async () => (await import('../servers/redis.js')).ping,
  },
  lookup: {
    dataSource: { doc: 'Number of the database, 0 to 15', isNeeded: true },
    refusal: databaseReason,
    defaultKey: { addr: '127.0.0.1:6379', datatype: 'string' },
    props: {
      ...commonLookup,
      dataType: dataType.doc('What a key has. string: a row; list: rows. Each is the JSON of an object'),
    },
    load: async () => {
      const { RedisLookup } = await import('./lookup.js');
      return (conf, context) => new RedisLookup(conf, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      db: redisDatabase,
      key: field.string().default('').dynamic().doc('Key that gets each row, with keyType single'),
      field: field.string().default('').doc('Member of the row whose value is the key, before `key`'),
      keyType: field
        .string()
        .oneOf('single', 'multiple')
        .default('single')
        .doc('single: the row is set; multiple: each member of the row is set, with its name as the key'),
      dataType: dataType.doc(
        'string: a row takes the place of what the key has (SET); list: it goes before it (LPUSH)',
      ),
      expiration: field
        .duration()
        .min(-1)
        .default(-1)
        .doc('How long the key stays after it was set; -1 and 0: for ever'),
      rowkindField: field
        .string()
        .default('')
        .doc(
          'Member with the kind of change: insert, update and upsert set the row, delete takes the key away (DEL), ' +
            'or its first row from a list (LPOP); without one the row is set',
        ),
    },
    refusal: ({ key, field: name, keyType }) =>
      keyType === 'single' && key === '' && name === '' ? 'key or field is required with keyType single' : undefined,
    form: { takes: 'messages', framing: 'messages', isRowByRow: true },
    load: async () => {
      const { RedisSink } = await import('./sink.js');
      return (conf, context) => new RedisSink(conf, context);
    },
  },
});

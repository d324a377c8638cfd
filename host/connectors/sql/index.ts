/** Databases with SQL: tables are polled, rows are looked up there and written. */
import { field, type Spec } from '../../base/fields/field.js';
import { sqlAddress, sqlAddressReason, sqliteFile } from '../../clients/sql/address.js';
import { commonLookup, plainSink, plainSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';
import { lookupQueryProps, queryReason, sourceQueryProps } from './query-props.js';

const dburl = field
  .address()
  .check(sqlAddressReason)
  .alias('url')
  .doc(
    'Address of the database: postgres://, mysql://, sqlserver:// or sqlite:. TLS is asked for by ' +
      '?sslmode=verify-full, ?tls=true or ?encrypt=true, or by a certificate. SQL Server needs the package tedious, ' +
      'and is checked against an imitation of a server',
  );

const connectionProps = {
  dburl,
  timeout: field
    .duration()
    .min(1)
    .default(30_000)
    .doc('Longest wait for the database: to connect, and for each statement'),
  ...tlsProps,
} satisfies Spec;

export default defineConnector({
  name: 'sql',
  doc: 'Reads tables of databases, looks rows up in them, and writes rows to them.',
  packages: ['pg', 'mysql2', 'node-sqlite3-wasm', 'tedious'],
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: connectionProps,
    files: (conf) => ({ dburl: sqliteFile(conf.dburl ?? '') ?? '', ...tlsFiles(conf) }),
    // A thread has the file open.
    single: ({ dburl }) => {
      const file = sqliteFile(dburl ?? '');
      return file === undefined ? undefined : `file ${file}`;
    },
    ping: async () => (await import('./ping.js')).ping,
    renewable: ['dburl', ...tlsProofs],
  },
  source: {
    dataSource: { doc: 'Table that is read, unless internalSqlQueryCfg names one' },
    props: {
      ...plainSource,
      dburl: dburl.required(),
      useInt64ForWholeNumber: plainSource.useInt64ForWholeNumber.default(true),
      interval: field.duration().min(1).required().doc('Time between two queries'),
      ...sourceQueryProps,
    },
    refusal: (conf) => queryReason(conf),
    form: () => ({ framing: 'frames', waits: true, wholeNumbersAreInts: true }),
    rewinds: ({ internalSqlQueryCfg, templateSqlQueryCfg }) => {
      const { templateSql = '' } = templateSqlQueryCfg;
      const { indexField = '', indexFields = [] } = templateSql === '' ? internalSqlQueryCfg : templateSqlQueryCfg;
      return indexField === '' && indexFields.length === 0
        ? { no: 'without an indexField each query has all rows' }
        : 'position';
    },
    load: async () => {
      const { SqlSource } = await import('./source.js');
      return (conf, context) => new SqlSource(conf, context);
    },
  },
  lookup: {
    dataSource: { doc: 'Table that is asked', isNeeded: true },
    props: { ...commonLookup, dburl: dburl.required(), ...lookupQueryProps },
    load: async () => {
      const { SqlLookup } = await import('./lookup.js');
      return (conf, context) => new SqlLookup(conf, context);
    },
  },
  sink: {
    props: {
      ...plainSink,
      dburl: dburl.required(),
      table: field.string().required().min(1).doc('Table that rows are written to'),
      fields: field
        .list(field.string())
        .doc('Columns that are written, missing members as NULL; all members of the row without it'),
      rowkindField: field
        .string()
        .default('')
        .doc('Member with the kind of change: insert, update, upsert or delete; without one rows are inserted'),
      keyField: field
        .string()
        .default('')
        .doc('Column by which update, upsert and delete find rows; upsert needs a unique index of it'),
    },
    refusal: ({ rowkindField, keyField }) =>
      rowkindField !== '' && keyField === '' ? 'keyField is required when rowkindField is set' : undefined,
    files: ({ dburl }) => ({ dburl: { written: sqliteFile(dburl) ?? '' } }),
    staysSent: ({ dburl }) =>
      sqlAddress(dburl).kind === 'sqlserver' ? 'what a SQL Server has is not cut back' : undefined,
    hasTransactions: true,
    form: { takes: 'messages', framing: 'messages', picksFields: true },
    load: async () => {
      const { SqlSink } = await import('./sink.js');
      return (conf, context) => new SqlSink(conf, context);
    },
  },
});

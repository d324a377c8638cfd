/** Rows into tables of TDengine 3. */

import { field } from '../../base/fields/field.js';
import { rowForm } from '../../clients/rows/row-form.js';
import { plainSink } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';
import { tableReason } from './names.js';

export default defineConnector({
  name: 'tdengine3',
  doc: 'Inserts rows into TDengine 3 over REST. Checked against a server that plays its answers.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: {
      host: field.address().default('localhost').doc('Host of the server'),
      port: field.int().min(1).max(65_535).default(6041).doc('Port of taosAdapter'),
      user: field.string().default('root').doc('Name to log in with'),
      password: field.secret().default('taosdata').doc('Password to log in with'),
      database: field.string().required().min(1).doc('Database with the table'),
      timeout: field.duration().min(1).default(10_000).doc('Longest time of a request with its answer'),
      ssl: field.bool().default(false).doc('Requests go over HTTPS'),
      ...tlsProps,
    },
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('./sink.js')).ping,
    renewable: ['user', 'password', ...tlsProofs],
  },
  sink: {
    props: {
      ...plainSink,
      table: field
        .string()
        .required()
        .check(tableReason)
        .dynamic()
        .doc('Table that gets the rows; may be a template over the row'),
      sTable: field
        .string()
        .default('')
        .check((name) => (name === '' ? undefined : tableReason(name)))
        .dynamic()
        .doc('Supertable by which tables that are missing are made; may be a template over the row'),
      tagFields: field.list(field.string()).default([]).doc('With sTable: members of the row that are the tags'),
      fields: field
        .list(field.string())
        .default([])
        .doc('Members that are inserted, each of which a row must have; without it all but the tags'),
      provideTs: field
        .bool()
        .default(false)
        .doc('The time is the member tsFieldName of the row; otherwise the server takes its clock'),
      tsFieldName: field.string().required().min(1).doc('Column with the time'),
    },
    refusal: ({ sTable, tagFields }) =>
      sTable !== '' && tagFields.length === 0 ? 'property tagFields is required when sTable is set' : undefined,
    form: rowForm,
    load: async () => {
      const { makeSink } = await import('./sink.js');
      return makeSink;
    },
  },
});

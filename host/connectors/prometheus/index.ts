/** Rows as samples of metrics, by the remote write of Prometheus. */
import { field } from '../../base/fields/field.js';
import { rowForm } from '../../clients/rows/row-form.js';
import { urlReason } from '../../http/props.js';
import { plainSink } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

export default defineConnector({
  name: 'prometheus',
  doc: 'Sends the numbers of each row as samples of metrics, by remote write of Prometheus.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: {
      url: field
        .address()
        .required()
        .check(urlReason)
        .doc('Address that takes remote writes, such as http://127.0.0.1:9090/api/v1/write'),
      username: field.string().default('').doc('Name to log in with'),
      password: field.secret().default('').doc('Password to log in with'),
      token: field.secret().default('').doc('Bearer token, in place of name and password'),
      headers: field.map().default({}).doc('Further headers of the requests'),
      timeout: field.duration().min(1).default(10_000).doc('Longest time of a request with its answer'),
      ...tlsProps,
    },
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('./sink.js')).ping,
    renewable: ['username', 'password', 'token', 'headers', ...tlsProofs],
  },
  sink: {
    props: {
      ...plainSink,
      metric: field
        .string()
        .default('')
        .doc('Begin of the names of the metrics, before _ and the name of the member; empty: the name of the member'),
      labels: field
        .map()
        .default({})
        .dynamic()
        .doc('Labels of each sample by name; may be templates over the row, such as {{.device}}; empty: left out'),
      fields: field
        .list(field.string())
        .default([])
        .doc('Members of the row that are sent; without it all that are numbers or booleans'),
      tsFieldName: field
        .string()
        .default('')
        .doc('Member with the time of the samples, ms since the epoch; empty: the time when they are sent'),
    },
    ownTemplates: () => ['labels'],
    form: rowForm,
    load: async () => {
      const { makeSink } = await import('./sink.js');
      return makeSink;
    },
  },
});

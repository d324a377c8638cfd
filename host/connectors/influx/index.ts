/** Rows as points of InfluxDB 1.x. */
import { field } from '../../base/fields/field.js';
import { pointForm, pointProps } from '../../clients/influx/props.js';
import { urlReason } from '../../http/props.js';
import { plainSink } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

export default defineConnector({
  name: 'influx',
  doc: 'Writes each row as a point into InfluxDB 1.x.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: {
      addr: field.address().required().check(urlReason).doc('Address of the server, such as http://127.0.0.1:8086'),
      database: field.string().required().min(1).doc('Database that gets the points'),
      username: field.string().default('').doc('Name to log in with'),
      password: field.secret().default('').doc('Password to log in with'),
      timeout: pointProps.timeout,
      ...tlsProps,
    },
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('./sink.js')).ping,
    renewable: ['username', 'password', ...tlsProofs],
  },
  sink: {
    props: {
      ...plainSink,
      ...pointProps,
      measurement: pointProps.measurement.required().min(1),
    },
    ownTemplates: () => ['tags'],
    form: pointForm,
    load: async () => {
      const { makeSink } = await import('./sink.js');
      return makeSink;
    },
  },
});

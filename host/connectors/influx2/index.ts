/** Rows as points of InfluxDB 2. */
import { field } from '../../base/fields/field.js';
import { pointForm, pointProps } from '../../clients/influx/props.js';
import { urlReason } from '../../http/props.js';
import { plainSink } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

export default defineConnector({
  name: 'influx2',
  doc: 'Writes each row as a point into InfluxDB 2.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: {
      addr: field.address().required().check(urlReason).doc('Address of the server, such as http://127.0.0.1:8086'),
      org: field.string().required().min(1).doc('Organization that the bucket belongs to'),
      bucket: field.string().required().min(1).doc('Bucket that gets the points'),
      token: field.secret().default('').doc('Token with the right to write'),
      timeout: pointProps.timeout,
      ...tlsProps,
    },
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('./sink.js')).ping,
    renewable: ['token', ...tlsProofs],
  },
  sink: {
    props: {
      ...plainSink,
      ...pointProps,
      useLineProtocol: field
        .bool()
        .default(false)
        .doc('Whole numbers are written without the mark of integers; with dataTemplate the messages are the lines'),
    },
    refusal: ({ measurement, useLineProtocol }) =>
      measurement === '' && !useLineProtocol ? 'property measurement is required' : undefined,
    ownTemplates: () => ['tags'],
    form: pointForm,
    load: async () => {
      const { makeSink } = await import('./sink.js');
      return makeSink;
    },
  },
});

/** Data that clients send to the data server. */
import { field } from '../../base/fields/field.js';
import { commonSource } from '../common.js';
import { defineConnector } from '../define.js';

const methods = ['POST', 'PUT'];

export default defineConnector({
  name: 'httppush',
  doc: 'Takes what clients send to a path of the data server; the path is the DATASOURCE.',
  chinese: async () => (await import('./chinese.js')).chinese,
  // Clients come to the data server.
  connection: { props: {} },
  source: {
    dataSource: { doc: 'Path of the data server that takes the messages, such as /api/data', isNeeded: true },
    showsDecoder: true,
    defaultKey: { method: 'POST' },
    props: {
      ...commonSource,
      method: field
        .string()
        .default('POST')
        .check((method) =>
          methods.includes(method.toUpperCase()) ? undefined : `must be one of ${methods.join(', ')}`,
        )
        .doc('Method of the requests'),
      contentType: field
        .string()
        .default('application/json')
        .doc('Accepted for compatibility; FORMAT decides')
        .unlisted(),
    },
    absent: (_conf, path) =>
      path.startsWith('/') ? undefined : `DATASOURCE must begin with /, which "${path}" does not`,
    form: () => ({ framing: 'frames' }),
    load: async () => {
      const { PushSource } = await import('./source.js');
      return (conf, context) => new PushSource(conf.method.toUpperCase(), context);
    },
  },
});

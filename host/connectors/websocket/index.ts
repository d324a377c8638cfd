/** Messages over websockets, both ways. */

import { field } from '../../base/fields/field.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs } from '../tls.js';
import { connection } from './connection.js';

export default defineConnector({
  name: 'websocket',
  doc: 'Takes and sends messages over websockets, which it opens, or which clients open at the data server.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: connection,
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('./ping.js')).ping,
    renewable: ['requestHeader', ...tlsProofs],
  },
  source: {
    dataSource: { doc: 'Path of the endpoint, such as /api/data' },
    showsDecoder: true,
    props: { ...commonSource },
    form: () => ({ framing: 'frames' }),
    load: async () => {
      const [{ WebsocketSource }, { EndpointSource }] = await Promise.all([
        import('./source.js'),
        import('./endpoint-source.js'),
      ]);
      return (conf, context) =>
        conf.addr === '' ? new EndpointSource(conf.path, context) : new WebsocketSource(conf, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      checkConnection: field
        .bool()
        .default(false)
        .doc('Accepted for compatibility; connections are always checked')
        .unlisted(),
    },
    refusal: ({ addr, path }) =>
      addr === '' && !path.startsWith('/') ? 'property path must begin with / where addr is empty' : undefined,
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const [{ WebsocketSink }, { EndpointSink }] = await Promise.all([import('./sink.js'), import('../endpoints.js')]);
      return (conf, context) =>
        conf.addr === '' ? new EndpointSink('websocket', conf.path, context) : new WebsocketSink(conf, context);
    },
  },
});

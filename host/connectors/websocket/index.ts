/** Messages over websockets, both ways. */

import { field } from '../../base/fields/field.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles } from '../tls.js';
import { connection, serverReason } from './connection.js';

export default defineConnector({
  name: 'websocket',
  doc: 'Takes and sends messages over a websocket.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: connection,
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('./ping.js')).ping,
  },
  source: {
    dataSource: { doc: 'Path of the endpoint, such as /api/data' },
    showsDecoder: true,
    props: { ...commonSource },
    refusal: (conf) => serverReason(conf),
    form: () => ({ framing: 'frames' }),
    load: async () => {
      const { WebsocketSource } = await import('./source.js');
      return (conf, context) => new WebsocketSource(conf, context);
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
    refusal: (conf) => serverReason(conf),
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { WebsocketSink } = await import('./sink.js');
      return (conf, context) => new WebsocketSink(conf, context);
    },
  },
});

/** Server-sent events: those of a server come in, results go out to clients of the data server. */
import { field } from '../../base/fields/field.js';
import { urlReason } from '../../http/props.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProps } from '../tls.js';

const pathReason = (path: string) => (path.startsWith('/') ? undefined : 'must begin with /');

export default defineConnector({
  name: 'sse',
  doc: 'Takes the server-sent events of a server, and sends results as events to clients of the data server.',
  chinese: async () => (await import('./chinese.js')).chinese,
  // Clients of sinks come to the data server.
  connection: { props: {} },
  source: {
    dataSource: { doc: 'Path and query at the server, behind url' },
    showsDecoder: true,
    props: {
      ...commonSource,
      url: field.address().required().check(urlReason).doc('Address of the event stream'),
      headers: field.map().default({}).doc('Headers of the request'),
      token: field.secret().default('').doc('Bearer token'),
      events: field.list(field.string()).default([]).doc('Names of the events that are taken; without it all'),
      timeout: field.duration().min(1).default(10_000).doc('Longest wait for the begin of the answer'),
      idleTimeout: field
        .duration()
        .min(0)
        .default(0)
        .doc('Silence after which the connection is taken for lost; 0: never'),
      ...tlsProps,
    },
    files: (conf) => tlsFiles(conf),
    form: () => ({ framing: 'frames' }),
    load: async () => {
      const { SseSource } = await import('./source.js');
      return (conf, context) => new SseSource(conf, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      endpoint: field.string().required().check(pathReason).doc('Path of the data server where clients get the events'),
    },
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { EndpointSink } = await import('../endpoints.js');
      return (conf, context) => new EndpointSink('sse', conf.endpoint, context);
    },
  },
});

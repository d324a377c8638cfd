/** Server-sent events: those of a server come in, results go out to clients of the data server. */
import { field } from '../../base/fields/field.js';
import { urlReason } from '../../http/props.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

const pathReason = (path: string) => (path.startsWith('/') ? undefined : 'must begin with /');

export default defineConnector({
  name: 'sse',
  doc: 'Takes the server-sent events of a server, and sends results as events to clients of the data server.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: {
      // Clients of sinks come to the data server.
      url: field.address().check(urlReason).doc('Address of the event stream, for sources'),
      headers: field.map().default({}).doc('Headers of the request'),
      token: field.secret().default('').doc('Bearer token'),
      timeout: field.duration().min(1).default(10_000).doc('Longest wait for the begin of the answer'),
      ...tlsProps,
    },
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('../servers/http.js')).pingEvents,
    renewable: ['token', 'headers', ...tlsProofs],
  },
  source: {
    dataSource: { doc: 'Path and query at the server, behind url' },
    showsDecoder: true,
    props: {
      ...commonSource,
      url: field.address().required().check(urlReason).doc('Address of the event stream'),
      events: field.list(field.string()).default([]).doc('Names of the events that are taken; without it all'),
      idleTimeout: field
        .duration()
        .min(0)
        .default(0)
        .doc('Silence after which the connection is taken for lost; 0: never'),
    },
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
    refusal: ({ url }) => (url === undefined ? undefined : 'property url is for sources'),
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { EndpointSink } = await import('../endpoints.js');
      return (conf, context) => new EndpointSink('sse', conf.endpoint, context);
    },
  },
});

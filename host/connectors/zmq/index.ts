/** ZeroMQ: what others publish in, what we publish out. */
import { field } from '../../base/fields/field.js';
import { socketPath, zmqServer } from '../../clients/zmq/connection.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';

export default defineConnector({
  name: 'zmq',
  doc: 'Subscribes to a publisher of ZeroMQ, and publishes to its subscribers.',
  packages: ['zeromq'],
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: { server: zmqServer },
    single: ({ server }, part) => (part === 'sink' ? `publisher ${server}` : undefined),
    ping: async () => {
      const { pingZmq } = await import('../../clients/zmq/subscriber.js');
      return ({ server }) => pingZmq(server);
    },
  },
  source: {
    dataSource: { doc: 'Begin of the topics to subscribe to; empty: all messages, which then have no topic' },
    showsDecoder: true,
    defaultKey: { server: 'tcp://192.168.2.2:5563' },
    props: { ...commonSource },
    files: ({ server }) => ({ server: socketPath(server) ?? '' }),
    form: () => ({ framing: 'frames' }),
    load: async () => {
      const { ZmqSource } = await import('./source.js');
      return (conf, context) => new ZmqSource(conf, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      topic: field
        .string()
        .default('')
        .dynamic()
        .doc('Topic, the first part of each message; empty: messages have one part'),
      waitForSlow: field
        .bool()
        .default(false)
        .doc('A subscriber that takes no more is waited for, and all others with it; without it it loses messages'),
    },
    files: ({ server }) => ({ server: { written: socketPath(server) ?? '', isNoFile: true } }),
    resendsTo: 'topic',
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { ZmqSink } = await import('./sink.js');
      return (conf, context) => new ZmqSink(conf, context);
    },
  },
});

/** RabbitMQ: queues in, exchanges out. */
import { field } from '../../base/fields/field.js';
import { rabbitConnection } from '../../clients/rabbitmq/connection.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

/** How a queue or exchange is made that is missing. */
const made = {
  exchangeType: field
    .string()
    .oneOf('', 'direct', 'topic', 'fanout', 'headers')
    .default('')
    .doc('Kind of the exchange, which is made if it is missing; empty: it has to be there'),
  durable: field.bool().default(true).doc('Queue and exchange outlive a restart of the server, if they are made'),
  autoDelete: field.bool().default(false).doc('The queue goes with its last reader, if it is made'),
  exclusive: field.bool().default(false).doc('The queue is for this connection alone'),
};

export default defineConnector({
  name: 'rabbitmq',
  doc: 'Reads queues of RabbitMQ, and publishes on its exchanges.',
  packages: ['amqplib'],
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: { ...rabbitConnection, ...tlsProps },
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('./ping.js')).ping,
    sharing: 'sinks',
    renewable: ['server', 'username', 'password', ...tlsProofs],
  },
  source: {
    dataSource: { doc: 'Queue, if property queue names none' },
    showsDecoder: true,
    defaultKey: { server: 'amqp://127.0.0.1:5672' },
    props: {
      ...commonSource,
      queue: field
        .string()
        .default('')
        .doc('Queue to read, made if it is missing; without one a queue of its own is bound to the exchange'),
      exchange: field.string().default('').doc('Exchange that the queue is bound to; empty: it is not bound'),
      routingKey: field.string().default('').doc('Routing key of the binding'),
      ...made,
      prefetchCount: field
        .int()
        .min(0)
        .max(65_535)
        .default(100)
        .doc('Most messages that are not acknowledged; 0: as many as there may be, 65535'),
    },
    files: (conf) => tlsFiles(conf),
    form: () => ({ framing: 'frames', acknowledges: true }),
    rewinds: ({ durable, exclusive, autoDelete }) => {
      if (exclusive || autoDelete) return { no: 'the queue goes with the connection' };
      if (!durable) return { no: 'without durable the server forgets the queue when it restarts' };
      return { provided: 'the server keeps the queue and its messages', mayRepeat: true };
    },
    load: async () => {
      const { RabbitSource } = await import('./source.js');
      return (conf, context) => new RabbitSource(conf, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      exchange: field.string().default('').dynamic().doc('Exchange to publish on; empty: that which knows all queues'),
      routingKey: field.string().default('').dynamic().doc('Routing key of each message; empty: name of the queue'),
      queue: field.string().default('').doc('Queue that is made and bound to the exchange'),
      ...made,
      headers: field.map().default({}).dynamic().doc('Headers of each message'),
      contentType: field.string().default('').doc('Content type of each message, such as application/json'),
      persistent: field.bool().default(true).doc('The server keeps messages on disk'),
      mandatory: field
        .bool()
        .default(false)
        .doc('A message that no queue takes has failed; each message gets a messageId for that'),
    },
    refusal: ({ exchange, routingKey, queue }) =>
      exchange === '' && routingKey === '' && queue === ''
        ? 'property exchange, routingKey or queue is required'
        : undefined,
    files: (conf) => tlsFiles(conf),
    resendsTo: 'routingKey',
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { RabbitSink } = await import('./sink.js');
      return (conf, context) => new RabbitSink(conf, context);
    },
  },
});

/** NATS: subjects and streams in, subjects out, buckets as tables. */
import { field } from '../../base/fields/field.js';
import { loginReason, natsConnection } from '../../clients/nats/connection.js';
import { commonLookup, commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

const policies = ['', 'all', 'new', 'last', 'lastPerSubject', 'startSequence', 'startTime'];

export default defineConnector({
  name: 'nats',
  doc: 'Subscribes to and publishes on subjects of a NATS server, reads its streams, and looks rows up in its buckets.',
  packages: ['@nats-io/transport-node', '@nats-io/jetstream', '@nats-io/kv'],
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: { ...natsConnection, ...tlsProps },
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('./ping.js')).ping,
    renewable: ['username', 'password', 'token', 'nkeySeed', 'credentials', ...tlsProofs],
  },
  source: {
    dataSource: {
      doc: 'Subjects, with commas between; may have *, > and a range of partitions {0-3}. With bucket: keys; none: all',
    },
    showsDecoder: true,
    defaultKey: { server: 'nats://127.0.0.1:4222' },
    props: {
      ...commonSource,
      queue: field.string().default('').doc('Queue group: each message goes to one of its members'),
      stream: field
        .string()
        .default('')
        .check(nameReason)
        .doc('Stream of JetStream to read; one that is missing is waited for'),
      bucket: field.string().default('').check(nameReason).doc('Bucket whose changes are read'),
      durable: field
        .string()
        .default('')
        .check(nameReason)
        .doc('Durable consumer, made if it is missing: the server keeps what is not acknowledged'),
      deliverPolicy: field
        .string()
        .oneOf(...policies)
        .default('')
        .doc('Where the stream is read from at first; empty: all, with bucket lastPerSubject'),
      startSequence: field.int().min(1).default(1).doc('Number of the first message, with startSequence'),
      startTime: field.string().default('').check(timeReason).doc('Time of the first message, with startTime'),
      ackWait: field
        .duration()
        .min(1000)
        .default(30_000)
        .doc('Time after which the server sends an unacknowledged message again'),
      maxAckPending: field.int().min(1).max(65_000).default(10_000).doc('Most messages that are not acknowledged'),
    },
    refusal: (conf) => loginReason(conf) ?? sourceReason(conf),
    files: (conf) => tlsFiles(conf),
    partitions: 'named',
    form: ({ durable }) => ({ framing: 'frames', ...(durable === '' ? {} : { acknowledges: true }) }),
    rewinds: ({ stream, bucket, durable }) => {
      if (stream === '' && bucket === '') return { no: 'the server keeps no messages of a subject without a stream' };
      if (durable === '') return 'position';
      return { provided: `the server keeps the consumer ${durable}`, mayRepeat: true };
    },
    load: async () => {
      const { makeNatsSource } = await import('./make-source.js');
      return makeNatsSource;
    },
  },
  lookup: {
    dataSource: { doc: 'Bucket, whose values are rows as JSON', isNeeded: true },
    refusal: (dataSource) => (dataSource === '' ? 'the option DATASOURCE is required: the bucket' : undefined),
    defaultKey: { server: 'nats://127.0.0.1:4222' },
    props: { ...commonLookup },
    files: (conf) => tlsFiles(conf),
    load: async () => {
      const { NatsLookup } = await import('./lookup.js');
      return (conf, context) => new NatsLookup(conf, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      subject: field.string().required().check(subjectReason).dynamic(subjectReason).doc('Subject to publish on'),
      headers: field.map().default({}).dynamic().doc('Headers of each message'),
      jetStream: field.bool().default(false).doc('A stream takes the messages, and confirms each'),
      messageIds: field
        .bool()
        .default(true)
        .doc('With jetStream: an id in the header Nats-Msg-Id, by which the stream knows a message that is sent again'),
    },
    refusal: (conf) => loginReason(conf),
    numbersIn: ({ jetStream, messageIds }) => (jetStream && messageIds ? 'header "Nats-Msg-Id"' : undefined),
    files: (conf) => tlsFiles(conf),
    resendsTo: 'subject',
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { NatsSink } = await import('./sink.js');
      return (conf, context) => new NatsSink(conf, context);
    },
  },
});

interface SourceNames {
  queue: string;
  stream: string;
  bucket: string;
  durable: string;
  deliverPolicy: string;
  startTime: string;
}

function sourceReason({ queue, stream, bucket, durable, deliverPolicy, startTime }: SourceNames): string | undefined {
  const isKept = stream !== '' || bucket !== '';
  if (stream !== '' && bucket !== '') return 'stream and bucket: only one can be read';
  if (queue !== '' && isKept) return 'property queue is for subjects; readers of a stream share a durable consumer';
  if (durable !== '' && !isKept) return 'property durable needs stream or bucket';
  if (deliverPolicy !== '' && !isKept) return 'property deliverPolicy needs stream or bucket';
  if (deliverPolicy.toLowerCase() === 'starttime' && startTime === '') return 'deliverPolicy startTime needs startTime';
  return undefined;
}

function nameReason(name: string): string | undefined {
  return /[\s.*>/\\]/.test(name) ? 'must not have spaces, dots, wildcards or slashes' : undefined;
}

function timeReason(time: string): string | undefined {
  return time === '' || !Number.isNaN(Date.parse(time)) ? undefined : 'must be a time such as 2030-01-31T12:00:00Z';
}

function subjectReason(subject: string): string | undefined {
  if (subject === '') return 'must not be empty';
  if (/[\s\0]/.test(subject)) return 'must not have spaces';
  const tokens = subject.split('.');
  if (tokens.includes('*') || tokens.includes('>')) return 'must not have wildcards';
  return tokens.includes('') ? 'must not have an empty part between its dots' : undefined;
}

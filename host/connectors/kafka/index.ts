/** Kafka: topics in, topics out. */
import { field } from '../../base/fields/field.js';
import { connectionReason, kafkaConnection } from '../../clients/kafka/connection.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

const connection = { ...kafkaConnection, ...tlsProps };

const maxAttempts = field.int().min(1).default(3);

export default defineConnector({
  name: 'kafka',
  doc: 'Reads topics of a Kafka cluster, and writes to them.',
  packages: ['@platformatic/kafka'],
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: connection,
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('./ping.js')).ping,
    renewable: ['saslUserName', 'password', ...tlsProofs],
  },
  source: {
    dataSource: { doc: 'Topic to read; several are separated by commas', isNeeded: true },
    showsDecoder: true,
    defaultKey: { brokers: '127.0.0.1:9091,127.0.0.1:9092', groupID: '', partition: 0, maxBytes: 1_000_000 },
    props: {
      ...commonSource,
      groupID: field
        .string()
        .default('')
        .doc('Consumer group, whose members share the partitions; without one the new messages of one partition come'),
      partition: field.int().min(0).default(0).doc('Partition to read, without a group'),
      maxBytes: field
        .int()
        .min(1)
        .max(1 << 30)
        .default(1_000_000)
        .doc('Most bytes that a broker sends at once'),
      maxAttempts: maxAttempts.doc('Attempts before the connection counts as lost'),
      isolationLevel: field
        .string()
        .oneOf('read_committed', 'read_uncommitted')
        .default('read_committed')
        .doc('Whether messages of open and aborted transactions are left out'),
    },
    refusal: (conf) =>
      connectionReason(conf) ??
      (conf.groupID !== '' && conf.partition !== 0
        ? 'either partition or groupID may be specified, but not both'
        : undefined),
    files: (conf) => tlsFiles(conf),
    partitions: 'counted',
    form: () => ({ framing: 'frames', waits: true }),
    rewinds: ({ interval }) =>
      interval > 0 ? { no: 'with interval a message that waits is in no checkpoint' } : 'position',
    load: async () => {
      const { KafkaSource } = await import('./source.js');
      return (conf, context) => new KafkaSource(conf, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      topic: field.string().required().check(topicReason).dynamic(topicReason).doc('Topic to write to'),
      key: field.string().default('').dynamic().doc('Key of each message, by which its partition is chosen'),
      headers: field
        .map()
        .default({})
        .dynamic(() => undefined)
        .doc('Headers of each message: an object, or the JSON text of one'),
      requiredACKs: field
        .int()
        .check((acks) => ([1, 0, -1].includes(acks) ? undefined : 'must be 1, 0 or -1'))
        .default(1)
        .doc('Who has a message before it counts as sent: 1 the leader, -1 all replicas that are in step, 0 nobody'),
      maxAttempts: maxAttempts.doc('Attempts to send a batch before the connection counts as lost'),
      batchSize: field.int().min(0).default(1).doc('Messages of a batch that lingerInterval waits for'),
      lingerInterval: field.duration().min(0).default(0).doc('How long a batch waits for more messages'),
      batchBytes: field
        .int()
        .min(1)
        .max(1 << 30)
        .default(1_048_576)
        .doc('Largest batch, and largest message, bytes'),
      compression: field.string().oneOf('', 'gzip', 'snappy', 'lz4', 'zstd').default('').doc('Compression of batches'),
      transactionalIdPrefix: field
        .string()
        .min(1)
        .default('haumea')
        .doc('With qos 2: begin of the transactional ids; another one for each engine that writes to the cluster'),
    },
    refusal: (conf) => connectionReason(conf),
    files: (conf) => tlsFiles(conf),
    resendsTo: 'topic',
    staysSent: () => undefined,
    hasTransactions: true,
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { KafkaSink } = await import('./sink.js');
      return (conf, context) => new KafkaSink(conf, context);
    },
  },
});

function topicReason(topic: string): string | undefined {
  if (topic === '') return 'must not be empty';
  return topic.length > 249 || !/^[\w.-]+$/.test(topic)
    ? 'must be the name of a topic: up to 249 letters, digits, dots, underscores and hyphens'
    : undefined;
}

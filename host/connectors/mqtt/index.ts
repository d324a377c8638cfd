/** MQTT 3.1.1 and 5: topics in, topics out. */
import { field } from '../../base/fields/field.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs } from '../tls.js';
import { connection, protocolLevel, topicReason } from './connection.js';
import { isRaw } from './raw.js';

export default defineConnector({
  name: 'mqtt',
  doc: 'Subscribes to and publishes on topics of an MQTT broker.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: connection,
    files: tlsFiles,
    ping: async () => (await import('./ping.js')).ping,
    sharing: 'sinks',
    single: ({ clientid }) => (clientid === '' ? undefined : `MQTT client ${clientid}`),
    renewable: ['username', 'password', ...tlsProofs],
  },
  source: {
    dataSource: { doc: 'Topic to subscribe to; may have the wildcards + and #', isNeeded: true },
    absent: (_conf, topics) => (/[^\s,]/.test(topics) ? undefined : 'DATASOURCE is missing: the topic'),
    showsDecoder: true,
    isTypeOf: 'stream',
    defaultKey: { qos: 1, server: 'tcp://127.0.0.1:1883', protocolVersion: '3.1.1', insecureSkipVerify: false },
    keysName: 'mqtt_source',
    props: {
      ...commonSource,
      qos: field.int().min(0).max(2).default(1).doc('Quality of service of the subscription'),
      enableClientSession: field
        .bool()
        .default(false)
        .doc('The broker keeps the session while we are away; needs clientid'),
      sessionExpiryIntervalSeconds: field.int().min(0).default(0).doc('How long the broker keeps the session (MQTT 5)'),
      receiveMaximum: field
        .int()
        .min(1)
        .max(65_535)
        .default(65_535)
        .doc('Most unacknowledged messages that the broker sends (MQTT 5)'),
      topicAliasMaximum: field
        .int()
        .min(0)
        .max(65_535)
        .default(0)
        .doc('Most topic aliases that the broker may use (MQTT 5, qos 0)'),
      noLocal: field.bool().default(false).doc('Messages of the same client do not come back (MQTT 5)'),
      retainAsPublished: field.bool().default(false).doc('meta(retained) is as the sender has set it (MQTT 5)'),
      retainHandling: field
        .int()
        .min(0)
        .max(2)
        .default(0)
        .doc('Retained messages come with each subscription (0), with a new one (1), never (2) (MQTT 5)'),
      eofMessage: field.string().default('').doc('Payload, base64, that ends the stream'),
      clientStatePath: field.string().unused().doc('Accepted for compatibility; checkpoints keep the state').unlisted(),
      kubeedgeVersion: field.string().unused().doc('Accepted for compatibility').unlisted(),
      kubeedgeModelFile: field.string().unused().doc('Accepted for compatibility').unlisted(),
    },
    refusal: (conf) => sourceRefusal(conf),
    form: (conf) => ({
      framing: isRaw(conf) ? 'mqtt' : 'frames',
      mqttVersion: protocolLevel(conf.protocolVersion) === 5 ? 5 : 4,
      ...(conf.qos > 0 && isRaw(conf) ? { acknowledges: true, ...sessionOf(conf) } : {}),
    }),
    rewinds: (conf) => {
      if (conf.qos === 0) return { no: 'subscribed with qos 0: only with 1 and 2 messages wait for a checkpoint' };
      if (conf.eofMessage !== '') return { no: 'with eofMessage messages do not wait for a checkpoint' };
      if (conf.decompression !== '') return { no: 'with decompression messages do not wait for a checkpoint' };
      if (conf.schemaRegistryUrl !== '') return { no: 'with schemaRegistryUrl messages do not wait for a checkpoint' };
      if (conf.interval > 0) return { no: 'with interval messages do not wait for a checkpoint' };
      if (!conf.enableClientSession) return { no: 'without enableClientSession the broker forgets us' };
      const isForgotten = protocolLevel(conf.protocolVersion) === 5 && conf.sessionExpiryIntervalSeconds === 0;
      if (isForgotten) return { no: 'without sessionExpiryIntervalSeconds the broker forgets us' };
      return { provided: `the broker keeps the session of client ${conf.clientid}` };
    },
    load: async () => {
      const { MqttSource } = await import('./source.js');
      return (conf, context) => new MqttSource(conf, context);
    },
  },
  sink: {
    props: {
      ...commonSink,
      topic: field
        .string()
        .required()
        .check(topicReason)
        .dynamic(topicReason)
        .doc('Topic to publish on, without wildcards'),
      qos: field.int().min(0).max(2).default(0).doc('Quality of service'),
      retained: field
        .bool()
        .alias('retain')
        .default(false)
        .doc('The broker keeps the last message for new subscribers'),
      properties: field.object().dynamic().doc('User properties of each message (MQTT 5)'),
      contentType: field.string().default('').dynamic().doc('What the payload is, such as application/json (MQTT 5)'),
      responseTopic: field.string().default('').dynamic().doc('Topic for answers to the message (MQTT 5)'),
      correlationData: field.string().default('').dynamic().doc('Text by which an answer is matched (MQTT 5)'),
      messageExpiryInterval: field
        .duration()
        .min(0)
        .default(0)
        .doc('How long the broker keeps a message that it can not deliver yet; 0 for ever (MQTT 5)'),
      topicAlias: field
        .bool()
        .default(false)
        .doc('A topic is sent once for each connection, then its alias (MQTT 5, qos 1 or 2)'),
      messageIdProperty: field
        .string()
        .default('')
        .doc(
          'User property that gets an id of each message (MQTT 5, qos 1 or 2): the same when the message is sent again',
        ),
    },
    refusal: (conf) => {
      const { messageIdProperty, qos, topicAlias } = conf;
      const unknown = withoutV5(conf, sinkOfV5);
      if (unknown !== undefined) return unknown;
      if (topicAlias && qos === 0) return 'topicAlias needs qos 1 or 2';
      if (messageIdProperty === '' || qos > 0) return undefined;
      return 'messageIdProperty needs qos 1 or 2: with 0 nothing is sent again';
    },
    numbersIn: ({ messageIdProperty }) =>
      messageIdProperty === '' ? undefined : `user property ${JSON.stringify(messageIdProperty)}`,
    resendsTo: 'topic',
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { MqttSink } = await import('./sink.js');
      return (conf, context) => new MqttSink(conf, context);
    },
  },
});

function sessionOf(conf: { enableClientSession: boolean; server: string; clientid: string }): { session?: string } {
  return conf.enableClientSession ? { session: JSON.stringify([conf.server, conf.clientid]) } : {};
}

const sourceOfV5 = ['receiveMaximum', 'topicAliasMaximum', 'noLocal', 'retainAsPublished', 'retainHandling'] as const;
const sinkOfV5 = [
  'messageIdProperty',
  'contentType',
  'responseTopic',
  'correlationData',
  'messageExpiryInterval',
  'topicAlias',
] as const;

/** Names the first of the properties that is set although the version of the protocol has no place for it. */
function withoutV5<K extends string>(
  conf: { readonly protocolVersion: string } & { readonly [name in K]: string | number | boolean },
  names: readonly K[],
): string | undefined {
  if (protocolLevel(conf.protocolVersion) === 5) return undefined;
  const set = names.find((name) => ![0, '', false, 65_535].includes(conf[name]));
  return set === undefined ? undefined : `${set} needs protocolVersion 5`;
}

function sourceRefusal(conf: Parameters<typeof withoutV5<(typeof sourceOfV5)[number]>>[0] & { qos: number }) {
  const unknown = withoutV5(conf, sourceOfV5);
  if (unknown !== undefined) return unknown;
  const isStored = conf.qos > 0 && Number(conf.topicAliasMaximum) > 0;
  return isStored ? 'topicAliasMaximum needs qos 0: messages that may come again are known by their topics' : undefined;
}

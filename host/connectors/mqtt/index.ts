/** MQTT 3.1.1 and 5: topics in, topics out. */
import { field } from '../../base/fields/field.js';
import { commonSink, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles } from '../tls.js';
import { connection, protocolLevel } from './connection.js';
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
  },
  source: {
    dataSource: { doc: 'Topic to subscribe to; may have the wildcards + and #', isNeeded: true },
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
      eofMessage: field.string().default('').doc('Payload, base64, that ends the stream'),
    },
    form: (conf) => ({
      framing: isRaw(conf) ? 'mqtt' : 'frames',
      mqttVersion: protocolLevel(conf.protocolVersion) === 5 ? 5 : 4,
      ...(conf.qos > 0 && isRaw(conf) ? { acknowledges: true, ...sessionOf(conf) } : {}),
    }),
    rewinds: (conf) => {
      if (conf.qos === 0) return { no: 'subscribed with qos 0: only with 1 and 2 messages wait for a checkpoint' };
      if (conf.eofMessage !== '') return { no: 'with eofMessage messages do not wait for a checkpoint' };
      if (conf.decompression !== '') return { no: 'with decompression messages do not wait for a checkpoint' };
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
      messageIdProperty: field
        .string()
        .default('')
        .doc(
          'User property that gets an id of each message (MQTT 5, qos 1 or 2): the same when the message is sent again',
        ),
    },
    refusal: ({ messageIdProperty, qos, protocolVersion }) => {
      if (messageIdProperty === '') return undefined;
      if (protocolLevel(protocolVersion) !== 5) return 'messageIdProperty needs protocolVersion 5';
      return qos === 0 ? 'messageIdProperty needs qos 1 or 2: with 0 nothing is sent again' : undefined;
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

function topicReason(topic: string): string | undefined {
  if (topic === '') return 'must not be empty';
  if (/[+#]/.test(topic)) return `must not have wildcards, as ${JSON.stringify(topic)} has`;
  if (topic.includes('\0')) return 'must not have a zero byte';
  return Buffer.byteLength(topic) > 65_535 ? 'is longer than 65535 bytes' : undefined;
}

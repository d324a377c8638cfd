/** MQTT 3.1.1 and 5: topics in, topics out. */
import { field } from '../../base/field.js';
import { commonSink, commonSource, noTemplate } from '../common.js';
import { defineConnector } from '../define.js';
import { connectOnce, endClient, makeClient, protocolLevel } from './client.js';
import { MqttSink } from './sink.js';
import { MqttSource } from './source.js';

export default defineConnector({
  name: 'mqtt',
  doc: 'Subscribes to and publishes on topics of an MQTT broker.',
  connection: {
    server: field
      .address()
      .alias('url', 'servers')
      .default('tcp://127.0.0.1:1883')
      .check(serverReason)
      .doc('Address of the broker: tcp://host:port, or ssl://host:port with TLS'),
    username: field.string().default('').doc('Name to log in with'),
    password: field.secret().default('').doc('Password to log in with'),
    protocolVersion: field
      .string()
      .oneOf('3.1', '3.1.1', '4', '5')
      .default('3.1.1')
      .doc('Version of the protocol: 3.1.1 (or 4) or 5'),
    clientid: field.string().default('').doc('Client id; empty makes a new one'),
    insecureSkipVerify: field.bool().default(false).doc('Accept any certificate of the broker'),
    certificationPath: field.string().default('').doc('File with the certificate of the client'),
    privateKeyPath: field.string().default('').doc('File with the private key of the client'),
    rootCaPath: field.string().default('').doc('File with the certificates to trust'),
    certificationRaw: field.string().alias('certficationRaw').default('').doc('Certificate of the client, base64'),
    privateKeyRaw: field.secret().default('').doc('Private key of the client, base64'),
    rootCARaw: field.string().default('').doc('Certificates to trust, base64'),
    tlsMinVersion: field
      .string()
      .oneOf('tls1.0', 'tls1.1', 'tls1.2', 'tls1.3')
      .default('tls1.2')
      .doc('Lowest TLS version'),
    renegotiationSupport: field
      .string()
      .oneOf('never', 'once', 'freely')
      .default('never')
      .doc('Accepted for compatibility')
      .unlisted(),
    keepAlive: field.duration().min(1000).default(60_000).doc('Longest silence before the connection is checked'),
  },
  files: ({ certificationPath, privateKeyPath, rootCaPath }) => ({ certificationPath, privateKeyPath, rootCaPath }),
  ping: async (conf) => {
    // A client id of its own: the broker would end the session of a rule with the same one.
    const client = await makeClient({ ...conf, clientid: '' }, { clean: true }, () => undefined);
    try {
      await connectOnce(client);
    } finally {
      await endClient(client);
    }
  },
  source: {
    dataSource: 'Topic to subscribe to; may have the wildcards + and #',
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
      // Messages that need a look in JavaScript go through the client library.
      framing: conf.qos === 2 || conf.eofMessage !== '' ? 'frames' : 'mqtt',
      mqttVersion: protocolLevel(conf.protocolVersion) === 5 ? 5 : 4,
    }),
    create: (conf, context) => new MqttSource(conf, context),
  },
  sink: {
    props: {
      ...commonSink,
      topic: field
        .string()
        .required()
        .check(topicReason)
        .notYet(noTemplate)
        .doc('Topic to publish on, without wildcards'),
      qos: field.int().min(0).max(2).default(0).doc('Quality of service'),
      retained: field
        .bool()
        .alias('retain')
        .default(false)
        .doc('The broker keeps the last message for new subscribers'),
      properties: field.object().doc('User properties of each message (MQTT 5)'),
    },
    create: (conf, context) => new MqttSink(conf, context),
  },
});

function topicReason(topic: string): string | undefined {
  if (topic === '') return 'must not be empty';
  if (/[+#]/.test(topic)) return 'must not have wildcards';
  return Buffer.byteLength(topic) > 65_535 ? 'is longer than 65535 bytes' : undefined;
}

function serverReason(server: string): string | undefined {
  const known = ['tcp:', 'mqtt:', 'ssl:', 'tls:', 'mqtts:'];
  try {
    const url = new URL(server.includes('://') ? server : `tcp://${server}`);
    if (!known.includes(url.protocol)) return `must begin with one of ${known.map((name) => `${name}//`).join(', ')}`;
    return url.hostname === '' ? 'has no host' : undefined;
  } catch {
    return 'must be an address such as tcp://host:1883';
  }
}

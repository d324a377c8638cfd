/** The properties of a connection to a broker. */
import { field, type Parsed } from '../../base/fields/field.js';
import { tlsProps } from '../tls.js';

/** What the broker publishes for us when we are gone without a farewell. */
const will = {
  topic: field
    .string()
    .default('')
    .check((topic) => (topic === '' ? undefined : topicReason(topic)))
    .doc('Topic; without it there is no will'),
  payload: field.string().default('').doc('Message'),
  qos: field.int().min(0).max(2).default(0).doc('Quality of service'),
  retained: field.bool().alias('retain').default(false).doc('The broker keeps it for new subscribers'),
  delayInterval: field.duration().min(0).default(0).doc('How long the broker waits for us to come back (MQTT 5)'),
  properties: field.map().default({}).doc('User properties (MQTT 5)'),
};

export const connection = {
  server: field
    .address()
    .alias('url', 'servers')
    .default('tcp://127.0.0.1:1883')
    .check(serverReason)
    .doc(
      'Address of the broker: tcp://host:port, ssl://host:port with TLS, ws:// or wss://host:port/path as websocket',
    ),
  username: field.string().default('').doc('Name to log in with'),
  password: field.secret().default('').doc('Password to log in with'),
  protocolVersion: field
    .string()
    .oneOf('3.1', '3.1.1', '4', '5')
    .default('3.1.1')
    .doc('Version of the protocol: 3.1.1 (or 4) or 5'),
  clientid: field.string().default('').doc('Client id; empty makes a new one'),
  ...tlsProps,
  will: field.object(will).doc('Message that the broker publishes when the connection is lost'),
  keepAlive: field.duration().min(1000).default(60_000).doc('Longest silence before the connection is checked'),
};

export type ConnectionConf = Parsed<typeof connection>;

/** Protocol level of a version as configured. */
export function protocolLevel(version: string): 3 | 4 | 5 {
  return version === '5' ? 5 : version === '3.1' ? 3 : 4;
}

export function topicReason(topic: string): string | undefined {
  if (topic === '') return 'must not be empty';
  if (/[+#]/.test(topic)) return `must not have wildcards, as ${JSON.stringify(topic)} has`;
  if (topic.includes('\0')) return 'must not have a zero byte';
  return Buffer.byteLength(topic) > 65_535 ? 'is longer than 65535 bytes' : undefined;
}

function serverReason(server: string): string | undefined {
  const known = ['tcp:', 'mqtt:', 'ssl:', 'tls:', 'mqtts:', 'ws:', 'wss:'];
  try {
    const url = new URL(server.includes('://') ? server : `tcp://${server}`);
    if (!known.includes(url.protocol)) return `must begin with one of ${known.map((name) => `${name}//`).join(', ')}`;
    return url.hostname === '' ? 'has no host' : undefined;
  } catch {
    return 'must be an address such as tcp://host:1883';
  }
}

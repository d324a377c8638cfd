/** The properties of a message bus of EdgeX. */
import { field, type Parsed } from '../../../base/fields/field.js';
import type { NamedFiles } from '../../define.js';

const optional = {
  ClientId: field.string().default('').doc('Name of the client at an MQTT broker'),
  Username: field.string().default('').doc('Name to log in with'),
  Password: field.secret().default('').doc('Password to log in with'),
  Qos: field.int().min(0).max(2).default(0).doc('Quality of service of MQTT'),
  KeepAlive: field.int().min(0).max(65_535).default(0).doc('Interval of pings of MQTT, seconds; 0: 60'),
  Retained: field.bool().default(false).doc('An MQTT broker keeps the last message of a topic'),
  ConnectionPayload: field.string().default('').doc('Accepted for compatibility'),
  CertFile: field.string().default('').doc('File with the certificate of the client'),
  KeyFile: field.string().default('').doc('File with the private key of the client'),
  CaFile: field.string().default('').doc('File with the certificates to trust'),
  CertPEMBlock: field.string().default('').doc('Certificate of the client, PEM'),
  KeyPEMBlock: field.secret().default('').doc('Private key of the client, PEM'),
  CaPEMBlock: field.string().default('').doc('Certificates to trust, PEM'),
  SkipCertVerify: field.bool().default(false).doc('Accept any certificate of the server'),
  Format: field
    .string()
    .oneOf('nats', 'json')
    .default('nats')
    .doc('Messages over NATS: a payload with headers, or a whole envelope'),
};

const types = ['redis', 'mqtt', 'nats-core', 'nats-jetstream', 'zero'] as const;

export const edgexConnection = {
  protocol: field.string().default('tcp').doc('tcp, or ssl, tls, mqtts, rediss for TLS'),
  server: field.address().default('localhost').doc('Host of the message bus'),
  host: field.address().default('').doc('The same, which wins over server').unlisted(),
  port: field
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .doc('Port of the message bus; 0: 6379 for redis, 1883 for mqtt, 4222 for NATS'),
  type: field
    .string()
    .oneOf(...types)
    .default('redis')
    .check((type) => (type === 'zero' ? 'zero is not supported: EdgeX has no such message bus any more' : undefined))
    .doc('What the message bus is made of'),
  optional: field.object(optional).doc('Options of the message bus'),
};

/** Files that the options name. */
export function edgexFiles({ optional: { CertFile, KeyFile, CaFile } }: EdgexConf): NamedFiles {
  return { 'optional.CertFile': CertFile, 'optional.KeyFile': KeyFile, 'optional.CaFile': CaFile };
}

export type EdgexConf = Parsed<typeof edgexConnection>;

const ports = { redis: 6379, mqtt: 1883, 'nats-core': 4222, 'nats-jetstream': 4222, zero: 5563 } as const;

export function edgexPort({ port, type }: Pick<EdgexConf, 'port' | 'type'>): number {
  return port === 0 ? ports[type] : port;
}

export function edgexHost({ host, server }: Pick<EdgexConf, 'host' | 'server'>): string {
  return host === '' ? server : host;
}

export function edgexPeer(conf: EdgexConf): string {
  return `${conf.type} ${edgexHost(conf)}:${edgexPort(conf)}`;
}

export function hasTls({ protocol }: Pick<EdgexConf, 'protocol'>): boolean {
  return /^(ssl|tls|mqtts|rediss|https|wss)$/i.test(protocol);
}

/** The properties of a connection to Kafka brokers. */
import type { ConnectionOptions as TlsConnection } from 'node:tls';
import { field, type Parsed } from '../../base/fields/field.js';

export const kafkaConnection = {
  brokers: field
    .address()
    .default('')
    .check(brokersReason)
    .doc('Addresses of brokers to begin with, separated by commas: host:port'),
  saslAuthType: field
    .string()
    .oneOf('none', 'plain', 'scram')
    .default('none')
    .doc('How to log in: plain, or scram (SCRAM-SHA-512)'),
  saslUserName: field.string().default('').doc('Name to log in with'),
  password: field.secret().alias('saslPassword').default('').doc('Password to log in with'),
};

export type KafkaConf = Parsed<typeof kafkaConnection>;

/** Options of TLS as Node.js has them; undefined without TLS. */
export type KafkaTls = TlsConnection | undefined;

export interface Address {
  readonly host: string;
  readonly port: number;
}

const defaultPort = 9092;

/** The addresses in the text. */
export function brokersOf(brokers: string): Address[] {
  return partsOf(brokers).map((address) => {
    const { hostname, port } = new URL(`kafka://${address}`);
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
  });
}

/** Why nobody can connect with these properties. */
export function connectionReason({ brokers, saslAuthType, saslUserName, password }: KafkaConf): string | undefined {
  if (partsOf(brokers).length === 0) return 'property brokers is required';
  if (saslAuthType === 'none' || (saslUserName !== '' && password !== '')) return undefined;
  return `saslAuthType ${saslAuthType} needs saslUserName and password`;
}

function partsOf(brokers: string): string[] {
  return brokers
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
}

function brokersReason(brokers: string): string | undefined {
  return partsOf(brokers).every(isAddress)
    ? undefined
    : 'must be addresses such as 127.0.0.1:9092, separated by commas';
}

function isAddress(address: string): boolean {
  if (/[/@?#\s]/.test(address) || !URL.canParse(`kafka://${address}`)) return false;
  return new URL(`kafka://${address}`).hostname !== '';
}

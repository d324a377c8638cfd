/** The properties of a connection to RabbitMQ. */
import { field, type Parsed } from '../../base/fields/field.js';

export const rabbitConnection = {
  server: field
    .address()
    .alias('url')
    .default('amqp://127.0.0.1:5672')
    .check(serverReason)
    .doc('Address of the server: amqp://host:port/virtual host, or amqps:// with TLS'),
  username: field.string().default('').doc('Name to log in with; empty: that of the address, or guest'),
  password: field.secret().default('').doc('Password to log in with; empty: that of the address, or guest'),
  heartbeat: field
    .duration()
    .min(1000)
    .max(600_000)
    .default(10_000)
    .doc('Longest silence before the connection is checked; a server that is silent twice as long is taken for gone'),
  timeout: field.duration().min(100).default(10_000).doc('Longest wait for an answer of the server'),
};

export type RabbitConf = Parsed<typeof rabbitConnection>;

export interface RabbitAddress {
  readonly isSecure: boolean;
  readonly hostname: string;
  readonly port: number;
  readonly vhost: string;
  readonly username: string;
  readonly password: string;
}

export function rabbitAddress({ server, username, password }: RabbitConf): RabbitAddress {
  const url = new URL(server.includes('://') ? server : `amqp://${server}`);
  const isSecure = url.protocol === 'amqps:';
  const path = decodeURIComponent(url.pathname.replace(/^\//, ''));
  return {
    isSecure,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isSecure ? 5671 : 5672) : Number(url.port),
    vhost: path === '' ? '/' : path,
    username: username || decodeURIComponent(url.username) || 'guest',
    password: password || decodeURIComponent(url.password) || 'guest',
  };
}

/** The server, whatever the connection is otherwise. */
export function rabbitPeer(conf: RabbitConf): string {
  const { hostname, port } = rabbitAddress(conf);
  return `rabbitmq ${hostname}:${port}`;
}

function serverReason(server: string): string | undefined {
  const address = server.includes('://') ? server : `amqp://${server}`;
  if (!/^amqps?:\/\//.test(address)) return 'must begin with amqp:// or amqps://';
  try {
    const url = new URL(address);
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part);
    return url.hostname === '' ? 'has no host' : undefined;
  } catch {
    return 'must be an address such as amqp://host:5672';
  }
}

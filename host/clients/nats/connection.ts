/** The properties of a connection to NATS servers. */
import { field, type Parsed } from '../../base/fields/field.js';

const natsLogin = {
  username: field.string().default('').doc('Name to log in with'),
  password: field.secret().default('').doc('Password to log in with'),
  token: field.secret().default('').doc('Token to log in with'),
  nkeySeed: field.secret().default('').doc('Seed of the nkey to log in with'),
  credentials: field.secret().default('').doc('Text of a credentials file: JWT and seed of a user'),
};

export const natsConnection = {
  server: field
    .address()
    .alias('url', 'servers')
    .default('nats://127.0.0.1:4222')
    .check(serverReason)
    .doc('Address of the server: nats://host:port, or tls://host:port; several with commas between them'),
  ...natsLogin,
  timeout: field.duration().min(100).default(5000).doc('Longest wait for an answer of the server'),
};

export type NatsConf = Parsed<typeof natsConnection>;

/** The addresses of the servers, without spaces. */
export function serversOf(server: string): string[] {
  return server
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

/** Why a login can't be used; undefined when it can. */
export function loginReason(conf: Omit<NatsConf, 'timeout'>): string | undefined {
  const { username, password, token, nkeySeed, credentials } = conf;
  const given = [
    username !== '' && 'username',
    token !== '' && 'token',
    nkeySeed !== '' && 'nkeySeed',
    credentials !== '' && 'credentials',
  ].filter((name) => name !== false);
  if (given.length > 1) return `${given.join(' and ')} are two ways to log in: only one can be used`;
  return password !== '' && username === '' ? 'property password needs username' : undefined;
}

/** Why addresses of servers can't be used; undefined when they can. */
export function serverReason(server: string): string | undefined {
  const servers = serversOf(server);
  if (servers.length === 0) return 'must not be empty';
  for (const one of servers) {
    const address = one.includes('://') ? one : `nats://${one}`;
    if (!/^(nats|tls):\/\//.test(address)) return 'must begin with nats:// or tls://';
    // Login data have properties of their own, which are kept secret.
    if (!URL.canParse(address) || new URL(address).hostname === '')
      return 'must be an address such as nats://host:4222';
    const { username, password } = new URL(address);
    if (username !== '' || password !== '') return 'must not hold a login: there are username and token';
  }
  return undefined;
}

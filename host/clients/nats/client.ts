/** Connections to NATS servers: sinks and lookups with the same settings share one. None connects again by itself. */
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  type TlsOptions as NatsTls,
  nkeyAuthenticator,
  nkeys,
} from '@nats-io/transport-node';
import { reasonOf } from '../../base/errors.js';
import { type NatsConf, serversOf } from './connection.js';
import { natsClientErrors } from './errors.js';

export type { NatsConnection };

/** The address and the login of a connection. */
export type NatsLogin = Omit<NatsConf, 'timeout'>;

const connectTimeoutMs = 10_000;
/** Interval of pings, and how many may be unanswered: a server that is silent longer is taken for gone. */
const pingIntervalMs = 10_000;
const maxPingOut = 2;
/** Longest wait for a connection to close, ms. */
const closeTimeoutMs = 1000;

/** Certificates and keys as Node.js takes them; undefined where the server decides whether there is TLS. */
export type NatsSecurity = { readonly rejectUnauthorized: boolean } | undefined;

/** Connects; calls `lost` when the connection is lost. */
export async function connectNats(
  conf: NatsConf,
  tls: NatsSecurity,
  lost: (reason: string) => void,
): Promise<NatsConnection> {
  const login = loginOptions(conf, tls);
  let connection: NatsConnection;
  try {
    connection = await connect({
      ...login,
      name: 'haumea',
      timeout: connectTimeoutMs,
      pingInterval: pingIntervalMs,
      maxPingOut,
      reconnect: false,
      ignoreClusterUpdates: true,
    });
  } catch (error) {
    throw natsClientErrors.connection(natsReason(error), { cause: error });
  }
  void connection.closed().then((error) => lost(error ? natsReason(error) : 'connection closed'));
  return connection;
}

/** Where to connect, and as whom, as the library wants it; throws a `config` error for a login that is none. */
export function loginOptions(conf: NatsLogin, tls: NatsSecurity): ConnectionOptions {
  const { username, password, token } = conf;
  const authenticator = authenticatorOf(conf);
  return {
    servers: serversOf(conf.server),
    ...(username === '' ? {} : { user: username, pass: password }),
    ...(token === '' ? {} : { token }),
    ...(authenticator && { authenticator }),
    // The library passes on what it does not know.
    ...(tls && { tls: tls as NatsTls }),
  };
}

/** Closes, without waiting for a server that hangs. */
export async function closeNats(connection: NatsConnection): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, closeTimeoutMs);
  });
  await Promise.race([connection.close().catch(() => {}), timeout]);
  clearTimeout(timer);
}

/** Connects once and disconnects; throws the reason when the server does not answer. */
export async function pingNats(conf: NatsConf, tls: NatsSecurity): Promise<void> {
  const connection = await connectNats(conf, tls, () => {});
  await closeNats(connection);
}

/** The reason of an error, with what caused it where the library's text alone says little. */
export function natsReason(error: unknown): string {
  const reason = reasonOf(error);
  const cause = error instanceof Error && error.cause !== undefined ? reasonOf(error.cause) : '';
  return cause === '' || reason.includes(cause) ? reason : `${reason}: ${cause}`;
}

function authenticatorOf({ nkeySeed, credentials }: NatsLogin): Authenticator | undefined {
  try {
    if (nkeySeed !== '') {
      const seed = Buffer.from(nkeySeed.trim());
      nkeys.fromSeed(seed);
      return nkeyAuthenticator(seed);
    }
    if (credentials !== '' && !/BEGIN NATS USER JWT[\s\S]*SEED/.test(credentials)) {
      throw natsClientErrors.login('credentials are no text of a credentials file');
    }
    if (credentials !== '') return credsAuthenticator(Buffer.from(credentials));
  } catch (error) {
    if (nkeySeed === '') throw error;
    throw natsClientErrors.login('nkeySeed is no seed of an nkey', { cause: error });
  }
  return undefined;
}

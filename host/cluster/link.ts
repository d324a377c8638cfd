/** The connection of this node to NATS: it connects again by itself, and tells whether it is there. */
import { readFileSync } from 'node:fs';
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  errors,
  type Msg,
  type NatsConnection,
  type RequestOptions,
} from '@nats-io/transport-node';
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log/log.js';
import { loginOptions, natsReason } from '../clients/nats/client.js';
import { isAway } from './away.js';
import { clusterErrors } from './errors.js';
import type { NodeSettings } from './settings.js';

/** Time for a first connection, and for one attempt at least, ms. */
const firstConnectMs = 5000;
const leastAttemptMs = 1000;
/** Parts of the time of a lease: for an attempt to connect, and between two pings. */
const attemptPart = 1 / 4;
const pingPart = 1 / 10;
const reconnectMs = 250;
/** Pings that may be unanswered: a server that has gone without a word is left while the lease holds. */
const maxPingOut = 2;
/** First version with batches that are taken as a whole. */
const leastVersion = [2, 12] as const;

export class ClusterLink {
  /** Why NATS is away; undefined while it is there. */
  away: string | undefined;
  /** Hears when NATS has gone, and when it is back. */
  readonly onChange = new Set<() => void>();

  private constructor(
    readonly connection: NatsConnection,
    private readonly log: Logger,
  ) {}

  /** Connects; throws a `config` error when NATS is away, refuses the login, or is too old. */
  static async open(settings: NodeSettings, log: Logger): Promise<ClusterLink> {
    const { login } = settings;
    let connection: NatsConnection;
    try {
      connection = await firstConnection(optionsOf(settings, log));
    } catch (error) {
      const refusal = isAway(error) ? clusterErrors.absent : clusterErrors.connect;
      throw refusal(login.server, natsReason(error), { cause: error });
    }
    const version = connection.info?.version ?? '';
    const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
    if (major < leastVersion[0] || (major === leastVersion[0] && minor < leastVersion[1])) {
      await connection.close();
      throw clusterErrors.oldServer(version, leastVersion.join('.'));
    }
    const link = new ClusterLink(connection, log);
    void link.#watch();
    return link;
  }

  /** Asks, and rejects as soon as the connection is lost: the answer would come to nobody. */
  async request(subject: string, payload: string, options: RequestOptions): Promise<Msg> {
    let lost = () => {};
    const loss = new Promise<never>((_, reject) => {
      lost = () => this.away !== undefined && reject(new Error(this.away));
    });
    this.onChange.add(lost);
    try {
      return await Promise.race([this.connection.request(subject, payload, options), loss]);
    } finally {
      this.onChange.delete(lost);
    }
  }

  async close(): Promise<void> {
    this.onChange.clear();
    await this.connection.close().catch(() => {});
  }

  async #watch(): Promise<void> {
    for await (const status of this.connection.status()) {
      const { type } = status;
      // Each attempt in vain ends a connection; its reason says more.
      if (type === 'disconnect') this.#set(this.away ?? 'the connection is lost');
      else if (type === 'reconnect') this.#set(undefined);
      else if (type === 'staleConnection') this.#set('it does not answer');
      else if (type === 'error' && isRefusal(status.error)) this.#set(`it refuses the login: ${status.error.message}`);
    }
    this.#set('the connection is closed');
  }

  #set(away: string | undefined): void {
    if (away === this.away) return;
    this.away = away;
    if (away === undefined) this.log.info('NATS is there again');
    else this.log.warn(`NATS is away: ${away}`);
    for (const call of this.onChange) call();
  }
}

function optionsOf({ login, credentialsFile, tls, node, leaseTtlMs }: NodeSettings, log: Logger): ConnectionOptions {
  return {
    ...loginOptions(login, undefined),
    ...(credentialsFile && { authenticator: fileAuthenticator(credentialsFile, login.credentials, log) }),
    // What is refused now may have been replaced by the next attempt.
    ignoreAuthErrorAbort: true,
    ...(tls && { tls }),
    name: `haumea ${node}`,
    timeout: Math.max(leastAttemptMs, attemptPart * leaseTtlMs),
    pingInterval: pingPart * leaseTtlMs,
    maxPingOut,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectMs,
    ignoreClusterUpdates: false,
  };
}

/**
 * Attempts are short for the sake of later ones. Where connecting takes longer, as by a slow way or on a busy machine,
 * they get longer, and later ones stay so.
 */
async function firstConnection(options: ConnectionOptions): Promise<NatsConnection> {
  const end = performance.now() + firstConnectMs;
  for (let timeout = options.timeout ?? firstConnectMs; ; timeout = Math.min(2 * timeout, firstConnectMs)) {
    try {
      return await connect({ ...options, timeout });
    } catch (error) {
      if (!(error instanceof errors.TimeoutError) || performance.now() > end) throw error;
    }
  }
}

/** Logs in with what the file holds at each connection: credentials are replaced while the node runs. */
function fileAuthenticator(path: string, first: string, log: Logger): Authenticator {
  let last: Uint8Array = Buffer.from(first);
  return (nonce) => {
    try {
      const text = readFileSync(path);
      const login = credsAuthenticator(text)(nonce);
      last = text;
      return login;
    } catch (error) {
      // It may be half written: the login before may still hold, and the next attempt reads the file again.
      log.warn(`cluster.credentialsFile: ${reasonOf(error)}`);
      return credsAuthenticator(last)(nonce);
    }
  };
}

function isRefusal(error: Error): boolean {
  return error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError;
}

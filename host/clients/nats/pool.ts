/** Clients that several sinks and lookup tables share, by their settings. */
import { closeNats, connectNats, type NatsConnection, type NatsSecurity } from './client.js';
import type { NatsConf } from './connection.js';

/** Settings of a connection, with what reads its certificates. */
export interface NatsSettings {
  readonly key: string;
  readonly conf: NatsConf;
  security(): Promise<NatsSecurity>;
}

export class NatsPool {
  readonly #clients = new Map<string, SharedNats>();

  /** Returns the client with these settings; each user gives it back. */
  take(settings: NatsSettings): SharedNats {
    let client = this.#clients.get(settings.key);
    if (client === undefined) {
      client = new SharedNats(settings, () => this.#clients.delete(settings.key));
      this.#clients.set(settings.key, client);
    }
    client.users++;
    return client;
  }
}

export class SharedNats {
  users = 0;
  /** The present connection. */
  connection: NatsConnection | undefined;
  #opening: Promise<NatsConnection> | undefined;
  readonly #lost = new Map<object, (reason: string) => void>();

  constructor(
    readonly settings: NatsSettings,
    readonly onUnused: () => void,
  ) {}

  /** Resolves when connected; calls `lost` when the connection is lost. */
  async open(user: object, lost: (reason: string) => void): Promise<NatsConnection> {
    let { connection } = this;
    if (connection === undefined) {
      this.#opening ??= this.#connect().finally(() => {
        this.#opening = undefined;
      });
      connection = await this.#opening;
    }
    this.#lost.set(user, lost);
    return connection;
  }

  async giveBack(user: object): Promise<void> {
    this.#lost.delete(user);
    if (--this.users > 0) return;
    this.onUnused();
    const { connection } = this;
    this.connection = undefined;
    if (connection !== undefined) await closeNats(connection);
  }

  /** Ends a connection whose server does not answer. */
  end(reason: string): void {
    const { connection } = this;
    if (connection === undefined) return;
    this.#end(connection, reason);
    void closeNats(connection);
  }

  async #connect(): Promise<NatsConnection> {
    const { conf, security } = this.settings;
    let made: NatsConnection | undefined;
    made = await connectNats(conf, await security(), (reason) => made && this.#end(made, reason));
    if (this.users > 0) this.connection = made;
    else await closeNats(made);
    return made;
  }

  #end(connection: NatsConnection, reason: string): void {
    if (this.connection !== connection) return;
    this.connection = undefined;
    const users = [...this.#lost.values()];
    this.#lost.clear();
    for (const lost of users) lost(reason);
  }
}

/** Connections that several sinks share, by their settings: each has channels of its own on it. */
import { type ChannelModel, closeRabbit, connectRabbit, type RabbitSecurity } from './client.js';
import type { RabbitConf } from './connection.js';

/** Settings of a connection, with what reads its certificates. */
export interface RabbitSettings {
  readonly key: string;
  readonly conf: RabbitConf;
  security(): Promise<RabbitSecurity>;
}

export class RabbitPool {
  readonly #clients = new Map<string, SharedRabbit>();

  /** Returns the connection with these settings; each user gives it back. */
  take(settings: RabbitSettings): SharedRabbit {
    let client = this.#clients.get(settings.key);
    if (client === undefined) {
      client = new SharedRabbit(settings, () => this.#clients.delete(settings.key));
      this.#clients.set(settings.key, client);
    }
    client.users++;
    return client;
  }
}

export class SharedRabbit {
  users = 0;
  #model: ChannelModel | undefined;
  #opening: Promise<ChannelModel> | undefined;
  readonly #lost = new Map<object, (reason: string) => void>();

  constructor(
    readonly settings: RabbitSettings,
    readonly onUnused: () => void,
  ) {}

  /** Resolves when connected; calls `lost` when the connection is lost. */
  async open(user: object, lost: (reason: string) => void): Promise<ChannelModel> {
    let model = this.#model;
    if (model === undefined) {
      this.#opening ??= this.#connect().finally(() => {
        this.#opening = undefined;
      });
      model = await this.#opening;
    }
    this.#lost.set(user, lost);
    return model;
  }

  async giveBack(user: object): Promise<void> {
    this.#lost.delete(user);
    if (--this.users > 0) return;
    this.onUnused();
    const model = this.#model;
    this.#model = undefined;
    if (model !== undefined) await closeRabbit(model);
  }

  async #connect(): Promise<ChannelModel> {
    const { conf, security } = this.settings;
    let made: ChannelModel | undefined;
    made = await connectRabbit(conf, await security(), (reason) => made && this.#end(made, reason));
    if (this.users > 0) this.#model = made;
    else await closeRabbit(made);
    return made;
  }

  #end(model: ChannelModel, reason: string): void {
    if (this.#model !== model) return;
    this.#model = undefined;
    const users = [...this.#lost.values()];
    this.#lost.clear();
    for (const lost of users) lost(reason);
  }
}

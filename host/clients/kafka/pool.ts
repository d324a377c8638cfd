/** Clients that parts with the same settings share. */
import { KafkaClient } from './client.js';
import type { KafkaConf, KafkaTls } from './connection.js';

export class KafkaPool {
  readonly #clients = new Map<string, { client: KafkaClient; users: number }>();

  /** Returns the client with these settings; each user gives it back. */
  take(conf: KafkaConf, tls: KafkaTls): SharedKafka {
    const { brokers, saslAuthType, saslUserName, password } = conf;
    const key = JSON.stringify([brokers, saslAuthType, saslUserName, password, tls ?? null]);
    const entry = this.#clients.get(key) ?? { client: new KafkaClient(conf, tls), users: 0 };
    this.#clients.set(key, entry);
    entry.users++;
    let isGiven = false;
    return {
      client: entry.client,
      giveBack: () => {
        if (isGiven) return;
        isGiven = true;
        if (--entry.users > 0) return;
        this.#clients.delete(key);
        entry.client.close();
      },
    };
  }
}

export interface SharedKafka {
  readonly client: KafkaClient;
  giveBack(): void;
}

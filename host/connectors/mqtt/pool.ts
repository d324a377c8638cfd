/** MQTT clients of sinks: sinks with the same connection settings share one. */
import type { MqttClient } from 'mqtt';
import { reasonOf } from '../../base/errors.js';
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import { connectionKey } from '../connection-key.js';
import { connectOnce, endClient, makeClient } from './client.js';
import { type ConnectionConf, connection, protocolLevel } from './connection.js';
import { mqttErrors } from './errors.js';
import type { Transport } from './transport.js';
import { Window } from './window.js';

type PooledConf = ConnectionConf & {
  /** Topics are sent once for each connection, then their aliases. */
  readonly topicAlias: boolean;
};

export class ClientPool {
  readonly #clients = new Map<string, SharedClient>();

  /** Returns the client for these settings; each user gives it back. */
  take(conf: PooledConf, paths: AllowedPaths): SharedClient {
    const key = `${connectionKey(connection, conf)} ${conf.topicAlias}`;
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = new SharedClient(conf, paths, () => this.#clients.delete(key));
      this.#clients.set(key, client);
    }
    client.users++;
    return client;
  }
}

export class SharedClient {
  users = 0;
  /** Client of the present connection, or of the last one. */
  mqtt: MqttClient | undefined;
  /** Places for unconfirmed messages on this connection. */
  window: Window;
  /** Longest packet that the broker of the last connection takes, bytes; undefined when it names none. */
  longestPacket: number | undefined;
  #opening: Promise<void> | undefined;
  readonly #lost = new Map<object, (reason: string) => void>();
  #reason = 'connection closed';
  #isEnded = false;

  constructor(
    readonly conf: PooledConf,
    readonly paths: AllowedPaths,
    readonly onUnused: () => void,
  ) {
    this.window = new Window(protocolLevel(conf.protocolVersion));
  }

  /**
   * Resolves when the client is connected; `lost` is called when it is no more: nothing unconfirmed will be confirmed.
   */
  async open(user: object, lost: (reason: string) => void): Promise<void> {
    if (this.#opening !== undefined || this.mqtt?.connected !== true) {
      this.#opening ??= this.#connect().finally(() => {
        this.#opening = undefined;
      });
      await this.#opening;
    }
    this.#lost.set(user, lost);
  }

  async giveBack(user: object): Promise<void> {
    this.#lost.delete(user);
    this.window.forget(user);
    if (--this.users > 0) return;
    this.onUnused();
    this.#isEnded = true;
    if (this.mqtt !== undefined) await endClient(this.mqtt);
  }

  /**
   * Each connection has a client of its own. One that connects again would go on with the handshakes of QoS 2 where
   * they stood, but a broker that has no session for it knows nothing of them and confirms what it never passed on.
   */
  async #connect(): Promise<void> {
    this.#reason = 'connection closed';
    const client = await this.#make();
    if (this.#isEnded) return;
    this.mqtt = client;
    const { receiveMaximum, maximumPacketSize } = await connectOnce(client);
    this.longestPacket = maximumPacketSize;
    this.window = new Window(protocolLevel(this.conf.protocolVersion), receiveMaximum);
    if (this.#isEnded) client.end(true);
  }

  async #make(): Promise<MqttClient> {
    // The id stays the same, so that the broker ends the former connection if it still holds it.
    const clientId = this.mqtt?.options.clientId;
    const { topicAlias } = this.conf;
    const options = {
      clean: true,
      ...(clientId === undefined ? {} : { clientId }),
      ...(topicAlias && { autoUseTopicAlias: true, autoAssignTopicAlias: true }),
    };
    const tap = (transport: Transport) => {
      transport.once('error', (error) => {
        this.#reason = reasonOf(error);
      });
      return undefined;
    };
    const { client } = await makeClient(this.conf, options, tap, this.paths).catch((error: unknown) => {
      // Certificates that were readable once may be again, as when they are being renewed.
      if (this.mqtt === undefined) throw error;
      throw mqttErrors.connection(reasonOf(error), { cause: error });
    });
    client.on('error', (error) => {
      this.#reason = reasonOf(error);
      client.stream?.destroy();
    });
    client.on('close', () => {
      const users = [...this.#lost.values()];
      this.#lost.clear();
      for (const lost of users) lost(this.#reason);
    });
    return client;
  }
}

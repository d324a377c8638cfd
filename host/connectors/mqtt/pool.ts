/** MQTT clients of sinks: sinks with the same connection settings share one. */
import type { MqttClient } from 'mqtt';
import type { AllowedPaths } from '../../base/allowed-paths.js';
import { reasonOf } from '../../base/errors.js';
import { type ConnectionConf, connectOnce, endClient, makeClient } from './client.js';

export class ClientPool {
  readonly #clients = new Map<string, SharedClient>();

  /** Returns the client for these settings; each user gives it back. */
  take(conf: ConnectionConf, paths: AllowedPaths): SharedClient {
    const key = keyOf(conf);
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
  mqtt: MqttClient | undefined;
  #opening: Promise<void> | undefined;
  readonly #lost = new Map<object, (reason: string) => void>();
  #reason = 'connection closed';
  #isEnded = false;

  constructor(
    readonly conf: ConnectionConf,
    readonly paths: AllowedPaths,
    readonly onUnused: () => void,
  ) {}

  /** Resolves when the client is connected; `lost` is called when it is no more. */
  async open(user: object, lost: (reason: string) => void): Promise<void> {
    if (this.mqtt?.connected !== true) {
      this.#opening ??= this.#connect().finally(() => {
        this.#opening = undefined;
      });
      await this.#opening;
    }
    this.#lost.set(user, lost);
  }

  async giveBack(user: object): Promise<void> {
    this.#lost.delete(user);
    if (--this.users > 0) return;
    this.onUnused();
    this.#isEnded = true;
    if (this.mqtt !== undefined) await endClient(this.mqtt);
  }

  async #connect(): Promise<void> {
    if (this.mqtt === undefined) {
      this.mqtt = await makeClient(this.conf, { clean: true }, () => undefined, this.paths);
      this.mqtt.on('error', (error) => {
        this.#reason = reasonOf(error);
        this.mqtt?.stream?.destroy();
      });
      this.mqtt.on('close', () => {
        const users = [...this.#lost.values()];
        this.#lost.clear();
        for (const lost of users) lost(this.#reason);
      });
    }
    this.#reason = 'connection closed';
    if (this.#isEnded) return;
    await connectOnce(this.mqtt);
    if (this.#isEnded) this.mqtt.end(true);
  }
}

/** Settings that make a connection what it is. */
function keyOf(conf: ConnectionConf): string {
  return JSON.stringify([
    conf.server,
    conf.username,
    conf.password,
    conf.protocolVersion,
    conf.clientid,
    conf.insecureSkipVerify,
    conf.certificationPath,
    conf.privateKeyPath,
    conf.rootCaPath,
    conf.certificationRaw,
    conf.privateKeyRaw,
    conf.rootCARaw,
    conf.tlsMinVersion,
    conf.keepAlive,
  ]);
}

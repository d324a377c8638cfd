/** A server between two brokers: rows with numbers come from one, the other may be away. */
import { existsSync, readFileSync } from 'node:fs';
import mqtt, { type MqttClient } from 'mqtt';
import * as assert from 'uvu/assert';
import { eventually, freePort, startServer, type TestServer, temporaryFolder } from '../harness.js';
import { type Mosquitto, openMosquitto } from './mosquitto.js';

export class Plant {
  private constructor(
    public server: TestServer,
    readonly inside: Mosquitto,
    readonly sender: MqttClient,
  ) {}

  static async open(): Promise<Plant> {
    const inside = await openMosquitto();
    return new Plant(await startServer(), inside, await mqtt.connectAsync(inside.url));
  }

  async close(): Promise<void> {
    await this.sender.endAsync(true);
    await this.server.stop('SIGKILL');
    await this.inside.close();
  }

  /** Kills the server and starts it again. */
  async kill(): Promise<void> {
    const { data } = this.server;
    await this.server.stop('SIGKILL');
    this.server = await startServer({ data });
  }

  /**
   * Starts the server in another data folder, on whose disk nothing is kept free; logs, which may fill it, lie
   * elsewhere.
   */
  async moveTo(data: string): Promise<void> {
    await this.server.stop();
    const env = { KUIPER__BASIC__MINFREEDISK: '0' };
    this.server = await startServer({ data, args: ['--log', temporaryFolder()], env });
  }

  async post(path: string, body: unknown): Promise<string> {
    const answer = await this.server.request('POST', path, body);
    assert.is(answer.status, 201, answer.text);
    return answer.text;
  }

  /** A shared stream of a topic with the quality of service, which has the name of the topic. */
  async stream(topic: string, qos: number, more: Record<string, unknown> = {}): Promise<void> {
    const props = { server: this.inside.url, qos, ...more };
    const key = await this.server.request('PUT', `/metadata/sources/mqtt/confKeys/${topic}`, props);
    assert.is(key.status, 200, key.text);
    const options = `DATASOURCE="${topic}", SHARED="true", CONF_KEY="${topic}"`;
    await this.post('/streams', { sql: `CREATE STREAM ${topic} () WITH (${options})` });
  }

  /** Starts a rule that sends the ids to one sink. */
  async rule(id: string, topic: string, action: unknown, options: Record<string, unknown> = {}): Promise<void> {
    await this.post('/rules', { id, sql: `SELECT id FROM ${topic}`, actions: [action], options });
    await this.figure(id, `source_${topic}_0_connection_status`, (value) => value === 1);
  }

  // biome-ignore lint/suspicious/noExplicitAny: figures of all kinds
  async status(id: string): Promise<any> {
    return (await this.server.request('GET', `/rules/${id}/status`)).json;
  }

  figure(id: string, name: string, fits: (value: number) => boolean): Promise<number> {
    return eventually(
      `${name} of ${id}`,
      async () => {
        const json = await this.status(id);
        assert.not.match(json.status, /by error/i, json.message);
        return fits(Number(json[name])) ? Number(json[name]) : undefined;
      },
      60_000,
    );
  }

  async send(topic: string, from: number, to: number): Promise<void> {
    const all: Promise<unknown>[] = [];
    for (let id = from; id < to; id++) all.push(this.sender.publishAsync(topic, `{"id":${id}}`, { qos: 1 }));
    await Promise.all(all);
  }
}

/** A broker that keeps what comes for a reader who comes later. */
export class Outside {
  readonly folder = temporaryFolder();
  broker: Mosquitto | undefined;

  private constructor(readonly port: number) {}

  static async make(topic = 'out'): Promise<Outside> {
    const outside = new Outside(await freePort());
    await outside.start();
    const reader = await outside.#reader();
    await reader.subscribeAsync(topic, { qos: 1 });
    await reader.endAsync();
    await outside.stop();
    return outside;
  }

  get url(): string {
    return `tcp://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    this.broker = await openMosquitto(this.port, this.folder);
  }

  async stop(): Promise<void> {
    await this.broker?.stop();
    this.broker = undefined;
  }

  #reader(take?: (topic: string, text: string) => void): Promise<MqttClient> {
    const client = mqtt.connect(this.url, { clientId: 'reader', clean: false });
    client.on('message', (topic, payload) => take?.(topic, payload.toString()));
    return new Promise((resolve, reject) => {
      client.once('connect', () => resolve(client));
      client.once('error', reject);
    });
  }

  /** The ids that came, until there are so many different ones. */
  async ids(count: number): Promise<number[]> {
    const ids: number[] = [];
    const different = new Set<number>();
    const reader = await this.#reader((_topic, text) => {
      const { id } = JSON.parse(text) as { id: number };
      ids.push(id);
      different.add(id);
    });
    await eventually(`${count} ids`, () => different.size >= count, 60_000);
    // In order: what is not acknowledged comes again.
    await reader.endAsync();
    return ids;
  }

  async messages(count: number): Promise<{ topic: string; text: string }[]> {
    const messages: { topic: string; text: string }[] = [];
    const reader = await this.#reader((topic, text) => void messages.push({ topic, text }));
    await eventually(`${count} messages`, () => messages.length >= count, 60_000);
    await reader.endAsync();
    return messages;
  }
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}

/** The first time that each comes. */
export const first = (ids: readonly number[]): number[] => [...new Set(ids)];

export function idsIn(path: string): number[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { id: number }).id);
}

export const sinkTo = (outside: Outside, more: Record<string, unknown> = {}) => ({
  mqtt: { server: outside.url, topic: 'out', qos: 1, sendSingle: true, enableCache: true, ...more },
});

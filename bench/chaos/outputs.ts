/** Gathers what comes out. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import mqtt, { type MqttClient } from 'mqtt';
import { committedRows } from './ledger.js';

export interface Output {
  /** All rows so far that are whole. */
  rows(): Promise<readonly string[]> | readonly string[];
  /** Grows with what comes out: bytes or rows. */
  size(): number | Promise<number>;
  close(): Promise<void>;
}

export class FileOutput implements Output {
  constructor(readonly path: string) {}

  rows(): readonly string[] {
    if (!existsSync(this.path)) return [];
    const lines = readFileSync(this.path, 'utf8').split('\n');
    // A last line without its end is being written.
    lines.pop();
    return lines;
  }

  size(): number {
    return sizeOf(this.path);
  }

  async close(): Promise<void> {}
}

export class MqttOutput implements Output {
  readonly #rows: string[] = [];

  private constructor(readonly client: MqttClient) {
    client.on('error', () => {});
    client.on('message', (_topic, payload) => void this.#rows.push(payload.toString()));
  }

  static async open(url: string, topic: string): Promise<MqttOutput> {
    const client = mqtt.connect(url, { clientId: 'chaos-output', clean: false, reconnectPeriod: 50 });
    const output = new MqttOutput(client);
    await client.subscribeAsync(topic, { qos: 2 });
    return output;
  }

  rows(): readonly string[] {
    return this.#rows;
  }

  size(): number {
    return this.#rows.length;
  }

  async close(): Promise<void> {
    await this.client.endAsync(true);
  }
}

export class LedgerOutput implements Output {
  constructor(readonly path: string) {}

  rows(): readonly string[] {
    return committedRows(this.path);
  }

  size(): number {
    return sizeOf(this.path);
  }

  async close(): Promise<void> {}
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

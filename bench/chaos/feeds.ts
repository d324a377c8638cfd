/** Sends the messages of one stream: at a rate, or all at once. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';
import { pause } from '../process.js';
import type { RunClock } from './run-clock.js';

export interface Feed {
  /** Sends these messages; may be called before the former ones have arrived. */
  send(lines: readonly string[]): void;
  /** Resolves when all messages are with the other side. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Puts files of lines into a folder, each whole from the moment on that it has its name. */
export class FileFeed implements Feed {
  #files = 0;

  constructor(readonly folder: string) {
    mkdirSync(folder, { recursive: true });
    mkdirSync(`${folder}.new`, { recursive: true });
  }

  send(lines: readonly string[]): void {
    if (lines.length === 0) return;
    const name = `${String(this.#files++).padStart(8, '0')}.lines`;
    const written = join(`${this.folder}.new`, name);
    writeFileSync(written, `${lines.join('\n')}\n`);
    renameSync(written, join(this.folder, name));
  }

  async settled(): Promise<void> {}

  async close(): Promise<void> {}
}

/** Publishes with QoS 1: what the broker has not confirmed is sent again. */
export class MqttFeed implements Feed {
  #unconfirmed = 0;

  private constructor(
    readonly client: MqttClient,
    readonly topic: string,
  ) {}

  static async open(url: string, topic: string): Promise<MqttFeed> {
    const client = await mqtt.connectAsync(url, { clientId: `chaos-feed-${topic}`, clean: false, reconnectPeriod: 50 });
    client.on('error', () => {});
    return new MqttFeed(client, topic);
  }

  send(lines: readonly string[]): void {
    for (const line of lines) {
      this.#unconfirmed++;
      this.client.publish(this.topic, line, { qos: 1 }, () => this.#unconfirmed--);
    }
  }

  async settled(): Promise<void> {
    while (this.#unconfirmed > 0) await pause(20);
  }

  async close(): Promise<void> {
    await this.client.endAsync(true);
  }
}

const tickMs = 50;

/** Sends all messages of all feeds at the rate, by the time of the run. */
export async function feedAll(
  feeds: readonly { feed: Feed; lines: readonly string[] }[],
  rate: number,
  clock: RunClock,
): Promise<void> {
  const longest = Math.max(...feeds.map(({ lines }) => lines.length));
  for (let sent = 0; sent < longest; ) {
    const due = Math.min(longest, Math.ceil(((clock.now + tickMs) / 1000) * rate));
    for (const { feed, lines } of feeds) feed.send(lines.slice(sent, due));
    sent = due;
    await pause(tickMs);
  }
  await Promise.all(feeds.map(({ feed }) => feed.settled()));
}

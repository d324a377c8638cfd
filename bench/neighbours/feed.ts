/** Sends numbered messages at a rate: straight to the engine with QoS 0, or over a real broker with QoS 1. */
import mqtt, { type MqttClient } from 'mqtt';
import type { Broker } from '../chaos/broker.js';
import { Generator } from '../generator.js';
import { FIRST_ID, ID_MARK } from '../messages/frames.js';
import { pause } from '../process.js';

export interface Feed {
  /** The server and topic that the engine reads. */
  readonly url: string;
  readonly topic: string;
  readonly qos: 0 | 1;
  /** Resolves when the engine has subscribed. */
  subscribed(): Promise<void>;
  /**
   * Sends messages from this number on, so many a second or (0) as fast as they are taken; resolves with the rate that
   * was reached.
   */
  send(from: number, count: number, rate: number): Promise<number>;
  close(): Promise<void>;
}

const text = 'a message of a hundred bytes, as sensors send them, with a number to count it by';

export class DirectFeed implements Feed {
  readonly topic = 'bench/custom';
  readonly qos = 0;

  private constructor(readonly generator: Generator) {}

  static async open(role: string[]): Promise<DirectFeed> {
    return new DirectFeed(await Generator.open(role, 'custom', 'plain', [`{"id":${ID_MARK},"text":"${text}"}`]));
  }

  get url(): string {
    return `tcp://127.0.0.1:${this.generator.port}`;
  }

  subscribed(): Promise<void> {
    return this.generator.subscribed();
  }

  async send(from: number, count: number, rate: number): Promise<number> {
    const sent = await this.generator.send({ count, rate, perMessage: false, firstIndex: from });
    return (count * 1000) / Math.max(1, sent.endedAt - sent.startedAt);
  }

  close(): Promise<void> {
    return this.generator.close();
  }
}

const tickMs = 10;
/** Most unconfirmed messages when no rate is given. */
const maxUnconfirmed = 1000;

export class BrokerFeed implements Feed {
  readonly topic = 'neighbours';
  readonly qos = 1;

  private constructor(
    readonly broker: Broker,
    readonly client: MqttClient,
  ) {}

  static async open(broker: Broker): Promise<BrokerFeed> {
    return new BrokerFeed(broker, await mqtt.connectAsync(broker.url));
  }

  get url(): string {
    return this.broker.url;
  }

  async subscribed(): Promise<void> {}

  /** Messages are with the broker when this resolves. */
  async send(from: number, count: number, rate: number): Promise<number> {
    const began = performance.now();
    let confirmed = 0;
    for (let sent = 0; confirmed < count; ) {
      const byRate = Math.ceil(((performance.now() - began + tickMs) / 1000) * rate);
      const due = Math.min(count, rate === 0 ? confirmed + maxUnconfirmed : byRate);
      for (; sent < due; sent++) {
        const payload = `{"id":${FIRST_ID + from + sent},"text":"${text}"}`;
        this.client.publish(this.topic, payload, { qos: 1 }, () => confirmed++);
      }
      await pause(rate === 0 ? 1 : tickMs);
    }
    return (count * 1000) / (performance.now() - began);
  }

  async close(): Promise<void> {
    await this.client.endAsync(true);
  }
}

/**
 * Publishes messages. With QoS 0 the packets are written here, all of one turn in one piece; with QoS 1 and 2 mqtt.js
 * does, and messages are kept here until the broker has confirmed them. What is unconfirmed when a connection breaks
 * is published again on the next one. What comes while there is no connection waits.
 */
import { randomUUID } from 'node:crypto';
import type { MqttClient } from 'mqtt';
import { reasonOf } from '../../base/errors.js';
import { Recent } from '../../base/structures/recent.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { peerOf } from './client.js';
import { type ConnectionConf, protocolLevel } from './connection.js';
import { type MessageProperties, PublishEncoder } from './encode.js';
import { ClientPool, type SharedClient } from './pool.js';

export interface MqttSinkConf extends ConnectionConf {
  topic: string;
  qos: number;
  retained: boolean;
  properties?: Record<string, unknown>;
  contentType: string;
  responseTopic: string;
  correlationData: string;
  /** ms; 0 for ever. */
  messageExpiryInterval: number;
  topicAlias: boolean;
  messageIdProperty?: string;
}

/** Numbers for the ids of messages: all ids of one life of the rule begin with the same series. */
interface Numbers {
  readonly series: string;
  readonly messages: number;
}

/** Messages of one sink that may be unconfirmed at a time, if the broker takes so many. */
const maxUnconfirmed = 1000;
const packetIdBytes = 2;
/** Messages that mqtt.js gets in one turn of the event loop: it works slowly, while the sources of all rules wait. */
const perTurn = 32;

/** Most targets (topics with user properties) whose encoders are kept. */
const mostTopics = 1000;

/** Where a message goes. */
interface Target {
  readonly topic: string;
  readonly encoder: PublishEncoder;
  /** Undefined before MQTT 5, and when there are none. */
  readonly properties: MessageProperties | undefined;
}

interface Waiting {
  payload: Buffer;
  target: Target;
  /** Id of the message; empty when messages get no ids. */
  id: string;
  /** Credit that is given back when the message is confirmed, bytes. */
  bytes: number;
}

export class MqttSink implements Sink {
  readonly #pool: ClientPool;
  #client: SharedClient;
  /** The client of the renewed properties, used from the next connection on. */
  #renewed: SharedClient | undefined;
  readonly #target: Target;
  /** Targets that templates over the row have made, by the JSON of topic and properties. */
  readonly #targets: Recent<string, Target>;
  readonly #cutter = new MessageCutter();
  /** QoS 0: packets to write, filled up to #length. */
  #packets = Buffer.allocUnsafe(16 * 1024);
  #length = 0;
  #credit = { bytes: 0, messages: 0 };
  #isWriting = false;
  #isScheduled = false;
  /** QoS 1 and 2: messages not yet published on this connection. */
  #queue: Waiting[] = [];
  /** Messages in flight on this connection, in order. */
  #unconfirmed = new Set<Waiting>();
  /** Number of messages published in this turn, and the timer that begins the next turn. */
  #inTurn = 0;
  #turn: NodeJS.Immediate | undefined;
  #numbers: Numbers = { series: randomUUID(), messages: 0 };
  #onIdle: (() => void)[] = [];
  #isConnected = false;
  #isClosed = false;
  readonly #retry = () => this.#schedule();

  constructor(
    public conf: MqttSinkConf,
    readonly context: SinkContext,
  ) {
    this.#pool = context.shared('mqtt.clients', () => new ClientPool());
    this.#client = this.#pool.take(conf, context.paths);
    this.#target = targetOf(conf);
    this.#targets = new Recent(mostTopics, (values) => targetOf({ ...conf, ...JSON.parse(values) }));
  }

  get peer(): string {
    return peerOf(this.conf);
  }

  renew(conf: MqttSinkConf): void {
    this.conf = conf;
    void this.#renewed?.giveBack(this);
    this.#renewed = this.#pool.take(this.conf, this.context.paths);
  }

  async open(): Promise<void> {
    if (this.#renewed !== undefined) {
      const former = this.#client;
      this.#client = this.#renewed;
      this.#renewed = undefined;
      await former.giveBack(this);
    }
    await this.#client.open(this, (reason) => {
      this.#isConnected = false;
      // The broker can't confirm these messages any more: they are sent again, before all others.
      this.#queue = [...this.#unconfirmed, ...this.#queue];
      this.#unconfirmed = new Set();
      if (!this.#isClosed) this.context.disconnected(reason);
    });
    this.#isConnected = true;
    this.#send();
  }

  write(chunk: SinkChunk): void {
    const target = this.#targetFor(chunk);
    if (target === undefined) return;
    if (this.conf.qos === 0) {
      this.#credit.bytes += chunk.bytes.length;
      this.#credit.messages += chunk.messages;
      this.#cutter.cut(chunk, (message) => this.#add(message, target.encoder));
    } else {
      let left = chunk.bytes.length;
      let last: Waiting | undefined;
      this.#cutter.cut(chunk, (message) => {
        last = { payload: Buffer.from(message), target, id: this.#nextId(), bytes: Math.min(left, message.length) };
        left -= last.bytes;
        this.#queue.push(last);
      });
      if (last === undefined) this.context.accepted(left, 0);
      else last.bytes += left;
    }
    this.#schedule();
  }

  /** Where the messages go; undefined when rows have made of it what no packet can hold: they are refused then. */
  #targetFor(chunk: SinkChunk): Target | undefined {
    const { values } = chunk;
    if (values === undefined) return this.#target;
    try {
      return this.#targets.get(JSON.stringify(values));
    } catch (error) {
      let left = chunk.bytes.length;
      this.#cutter.cut(chunk, (message) => {
        const bytes = Math.min(left, message.length);
        left -= bytes;
        this.context.refused(message, bytes, 1, reasonOf(error));
      });
      if (left > 0) this.context.accepted(left, 0);
      return undefined;
    }
  }

  /**
   * Counted from the begin of the rule's state on, so that what is made again from a checkpoint gets the id that it
   * had.
   */
  #nextId(): string {
    if (!this.conf.messageIdProperty) return '';
    const { series, messages } = this.#numbers;
    this.#numbers = { series, messages: messages + 1 };
    return `${series}-${messages}`;
  }

  position(): Numbers | undefined {
    return this.conf.messageIdProperty ? this.#numbers : undefined;
  }

  /** Sent messages can't be taken back, but messages behind the position get the same ids when they are sent again. */
  cutBack(position: unknown): void {
    const { series, messages } = position as Partial<Numbers>;
    if (typeof series === 'string' && typeof messages === 'number') this.#numbers = { series, messages };
  }

  flush(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    this.#schedule();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isConnected = false;
    await this.#renewed?.giveBack(this);
    await this.#client.giveBack(this);
    // Whoever closes it counts what is left as lost.
    this.#unconfirmed = new Set();
  }

  get #isIdle(): boolean {
    return this.#length === 0 && !this.#isWriting && this.#queue.length === 0 && this.#unconfirmed.size === 0;
  }

  #add(message: Uint8Array, encoder: PublishEncoder): void {
    const size = encoder.sizeOf(message.length);
    const reason = this.#tooLong(message, size);
    if (size === undefined || reason !== undefined) {
      this.#credit.bytes -= message.length;
      this.#credit.messages--;
      this.context.refused(message, message.length, 1, reason ?? '');
      return;
    }
    if (this.#length + size > this.#packets.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#length + size, this.#packets.length * 2));
      this.#packets.copy(grown, 0, 0, this.#length);
      this.#packets = grown;
    }
    this.#length = encoder.write(this.#packets, this.#length, message);
  }

  /** Why the broker, or the protocol, takes no packet of the size; undefined when it may. */
  #tooLong({ length }: Uint8Array, packetBytes: number | undefined): string | undefined {
    if (packetBytes === undefined) return `a message of ${length} bytes is longer than MQTT allows`;
    const { longestPacket = packetBytes } = this.#client;
    if (packetBytes <= longestPacket) return undefined;
    return `a message of ${length} bytes is too large: the broker takes packets of at most ${longestPacket}`;
  }

  /** Sends at the end of this turn of the event loop, so that all current output of the kernel goes together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    const client = this.#client.mqtt;
    if (!this.#isConnected || client === undefined || !client.connected || client.stream.destroyed) return;
    if (this.conf.qos === 0) this.#sendPackets(client);
    else this.#sendQueue(client);
  }

  #sendPackets(client: MqttClient): void {
    if (this.#length === 0 || this.#isWriting) return;
    const bytes = this.#packets.subarray(0, this.#length);
    const credit = this.#credit;
    this.#packets = Buffer.allocUnsafe(Math.min(this.#packets.length, 256 * 1024));
    this.#length = 0;
    this.#credit = { bytes: 0, messages: 0 };
    this.#isWriting = true;
    client.stream.write(bytes, (error) => {
      this.#isWriting = false;
      // With QoS 0 a message on a broken connection may be lost, but not unseen.
      if (error && this.context.keepsUnsent === true) this.#putBack(bytes, credit);
      else if (error) this.context.failed(credit.bytes, credit.messages, reasonOf(error));
      else this.context.accepted(credit.bytes, credit.messages);
      this.#schedule();
      this.#checkIdle();
    });
  }

  /** Puts unsent packets before all others, to be sent again. */
  #putBack(bytes: Buffer, credit: { bytes: number; messages: number }): void {
    this.#packets = Buffer.concat([bytes, this.#packets.subarray(0, this.#length)]);
    this.#length = this.#packets.length;
    this.#credit.bytes += credit.bytes;
    this.#credit.messages += credit.messages;
  }

  #sendQueue(client: MqttClient): void {
    const { retained, messageIdProperty = '' } = this.conf;
    const qos = this.conf.qos as 1 | 2;
    const { window } = this.#client;
    const unconfirmed = this.#unconfirmed;
    const mayTake = () => this.#queue.length > 0 && unconfirmed.size < maxUnconfirmed && this.#hasTurn;
    while (mayTake()) {
      const tooLong = this.#tooLong(this.#queue[0]!.payload, this.#sizeOf(this.#queue[0]!));
      if (tooLong !== undefined) {
        const { payload, bytes } = this.#queue.shift()!;
        this.context.refused(payload, bytes, 1, tooLong);
        this.#checkIdle();
        continue;
      }
      if (!window.take(qos, this, this.#retry)) break;
      this.#inTurn++;
      const message = this.#queue.shift()!;
      unconfirmed.add(message);
      const { topic, properties: said } = message.target;
      const { id } = message;
      const userProperties = { ...said?.userProperties, [messageIdProperty]: id };
      const properties = id === '' ? said : { ...said, userProperties };
      client.publish(topic, message.payload, { qos, retain: retained, properties }, (error) => {
        window.release(qos);
        if (this.#unconfirmed !== unconfirmed) return;
        unconfirmed.delete(message);
        if (error) this.context.refused(message.payload, message.bytes, 1, reasonOf(error));
        else this.context.accepted(message.bytes, 1);
        this.#schedule();
        this.#checkIdle();
      });
    }
  }

  /** Bytes of the packet of a message with QoS 1 or 2; undefined when the protocol has none so long. */
  #sizeOf({ payload, target, id }: Waiting): number | undefined {
    const { messageIdProperty = '' } = this.conf;
    // A user property has five bytes besides its texts, and the packet an id.
    const own = id === '' ? 0 : 5 + Buffer.byteLength(messageIdProperty) + id.length;
    return target.encoder.sizeOf(payload.length + packetIdBytes + own);
  }

  /** Whether this turn may publish another message; the rest waits for the next turn. */
  get #hasTurn(): boolean {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      const isOver = this.#inTurn >= perTurn;
      this.#inTurn = 0;
      if (isOver) this.#send();
    });
    return this.#inTurn < perTurn;
  }

  #checkIdle(): void {
    if (this.#isIdle) for (const call of this.#onIdle.splice(0)) call();
  }
}

function targetOf(conf: MqttSinkConf): Target {
  const { topic, retained } = conf;
  const level = protocolLevel(conf.protocolVersion);
  const properties = level === 5 ? propertiesOf(conf) : undefined;
  return { topic, encoder: new PublishEncoder(topic, retained, level, properties), properties };
}

function propertiesOf(conf: MqttSinkConf): MessageProperties | undefined {
  const { properties, contentType, responseTopic, correlationData, messageExpiryInterval } = conf;
  const texts = Object.entries(properties ?? {}).map(([name, value]) => [name, String(value)]);
  const said = {
    ...(properties !== undefined && { userProperties: Object.fromEntries(texts) }),
    ...(contentType !== '' && { contentType }),
    ...(responseTopic !== '' && { responseTopic }),
    ...(correlationData !== '' && { correlationData: Buffer.from(correlationData) }),
    ...(messageExpiryInterval > 0 && { messageExpiryInterval: Math.ceil(messageExpiryInterval / 1000) }),
  };
  return Object.keys(said).length === 0 ? undefined : said;
}

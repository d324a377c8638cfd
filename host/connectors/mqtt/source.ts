/**
 * Subscribes to topics. The bytes of the socket go straight to the kernel, which takes the PUBLISH packets and gives
 * all others back for mqtt.js, but those that free a packet id of a session. Where `raw.ts` says so mqtt.js does
 * everything and messages come as frames.
 */
import type { IPublishPacket, MqttClient } from 'mqtt';
import { reasonOf } from '../../base/errors.js';
import { FrameBuffer } from '../messages/frames.js';
import { completed, idIn, received } from '../messages/receipts.js';
import type { Source, SourceContext } from '../running.js';
import { connectOnce, endClient, type Made, makeClient, peerOf } from './client.js';
import { type ConnectionConf, protocolLevel } from './connection.js';
import { mqttErrors } from './errors.js';
import { Gathering } from './gather.js';
import { isRaw } from './raw.js';
import type { Transport } from './transport.js';

export interface MqttSourceConf extends ConnectionConf {
  qos: number;
  enableClientSession: boolean;
  sessionExpiryIntervalSeconds: number;
  receiveMaximum: number;
  topicAliasMaximum: number;
  noLocal: boolean;
  retainAsPublished: boolean;
  retainHandling: number;
  eofMessage: string;
  decompression: string;
  schemaRegistryUrl: string;
  interval: number;
}

const puback = 0x40;
const pubrec = 0x50;
const pubcomp = 0x70;
const pingResponseType = 0xd0;
/** Most unsent bytes: four times the answers to all 65,535 packet ids, which a broker that reads never reaches. */
const mostUnread = 1024 * 1024;
/** Interval at which the broker is asked whether acknowledgements have arrived, ms. */
const askEveryMs = 1000;

export class MqttSource implements Source {
  #made: Made | undefined;
  #transport: Transport | undefined;
  #isConnected = false;
  #isClosed = false;
  #reason = 'connection closed';
  readonly #isRaw: boolean;
  readonly #topics: string[];
  readonly #frames = new FrameBuffer();
  /** Timer until the broker is asked whether it has the acknowledgements. */
  #askTimer: NodeJS.Timeout | undefined;
  #isAsked = false;
  /** More messages were acknowledged while the broker was asked. */
  #asksAgain = false;

  constructor(
    public conf: MqttSourceConf,
    readonly context: SourceContext,
  ) {
    this.#isRaw = isRaw(conf);
    this.#topics = context.dataSource
      .split(',')
      .map((topic) => topic.trim())
      .filter((topic) => topic !== '');
    context.onFlow(
      () => this.#transport?.hold(true),
      () => this.#transport?.hold(false),
    );
    context.onPacket((packet) => {
      if (packet[0] === pingResponseType) this.#transport?.pong();
      this.#transport?.pass(packet);
    });
    context.onMalformed((reason) => {
      // Where the next packet begins can't be known: only a new connection helps.
      this.#reason = reason;
      this.#transport?.destroy();
    });
    context.onAcknowledge((receipts) => this.#acknowledge(receipts));
  }

  get peer(): string {
    return peerOf(this.conf);
  }

  async open(): Promise<void> {
    this.#check();
    if (this.#made === undefined) this.#made = await this.#make();
    else await this.#made.renew(this.conf);
    if (this.#isClosed) return;
    const { client } = this.#made;
    this.#reason = 'connection closed';
    const { hasSession } = await connectOnce(client);
    if (this.#isClosed) return;
    // Packets right behind the CONNACK may have ended the connection before anybody could notice.
    this.#checkTransport();
    if (this.context.isFull) this.#transport?.hold(true);
    if (!hasSession || !this.conf.enableClientSession) await this.#subscribe(client);
    this.#checkTransport();
    this.#isConnected = true;
  }

  renew(conf: MqttSourceConf): void {
    this.conf = conf;
  }

  #checkTransport(): void {
    if (this.#transport?.destroyed === true) throw mqttErrors.connection(this.#reason);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isConnected = false;
    clearTimeout(this.#askTimer);
    if (this.#made === undefined) return;
    this.context.redeliveries?.asked();
    if (await endClient(this.#made.client)) this.context.redeliveries?.answered();
  }

  #check(): void {
    if (this.#topics.length === 0) throw mqttErrors.noTopic();
    if (this.conf.enableClientSession && this.conf.clientid === '') {
      throw mqttErrors.noClientId();
    }
  }

  async #make(): Promise<Made> {
    const { conf } = this;
    const isV5 = protocolLevel(conf.protocolVersion) === 5;
    const made = await makeClient(
      conf,
      {
        clean: !conf.enableClientSession,
        ...(isV5 ? { properties: wishesOf(conf) } : {}),
      },
      (transport) => this.#tap(transport),
      this.context.paths,
    );
    const { client } = made;
    client.on('error', (error) => {
      this.#reason = reasonOf(error);
      // Whatever mqtt.js can't read makes the rest of the connection unreadable.
      this.#transport?.destroy();
    });
    client.on('disconnect', (packet) => {
      this.#reason = `the broker ended the connection, reason ${packet.reasonCode ?? 0}`;
    });
    client.on('close', () => {
      if (!this.#isConnected || this.#isClosed) return;
      this.#isConnected = false;
      this.context.disconnected(this.#reason);
    });
    if (!this.#isRaw) client.handleMessage = (packet, done) => this.#message(packet, done);
    return made;
  }

  #tap(transport: Transport): ((bytes: Buffer) => void) | undefined {
    this.#transport = transport;
    // Failures that mqtt.js does not report, such as a silent broker.
    transport.once('error', (error) => {
      this.#reason = reasonOf(error);
    });
    this.#isAsked = false;
    if (!this.#isRaw) return undefined;
    this.context.resetInput();
    const { coalesceMs } = this.context;
    const gathering = new Gathering();
    return (bytes) => {
      if (!this.context.write(bytes)) transport.hold(true);
      if (coalesceMs > 0 && gathering.note(bytes.length)) transport.gather(coalesceMs);
    };
  }

  async #subscribe(client: MqttClient): Promise<void> {
    const { noLocal: nl, retainAsPublished: rap, retainHandling: rh, protocolVersion } = this.conf;
    const how = { qos: this.conf.qos as 0 | 1 | 2, ...(protocolLevel(protocolVersion) === 5 ? { nl, rap, rh } : {}) };
    const wanted = Object.fromEntries(this.#topics.map((topic) => [topic, how]));
    await new Promise<void>((resolve, reject) => {
      // The library may never call back for a connection that breaks meanwhile.
      client.once('close', () => reject(mqttErrors.connection(this.#reason)));
      client.subscribe(wanted, (error, granted) => {
        const refused = granted?.filter((grant) => grant.qos >= 128).map((grant) => grant.topic) ?? [];
        if (error !== null && error !== undefined) reject(mqttErrors.connection(reasonOf(error)));
        else if (refused.length > 0) reject(mqttErrors.subscription(refused.join(', ')));
        else resolve();
      });
    }).catch((error: unknown) => {
      this.#transport?.destroy();
      throw error;
    });
  }

  #acknowledge(receipts: Uint32Array): void {
    const transport = this.#transport;
    if (transport === undefined || transport.destroyed) return;
    const packets = Buffer.allocUnsafe(receipts.length * 4);
    let isToAsk = false;
    receipts.forEach((receipt, i) => {
      const kind = typeOf(receipt);
      isToAsk ||= kind === puback;
      packets[i * 4] = kind;
      packets[i * 4 + 1] = 2;
      packets.writeUInt16BE(idIn(receipt), i * 4 + 2);
    });
    transport.write(packets);
    this.#checkRead(transport);
    // With QoS 2 the broker says by itself what has arrived.
    if (isToAsk && this.context.redeliveries !== undefined) this.#ask();
  }

  /** Ends the connection of a broker that does not read, since all its acknowledgements would pile up in memory. */
  #checkRead(transport: Transport): void {
    const { writableLength } = transport;
    if (writableLength <= mostUnread || transport.destroyed) return;
    this.#reason = `the broker does not read: ${writableLength} bytes of acknowledgements wait for it`;
    transport.destroy();
  }

  /**
   * Asks the broker, a while later, whether it has the acknowledgements. An acknowledgement may be lost with its
   * connection, so the broker may repeat a message until it has answered a ping sent behind the acknowledgement.
   */
  #ask(): void {
    if (this.#isClosed) return;
    this.#asksAgain = this.#isAsked;
    if (this.#isAsked) return;
    this.#askTimer ??= setTimeout(() => {
      this.#askTimer = undefined;
      const transport = this.#transport;
      if (transport === undefined || transport.destroyed || this.#isClosed) return;
      this.#isAsked = true;
      this.context.redeliveries?.asked();
      transport.ping(() => {
        if (transport !== this.#transport) return;
        this.#isAsked = false;
        if (this.#asksAgain) this.#ask();
        this.context.redeliveries?.answered();
      });
    }, askEveryMs).unref();
  }

  /** Takes a message that mqtt.js has read; `done` acknowledges it. */
  #message(packet: IPublishPacket, done: (error?: Error) => void): void {
    if (this.#transport !== undefined) this.#checkRead(this.#transport);
    const { topic, qos, messageId } = packet;
    const payload = typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload;
    if (this.conf.eofMessage !== '' && payload.toString('base64') === this.conf.eofMessage) {
      this.context.end();
      done();
      return;
    }
    const meta = { topic, qos, messageId: messageId ?? 0, retained: packet.retain, ...said(packet) };
    this.#frames.add(payload, Buffer.from(JSON.stringify(meta)));
    const isWanted = this.context.write(this.#frames.bytes);
    this.#frames.clear();
    if (isWanted) done();
    else void this.context.ready().then(() => done());
  }
}

/** What is asked of the broker when connecting. */
function wishesOf({ sessionExpiryIntervalSeconds, receiveMaximum, topicAliasMaximum }: MqttSourceConf) {
  return {
    ...(sessionExpiryIntervalSeconds > 0 ? { sessionExpiryInterval: sessionExpiryIntervalSeconds } : {}),
    ...(receiveMaximum < 65_535 ? { receiveMaximum } : {}),
    ...(topicAliasMaximum > 0 ? { topicAliasMaximum } : {}),
  };
}

/** What the properties of MQTT 5 say of a message. */
function said({ properties = {} }: IPublishPacket): Record<string, unknown> {
  const { userProperties, responseTopic, correlationData, contentType, messageExpiryInterval } = properties;
  const { payloadFormatIndicator: isText } = properties;
  return {
    ...(userProperties && { properties: userProperties }),
    ...(responseTopic !== undefined && { responseTopic }),
    ...(correlationData !== undefined && { correlationData: Buffer.from(correlationData).toString('base64') }),
    ...(contentType !== undefined && { contentType }),
    ...(messageExpiryInterval !== undefined && { messageExpiryInterval }),
    ...(isText !== undefined && { payloadFormatIndicator: Number(isText) }),
  };
}

function typeOf(receipt: number): number {
  if ((receipt & completed) !== 0) return pubcomp;
  return (receipt & received) !== 0 ? pubrec : puback;
}

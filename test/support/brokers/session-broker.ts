/**
 * A broker in this process that keeps the session of its one client, as MQTT 3.1.1 says: what is not acknowledged comes
 * again on the next connection, in its order, with DUP and the same packet id. It breaks connections and loses
 * acknowledgements as it is told.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

export interface SessionBrokerOptions {
  /** Of the messages: 1 or 2. */
  qos?: 1 | 2;
  /** Messages on their way at a time. */
  window?: number;
  /** An id is given again as soon as it is free; otherwise ids count up. */
  reusesIds?: boolean;
}

interface Message {
  readonly id: number;
  readonly payload: string;
  wasSent: boolean;
  /** QoS 2: PUBREC has come. */
  isReceived: boolean;
}

const maxId = 65_535;

export class SessionBroker {
  connections = 0;
  /** Packets of the client that are not read: what it acknowledges is lost. */
  isDeaf = false;
  /** Of these packets alone it reads none: 0x50 PUBREC, 0x70 PUBCOMP. */
  isDeafTo = 0;
  /** PUBREC and PUBCOMP packets that came, read or not: type and packet id. */
  readonly receipts: [type: number, id: number][] = [];
  /** Pings have no answer. */
  ignoresPings = false;
  /** Messages that were sent with DUP. */
  repeats = 0;
  pings = 0;
  /** Ids of acknowledgements that stand for nothing which is on its way on this connection. */
  readonly wrong: number[] = [];
  /** Of the client, as soon as it has said who it is. */
  #socket: Socket | undefined;
  readonly #sockets = new Set<Socket>();
  #queue: string[] = [];
  /** On their way, in order. */
  #sent: Message[] = [];
  #lastId = 0;
  #hasSession = false;
  readonly #server = createServer((socket) => this.#take(socket));

  private constructor(private readonly options: Required<SessionBrokerOptions>) {}

  static async open(options: SessionBrokerOptions = {}): Promise<SessionBroker> {
    const broker = new SessionBroker({ qos: 1, window: 20, reusesIds: false, ...options });
    broker.#server.listen(0, '127.0.0.1');
    await once(broker.#server, 'listening');
    return broker;
  }

  get url(): string {
    return `tcp://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  get isConnected(): boolean {
    return this.#socket !== undefined;
  }

  /** Messages that the client has not acknowledged, as far as the broker knows. */
  get waiting(): number {
    return this.#queue.length + this.#sent.length;
  }

  get onTheirWay(): number {
    return this.#sent.length;
  }

  send(payloads: readonly string[]): void {
    this.#queue.push(...payloads);
    this.#fill();
  }

  /** Gives messages ids, and loses them with the connection before the client has them. */
  sendInVain(payloads: readonly string[]): void {
    for (const payload of payloads) this.#sent.push({ id: this.#nextId(), payload, wasSent: true, isReceived: false });
    this.cut();
  }

  /** Sends once more, on the same connection, what is on its way. */
  repeat(): void {
    for (const message of this.#sent) this.#again(message);
  }

  /** Frees an id that it has freed before, or that never stood for anything. */
  freeAgain(id: number): void {
    this.#release(id);
  }

  /** Ends the connection hard: what is on its way is lost, in both directions. */
  cut(): void {
    this.#socket?.resetAndDestroy();
    this.#socket = undefined;
  }

  /** Forgets the session: ids begin anew, and what was on its way is gone. */
  forget(): void {
    this.cut();
    this.#hasSession = false;
    this.#sent = [];
    this.#lastId = 0;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #nextId(): number {
    const taken = new Set(this.#sent.map(({ id }) => id));
    let id = this.options.reusesIds ? 0 : this.#lastId;
    do id = (id % maxId) + 1;
    while (taken.has(id));
    this.#lastId = id;
    return id;
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (this.#socket === socket) this.#socket = undefined;
    });
    let rest: Buffer = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      while (rest.length >= 2 && rest.length >= 2 + rest[1]!) {
        const packet = rest.subarray(0, 2 + rest[1]!);
        rest = rest.subarray(packet.length);
        if (this.#socket === socket || packet[0] === 0x10) this.#packet(socket, packet);
      }
    });
  }

  #packet(socket: Socket, packet: Buffer): void {
    const kind = packet[0]! & 0xf0;
    if (kind === 0x10) {
      this.#socket?.destroy();
      this.#socket = socket;
      this.connections++;
      socket.write(Buffer.from([0x20, 2, this.#hasSession ? 1 : 0, 0]));
      this.#hasSession = true;
      for (const message of this.#sent) this.#again(message);
      this.#fill();
      return;
    }
    if (kind === 0x80) {
      socket.write(Buffer.from([0x90, 3, packet[2]!, packet[3]!, this.options.qos]));
      return;
    }
    if (kind === 0x50 || kind === 0x70) this.receipts.push([kind, packet.readUInt16BE(2)]);
    if (this.isDeaf || kind === this.isDeafTo) return;
    if (kind === 0xc0) {
      this.pings++;
      if (!this.ignoresPings) socket.write(Buffer.from([0xd0, 0]));
      return;
    }
    if (packet.length < 4) return;
    const id = packet.readUInt16BE(2);
    const message = this.#sent.find((one) => one.id === id);
    if (message === undefined || !message.wasSent) {
      this.wrong.push(id);
      return;
    }
    if (kind === 0x50) {
      message.isReceived = true;
      this.#release(id);
    } else if (kind === (this.options.qos === 1 ? 0x40 : 0x70)) {
      this.#sent = this.#sent.filter((one) => one !== message);
      this.#fill();
    }
  }

  #again(message: Message): void {
    if (message.isReceived) this.#release(message.id);
    else this.#write(message);
  }

  #release(id: number): void {
    this.#socket?.write(Buffer.from([0x62, 2, id >> 8, id & 255]));
  }

  #fill(): void {
    while (this.#socket !== undefined && this.#queue.length > 0 && this.#sent.length < this.options.window) {
      const message: Message = { id: this.#nextId(), payload: this.#queue.shift()!, wasSent: false, isReceived: false };
      this.#sent.push(message);
      this.#write(message);
    }
  }

  #write(message: Message): void {
    const { id, payload, wasSent } = message;
    if (wasSent) this.repeats++;
    message.wasSent = true;
    const body = Buffer.concat([Buffer.from([0, 1, 0x61, id >> 8, id & 255]), Buffer.from(payload)]);
    const head = 0x30 | (this.options.qos << 1) | (wasSent ? 8 : 0);
    const length = body.length < 128 ? [body.length] : [(body.length & 127) | 128, body.length >> 7];
    this.#socket?.write(Buffer.concat([Buffer.from([head, ...length]), body]));
  }
}

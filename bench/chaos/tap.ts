/**
 * A listener between the engine and a broker: what was acknowledged by whom. A broker that is killed may lose what it
 * has confirmed; this tells its losses from those of the engine. Understands messages of QoS 1 of MQTT 3.1.1 and hands
 * on all bytes as they come.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Packets of one direction, put together from pieces. */
class Packets {
  #rest = Buffer.alloc(0);

  constructor(private readonly found: (type: number, flags: number, body: Buffer) => void) {}

  take(chunk: Buffer): void {
    let data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    for (;;) {
      const end = packetEnd(data);
      if (end === undefined || data.length < end.body + end.length) break;
      const head = data[0]!;
      this.found(head >> 4, head & 15, data.subarray(end.body, end.body + end.length));
      data = data.subarray(end.body + end.length);
    }
    this.#rest = Buffer.from(data);
  }
}

/** Where the body of the first packet begins and how long it is; undefined when that has not come yet. */
function packetEnd(data: Buffer): { body: number; length: number } | undefined {
  let length = 0;
  for (let i = 1; i < 5; i++) {
    const byte = data[i];
    if (byte === undefined) return undefined;
    length |= (byte & 127) << (7 * (i - 1));
    if (byte < 128) return { body: i + 1, length };
  }
  return undefined;
}

const publish = 3;
const puback = 4;

/** Messages in one direction that wait for an acknowledgement from the other, by packet. */
class Waiting {
  readonly #packets = new Map<number, string>();

  /** Notes a message; those without acknowledgement are none. */
  sent(flags: number, body: Buffer): void {
    if (((flags >> 1) & 3) === 0) return;
    const topicEnd = 2 + body.readUInt16BE(0);
    this.#packets.set(body.readUInt16BE(topicEnd), body.toString('utf8', topicEnd + 2));
  }

  /** Returns the message that is acknowledged. */
  acknowledged(body: Buffer): string | undefined {
    const id = body.readUInt16BE(0);
    const text = this.#packets.get(id);
    this.#packets.delete(id);
    return text;
  }

  values(): IterableIterator<string> {
    return this.#packets.values();
  }
}

export class Tap {
  /** Messages of the broker that the engine has acknowledged. */
  readonly taken = new Set<string>();
  /** Messages of the engine that the broker has acknowledged. */
  readonly confirmed = new Set<string>();
  readonly #sockets = new Set<Socket>();
  #toEngine = new Waiting();

  private constructor(
    readonly server: Server,
    readonly port: number,
  ) {}

  /** Listens before the broker at the port. */
  static open(brokerPort: number): Promise<Tap> {
    const server = createServer({ noDelay: true });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        const tap = new Tap(server, typeof address === 'object' && address ? address.port : 0);
        server.on('connection', (socket) => tap.#join(socket, brokerPort));
        resolve(tap);
      });
    });
  }

  get url(): string {
    return `tcp://127.0.0.1:${this.port}`;
  }

  /** Messages that the engine has got over its latest connection and not acknowledged. */
  untaken(): ReadonlySet<string> {
    return new Set(this.#toEngine.values());
  }

  #join(engine: Socket, brokerPort: number): void {
    const broker = connect({ port: brokerPort, host: '127.0.0.1', noDelay: true });
    const toEngine = new Waiting();
    const toBroker = new Waiting();
    this.#toEngine = toEngine;
    const note = (list: Set<string>, text: string | undefined) => text !== undefined && list.add(text);
    const fromBroker = new Packets((type, flags, body) => {
      if (type === publish) toEngine.sent(flags, body);
      else if (type === puback) note(this.confirmed, toBroker.acknowledged(body));
    });
    const fromEngine = new Packets((type, flags, body) => {
      if (type === publish) toBroker.sent(flags, body);
      else if (type === puback) note(this.taken, toEngine.acknowledged(body));
    });
    // Packets are noted before the other side gets them.
    broker.on('data', (chunk) => fromBroker.take(chunk));
    engine.on('data', (chunk) => fromEngine.take(chunk));
    broker.pipe(engine);
    engine.pipe(broker);
    for (const [one, other] of [
      [broker, engine],
      [engine, broker],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  close(): void {
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

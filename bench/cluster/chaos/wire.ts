/** The way from a node to the servers of NATS, which can be cut: bytes wait, and arrive late when it is mended. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class Wire {
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #isCut = false;

  private constructor(
    private readonly listeners: readonly Server[],
    /** Addresses for the node. */
    readonly urls: string,
  ) {}

  /** A listener in front of each port. */
  static async open(ports: readonly number[]): Promise<Wire> {
    const listeners = ports.map(() => createServer());
    const urls: string[] = [];
    for (const listener of listeners) {
      listener.listen(0, '127.0.0.1');
      await once(listener, 'listening');
      urls.push(`nats://127.0.0.1:${(listener.address() as AddressInfo).port}`);
    }
    const wire = new Wire(listeners, urls.join(','));
    for (const [i, listener] of listeners.entries()) {
      listener.on('connection', (socket: Socket) => wire.#join(socket, connect(ports[i] as number, '127.0.0.1')));
    }
    return wire;
  }

  cut(): void {
    this.#isCut = true;
    for (const [one, other] of this.#pairs) {
      one.unpipe(other).pause();
      other.unpipe(one).pause();
    }
  }

  mend(): void {
    this.#isCut = false;
    for (const pair of this.#pairs) this.#pipe(pair);
  }

  close(): void {
    for (const listener of this.listeners) listener.close();
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  #join(one: Socket, other: Socket): void {
    const pair = [one, other] as const;
    this.#pairs.add(pair);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.once('close', () => {
        this.#pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
    if (this.#isCut) for (const socket of pair) socket.pause();
    else this.#pipe(pair);
  }

  #pipe([one, other]: readonly [Socket, Socket]): void {
    one.pipe(other);
    other.pipe(one);
  }
}

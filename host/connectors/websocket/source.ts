/** Takes the messages of a websocket that it opens; what comes in one turn goes on together. */
import type { WebSocket } from 'ws';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';
import type { ConnectionConf } from './connection.js';
import { endSocket, openSocket, watch } from './socket.js';

/** What is gathered in one turn at most, bytes. */
const maxGathered = 1 << 20;

export class WebsocketSource implements Source {
  #socket: WebSocket | undefined;
  readonly #frames = new FrameBuffer();
  #isScheduled = false;
  #isClosed = false;

  constructor(
    public conf: ConnectionConf,
    readonly context: SourceContext,
  ) {
    context.onFlow(
      () => this.#socket?.pause(),
      () => this.#socket?.resume(),
    );
  }

  get peer(): string {
    return `websocket ${this.conf.addr}`;
  }

  async open(): Promise<void> {
    const { conf, context } = this;
    const socket = await openSocket(conf, context.dataSource, context.paths);
    if (this.#isClosed) return endSocket(socket);
    this.#socket = socket;
    socket.on('message', (message) => this.#take(message as Buffer));
    watch(socket, (reason) => {
      if (this.#isClosed || this.#socket !== socket) return;
      this.#flush();
      context.disconnected(reason);
    });
    if (context.isFull) socket.pause();
    return undefined;
  }

  renew(conf: ConnectionConf): void {
    this.conf = conf;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#socket !== undefined) await endSocket(this.#socket);
  }

  #take(message: Buffer): void {
    if (this.#isClosed) return;
    this.#frames.add(message);
    if (this.#frames.sizeBytes >= maxGathered) this.#flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.#flush());
    }
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#isClosed || this.#frames.count === 0) return;
    this.context.write(this.#frames.bytes);
    this.#frames.clear();
  }
}

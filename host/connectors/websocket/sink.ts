/**
 * Sends messages over a websocket that it opens. A message is out when the system has it; what it has not when the
 * connection breaks is sent on the next one, before all others.
 */
import { isUtf8 } from 'node:buffer';
import type { WebSocket } from 'ws';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import type { ConnectionConf } from './connection.js';
import { endSocket, openSocket, watch } from './socket.js';

interface Waiting {
  readonly message: Buffer;
  /** Credit that goes back when it is out. */
  bytes: number;
}

/** So much may be with the socket and not with the system, bytes. */
const maxBuffered = 1 << 20;

export class WebsocketSink implements Sink {
  readonly #cutter = new MessageCutter();
  #socket: WebSocket | undefined;
  /** Not given to the socket. */
  #queue: Waiting[] = [];
  /** Given to the socket, not yet to the system, in order. */
  #sent: Waiting[] = [];
  #isScheduled = false;
  #isClosed = false;
  readonly #onIdle: (() => void)[] = [];

  constructor(
    public conf: ConnectionConf,
    readonly context: SinkContext,
  ) {}

  get peer(): string {
    return `websocket ${this.conf.addr}`;
  }

  async open(): Promise<void> {
    const socket = await openSocket(this.conf, '', this.context.paths);
    if (this.#isClosed) return endSocket(socket);
    this.#socket = socket;
    // What comes is nobody's.
    socket.on('message', () => {});
    watch(socket, (reason) => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#queue = [...this.#sent, ...this.#queue];
      this.#sent = [];
      if (!this.#isClosed) this.context.disconnected(reason, true);
    });
    this.#send();
    return undefined;
  }

  renew(conf: ConnectionConf): void {
    this.conf = conf;
  }

  write(chunk: SinkChunk): void {
    let left = chunk.bytes.length;
    let last: Waiting | undefined;
    this.#cutter.cut(chunk, (message) => {
      last = { message: Buffer.from(message), bytes: Math.min(left, message.length) };
      left -= last.bytes;
      this.#queue.push(last);
    });
    if (last === undefined) this.context.accepted(left, 0);
    else last.bytes += left;
    this.#schedule();
  }

  flush(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#socket !== undefined) await endSocket(this.#socket);
  }

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#sent.length === 0;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    const socket = this.#socket;
    if (socket === undefined || this.#isClosed) return;
    let given = 0;
    while (given < this.#queue.length && socket.bufferedAmount < maxBuffered) {
      const one = this.#queue[given++]!;
      this.#sent.push(one);
      socket.send(one.message, { binary: !isUtf8(one.message) }, (error) => {
        if (this.#socket !== socket || (error !== undefined && error !== null)) return;
        this.#sent.shift();
        this.context.accepted(one.bytes, 1);
        this.#schedule();
        if (this.#isIdle) for (const call of this.#onIdle.splice(0)) call();
      });
    }
    if (given > 0) this.#queue.splice(0, given);
  }
}

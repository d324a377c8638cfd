/**
 * Subscribes to what another program publishes. While the sinks take no more nothing is read: the publisher then drops
 * what it can't send.
 */
import type { Subscriber } from 'zeromq';
import { reasonOf } from '../../base/errors.js';
import { subscribe } from '../../clients/zmq/subscriber.js';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';

export interface ZmqSourceConf {
  server: string;
}

/** Messages that are written together, and their bytes. */
const mostTogether = 256;
const mostBytes = 1 << 20;
const noMeta = Buffer.from('{}');

export class ZmqSource implements Source {
  readonly peer: string;
  #socket: Subscriber | undefined;
  #isClosed = false;
  readonly #frames = new FrameBuffer();
  readonly #metas = new Map<string, Buffer>();

  constructor(
    readonly conf: ZmqSourceConf,
    readonly context: SourceContext,
  ) {
    this.peer = `zmq ${conf.server}`;
  }

  async open(): Promise<void> {
    let socket: Subscriber | undefined;
    const topic = this.context.dataSource;
    socket = await subscribe(this.conf.server, [topic], () => socket && this.#lost(socket, 'the publisher is gone'));
    if (this.#isClosed) {
      socket.close();
      return;
    }
    this.#socket = socket;
    void this.#read(socket);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#socket?.close();
    this.#socket = undefined;
  }

  #lost(socket: Subscriber, reason: string): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    socket.close();
    this.context.disconnected(reason);
  }

  async #read(socket: Subscriber): Promise<void> {
    try {
      while (this.#socket === socket) {
        this.#add(await socket.receive());
        // What is there already comes without a wait.
        await this.#addMore(socket);
        this.context.write(this.#frames.bytes);
        this.#frames.clear();
        if (this.context.isFull) await this.context.ready();
      }
    } catch (error) {
      if (this.#frames.count > 0 && !this.#isClosed) this.context.write(this.#frames.bytes);
      this.#frames.clear();
      this.#lost(socket, reasonOf(error));
    }
  }

  async #addMore(socket: Subscriber): Promise<void> {
    while (socket.readable && this.#frames.count < mostTogether && this.#frames.sizeBytes < mostBytes) {
      this.#add(await socket.receive());
    }
  }

  /** With a topic the first part is the topic; all other parts are one payload. */
  #add(parts: readonly Buffer[]): void {
    if (this.context.dataSource === '') {
      this.#frames.add(parts.length === 1 ? parts[0]! : Buffer.concat(parts), noMeta);
      return;
    }
    const payload = parts.length === 2 ? parts[1]! : Buffer.concat(parts.slice(1));
    this.#frames.add(payload, this.#metaOf(parts[0]!.toString()));
  }

  #metaOf(topic: string): Buffer {
    let meta = this.#metas.get(topic);
    if (meta === undefined) {
      if (this.#metas.size >= 1000) this.#metas.clear();
      meta = Buffer.from(JSON.stringify({ topic }));
      this.#metas.set(topic, meta);
    }
    return meta;
  }
}

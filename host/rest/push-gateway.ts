/** Hands bodies that the data server receives to the sources that want them, and answers when they are taken. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BroadcastChannel } from 'node:worker_threads';
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { type PushMessage, pushChannel } from '../connectors/httppush/channel.js';
import { BodyTooLarge, readBody } from './body.js';
import type { DataServer } from './data-server.js';

/** Longest message of a stream. */
const maxBodyBytes = 16 << 20;
/** A client waits so long for full sinks. */
const busyTimeoutMs = 30_000;

interface Route {
  readonly method: string;
  readonly path: string;
  /** Sources and the threads they run in. */
  readonly sources: Map<string, number>;
}

export class PushGateway {
  readonly #channel = new BroadcastChannel(pushChannel);
  readonly #server: DataServer;
  readonly #log: Logger;
  readonly #routes = new Map<string, Route>();
  readonly #waiting = new Map<number, { left: Set<string>; done: () => void }>();
  #lastSeq = 0;

  /** @param isOpen clients may send without a token */
  constructor(
    server: DataServer,
    log: Logger,
    private readonly isOpen = false,
  ) {
    this.#server = server;
    this.#log = log;
    this.#channel.unref();
    this.#channel.onmessage = (event: unknown) => void this.#take((event as { data: PushMessage }).data);
  }

  close(): void {
    this.#channel.close();
  }

  async #take(message: PushMessage): Promise<void> {
    switch (message.kind) {
      case 'open': {
        const reason = await this.#open(message).then(() => undefined, reasonOf);
        this.#post({ kind: 'opened', id: message.id, reason });
        return;
      }
      case 'close':
        this.#forget(message.id);
        return;
      case 'taken':
        this.#taken(message.seq, message.id);
        return;
      default:
    }
  }

  async #open({ id, thread, method, path }: Extract<PushMessage, { kind: 'open' }>): Promise<void> {
    // Thread ids rise and there is one data plane at a time: sources of an earlier one died with it.
    for (const { sources } of [...this.#routes.values()]) {
      for (const [known, of] of sources) if (of < thread) this.#forget(known);
    }
    const key = `${method} ${path}`;
    let route = this.#routes.get(key);
    if (route === undefined) {
      route = { method, path, sources: new Map() };
      this.#routes.set(key, route);
    }
    const { sources } = route;
    sources.set(id, thread);
    const receive = (request: IncomingMessage, response: ServerResponse) =>
      void this.#receive(request, response, sources);
    await this.#server.serve(method, path, receive, this.isOpen);
  }

  async #receive(
    request: IncomingMessage,
    response: ServerResponse,
    sources: ReadonlyMap<string, number>,
  ): Promise<void> {
    try {
      const body = await readBody(request, maxBodyBytes);
      const isTaken = await this.#hand(body, request.headers.traceparent, sources);
      response.writeHead(isTaken ? 200 : 503, { 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(isTaken ? 'ok' : 'the rules of this path are busy\n');
    } catch (error) {
      const isTooLarge = error instanceof BodyTooLarge;
      if (!isTooLarge) this.#log.debug(`pushed data: ${reasonOf(error)}`);
      if (response.destroyed) return;
      response.writeHead(isTooLarge ? 413 : 400, { Connection: 'close' });
      response.end(`${reasonOf(error)}\n`);
    }
  }

  /** Resolves with true when all sources have taken the body, with false when it takes them too long. */
  #hand(body: Buffer, traceparent: unknown, sources: ReadonlyMap<string, number>): Promise<boolean> {
    const seq = ++this.#lastSeq;
    return new Promise((resolve) => {
      const finish = (isTaken: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(seq);
        resolve(isTaken);
      };
      const timer = setTimeout(() => finish(false), busyTimeoutMs).unref();
      this.#waiting.set(seq, { left: new Set(sources.keys()), done: () => finish(true) });
      const context = typeof traceparent === 'string' ? traceparent : undefined;
      for (const id of sources.keys()) this.#post({ kind: 'data', id, seq, body, traceparent: context });
    });
  }

  #taken(seq: number, id: string): void {
    const wait = this.#waiting.get(seq);
    if (wait === undefined) return;
    wait.left.delete(id);
    if (wait.left.size === 0) wait.done();
  }

  /** A source is gone: nobody waits for it any more, and its path ends with its last source. */
  #forget(id: string): void {
    for (const [key, { method, path, sources }] of this.#routes) {
      if (!sources.delete(id) || sources.size > 0) continue;
      this.#routes.delete(key);
      this.#server.remove(method, path);
    }
    for (const seq of [...this.#waiting.keys()]) this.#taken(seq, id);
  }

  #post(message: PushMessage): void {
    this.#channel.postMessage(message);
  }
}

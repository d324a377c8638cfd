/** Hands bodies that the data server receives to the sources that want them, and answers when they are taken. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BroadcastChannel } from 'node:worker_threads';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import type { PushMessage } from '../../connectors/push-channel.js';
import { announcedBytes, BodyTooLarge, readBody, TooManyBodies } from '../route/body.js';
import type { DataServer } from './data-server.js';
import { type PushOutcome, PushPath } from './push-path.js';

/** Longest message of a stream. */
const maxBodyBytes = 16 << 20;
/** A client waits so long for full sinks. */
const busyTimeoutMs = 30_000;
/** Seconds after which a client that was turned away may try again. */
const retryAfter = '1';

const answers: Readonly<Record<PushOutcome, [status: number, text: string]>> = {
  taken: [200, 'ok'],
  busy: [503, 'the rules of this path are busy\n'],
  unfit: [503, 'there is no memory for the message (basic.maxDataMemory)\n'],
  ended: [503, 'the rules of this path have ended\n'],
  // The only answer that leaves open whether the message was delivered.
  unknown: [504, 'the rules of this path do not answer, the message may have been taken\n'],
};

export interface PushOptions {
  /** Clients may send without a token. */
  readonly isOpen?: boolean;
  readonly busyTimeoutMs?: number;
  readonly slowBodyMs?: number;
}

export class PushGateway {
  readonly #paths = new Map<string, PushPath>();
  /** The path of each source. */
  readonly #pathOf = new Map<string, PushPath>();

  constructor(
    private readonly server: DataServer,
    private readonly log: Logger,
    private readonly channel: BroadcastChannel,
    private readonly options: PushOptions,
  ) {}

  async take(message: PushMessage): Promise<void> {
    switch (message.kind) {
      case 'open': {
        const reason = await this.#open(message).then(() => undefined, reasonOf);
        this.#post({ kind: 'opened', id: message.id, reason });
        return;
      }
      case 'close':
        this.#forget(message.id);
        return;
      case 'flow':
        this.#pathOf.get(message.id)?.flow(message.id, message.isFull);
        return;
      case 'taken':
      case 'unfit':
        this.#pathOf.get(message.id)?.answer(message.id, message.seq, message.kind);
        return;
      default:
    }
  }

  async #open({ id, thread, method, path, isFull }: Extract<PushMessage, { kind: 'open' }>): Promise<void> {
    const key = `${method} ${path}`;
    let of = this.#paths.get(key);
    if (of === undefined) {
      of = new PushPath(method, path, (message) => this.#post(message), this.options.slowBodyMs);
      this.#paths.set(key, of);
    }
    of.add(id, thread, isFull);
    this.#pathOf.set(id, of);
    // Sources of an earlier thread died with it.
    for (const each of this.#paths.values()) each.removeBefore(thread);
    this.#tidy();
    const receive = (request: IncomingMessage, response: ServerResponse) => void this.#receive(request, response, of);
    try {
      await this.server.serve(method, path, receive, this.options.isOpen);
    } catch (error) {
      // The source registers again, or is never heard of again.
      this.#forget(id);
      throw error;
    }
  }

  #forget(id: string): void {
    this.#pathOf.get(id)?.remove(id);
    this.#pathOf.delete(id);
    this.#tidy();
  }

  /** A path ends with its last source. */
  #tidy(): void {
    for (const [key, of] of this.#paths) {
      if (of.isUsed) continue;
      this.#paths.delete(key);
      this.server.remove(of.method, of.path);
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse, path: PushPath): Promise<void> {
    let held = 0;
    let isCut = false;
    const ended = path.receive(() => {
      isCut = true;
      path.release(held);
      held = 0;
      path.refuse('a pushed message came too slowly and was refused: others needed the room');
      const head = { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' };
      response.writeHead(408, head).end('the body came too slowly\n', () => request.destroy());
    });
    try {
      const announced = announcedBytes(request);
      // What is announced holds no room: it may never come.
      if (announced <= maxBodyBytes) path.admit(announced);
      const body = await readBody(request, maxBodyBytes, (bytes) => {
        path.hold(bytes);
        held += bytes;
        if (isCut) throw new Error('the body came too slowly');
      });
      ended();
      const { traceparent } = request.headers;
      const push = { body, traceparent: typeof traceparent === 'string' ? traceparent : undefined };
      const timeoutMs = this.options.busyTimeoutMs ?? busyTimeoutMs;
      const outcome = await path.hand(push, timeoutMs, (leave) => response.once('close', leave));
      if (outcome === 'busy' && !response.destroyed) path.refuse('a pushed message waited too long and was refused');
      answer(response, ...answers[outcome]);
    } catch (error) {
      if (isCut) return;
      const reason = reasonOf(error);
      if (error instanceof TooManyBodies) {
        path.refuse(`a pushed message was refused: ${reason}`);
        // Clients hear the answer when they have sent everything.
        request.resume();
        answer(response, 503, `${reason}\n`);
        return;
      }
      const isTooLarge = error instanceof BodyTooLarge;
      if (!isTooLarge) this.log.debug(`pushed data: ${reason}`);
      if (!response.destroyed) response.writeHead(isTooLarge ? 413 : 400, { Connection: 'close' }).end(`${reason}\n`);
    } finally {
      ended();
      path.release(held);
    }
  }

  #post(message: PushMessage): void {
    this.channel.postMessage(message);
  }
}

function answer(response: ServerResponse, status: number, text: string): void {
  if (response.destroyed) return;
  const again = status === 503 ? { 'Retry-After': retryAfter } : {};
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...again }).end(text);
}

/** Endpoints of the data server, which runs on the main thread, as connectors in the data plane use them. */
import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';
import { connectorErrors } from './errors.js';
import { endpointChannel, ownThread, type PlaneThread } from './push-channel.js';
import type { Sink, SinkChunk, SinkContext } from './running.js';

export type EndpointKind = 'websocket' | 'sse';
export type EndpointRole = 'source' | 'sink';

export interface EndpointOpen {
  kind: 'open';
  id: string;
  thread: PlaneThread;
  endpoint: EndpointKind;
  role: EndpointRole;
  path: string;
  isFull: boolean;
}

/** To the data server. */
export type ToEndpoint =
  | EndpointOpen
  | { kind: 'close'; id: string }
  /** The sinks of the source take no more, or do again: clients are not read meanwhile. */
  | { kind: 'flow'; id: string; isFull: boolean }
  /** The source has taken the messages with the number. */
  | { kind: 'taken'; id: string; seq: number }
  /** Messages for all clients; `ends` are their ends within the bytes. */
  | { kind: 'send'; id: string; seq: number; bytes: Uint8Array; ends: Uint32Array };

/** From the data server. */
export type FromEndpoint =
  | { kind: 'opened'; id: string; reason: string | undefined }
  /** Messages of clients as frames (messages/frames.ts). */
  | { kind: 'data'; id: string; seq: number; frames: Uint8Array }
  /** All clients have got the messages with the number, or were too slow: so many were disconnected. */
  | { kind: 'sent'; id: string; seq: number; slow: number }
  /** A client was refused or disconnected, since all of them together want too much. */
  | { kind: 'refused'; id: string; reason: string };

/** Longest wait for the data server, ms. */
const openTimeoutMs = 3000;

/** One source or sink at an endpoint; there may be several of both. */
export class EndpointLink {
  readonly #id = randomUUID();
  #channel: BroadcastChannel | undefined;
  #opened: (reason: string | undefined) => void = () => {};

  constructor(
    readonly endpoint: EndpointKind,
    readonly role: EndpointRole,
    readonly path: string,
    private readonly take: (message: Exclude<FromEndpoint, { kind: 'opened' }>) => void,
  ) {}

  /** Opens the endpoint; throws why there can be none. */
  async open(isFull: boolean): Promise<void> {
    const { endpoint, role, path } = this;
    if (!path.startsWith('/')) {
      throw connectorErrors.props(`${endpoint} ${role}`, `the endpoint must begin with /, which "${path}" does not`);
    }
    this.#shut();
    const channel = new BroadcastChannel(endpointChannel);
    channel.unref();
    channel.onmessage = (event: unknown) => this.#take((event as { data: FromEndpoint }).data);
    this.#channel = channel;
    let timer: NodeJS.Timeout | undefined;
    const reason = await new Promise<string | undefined>((resolve) => {
      this.#opened = resolve;
      timer = setTimeout(() => resolve('the data server does not answer'), openTimeoutMs);
      this.#post({ kind: 'open', id: this.#id, thread: ownThread(), endpoint, role, path, isFull });
    });
    clearTimeout(timer);
    if (reason === undefined) return;
    this.#shut();
    throw connectorErrors.endpoint(reason);
  }

  close(): void {
    this.#post({ kind: 'close', id: this.#id });
    this.#opened('closed');
    this.#shut();
  }

  flow(isFull: boolean): void {
    this.#post({ kind: 'flow', id: this.#id, isFull });
  }

  taken(seq: number): void {
    this.#post({ kind: 'taken', id: this.#id, seq });
  }

  send(seq: number, bytes: Uint8Array, ends: Uint32Array): void {
    this.#post({ kind: 'send', id: this.#id, seq, bytes, ends });
  }

  #post(message: ToEndpoint): void {
    this.#channel?.postMessage(message);
  }

  #shut(): void {
    this.#channel?.close();
    this.#channel = undefined;
  }

  #take(message: FromEndpoint): void {
    if (message.id !== this.#id) return;
    if (message.kind === 'opened') this.#opened(message.reason);
    else this.take(message);
  }
}

/**
 * Sends messages to all clients of an endpoint; those that nobody waits for are gone. A message is out when each client
 * has it or was too slow: such a client is disconnected, which is counted.
 */
export class EndpointSink implements Sink {
  readonly #link: EndpointLink;
  /** Credit of what is under way, by its number. */
  readonly #underWay = new Map<number, { readonly bytes: number; readonly messages: number }>();
  #lastSeq = 0;
  readonly #onIdle: (() => void)[] = [];
  /** Written before the endpoint is open. */
  #waiting: (() => void)[] | undefined = [];

  constructor(
    kind: EndpointKind,
    path: string,
    readonly context: SinkContext,
  ) {
    this.#link = new EndpointLink(kind, 'sink', path, (message) => {
      if (message.kind === 'sent') this.#sent(message.seq, message.slow);
      else if (message.kind === 'refused') context.failed(0, 0, message.reason);
    });
  }

  async open(): Promise<void> {
    await this.#link.open(false);
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const send of waiting) send();
  }

  write({ bytes, ends, messages }: SinkChunk): void {
    const seq = ++this.#lastSeq;
    this.#underWay.set(seq, { bytes: bytes.length, messages });
    const [copy, own] = [Uint8Array.from(bytes), Uint32Array.from(ends ?? [bytes.length])];
    const send = () => this.#link.send(seq, copy, own);
    if (this.#waiting === undefined) send();
    else this.#waiting.push(send);
  }

  flush(): Promise<void> {
    if (this.#underWay.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {
    this.#link.close();
  }

  #sent(seq: number, slow: number): void {
    const one = this.#underWay.get(seq);
    if (one === undefined) return;
    this.#underWay.delete(seq);
    if (slow > 0) {
      const who = slow === 1 ? 'a client' : `${slow} clients`;
      this.context.failed(0, 0, `${who} of ${this.#link.path} did not keep up and lost the connection`);
    }
    this.context.accepted(one.bytes, one.messages);
    if (this.#underWay.size === 0) for (const call of this.#onIdle.splice(0)) call();
  }
}

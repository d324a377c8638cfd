/**
 * Opens endpoints at the data server for sources and sinks of the data plane: websockets and event streams. Messages of
 * clients go to all sources of a path, and clients are not read while one of these is full or has too much to take.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { BroadcastChannel } from 'node:worker_threads';
import type { WebSocketServer } from 'ws';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import type { EndpointOpen, FromEndpoint, ToEndpoint } from '../../connectors/endpoints.js';
import { isBefore } from '../../connectors/push-channel.js';
import type { DataServer } from './data-server.js';
import { EndpointBounds, type EndpointLimits } from './endpoint-bounds.js';
import { SseEndpoint } from './sse-endpoint.js';
import { maxMessageBytes, WebsocketEndpoint } from './websocket-endpoint.js';

/** Bytes that may be on their way to the sources of a path. */
const maxUnderWay = 1 << 20;

interface User extends Pick<EndpointOpen, 'thread' | 'role'> {
  isFull: boolean;
}

interface Endpoint {
  readonly key: string;
  readonly users: Map<string, User>;
  /** Sources that have not taken the messages with the number yet. */
  readonly underWay: Map<number, { readonly bytes: number; readonly left: Set<string> }>;
  underWayBytes: number;
  readonly clients: WebsocketEndpoint | SseEndpoint;
  /** Ends when all that was sent so far is out. */
  sending: Promise<void>;
  remove(): void;
}

export interface EndpointOptions extends EndpointLimits {
  /** Clients may send without a token. */
  readonly isOpen: boolean;
  readonly log: Logger;
}

export class EndpointGateway {
  readonly #endpoints = new Map<string, Endpoint>();
  /** The endpoint of each source and sink. */
  readonly #endpointOf = new Map<string, Endpoint>();
  #websockets: Promise<WebSocketServer> | undefined;
  #lastSeq = 0;
  #isClosed = false;

  constructor(
    private readonly server: DataServer,
    private readonly options: EndpointOptions,
    /** Leads to the data plane; belongs to the caller. */
    private readonly channel: BroadcastChannel,
  ) {}

  close(): void {
    this.#isClosed = true;
    for (const endpoint of this.#endpoints.values()) this.#end(endpoint);
  }

  /** Takes a message of the data plane. */
  async take(message: ToEndpoint): Promise<void> {
    const { id } = message;
    const endpoint = this.#endpointOf.get(id);
    switch (message.kind) {
      case 'open': {
        const reason = await this.#open(message).then(() => undefined, reasonOf);
        this.#post({ kind: 'opened', id, reason });
        return;
      }
      case 'close':
        this.#forget(id);
        return;
      case 'flow': {
        const user = endpoint?.users.get(id);
        if (user === undefined) return;
        user.isFull = message.isFull;
        regulate(endpoint!);
        return;
      }
      case 'taken':
        if (endpoint !== undefined) taken(endpoint, id, message.seq);
        return;
      case 'send':
        if (endpoint !== undefined) this.#send(endpoint, message);
        return;
      default:
    }
  }

  async #open(asked: EndpointOpen): Promise<void> {
    const { id, thread, role, isFull } = asked;
    // Users of an earlier thread died with it.
    for (const [other, { users }] of this.#endpointOf)
      if (isBefore(users.get(other)?.thread ?? thread, thread)) this.#forget(other);
    const websockets = asked.endpoint === 'websocket' ? await this.#loadWebsockets() : undefined;
    const key = `${asked.endpoint} ${asked.path}`;
    const endpoint = this.#endpoints.get(key) ?? this.#made(key, asked.path, websockets);
    this.#endpoints.set(key, endpoint);
    endpoint.users.set(id, { thread, role, isFull });
    this.#endpointOf.set(id, endpoint);
    try {
      await this.#serve(endpoint, asked.path);
      regulate(endpoint);
    } catch (error) {
      this.#forget(id);
      throw error;
    }
  }

  /** One for all endpoints; its package is loaded with the first. */
  #loadWebsockets(): Promise<WebSocketServer> {
    this.#websockets ??= import('ws').then(
      ({ WebSocketServer: Server }) =>
        new Server({ noServer: true, clientTracking: false, maxPayload: maxMessageBytes, perMessageDeflate: false }),
    );
    return this.#websockets;
  }

  #made(key: string, path: string, websockets: WebSocketServer | undefined): Endpoint {
    const shared = {
      key,
      users: new Map<string, User>(),
      underWay: new Map(),
      underWayBytes: 0,
      sending: Promise.resolve(),
    };
    const bounds = new EndpointBounds(path, this.options, this.options.log, (reason) => {
      for (const id of shared.users.keys()) this.#post({ kind: 'refused', id, reason });
    });
    if (websockets === undefined) {
      return { ...shared, clients: new SseEndpoint(bounds), remove: () => this.server.remove('GET', path) };
    }
    const clients = new WebsocketEndpoint(websockets, (frames) => this.#received(endpoint, frames), bounds);
    const endpoint: Endpoint = { ...shared, clients, remove: () => this.server.removeUpgrade(path) };
    return endpoint;
  }

  async #serve({ clients, users }: Endpoint, path: string): Promise<void> {
    if (clients instanceof SseEndpoint) {
      await this.server.serve('GET', path, (request: IncomingMessage, response: ServerResponse) =>
        clients.open(request, response),
      );
      return;
    }
    const accept = (request: IncomingMessage, socket: Duplex, head: Buffer) => clients.accept(request, socket, head);
    // What sinks send is for those who may read.
    const { isOpen } = this.options;
    const isForAll = isOpen && [...users.values()].every(({ role }) => role === 'source');
    // Those that came without a token would get what the first sink sends.
    if (isOpen && !isForAll && clients.isForAll) clients.close();
    clients.isForAll = isForAll;
    await this.server.serveUpgrade(path, accept, isForAll);
  }

  #received(endpoint: Endpoint, frames: Uint8Array): void {
    const sources = [...endpoint.users].filter(([, { role }]) => role === 'source').map(([id]) => id);
    if (sources.length === 0) return;
    const seq = ++this.#lastSeq;
    endpoint.underWay.set(seq, { bytes: frames.length, left: new Set(sources) });
    endpoint.underWayBytes += frames.length;
    for (const id of sources) this.#post({ kind: 'data', id, seq, frames });
    regulate(endpoint);
  }

  #send(endpoint: Endpoint, { id, seq, bytes, ends }: Extract<ToEndpoint, { kind: 'send' }>): void {
    const messages = Array.from(ends, (end, i) => Buffer.from(bytes.subarray(i === 0 ? 0 : ends[i - 1]!, end)));
    endpoint.sending = endpoint.sending
      .then(() => endpoint.clients.send(messages))
      .then((slow) => this.#post({ kind: 'sent', id, seq, slow }));
  }

  #forget(id: string): void {
    const endpoint = this.#endpointOf.get(id);
    if (endpoint === undefined) return;
    this.#endpointOf.delete(id);
    endpoint.users.delete(id);
    for (const seq of [...endpoint.underWay.keys()]) taken(endpoint, id, seq);
    regulate(endpoint);
    // An endpoint ends with its last user.
    if (endpoint.users.size === 0) this.#end(endpoint);
  }

  #end(endpoint: Endpoint): void {
    this.#endpoints.delete(endpoint.key);
    endpoint.remove();
    endpoint.clients.close();
  }

  /** What ends with the server, such as a send to slow clients, has nobody to tell. */
  #post(message: FromEndpoint): void {
    if (!this.#isClosed) this.channel.postMessage(message);
  }
}

function taken(endpoint: Endpoint, id: string, seq: number): void {
  const one = endpoint.underWay.get(seq);
  if (one?.left.delete(id) !== true || one.left.size > 0) return;
  endpoint.underWay.delete(seq);
  endpoint.underWayBytes -= one.bytes;
  regulate(endpoint);
}

/** Reads from the clients or does not, as the sources can take. */
function regulate({ clients, users, underWayBytes }: Endpoint): void {
  if (clients instanceof SseEndpoint) return;
  const isFull = [...users.values()].some((user) => user.isFull);
  clients.pause(isFull || underWayBytes > maxUnderWay);
}

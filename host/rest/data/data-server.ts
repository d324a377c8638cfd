/** The data server: a port of its own for event streams and pushed data. It listens from its first user on. */
import { type Server as HttpServer, type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { closeHttp, createHttpServer, listen, noteUpgrade } from '../../base/net/http-server.js';
import type { TlsPair } from '../../base/net/tls-files.js';

export type DataHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Goes on with another protocol at the socket; `head` are the first bytes of it. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

interface DataRoute<H = DataHandler> {
  readonly handle: H;
  readonly isOpen: boolean;
}

/** Status and text of an answer to who may not ask. */
interface Refused {
  readonly status: 401 | 403;
  readonly text: string;
}

export interface DataServerOptions {
  readonly ip: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Certificate and key; without them the server speaks plain HTTP. */
  readonly tls: TlsPair | undefined;
  readonly log: Logger;
  /** Stands before every request. */
  readonly guard?: (handle: RequestListener) => RequestListener;
  /** Reason to refuse a request, or undefined; without this function all requests are answered. */
  readonly refusal?: (request: IncomingMessage) => Promise<Refused | undefined>;
}

/** No time limit for answers: an event stream is an answer that goes on. */
const limits = { answerMs: 0 };

export class DataServer {
  readonly #options: DataServerOptions;
  readonly #routes = new Map<string, DataRoute>();
  /** By path. */
  readonly #upgrades = new Map<string, DataRoute<UpgradeHandler>>();
  #http: HttpServer | undefined;
  #listening: Promise<void> | undefined;

  constructor(options: DataServerOptions) {
    this.#options = options;
  }

  /** Port on which the server listens; before that, the configured port. */
  get port(): number {
    const address = this.#http?.address();
    return typeof address === 'object' && address !== null ? address.port : this.#options.port;
  }

  /**
   * Serves requests of one method and path, and starts to listen if nobody did before.
   * Rejects when the port can't be had.
   * @param isOpen asks for no token
   */
  async serve(method: string, path: string, handle: DataHandler, isOpen = false): Promise<void> {
    await this.#listen();
    this.#routes.set(`${method} ${path}`, { handle, isOpen });
  }

  /** Takes a path back. */
  remove(method: string, path: string): void {
    this.#routes.delete(`${method} ${path}`);
  }

  /** As `serve`, for requests to go on as websockets. */
  async serveUpgrade(path: string, handle: UpgradeHandler, isOpen: boolean): Promise<void> {
    await this.#listen();
    // Without a listener requests for another protocol are answered as all others.
    if (this.#upgrades.size === 0) this.#http?.on('upgrade', this.#onUpgrade);
    this.#upgrades.set(path, { handle, isOpen });
  }

  removeUpgrade(path: string): void {
    this.#upgrades.delete(path);
    if (this.#upgrades.size === 0) this.#http?.off('upgrade', this.#onUpgrade);
  }

  async close(): Promise<void> {
    const http = this.#http;
    this.#routes.clear();
    this.#upgrades.clear();
    if (http === undefined) return;
    await closeHttp(http, 0);
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#open().catch((error: unknown) => {
      // The next user tries again.
      this.#listening = undefined;
      throw error;
    });
    return this.#listening;
  }

  async #open(): Promise<void> {
    const { ip, port, tls, log, guard = (handle) => handle } = this.#options;
    const listener = guard((request, response) => void this.#handle(request, response));
    const http = createHttpServer(listener, { tls, limits });
    const url = await listen(http, ip, port, 'the data server', 'source.httpServerPort');
    this.#http = http;
    log.info(`data server listens at ${url}`);
  }

  /** The same checks stand before it as before other requests: it has an answer until its socket is handed over. */
  readonly #onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const { guard = (handle) => handle } = this.#options;
    socket.on('error', () => {});
    const response = new ServerResponse(request);
    response.assignSocket(socket as Socket);
    response.on('finish', () => socket.end());
    const upgrade = () => void this.#upgrade(request, response, socket, head);
    guard(upgrade)(request, response);
  };

  async #upgrade(request: IncomingMessage, response: ServerResponse, socket: Duplex, head: Buffer): Promise<void> {
    const path = pathOf(request);
    const isOpen = this.#options.refusal === undefined || this.#upgrades.get(path)?.isOpen === true;
    const refusal = isOpen ? undefined : await this.#refusal(request);
    if (refusal !== undefined) return unauthorized(response, refusal);
    const route = this.#upgrades.get(path);
    const isWebsocket = request.headers.upgrade?.toLowerCase() === 'websocket';
    if (route === undefined || !isWebsocket) {
      const status = route === undefined && isWebsocket ? 404 : 400;
      response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' });
      response.end(status === 404 ? '404 page not found\n' : 'only websockets are spoken besides HTTP/1.1\n');
      return;
    }
    response.detachSocket(socket as Socket);
    if (this.#http !== undefined) noteUpgrade(this.#http, request);
    route.handle(request, socket, head);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request);
    const key = `${request.method} ${path}`;
    const isOpen = this.#options.refusal === undefined || this.#routes.get(key)?.isOpen === true;
    const refusal = isOpen ? undefined : await this.#refusal(request);
    if (refusal !== undefined) return unauthorized(response, refusal);
    const route = this.#routes.get(key);
    if (route !== undefined) {
      route.handle(request, response);
      return;
    }
    if (this.#upgrades.has(path)) {
      const text = { 'Content-Type': 'text/plain; charset=utf-8', Upgrade: 'websocket', Connection: 'Upgrade' };
      response.writeHead(426, text).end('a websocket is expected here\n');
      return;
    }
    const isKnown = [...this.#routes.keys()].some((known) => known.endsWith(` ${path}`));
    response.writeHead(isKnown ? 405 : 404, { 'Content-Type': 'text/plain; charset=utf-8' });
    response.end(isKnown ? '' : '404 page not found\n');
  }

  async #refusal(request: IncomingMessage): Promise<Refused | undefined> {
    try {
      return await this.#options.refusal?.(request);
    } catch (error) {
      this.#options.log.error(`a token can't be checked: ${reasonOf(error)}`);
      return { status: 401, text: 'the token can not be checked now' };
    }
  }
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/';
}

function unauthorized(response: ServerResponse, { status, text }: Refused): void {
  const head = { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' };
  response.writeHead(status, status === 401 ? { ...head, 'WWW-Authenticate': 'Bearer' } : head).end(text);
}

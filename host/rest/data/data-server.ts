/** The data server: a port of its own for event streams and pushed data. It listens from its first user on. */
import type { Server as HttpServer, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { closeHttp, createHttpServer, listen } from '../../base/net/http-server.js';
import type { TlsPair } from '../../base/net/tls-files.js';

export type DataHandler = (request: IncomingMessage, response: ServerResponse) => void;

interface DataRoute {
  readonly handle: DataHandler;
  readonly isOpen: boolean;
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
  readonly refusal?: (request: IncomingMessage) => Promise<string | undefined>;
}

/** No time limit for answers: an event stream is an answer that goes on. */
const limits = { answerMs: 0 };

export class DataServer {
  readonly #options: DataServerOptions;
  readonly #routes = new Map<string, DataRoute>();
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

  async close(): Promise<void> {
    const http = this.#http;
    this.#routes.clear();
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
    const url = await listen(http, ip, port, 'the data server');
    this.#http = http;
    log.info(`data server listens at ${url}`);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const key = `${request.method} ${path}`;
    const isOpen = this.#options.refusal === undefined || this.#routes.get(key)?.isOpen === true;
    const refusal = isOpen ? undefined : await this.#refusal(request);
    if (refusal !== undefined) {
      const head = { 'Content-Type': 'text/plain; charset=utf-8', 'WWW-Authenticate': 'Bearer', Connection: 'close' };
      response.writeHead(401, head).end(refusal);
      return;
    }
    const route = this.#routes.get(key);
    if (route !== undefined) {
      route.handle(request, response);
      return;
    }
    const isKnown = [...this.#routes.keys()].some((known) => known.endsWith(` ${path}`));
    response.writeHead(isKnown ? 405 : 404, { 'Content-Type': 'text/plain; charset=utf-8' });
    response.end(isKnown ? '' : '404 page not found\n');
  }

  async #refusal(request: IncomingMessage): Promise<string | undefined> {
    try {
      return await this.#options.refusal?.(request);
    } catch (error) {
      this.#options.log.error(`a token can't be checked: ${reasonOf(error)}`);
      return 'the token can not be checked now';
    }
  }
}

/** The data server: a port of its own for event streams and pushed data. It listens from its first user on. */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { closeHttp, createHttpServer, listen, type Pem } from '../base/http-server.js';
import type { Logger } from '../base/log.js';

export type DataHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface DataServerOptions {
  readonly ip: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Without it the server speaks plain HTTP. */
  readonly tls: Pem | undefined;
  readonly log: Logger;
}

/** Event streams are answers that go on; they are bounded by what they belong to. */
const limits = { answerMs: 0 };

export class DataServer {
  readonly #options: DataServerOptions;
  readonly #routes = new Map<string, DataHandler>();
  #http: HttpServer | undefined;
  #listening: Promise<void> | undefined;

  constructor(options: DataServerOptions) {
    this.#options = options;
  }

  /** The port it listens on; the configured one before. */
  get port(): number {
    const address = this.#http?.address();
    return typeof address === 'object' && address !== null ? address.port : this.#options.port;
  }

  /**
   * Serves requests of one method and path, and starts to listen if nobody did before.
   * Rejects when the port can't be had.
   */
  async serve(method: string, path: string, handle: DataHandler): Promise<void> {
    await this.#listen();
    this.#routes.set(`${method} ${path}`, handle);
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
    const { ip, port, tls, log } = this.#options;
    const http = createHttpServer((request, response) => this.#handle(request, response), { tls, limits });
    const url = await listen(http, ip, port, 'the data server');
    this.#http = http;
    log.info(`data server listens at ${url}`);
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader('Access-Control-Allow-Origin', '*');
    if (request.method === 'OPTIONS') {
      response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, DELETE, HEAD');
      response.setHeader('Access-Control-Allow-Headers', request.headers['access-control-request-headers'] ?? '*');
      response.writeHead(204).end();
      return;
    }
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const route = this.#routes.get(`${request.method} ${path}`);
    if (route !== undefined) {
      route(request, response);
      return;
    }
    const isKnown = [...this.#routes.keys()].some((key) => key.endsWith(` ${path}`));
    response.writeHead(isKnown ? 405 : 404, { 'Content-Type': 'text/plain; charset=utf-8' });
    response.end(isKnown ? '' : '404 page not found\n');
  }
}

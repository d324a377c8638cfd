/** Requests of a service over HTTP/1.1, on connections that are kept. */
import type { Socket } from 'node:net';
import { type Dispatcher, Pool } from 'undici';
import { reasonOf } from '../../base/errors.js';
import { ServiceFault, shortReason } from './faults.js';

export interface HttpRequest {
  readonly verb: string;
  /** Path with its query. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: Buffer | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  /** What `retry-after` says; empty without it. */
  readonly retryAfter: string;
  readonly body: Buffer;
}

interface HttpSettings {
  /** Where the connections lead: `https://shop.example:8443`. */
  readonly origin: string;
  /** Opens a connection to an address that may be asked. */
  connect(): Promise<Socket>;
  /** Most requests under way at once. */
  readonly atOnce: number;
  /** Longest body of an answer. */
  readonly maxBytes: number;
}

interface HttpEnding {
  answered(answer: HttpAnswer): void;
  failed(fault: ServiceFault): void;
}

const maxHeadBytes = 64 << 10;
/** A connection is not used any more so long before the server ends it, ms. */
const earlyMs = 1000;
/** Verbs that do the same when they come twice. */
const idempotent = /^(GET|HEAD|PUT|DELETE|OPTIONS)$/;

export class HttpRequests {
  readonly #pool: Pool;
  /** Errors of connections that had brought an answer before. */
  readonly #ofUsed = new WeakSet<object>();

  constructor(private readonly settings: HttpSettings) {
    this.#pool = new Pool(settings.origin, {
      connections: settings.atOnce,
      pipelining: 1,
      maxHeaderSize: maxHeadBytes,
      keepAliveTimeoutThreshold: earlyMs,
      // Calls have their own time.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_options, done) => void this.#connect(done),
    });
  }

  /** Sends a request; returns what gives it up. */
  send(request: HttpRequest, ending: HttpEnding): () => void {
    let exchange: Exchange;
    const begin = (again: ((error: Error) => boolean) | undefined) => {
      exchange = new Exchange(this.settings.maxBytes, ending, again);
      this.#pool.dispatch({ ...request, method: request.verb as Dispatcher.HttpMethod }, exchange);
    };
    const again = (error: Error) => {
      if (!this.#isOfUsed(error)) return false;
      begin(undefined);
      return true;
    };
    begin(idempotent.test(request.verb) ? again : undefined);
    return () => exchange.giveUp();
  }

  close(): void {
    void this.#pool.destroy();
  }

  async #connect(done: (...answer: [null, Socket] | [Error, null]) => void): Promise<void> {
    let socket: Socket;
    try {
      socket = await this.settings.connect();
    } catch (error) {
      done(error as Error, null);
      return;
    }
    socket.on('error', (error) => {
      if (socket.bytesRead > 0) this.#ofUsed.add(error);
    });
    done(null, socket);
  }

  /** Whether the server has ended a connection that was kept, perhaps while the request was under way to it. */
  #isOfUsed(error: Error & { readonly socket?: { readonly bytesRead?: number } }): boolean {
    return this.#ofUsed.has(error) || (error.socket?.bytesRead ?? 0) > 0;
  }
}

/** A request and its answer, as the library tells of them. */
class Exchange implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined;
  #head: Omit<HttpAnswer, 'body'> | undefined;
  readonly #parts: Buffer[] = [];
  #size = 0;
  #isOver = false;

  constructor(
    private readonly maxBytes: number,
    private readonly ending: HttpEnding,
    /** Sends the request again, if that helps; undefined when it must not be. */
    private readonly again: ((error: Error) => boolean) | undefined,
  ) {}

  giveUp(): void {
    this.#isOver = true;
    this.#controller?.abort(new Error('the request was given up'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) this.giveUp();
  }

  onResponseStart(_controller: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    // Those of a status below 200 are none of the answer.
    if (status < 200) return;
    const one = (name: string) => String(headers[name] ?? '');
    if (!/^(identity)?$/i.test(one('content-encoding'))) {
      throw new ServiceFault('refused', 'the answer is compressed, which was not agreed');
    }
    this.#head = { status, contentType: one('content-type'), retryAfter: one('retry-after') };
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.maxBytes) {
      throw new ServiceFault('refused', `the answer has more than ${this.maxBytes} bytes`);
    }
    this.#parts.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#isOver || this.#head === undefined) return;
    this.#isOver = true;
    const body = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.ending.answered({ ...this.#head, body });
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#head === undefined && this.again?.(error) === true) return;
    this.ending.failed(faultOf(error));
  }
}

/** Codes of what a request can't have, or of heads that are too long. */
const refusals = /^UND_ERR_(HEADERS_OVERFLOW|INVALID_ARG|NOT_SUPPORTED)$/;

/** What an error of the library says of the call: no HTTP came, it can't be sent, or there is no connection. */
function faultOf(error: Error & { readonly code?: unknown }): ServiceFault {
  if (error instanceof ServiceFault) return error;
  const { name, code, message } = error;
  if (name === 'HTTPParserError') {
    return new ServiceFault('refused', `the answer is not one of HTTP/1.1: ${shortReason(message)}`);
  }
  if (message === 'bad response' || message === 'bad upgrade') {
    return new ServiceFault('refused', 'the answer has the status 100 or 101, which nobody asked for');
  }
  return new ServiceFault(refusals.test(String(code)) ? 'refused' : 'unreachable', shortReason(reasonOf(error)));
}

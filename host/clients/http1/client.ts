/**
 * Many small requests of HTTP/1.1 to one server, over connections that are kept. A request is one write, an answer is
 * read without a stream, which is less work than the client of Node.js has with it.
 */
import type { Socket } from 'node:net';
import { reasonOf } from '../../base/errors.js';
import { AnswerReader, type Http1Answer } from './answer.js';

export interface Http1Settings {
  connect(): Promise<Socket>;
  /** Longest body of an answer. */
  readonly maxBytes: number;
}

/** Why there is no answer: `broken` means that one came which can't be read. */
export interface Http1Fault {
  readonly kind: 'unreachable' | 'broken';
  readonly reason: string;
}

export interface Http1Ending {
  answered(answer: Http1Answer): void;
  failed(fault: Http1Fault): void;
}

export interface Http1Request {
  /** Head and body as they go out. */
  readonly bytes: Buffer;
  readonly isHead: boolean;
  /** To send it twice is to send it once. */
  readonly isIdempotent: boolean;
}

/** Longest time for which a connection is kept unused, ms: servers end theirs after five seconds, some of them. */
const keptMs = 4000;
/** A connection is not used any more so long before the server ends it, ms. */
const earlyMs = 1000;

interface Call {
  readonly request: Http1Request;
  readonly ending: Http1Ending;
  isOver: boolean;
  connection: Connection | undefined;
}

export class Http1Client {
  /** Unused connections, the one used last at the end. */
  readonly #free: Connection[] = [];
  readonly #all = new Set<Connection>();
  #isClosed = false;

  constructor(private readonly settings: Http1Settings) {}

  /** Sends a request; returns what gives it up. There is a connection for each request that is under way. */
  send(request: Http1Request, ending: Http1Ending): () => void {
    const call: Call = { request, ending, isOver: false, connection: undefined };
    this.#begin(call);
    return () => {
      call.isOver = true;
      // What comes of the answer would be taken for the next one.
      call.connection?.end();
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#all) connection.end();
  }

  #begin(call: Call): void {
    const now = performance.now();
    for (let last = this.#free.pop(); last !== undefined; last = this.#free.pop()) {
      if (now < last.keptUntil) {
        this.#use(last, call, true);
        return;
      }
      last.end();
    }
    this.#open(call).catch((error: unknown) => this.#fail(call, { kind: 'unreachable', reason: reasonOf(error) }));
  }

  async #open(call: Call): Promise<void> {
    const socket = await this.settings.connect();
    if (this.#isClosed || call.isOver) {
      socket.destroy();
      return;
    }
    const connection: Connection = new Connection(socket, this.settings.maxBytes, () => this.#gone(connection));
    this.#all.add(connection);
    this.#use(connection, call, false);
  }

  #use(connection: Connection, call: Call, wasUsed: boolean): void {
    call.connection = connection;
    connection.send(call.request, {
      answered: (answer) => {
        call.connection = undefined;
        if (connection.keptUntil > 0 && !this.#isClosed) this.#free.push(connection);
        else connection.end();
        if (call.isOver) return;
        call.isOver = true;
        call.ending.answered(answer);
      },
      failed: (fault, isUntouched) => {
        call.connection = undefined;
        // The server has ended the connection while the request was under way to it.
        if (wasUsed && isUntouched && call.request.isIdempotent && !call.isOver && !this.#isClosed) this.#begin(call);
        else this.#fail(call, fault);
      },
    });
  }

  #gone(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#free.indexOf(connection);
    if (at >= 0) this.#free.splice(at, 1);
  }

  #fail(call: Call, fault: Http1Fault): void {
    if (call.isOver) return;
    call.isOver = true;
    call.ending.failed(fault);
  }
}

interface Exchange {
  answered(answer: Http1Answer): void;
  failed(fault: Http1Fault, isUntouched: boolean): void;
}

/** A connection with at most one request under way. */
class Connection {
  readonly #reader: AnswerReader;
  #exchange: Exchange | undefined;
  #isHead = false;
  #reason = 'the connection was closed';
  /** Time until which the connection may be used again; 0: not at all. */
  keptUntil = 0;

  constructor(
    private readonly socket: Socket,
    maxBytes: number,
    onEnd: () => void,
  ) {
    this.#reader = new AnswerReader(maxBytes);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => {
      this.#reason = error.message;
    });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      onEnd();
      this.#closed();
    });
  }

  send(request: Http1Request, exchange: Exchange): void {
    this.#exchange = exchange;
    this.#isHead = request.isHead;
    this.keptUntil = 0;
    this.socket.write(request.bytes);
  }

  end(): void {
    this.keptUntil = 0;
    this.socket.destroy();
  }

  #take(chunk: Buffer): void {
    const exchange = this.#exchange;
    if (exchange === undefined) {
      // Nobody has asked.
      this.end();
      return;
    }
    let answer: Http1Answer | undefined;
    try {
      answer = this.#reader.take(chunk, this.#isHead);
    } catch (error) {
      this.#exchange = undefined;
      this.end();
      exchange.failed({ kind: 'broken', reason: reasonOf(error) }, false);
      return;
    }
    if (answer === undefined) return;
    this.#exchange = undefined;
    const { isKept, keepMs = keptMs + earlyMs } = this.#reader;
    if (isKept) this.keptUntil = performance.now() + Math.min(keptMs, keepMs - earlyMs);
    exchange.answered(answer);
  }

  #closed(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    this.#exchange = undefined;
    const answer = this.#reader.closed();
    if (answer !== undefined) exchange.answered(answer);
    else exchange.failed({ kind: 'unreachable', reason: this.#reason }, this.#reader.isEmpty);
  }
}

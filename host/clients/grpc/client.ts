/** Unary calls of gRPC over one connection of HTTP/2, which is made with the first call and again after its end. */
import type { Socket } from 'node:net';
import { reasonOf } from '../../base/errors.js';
import { Http2Connection } from '../http2/connection.js';
import type { HeaderField } from '../http2/static-table.js';

export interface GrpcSettings {
  connect(): Promise<Socket>;
  readonly isSecure: boolean;
  readonly authority: string;
  /** Metadata of each call. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Longest message of an answer. */
  readonly maxBytes: number;
}

/** Why a call has no answer; `code` is what the service gives, undefined where it gives none. */
export interface GrpcFault {
  readonly code: number | undefined;
  readonly reason: string;
}

export interface GrpcEnding {
  answered(message: Buffer): void;
  failed(fault: GrpcFault): void;
}

/** Bytes in front of a message: whether it is compressed, and its length. */
export const messageHead = 5;

/** Names of the codes, for errors. */
const codes = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
];
const unavailable = 14;
/** How often a call is sent that servers have not begun with, as when they end connections from time to time. */
const untouchedTries = 3;

interface Call {
  readonly head: Buffer;
  readonly body: Buffer;
  readonly ending: GrpcEnding;
  tries: number;
  giveUp: (() => void) | undefined;
  isOver: boolean;
}

export class GrpcClient {
  #connection: Http2Connection | undefined;
  /** Calls that wait for the connection; undefined while nobody connects. */
  #connecting: Call[] | undefined;
  #isClosed = false;

  constructor(private readonly settings: GrpcSettings) {}

  /** Headers of the calls of a method: `/shop.Shop/GetPrice`. */
  headOf(path: string): Buffer {
    const { isSecure, authority, headers, timeoutMs } = this.settings;
    const fields: HeaderField[] = [
      [':method', 'POST'],
      [':scheme', isSecure ? 'https' : 'http'],
      [':path', path],
      [':authority', authority],
      ['te', 'trailers'],
      ['grpc-timeout', `${timeoutMs}m`],
      ['content-type', 'application/grpc'],
      ['user-agent', 'haumea'],
    ];
    for (const [name, value] of Object.entries(headers)) {
      const key = name.toLowerCase();
      if (!reserved.test(key)) fields.push([key, value]);
    }
    return Http2Connection.headersOf(fields);
  }

  /** Sends a message, in front of which are `messageHead` free bytes; returns what gives the call up. */
  call(head: Buffer, body: Buffer, ending: GrpcEnding): () => void {
    body.writeUInt8(0, 0);
    body.writeUInt32BE(body.length - messageHead, 1);
    const call: Call = { head, body, ending, tries: 0, giveUp: undefined, isOver: false };
    this.#send(call);
    return () => {
      call.isOver = true;
      call.giveUp?.();
    };
  }

  /** A call has had no answer in time: looks whether the connection is alive. */
  probe(): void {
    this.#connection?.probe(this.settings.timeoutMs);
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
  }

  #send(call: Call): void {
    if (call.isOver) return;
    call.tries++;
    if (this.#connection !== undefined) this.#request(this.#connection, call);
    else if (this.#connecting !== undefined) this.#connecting.push(call);
    else {
      this.#connecting = [call];
      this.#connect().catch((error: unknown) => {
        const waiting = this.#connecting ?? [];
        this.#connecting = undefined;
        for (const one of waiting) this.#fail(one, { code: undefined, reason: reasonOf(error) });
      });
    }
  }

  async #connect(): Promise<void> {
    const socket = await this.settings.connect();
    if (this.#isClosed) {
      socket.destroy();
      throw new Error('the service is not used any more');
    }
    const connection: Http2Connection = new Http2Connection(socket, () => {
      if (this.#connection === connection) this.#connection = undefined;
    });
    this.#connection = connection;
    const waiting = this.#connecting ?? [];
    this.#connecting = undefined;
    for (const call of waiting) if (!call.isOver) this.#request(connection, call);
  }

  #request(connection: Http2Connection, call: Call): void {
    const { maxBytes } = this.settings;
    let trailers: ReadonlyMap<string, string> = new Map();
    let first: ReadonlyMap<string, string> | undefined;
    let bytes: Buffer | undefined;
    call.giveUp = connection.request(call.head, call.body, {
      headers: (fields) => {
        // Those of a status below 200 are none of the answer.
        if (first === undefined && !/^1/.test(fields.get(':status') ?? '')) first = fields;
        trailers = fields;
      },
      data: (chunk) => {
        bytes = bytes === undefined ? chunk : Buffer.concat([bytes, chunk]);
        if (bytes.length <= maxBytes + messageHead) return;
        call.giveUp?.();
        this.#fail(call, { code: codes.indexOf('OUT_OF_RANGE'), reason: `the answer has more than ${maxBytes} bytes` });
      },
      ended: () => {
        const fault = faultOf(first ?? new Map(), trailers, bytes);
        if (fault !== undefined) this.#fail(call, fault);
        else if (!call.isOver) {
          call.isOver = true;
          call.ending.answered(bytes!.subarray(messageHead));
        }
      },
      failed: (reason, isUntouched) => {
        if (isUntouched && call.tries < untouchedTries && !this.#isClosed) this.#send(call);
        else this.#fail(call, { code: undefined, reason });
      },
    });
  }

  #fail(call: Call, fault: GrpcFault): void {
    if (call.isOver) return;
    call.isOver = true;
    call.ending.failed(fault);
  }
}

/** Headers that the protocol sets, or that belong to a connection. */
const reserved = /^(te|content-type|user-agent|grpc-.*|host|connection|keep-alive|transfer-encoding|upgrade|proxy-.*)$/;

/** What is wrong with an answer; undefined when it has its message. */
function faultOf(
  first: ReadonlyMap<string, string>,
  trailers: ReadonlyMap<string, string>,
  bytes: Buffer | undefined,
): GrpcFault | undefined {
  const given = trailers.get('grpc-status');
  if (given === undefined) {
    const status = Number(first.get(':status'));
    const isDown = status === 429 || (status >= 502 && status <= 504);
    const reason = status === 200 ? 'the answer has no grpc-status' : `status ${status} of HTTP`;
    return { code: isDown ? unavailable : 2, reason };
  }
  const code = Number(given);
  if (code !== 0) return { code, reason: `${codes[code] ?? `code ${given}`}: ${messageIn(trailers)}` };
  if (bytes === undefined || bytes.length < messageHead) return { code: 13, reason: 'the answer has no message' };
  if (bytes[0] !== 0) return { code: 13, reason: 'the answer is compressed, which was not agreed' };
  const size = bytes.readUInt32BE(1);
  if (size !== bytes.length - messageHead) return { code: 13, reason: 'the answer is not one whole message' };
  return undefined;
}

function messageIn(trailers: ReadonlyMap<string, string>): string {
  const text = trailers.get('grpc-message') ?? '';
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

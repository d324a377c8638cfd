/** Calls of MessagePack-RPC over one connection, which is made with the first call and again after its end. */
import type { Socket } from 'node:net';
import type { Decoder, Encoder } from '@msgpack/msgpack';
import { reasonOf } from '../../base/errors.js';
import { ValueEnd } from './frames.js';

export interface RpcSettings {
  connect(): Promise<Socket>;
  /** Longest answer. */
  readonly maxBytes: number;
}

/** Why a call has no answer: the other side has an error, or sends what can't be read, or is not there. */
export interface RpcFault {
  readonly kind: 'error' | 'unreachable';
  readonly reason: string;
}

export interface RpcEnding {
  answered(result: unknown): void;
  failed(fault: RpcFault): void;
}

const request = 0;
const response = 1;
const notification = 2;
const maxId = 0xffffffff;

interface Call {
  readonly bytes: Uint8Array;
  readonly id: number;
  readonly ending: RpcEnding;
}

export class RpcClient {
  #socket: Socket | undefined;
  #isConnecting = false;
  #isClosed = false;
  /** Calls without an answer, by their numbers. */
  readonly #calls = new Map<number, Call>();
  #nextId = 0;
  #rest: Buffer = Buffer.alloc(0);
  #end = new ValueEnd();
  /** What goes out in one write. */
  #out: Uint8Array[] = [];
  /** A call was late, and nothing has come since then. */
  #isSuspect = false;

  constructor(
    private readonly settings: RpcSettings,
    private readonly codec: { readonly encoder: Encoder; readonly decoder: Decoder },
  ) {}

  /** Sends a call; returns what gives it up. Throws for one that is longer than it may be. */
  call(method: string, params: readonly unknown[], maxBytes: number, ending: RpcEnding): (isLate: boolean) => void {
    const id = this.#freeId();
    const bytes = this.codec.encoder.encode([request, id, method, params]);
    if (bytes.length > maxBytes) throw new Error(`the message has more than ${maxBytes} bytes`);
    const call: Call = { bytes, id, ending };
    this.#calls.set(id, call);
    if (this.#socket !== undefined) this.#write(bytes);
    else if (!this.#isConnecting) this.#connect();
    return (isLate) => {
      this.#calls.delete(id);
      if (isLate) this.#late();
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  #freeId(): number {
    do this.#nextId = this.#nextId === maxId ? 0 : this.#nextId + 1;
    while (this.#calls.has(this.#nextId));
    return this.#nextId;
  }

  /** The protocol has no sign of life: a connection on which nothing comes between two late calls is given up. */
  #late(): void {
    if (this.#isSuspect) this.#socket?.destroy(new Error('it gives no sign of life'));
    this.#isSuspect = true;
  }

  #connect(): void {
    this.#isConnecting = true;
    this.settings.connect().then(
      (socket) => {
        this.#isConnecting = false;
        if (this.#isClosed) socket.destroy();
        else this.#connected(socket);
      },
      (error: unknown) => {
        this.#isConnecting = false;
        this.#failAll(reasonOf(error));
      },
    );
  }

  #connected(socket: Socket): void {
    let reason = 'the connection was closed';
    this.#socket = socket;
    this.#rest = Buffer.alloc(0);
    this.#end = new ValueEnd();
    this.#isSuspect = false;
    socket.on('data', (chunk: Buffer) => {
      try {
        this.#take(chunk);
      } catch (error) {
        reason = reasonOf(error);
        socket.destroy();
      }
    });
    socket.on('error', (error) => {
      reason = error.message;
    });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#failAll(reason);
    });
    for (const { bytes } of this.#calls.values()) this.#write(bytes);
  }

  #write(bytes: Uint8Array): void {
    if (this.#out.push(bytes) > 1) return;
    queueMicrotask(() => {
      const [first, ...more] = this.#out;
      this.#out = [];
      if (first === undefined) return;
      this.#socket?.write(more.length === 0 ? first : Buffer.concat([first, ...more]));
    });
  }

  #take(chunk: Buffer): void {
    this.#isSuspect = false;
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let end = this.#end.find(bytes); end !== undefined; end = this.#end.find(bytes)) {
      this.#answer(this.codec.decoder.decode(bytes.subarray(0, end)));
      bytes = bytes.subarray(end);
    }
    if (bytes.length > this.settings.maxBytes) {
      throw new Error(`the answer has more than ${this.settings.maxBytes} bytes`);
    }
    this.#rest = bytes;
  }

  #answer(message: unknown): void {
    if (!Array.isArray(message)) throw new Error('it sends what is no answer');
    const [type, id, error, result] = message as unknown[];
    if (type === notification) return;
    if (type !== response || message.length !== 4) throw new Error('it sends what is no answer');
    const call = this.#calls.get(Number(id));
    // One that was given up may be answered late.
    if (call === undefined) return;
    this.#calls.delete(call.id);
    if (error === null || error === undefined) call.ending.answered(result);
    else call.ending.failed({ kind: 'error', reason: textOf(error) });
  }

  #failAll(reason: string): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const { ending } of calls) ending.failed({ kind: 'unreachable', reason });
  }
}

function textOf(error: unknown): string {
  if (typeof error === 'string') return error;
  return JSON.stringify(error, (_name, value) => (typeof value === 'bigint' ? String(value) : value)) ?? 'an error';
}

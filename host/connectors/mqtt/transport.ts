/**
 * The byte stream below mqtt.js. Bytes of the socket go to a tap first, which takes PUBLISH packets out and hands all
 * other packets on; without a tap everything goes to mqtt.js. Writes of mqtt.js and of the engine share one order.
 *
 * mqtt.js says when the broker is to be asked whether it lives, and what an answer is is known here (silence.ts):
 * mqtt.js does not see the messages, and an answer that comes behind a backlog of them would be too late for it.
 */
import { connect as connectTcp, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { TlsOptions } from '../tls-options.js';
import { Silence } from './silence.js';

export interface Endpoint {
  host: string;
  port: number;
  tls?: TlsOptions;
  /** Opens a websocket, whose messages are the bytes of the stream. */
  websocket?(): Duplex;
}

/** Takes the bytes of the socket as they come; a view valid during the call. */
export type TransportTap = (bytes: Buffer) => void;

const readBytes = 256 * 1024;
const pingRequest = 0xc0;
const pingBytes = 2;
const pingResponse = Buffer.from([0xd0, 0]);
/** A ping of the transport itself, told from the pings of mqtt.js by the identity of the buffer. */
const ownPing = Buffer.from([pingRequest, 0]);

export class Transport extends Duplex {
  readonly #socket: Socket | Duplex;
  /** Gets all bytes of the socket; without it mqtt.js does. To be set before the first turn of the event loop. */
  tap: TransportTap | undefined;
  /** Reasons why reading pauses: the sinks are full, or small packets are gathered. */
  #isHeld = false;
  #isGathering = false;
  readonly #silence: Silence;
  /** Unanswered pings in order: a callback for each of the transport's own, undefined for those of mqtt.js. */
  #pings: ((() => void) | undefined)[] = [];
  #onAnswer: () => void = () => {};

  /** @param patienceMs longest silence of a broker that was asked whether it is alive, ms */
  constructor(endpoint: Endpoint, patienceMs: number) {
    super({ allowHalfOpen: false });
    this.#silence = new Silence(patienceMs, () => this.destroy(new Error('Keepalive timeout')));
    const { host, port, tls, websocket } = endpoint;
    if (websocket !== undefined) {
      this.#socket = websocket();
      this.#socket.on('data', (bytes: Buffer) => this.#take(bytes));
    } else if (tls !== undefined) {
      this.#socket = connectTls({ host, port, servername: /^[\d.:]+$/.test(host) ? undefined : host, ...tls });
      this.#socket.on('data', (bytes: Buffer) => this.#take(bytes));
    } else {
      const buffer = Buffer.allocUnsafeSlow(readBytes);
      const callback = (length: number) => {
        this.#take(buffer.subarray(0, length));
        return !this.#isHeld && !this.#isGathering;
      };
      this.#socket = connectTcp({ host, port, onread: { buffer, callback } }).setNoDelay(true);
    }
    this.#socket.on('end', () => this.destroy());
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.on('close', () => this.destroy());
  }

  /** Hands a packet on to mqtt.js. */
  pass(packet: Uint8Array): void {
    if (!this.destroyed) this.push(Buffer.from(packet));
  }

  /** Pings the broker behind all written packets; only one ping may be under way. */
  ping(answered: () => void): void {
    this.#onAnswer = answered;
    this.write(ownPing);
  }

  /** The broker has answered the oldest ping. */
  pong(): void {
    this.#pings.shift()?.();
  }

  /** Stops and starts reading for a full sink. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#flow();
  }

  /** Stops reading for a moment, so that the next read brings more at once. */
  gather(ms: number): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#flow();
    setTimeout(() => {
      this.#isGathering = false;
      this.#flow();
    }, ms);
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#answerPing(chunk);
    this.#socket.write(chunk, this.#written(callback));
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    for (const { chunk } of chunks) this.#answerPing(chunk);
    this.#socket.write(
      chunks.length === 1 ? chunks[0]!.chunk : Buffer.concat(chunks.map(({ chunk }) => chunk)),
      this.#written(callback),
    );
  }

  /** Node.js reports a write that the end of its socket cuts short as completed. */
  #written(callback: (error?: Error | null) => void): (error?: Error | null) => void {
    return (error) => {
      const isCut = error === undefined || error === null ? this.#socket.destroyed : false;
      callback(isCut ? (this.#socket.errored ?? new Error('connection closed')) : error);
    };
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#silence.close();
    this.#socket.destroy();
    callback(error);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end(() => callback());
  }

  #take(bytes: Buffer): void {
    if (this.destroyed) return;
    this.#silence.broken();
    if (this.tap === undefined) this.push(Buffer.from(bytes));
    else this.tap(bytes);
  }

  #flow(): void {
    if (this.destroyed) return;
    const isPaused = this.#isHeld || this.#isGathering;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
    this.#silence.listens(!isPaused);
  }

  /** Answers a ping of mqtt.js at once; the transport itself waits for the answer of the broker. */
  #answerPing(chunk: Buffer): void {
    if (chunk.length !== pingBytes || chunk[0] !== pingRequest || chunk[1] !== 0) return;
    // Without a tap `pong` is never called.
    if (this.tap !== undefined) this.#pings.push(chunk === ownPing ? this.#onAnswer : undefined);
    this.#silence.asked();
    if (chunk === ownPing) return;
    setImmediate(() => this.pass(pingResponse));
  }
}

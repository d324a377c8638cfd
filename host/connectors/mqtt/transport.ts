/**
 * The byte stream below mqtt.js. Bytes of the socket go to a tap first, which takes PUBLISH packets out and hands all
 * other packets on; without a tap everything goes to mqtt.js. Writes of mqtt.js and of the engine share one order.
 */
import { connect as connectTcp, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, type SecureVersion } from 'node:tls';

export interface Endpoint {
  host: string;
  port: number;
  tls?: {
    cert?: Buffer;
    key?: Buffer;
    ca?: Buffer;
    rejectUnauthorized: boolean;
    minVersion: SecureVersion;
  };
}

/** Takes the bytes of the socket as they come; a view valid during the call. */
export type TransportTap = (bytes: Buffer) => void;

const readBytes = 256 * 1024;
const pingRequest = 0xc0;
const pingResponse = Buffer.from([0xd0, 0]);

export class Transport extends Duplex {
  readonly #socket: Socket;
  /** Takes the bytes; without it they all go to mqtt.js. To be set before the first turn of the event loop. */
  tap: TransportTap | undefined;
  /** Why reading stands still: the sinks are full, or small packets are gathered. */
  #isHeld = false;
  #isGathering = false;

  constructor(endpoint: Endpoint) {
    super({ allowHalfOpen: false });
    const { host, port, tls } = endpoint;
    if (tls !== undefined) {
      this.#socket = connectTls({ host, port, servername: /^[\d.:]+$/.test(host) ? undefined : host, ...tls });
      this.#socket.on('data', (bytes: Buffer) => this.#take(bytes));
    } else {
      const buffer = Buffer.allocUnsafeSlow(readBytes);
      const callback = (length: number) => {
        this.#take(buffer.subarray(0, length));
        return !this.#isHeld && !this.#isGathering;
      };
      this.#socket = connectTcp({ host, port, onread: { buffer, callback } });
      this.#socket.setNoDelay(true);
    }
    this.#socket.on('end', () => this.destroy());
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.on('close', () => this.destroy());
  }

  /** Hands a packet on to mqtt.js. */
  pass(packet: Uint8Array): void {
    if (!this.destroyed) this.push(Buffer.from(packet));
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

  /** A write that the end of its socket cuts short is reported like one that was completed. */
  #written(callback: (error?: Error | null) => void): (error?: Error | null) => void {
    return (error) => {
      const isCut = error === undefined || error === null ? this.#socket.destroyed : false;
      callback(isCut ? (this.#socket.errored ?? new Error('connection closed')) : error);
    };
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#socket.end(() => callback());
  }

  #take(bytes: Buffer): void {
    if (this.destroyed) return;
    if (this.tap === undefined) this.push(Buffer.from(bytes));
    else this.tap(bytes);
  }

  #flow(): void {
    if (this.destroyed) return;
    if (this.#isHeld || this.#isGathering) this.#socket.pause();
    else this.#socket.resume();
  }

  /**
   * While reading is held the broker's answer to a ping can't arrive. The ping keeps the broker content; mqtt.js gets
   * its answer from here, or it would take the connection for dead.
   */
  #answerPing(chunk: Buffer): void {
    if (this.#isHeld && chunk[0] === pingRequest) setImmediate(() => this.pass(pingResponse));
  }
}

/**
 * Messages of websocket clients that have begun and not ended: memory that grows with the number of clients. Of all
 * clients of an endpoint together it has a bound; beyond it, who began first loses the connection, so that one that
 * sends large messages to their end gets through beside others that never end theirs.
 */
import type { Duplex } from 'node:stream';

export class BegunMessages {
  /** Who began first stands first. */
  readonly #clients = new Map<Duplex, { readonly bytes: number; readonly cut: () => void }>();
  #bytes = 0;

  constructor(readonly maxBytes: number) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** Follows what comes of a client; `cut` ends its connection. */
  follow(socket: Duplex, cut: () => void): void {
    const frames = new FrameReader();
    socket.on('data', (chunk: Buffer) => {
      const hasBegun = frames.read(chunk);
      // Pieces keep the whole chunk in memory that they came in.
      const before = hasBegun === 'now' ? 0 : (this.#clients.get(socket)?.bytes ?? 0);
      if (hasBegun !== 'before') this.#forget(socket);
      if (hasBegun !== undefined) this.#note(socket, before + chunk.length, cut);
    });
    socket.on('close', () => this.#forget(socket));
  }

  #note(socket: Duplex, bytes: number, cut: () => void): void {
    this.#bytes += bytes - (this.#clients.get(socket)?.bytes ?? 0);
    this.#clients.set(socket, { bytes, cut });
    while (this.#bytes > this.maxBytes) {
      const [first, one] = this.#clients.entries().next().value!;
      this.#forget(first);
      one.cut();
    }
  }

  #forget(socket: Duplex): void {
    this.#bytes -= this.#clients.get(socket)?.bytes ?? 0;
    this.#clients.delete(socket);
  }
}

/** Opcodes from here on are of frames between those of a message. */
const firstControl = 8;
const finalBit = 0x80;
const maskBytes = 4;
/** Lengths that say how many bytes with the length follow. */
const followingBytes: Readonly<Record<number, number>> = { 126: 2, 127: 8 };

/** Follows the frames of a client (RFC 6455), which come cut anywhere. */
class FrameReader {
  /** What is there of the next head. */
  #head: number[] = [];
  #payloadLeft = 0;
  /** A message has frames already, and its last one is not there yet. */
  #isOpen = false;
  #isControl = false;
  #isFinal = false;

  /** Says whether a message is incomplete behind the chunk: one that began before it, or in it now. */
  read(chunk: Buffer): 'before' | 'now' | undefined {
    let hasEnded = !this.#hasBegun;
    for (let at = 0; at < chunk.length; ) {
      if (this.#payloadLeft === 0) this.#take(chunk[at++]!);
      else {
        const taken = Math.min(this.#payloadLeft, chunk.length - at);
        this.#payloadLeft -= taken;
        at += taken;
      }
      if (this.#payloadLeft === 0 && this.#head.length === 0) hasEnded ||= !this.#hasBegun;
    }
    if (!this.#hasBegun) return undefined;
    return hasEnded ? 'now' : 'before';
  }

  get #hasBegun(): boolean {
    return this.#isOpen || (!this.#isControl && this.#payloadLeft > 0);
  }

  #take(byte: number): void {
    const head = this.#head;
    head.push(byte);
    if (head.length === 1) return;
    const short = head[1]! & 0x7f;
    const following = followingBytes[short] ?? 0;
    if (head.length < 2 + following + maskBytes) return;
    this.#isControl = (head[0]! & 0x0f) >= firstControl;
    this.#isFinal = (head[0]! & finalBit) !== 0;
    this.#payloadLeft =
      following === 0 ? short : head.slice(2, 2 + following).reduce((sum, each) => sum * 256 + each, 0);
    if (!this.#isControl) this.#isOpen = !this.#isFinal;
    this.#head = [];
  }
}

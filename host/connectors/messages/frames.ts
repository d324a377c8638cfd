/**
 * Messages with metadata in the kernel's framing `frames`: u32 LE payload length, u32 LE metadata length, metadata,
 * payload. A payload whose metadata is the sign `!` is the text of an error, which becomes a row.
 */
import type { OutputChunk } from '../running.js';

const headerBytes = 8;
const none = new Uint8Array(0);
const failureSign = Buffer.from('!');

/** A frame with the text of an error. */
export function failureFrame(reason: string): Buffer {
  const frames = new FrameBuffer();
  frames.add(Buffer.from(reason), failureSign);
  return frames.bytes;
}

/** Tells by the metadata whether a frame has the text of an error. */
export function isFailure(meta: Uint8Array): boolean {
  return meta.length === 1 && meta[0] === failureSign[0];
}

/** Collects frames in one growing buffer, so that a batch of messages is one write. */
export class FrameBuffer {
  #buffer = Buffer.allocUnsafe(4096);
  #length = 0;
  count = 0;

  /** Appends a message; `meta` is the text of a JSON object or nothing. */
  add(payload: Uint8Array, meta: Uint8Array = none): void {
    const end = this.#length + headerBytes + meta.length + payload.length;
    if (end > this.#buffer.length) this.#grow(end);
    this.#buffer.writeUInt32LE(payload.length, this.#length);
    this.#buffer.writeUInt32LE(meta.length, this.#length + 4);
    this.#buffer.set(meta, this.#length + headerBytes);
    this.#buffer.set(payload, this.#length + headerBytes + meta.length);
    this.#length = end;
    this.count++;
  }

  /** As `add`, of bytes within others; `meta` has its text up to `metaEnd`. */
  addSlice(source: Buffer, from: number, to: number, meta: Buffer, metaEnd: number): void {
    const at = this.#length + headerBytes;
    const end = at + metaEnd + to - from;
    if (end > this.#buffer.length) this.#grow(end);
    this.#buffer.writeUInt32LE(to - from, this.#length);
    this.#buffer.writeUInt32LE(metaEnd, this.#length + 4);
    meta.copy(this.#buffer, at, 0, metaEnd);
    source.copy(this.#buffer, at + metaEnd, from, to);
    this.#length = end;
    this.count++;
  }

  #grow(least: number): void {
    const grown = Buffer.allocUnsafe(Math.max(least, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }

  get sizeBytes(): number {
    return this.#length;
  }

  /** The frames so far; valid until the next `add`. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    this.count = 0;
    // One burst must not hold memory for ever.
    if (this.#buffer.length > 1 << 20) this.#buffer = Buffer.allocUnsafe(4096);
  }
}

/** The frame that begins at the offset; undefined while it is incomplete. */
export function nextFrame(bytes: Buffer, at: number): { payload: Buffer; meta: Buffer; end: number } | undefined {
  if (at + headerBytes > bytes.length) return undefined;
  const meta = at + headerBytes;
  const payload = meta + bytes.readUInt32LE(at + 4);
  const end = payload + bytes.readUInt32LE(at);
  if (end > bytes.length) return undefined;
  return { payload: bytes.subarray(payload, end), meta: bytes.subarray(meta, payload), end };
}

/** Finds where frames end in bytes that come in pieces, cut anywhere. */
export class FrameEnds {
  /** Bytes of the frame under way that are still to come, its header left out while that is incomplete. */
  #left = 0;
  readonly #header = Buffer.alloc(headerBytes);
  #headerLength = 0;

  /** Takes the next bytes; calls back with the offset in them behind each frame that ends there. */
  read(bytes: Uint8Array, ended: (end: number) => void): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#left === 0) {
        const from = at;
        at = Math.min(bytes.length, at + headerBytes - this.#headerLength);
        this.#header.set(bytes.subarray(from, at), this.#headerLength);
        this.#headerLength += at - from;
        if (this.#headerLength < headerBytes) return;
        this.#headerLength = 0;
        this.#left = this.#header.readUInt32LE(0) + this.#header.readUInt32LE(4);
      }
      const taken = Math.min(this.#left, bytes.length - at);
      this.#left -= taken;
      at += taken;
      if (this.#left === 0) ended(at);
    }
  }

  /** A frame begins with the next bytes. */
  reset(): void {
    this.#left = 0;
    this.#headerLength = 0;
  }
}

/** The payloads of frames; the last frame may be cut off. */
export function payloadsOf(frames: Uint8Array): Uint8Array[] {
  const bytes = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
  const payloads: Uint8Array[] = [];
  for (let at = 0; at + headerBytes <= bytes.length; ) {
    const payload = at + headerBytes + bytes.readUInt32LE(at + 4);
    const end = payload + bytes.readUInt32LE(at);
    payloads.push(bytes.subarray(payload, end));
    at = end;
  }
  return payloads;
}

/** Cuts output chunks into messages. */
export class MessageCutter {
  /** Calls back with each message, a view valid during the call, and its place among the `ends` of the chunk. */
  cut({ bytes, ends }: OutputChunk, take: (message: Uint8Array, place: number) => void): void {
    if (ends === null) {
      if (bytes.length > 0) take(bytes, 0);
      return;
    }
    let from = 0;
    for (let place = 0; place < ends.length; place++) {
      const end = ends[place]!;
      take(bytes.subarray(from, end), place);
      from = end;
    }
  }
}

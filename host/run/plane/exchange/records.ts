/**
 * What data planes tell each other through rings. A record is its length, its kind and a body:
 *
 * | Kind | Body |
 * |---|---|
 * | reads, readsNoMore | filter of a topic that is read now, or no more |
 * | ready | none: all filters so far were told |
 * | rows | number of the block, length of the topic, topic, frames |
 * | taken | number of a block that all readers have taken |
 * | marker | number of a common checkpoint, 1 for the last one, topic |
 */
import type { Ring } from '../../../base/structures/ring.js';
import type { Marker } from '../../../connectors/topics/bus.js';

export const kinds = { reads: 1, readsNoMore: 2, ready: 3, rows: 4, taken: 5, marker: 6 } as const;

const headBytes = 5;
const markerHead = 9;
/** Bytes that are read in one turn: others have theirs in between. */
const turnBytes = 1 << 20;

export interface Incoming {
  readonly kind: number;
  /** Memory of its own. */
  readonly body: Buffer;
}

export function numberBody(value: number): Buffer {
  const body = Buffer.allocUnsafe(4);
  body.writeUInt32LE(value, 0);
  return body;
}

/** Head of a block's body; the frames follow it. */
export function rowsHead(number: number, topic: string): Buffer {
  const name = Buffer.from(topic);
  const head = Buffer.allocUnsafe(8 + name.length);
  head.writeUInt32LE(number, 0);
  head.writeUInt32LE(name.length, 4);
  head.set(name, 8);
  return head;
}

export function rowsOf(body: Buffer): { number: number; topic: string; frames: Buffer } {
  const end = 8 + body.readUInt32LE(4);
  return { number: body.readUInt32LE(0), topic: body.toString('utf8', 8, end), frames: body.subarray(end) };
}

export function markerBody(topic: string, { number, isLast }: Marker): Buffer {
  const head = Buffer.allocUnsafe(markerHead);
  head.writeDoubleLE(number, 0);
  head[8] = isLast ? 1 : 0;
  return Buffer.concat([head, Buffer.from(topic)]);
}

export function markerOf(body: Buffer): { topic: string; marker: Marker } {
  const marker = { number: body.readDoubleLE(0), isLast: body[8] === 1 };
  return { topic: body.toString('utf8', markerHead), marker };
}

/** Writes records into a ring; what it has no room for waits. */
export class RecordWriter {
  readonly #ring: Ring;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isSignalled = true;

  constructor(ring: Ring) {
    this.#ring = ring;
  }

  /** Bytes that wait for room. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  write(kind: number, ...parts: readonly Uint8Array[]): void {
    const head = Buffer.allocUnsafe(headBytes);
    head.writeUInt32LE(
      parts.reduce((sum, { length }) => sum + length, 0),
      0,
    );
    head[4] = kind;
    for (const part of [head, ...parts]) {
      const done = this.#waiting.length > 0 ? 0 : this.#ring.put(part);
      if (done === part.length) continue;
      this.#waiting.push(part.subarray(done));
      this.#waitingBytes += part.length - done;
    }
    if (!this.#isSignalled) return;
    this.#isSignalled = false;
    // What is written in one turn wakes the reader once.
    setImmediate(() => {
      this.#isSignalled = true;
      this.goOn();
      this.#ring.signal();
    });
  }

  /** The reader has made room, or may have. */
  goOn(): void {
    if (this.#waiting.length === 0) return;
    // Asked before the look: room that is made behind it is told.
    this.#ring.await();
    let isWritten = false;
    while (this.#waiting.length > 0) {
      const part = this.#waiting[0]!;
      const done = this.#ring.put(part);
      this.#waitingBytes -= done;
      isWritten ||= done > 0;
      if (done < part.length) {
        this.#waiting[0] = part.subarray(done);
        break;
      }
      this.#waiting.shift();
    }
    if (isWritten) this.#ring.signal();
  }
}

/** Reads records from a ring, whole or cut anywhere. */
export class RecordReader {
  readonly #ring: Ring;
  readonly #head = Buffer.alloc(headBytes);
  #headLength = 0;
  #body: Buffer | undefined;
  #bodyLength = 0;

  constructor(ring: Ring) {
    this.#ring = ring;
  }

  /** Calls with each record that is there; returns whether more may be. */
  read(take: (record: Incoming) => void): boolean {
    let total = 0;
    while (total < turnBytes) {
      const length = this.#readPart();
      if (length === 0) break;
      total += length;
      const body = this.#body;
      if (body === undefined || this.#bodyLength < body.length) continue;
      this.#body = undefined;
      this.#headLength = 0;
      take({ kind: this.#head[4]!, body });
    }
    return this.#ring.available > 0;
  }

  /** Reads on in the head or the body; returns the number of bytes. */
  #readPart(): number {
    if (this.#body !== undefined) {
      const length = this.#ring.take(this.#body.subarray(this.#bodyLength));
      this.#bodyLength += length;
      return length;
    }
    const length = this.#ring.take(this.#head.subarray(this.#headLength));
    this.#headLength += length;
    if (this.#headLength === headBytes) {
      this.#body = Buffer.allocUnsafe(this.#head.readUInt32LE(0));
      this.#bodyLength = 0;
    }
    return length;
  }
}

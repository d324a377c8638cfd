/** Keeps the bytes of messages that were cut, until they are taken out in their order. */

/** Messages with their bytes. */
export interface Cut {
  readonly bytes: Buffer;
  /** Offset in `bytes` at which each message ends. */
  readonly ends: Uint32Array;
}

export class CutStore {
  #kept = Buffer.allocUnsafe(64 * 1024);
  #length = 0;
  #ends: number[] = [];

  /** Adds bytes; returns the offset at which they begin. */
  add(bytes: Uint8Array): number {
    const start = this.#length;
    if (start + bytes.length > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.max(start + bytes.length, this.#kept.length * 2));
      this.#kept.copy(grown, 0, 0, start);
      this.#kept = grown;
    }
    this.#kept.set(bytes, start);
    this.#length += bytes.length;
    return start;
  }

  /** A message ends at the offset; behind all bytes without it. */
  end(at = this.#length): void {
    this.#ends.push(at);
  }

  clear(): void {
    this.#length = 0;
    this.#ends = [];
  }

  /** Takes the next messages out; undefined when there are fewer. */
  take(messages: number): Cut | undefined {
    const end = this.#ends[messages - 1];
    if (end === undefined) return undefined;
    const cut = {
      bytes: Buffer.from(this.#kept.subarray(0, end)),
      ends: Uint32Array.from(this.#ends.slice(0, messages)),
    };
    this.#kept.copyWithin(0, end, this.#length);
    this.#length -= end;
    this.#ends = this.#ends.slice(messages).map((one) => one - end);
    return cut;
  }
}

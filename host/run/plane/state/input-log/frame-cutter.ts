/** Keeps the bytes of frames for a log, until the kernel has taken them. */

import type { Cut } from '../../../../base/mqtt/publish-cutter.js';
import { FrameEnds } from '../../../../connectors/frames.js';

export class FrameCutter {
  readonly #frames = new FrameEnds();
  #kept: Buffer = Buffer.alloc(0);
  #length = 0;
  #ends: number[] = [];

  add(bytes: Uint8Array): void {
    const start = this.#length;
    if (start + bytes.length > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.max(start + bytes.length, this.#kept.length * 2));
      this.#kept.copy(grown, 0, 0, start);
      this.#kept = grown;
    }
    this.#kept.set(bytes, start);
    this.#length += bytes.length;
    this.#frames.read(bytes, (end) => this.#ends.push(start + end));
  }

  reset(): void {
    this.#length = 0;
    this.#ends = [];
    this.#frames.reset();
  }

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

/** The memory of a guest as calls of the system see it; an address outside of it is a RangeError. */
import { Errno } from './errno.js';

export class WasiMemory {
  constructor(private readonly memory: () => WebAssembly.Memory) {}

  get view(): DataView {
    return new DataView(this.memory().buffer);
  }

  bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.memory().buffer, at >>> 0, length >>> 0);
  }

  put32(at: number, value: number): number {
    this.view.setUint32(at >>> 0, value, true);
    return Errno.ok;
  }

  put64(at: number, value: bigint): number {
    this.view.setBigUint64(at >>> 0, value, true);
    return Errno.ok;
  }

  /** The parts of a read or write, in order; undefined when they are too many. */
  parts(at: number, count: number): Uint8Array[] | undefined {
    if (count >>> 0 > maxParts) return undefined;
    const { view } = this;
    return Array.from({ length: count >>> 0 }, (_, i) => {
      const part = (at >>> 0) + 8 * i;
      return this.bytes(view.getUint32(part, true), view.getUint32(part + 4, true));
    });
  }
}

/** Most parts of a read or write. */
const maxParts = 1024;

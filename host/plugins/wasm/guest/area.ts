/**
 * Memory of a guest for the cells and texts of a batch. The allocator of the guest gives it, so all that it gives is
 * checked.
 */
import type { CellMemory } from '../../../../kernels/calls/cells.js';
import type { Convention } from '../../manifest.js';
import { allocName, freeName } from '../exports/functions.js';
import type { Guest } from './guest.js';

/** ArrayBuffer of AssemblyScript's run time. */
const bufferClass = 1;
/** First address of a development kit's memory that is used: 0 means nothing. */
const kitBase = 1024;
const pageBytes = 65_536;
const cellBytes = 8;

export class GuestArea {
  #base = 0;
  #size = 0;

  constructor(
    private readonly guest: Guest,
    private readonly convention: Convention,
  ) {}

  /** Forgets what belonged to an instance that was replaced. */
  reset(): void {
    this.#base = 0;
    this.#size = 0;
  }

  /** Returns the address of `needed` bytes, valid until the next call; throws when the guest does not give them. */
  reserve(needed: number): number {
    const { guest } = this;
    if (this.convention === 'extism') {
      const { memory } = guest;
      const missing = kitBase + needed - memory.buffer.byteLength;
      if (missing > 0) memory.grow(Math.ceil(missing / pageBytes));
      return kitBase;
    }
    if (this.#size < needed) this.#renew(needed + Math.floor(needed / 2));
    return this.#base;
  }

  /** New views on the memory, which a guest may have grown in any call. */
  memory(): CellMemory {
    const { buffer } = this.guest.memory;
    return { bytes: Buffer.from(buffer), view: new DataView(buffer) };
  }

  #renew(size: number): void {
    const { guest } = this;
    const former = this.#base;
    const formerSize = this.#size;
    this.reset();
    const isManaged = this.convention === 'assemblyscript';
    if (former !== 0) {
      if (isManaged) guest.call('__unpin', former);
      else if (freeName in guest.exports) guest.call(freeName, former, formerSize);
    }
    const made = isManaged ? guest.call('__new', size, bufferClass) : guest.call(allocName, size);
    const base = (made as number) >>> 0;
    if (base === 0) throw new Error(`its allocator gave no memory for ${size} bytes`);
    if (base + size > guest.memory.buffer.byteLength) {
      throw new Error(`its allocator gave ${size} bytes that lie outside of its memory`);
    }
    if (isManaged) guest.call('__pin', base);
    this.#base = base;
    this.#size = size;
  }
}

export function isText(cell: string | undefined): cell is 'bytes' | 'utf16' {
  return cell === 'bytes' || cell === 'utf16';
}

/** Writes texts that the host has made, and cells for them; returns the end of the texts. */
export function putMade(list: readonly Buffer[], cell: string, to: CellMemory, at: number, textsAt: number): number {
  let end = textsAt;
  list.forEach((bytes, n) => {
    const start = end;
    if (cell === 'utf16') end += to.bytes.write(bytes.toString(), end, 'utf16le');
    else {
      to.bytes.set(bytes, end);
      end += bytes.length;
    }
    to.view.setUint32(at + n * cellBytes, start, true);
    to.view.setUint32(at + n * cellBytes + 4, end - start, true);
  });
  return end;
}

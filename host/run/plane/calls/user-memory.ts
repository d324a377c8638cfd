/** Memory that the code of users has in a data plane, all of it together, and its bound. */
import { machineBytes } from '../../../base/program/machine.js';
import type { UserCodeMemory } from '../../../model/figures.js';
import type { CodeMemory, MemoryRoom } from '../../../plugins/define.js';
import { inMb } from '../memory/memory.js';

/** Default bound: this part of the machine's memory, and at least these bytes. */
const partOfMachine = 1 / 4;
const leastBytes = 256 << 20;
/** Owners that errors name. */
const named = 3;

export class UserMemory {
  readonly #maxBytes: number;
  readonly #parts = new Set<Part>();

  /**
   * @param maxBytes 0: a quarter of the machine's memory, 256 MiB at least
   * @param sharers data planes that divide it among them
   */
  constructor(maxBytes = 0, sharers = 1) {
    const all = maxBytes > 0 ? maxBytes : Math.max(leastBytes, Math.floor(machineBytes() * partOfMachine));
    this.#maxBytes = Math.floor(all / sharers);
  }

  /** Memory of one piece of code, which is empty yet. */
  of(owner: string): CodeMemory {
    return new Part(owner, this.#parts, this.#maxBytes);
  }

  /** Bytes of each owner, and what all of them may have together. */
  figures(): UserCodeMemory {
    return { maxBytes: this.#maxBytes, owners: [...bytesByOwner(this.#parts)] };
  }

  /** Bytes that the code of these owners has. */
  bytesOf(owners: Iterable<string>): number {
    const bytes = bytesByOwner(this.#parts);
    let sum = 0;
    for (const owner of new Set(owners)) sum += bytes.get(owner) ?? 0;
    return sum;
  }
}

class Part implements CodeMemory {
  bytes = 0;

  constructor(
    readonly owner: string,
    private readonly all: Set<Part>,
    private readonly maxBytes: number,
  ) {}

  holds(bytes: number): string | undefined {
    if (bytes > this.bytes) {
      const { free, reason } = this.room();
      if (bytes - this.bytes > free) return `${inMb(bytes)} of memory are more than there is: ${reason}`;
    }
    this.bytes = bytes;
    if (bytes > 0) this.all.add(this);
    else this.all.delete(this);
    return undefined;
  }

  room(): MemoryRoom {
    const inUse = [...this.all].reduce((sum, { bytes }) => sum + bytes, 0);
    const biggest = [...bytesByOwner(this.all)].sort(([, a], [, b]) => b - a).slice(0, named);
    const most = biggest.map(([owner, bytes]) => `${owner} (${inMb(bytes)})`).join(', ');
    return {
      free: this.maxBytes - inUse,
      reason:
        `all code of users may have ${inMb(this.maxBytes)} together (plugin.maxMemoryBytes) and has ${inMb(inUse)}` +
        (most === '' ? '' : `, most of it ${most}`),
    };
  }
}

function bytesByOwner(parts: Iterable<Part>): Map<string, number> {
  const all = new Map<string, number>();
  for (const { owner, bytes } of parts) all.set(owner, (all.get(owner) ?? 0) + bytes);
  return all;
}

/** Memory of the kernel as the host reads and writes it. Views are made anew after growth and never kept by callers. */
import type { KernelExports } from './abi.js';
import { KernelError } from './error.js';

export class Arena {
  private data: DataView;
  private all: Uint8Array;

  constructor(private readonly kernel: Pick<KernelExports, 'memory' | 'alloc' | 'free'>) {
    this.data = new DataView(kernel.memory.buffer);
    this.all = new Uint8Array(kernel.memory.buffer);
  }

  private renew(): void {
    if (this.all.buffer === this.kernel.memory.buffer) return;
    this.data = new DataView(this.kernel.memory.buffer);
    this.all = new Uint8Array(this.kernel.memory.buffer);
  }

  /** The bytes at `at`; good until the next kernel call. */
  bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.kernel.memory.buffer, at, length);
  }

  u32s(at: number, count: number): Uint32Array {
    return new Uint32Array(this.kernel.memory.buffer, at, count);
  }

  u32(at: number): number {
    this.renew();
    return this.data.getUint32(at, true);
  }

  /** A u64 counter as a number: exact up to 2^53. */
  u64(at: number): number {
    this.renew();
    return Number(this.data.getBigUint64(at, true));
  }

  f64(at: number): number {
    this.renew();
    return this.data.getFloat64(at, true);
  }

  text(at: number, length: number): string {
    return Buffer.from(this.kernel.memory.buffer, at, length).toString('utf8');
  }

  /** Copies the blocks into the kernel, calls `use` with their addresses (0 for null or empty) and frees them again. */
  lend<T>(blocks: readonly (Uint8Array | null)[], use: (...at: number[]) => T): T {
    const taken: [at: number, size: number][] = [];
    try {
      const addresses = blocks.map((block) => {
        if (block === null || block.length === 0) return 0;
        const at = this.kernel.alloc(block.length, 0);
        if (at === 0) throw new KernelError('the memory of the kernel is exhausted', false);
        taken.push([at, block.length]);
        this.renew();
        this.all.set(block, at);
        return at;
      });
      return use(...addresses);
    } finally {
      for (const [at, size] of taken) this.kernel.free(at, size, 0);
    }
  }
}

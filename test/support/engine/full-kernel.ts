/** A kernel whose memory somebody else has taken, but for what is kept for the work under way. */
import type { Kernel } from '../../../kernels/api.js';
import type { RowTransfer } from '../../../kernels/state/state.js';

/** Takes what memory is left, but for a hole of so many bytes; returns what gives it back. */
export function fillMemory({ saving }: Kernel, hole = 0): () => void {
  const { kernel } = saving as RowTransfer;
  const account = kernel.alloc(16, 0);
  const left = hole === 0 ? 0 : kernel.alloc(hole, account);
  const blocks: { at: number; size: number }[] = [];
  // Some refusals are for a while.
  for (let refusals = 0; refusals < 100; refusals++) {
    for (const size of [1 << 20, 1 << 16, 1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4]) {
      for (let at = kernel.alloc(size, account); at !== 0; at = kernel.alloc(size, account)) blocks.push({ at, size });
    }
  }
  kernel.free(left, hole, account);
  return () => {
    for (const { at, size } of blocks) kernel.free(at, size, account);
    kernel.free(account, 16, 0);
  };
}

/** Reads the last failures of a node or stream (assembly/node/failures.ts). */
import type { Kernel, NodeHandle, StreamHandle } from '../api.js';
import { exceptionText, failure, failures, failuresKept, node as nodeLayout } from '../gen/layouts.js';
import type { RowTransfer } from './state.js';

/** A failure of a node. */
export interface NodeFailure {
  /** Epoch ms. */
  readonly at: number;
  readonly reason: string;
  /** The row in the engine's own form, a copy; undefined where it is not known. */
  readonly row: Buffer | undefined;
}

/** The last failures, oldest first; none before the first. */
export function failuresOf(kernel: Kernel, of: NodeHandle | StreamHandle): NodeFailure[] {
  const { arena } = kernel.saving as RowTransfer;
  const text = arena.u32(of + nodeLayout.at.excOff);
  if (text === 0) return [];
  const head = text + exceptionText;
  const count = arena.u32(head + failures.at.count);
  const kept = Math.min(count, failuresKept);
  return Array.from({ length: kept }, (_, i) => {
    const slot = head + failures.size + ((count - kept + i) % failuresKept) * failure.size;
    const data = arena.u32(slot + failure.at.data);
    const textLength = arena.u32(slot + failure.at.textLen);
    const rowLength = arena.u32(slot + failure.at.rowLen);
    return {
      at: arena.f64(slot + failure.at.at),
      reason: arena.text(data, textLength),
      row: rowLength === 0 ? undefined : Buffer.from(arena.bytes(data + textLength, rowLength)),
    };
  });
}

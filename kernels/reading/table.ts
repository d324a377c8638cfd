/** Reads the rows that join nodes keep of tables, as JSON text. */

import type { NodeHandle } from '../api.js';
import { noMemory } from '../gen/layouts.js';
import type { KernelExports } from '../memory/abi.js';
import type { Arena } from '../memory/arena.js';
import { KernelError } from '../memory/error.js';

/** Reads the rows of a table, oldest first; see Kernel.tableRows. */
export function readTable(
  kernel: KernelExports,
  arena: Arena,
  join: NodeHandle,
  branch: number,
  columns: number,
): (string | null)[][] {
  return Array.from({ length: kernel.tableCount(join, branch) }, (_row, row) =>
    Array.from({ length: columns }, (_column, column) => {
      const length = kernel.tableJson(join, branch, row, column);
      if (length === noMemory) throw new KernelError('the memory of the kernel is exhausted', false);
      return length < 0 ? null : arena.text(kernel.textAt() >>> 0, length);
    }),
  );
}

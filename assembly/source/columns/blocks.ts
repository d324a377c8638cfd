// Column blocks that sources decode into: one set for all of them, for a batch is worked off before the next one is
// decoded.
//
// So a batch is good only until the function returns that it was pushed to. The next one, maybe of another stream, is
// decoded into the same blocks; its texts stand in the chunk at work and in `ctx.scratch`, results of programs in
// `ctx.registers`, and all of these are used again. An operator whose rows wait for something (a time, other rows, an
// answer of the host) keeps copies, texts included, and gives them on as a batch of its own:
//
//   push    binds the columns that it needs (mem/bind.ts) and appends the selected rows to a store (rows/store.ts),
//   which
//           charges its account; when memory is exhausted it gives up by `exhaust`. Rows that failed (`ctx.rowErrors`)
//           need not wait: where the rule sends errors they travel on at once, in batches of their own.
//   later   takes blocks (batch/stage.ts), writes rows to them (rows/copy.ts), makes them the current batch, emits it
//   and gives
//           the blocks back, in this order; only then it drops the rows, in whose pages the texts stand.
//   between its deadline (node/timers.ts), `signal` and `free` know of the rows that wait; `save` and `load` pass the
//   store on (rows/save.ts). Rows that wait are bound to no message any more: `keepsRows` in kernels/traits.ts says
//   so to those who acknowledge messages.
//
// order/event-time.ts does all of it.
import { alloc, allocZeroed, free, WORKSPACE } from '../../mem/alloc';
import { COL_SIZE } from '../../mem/layout';

/** u32 table of the addresses of the blocks by index of the column, good as `ctx.cols`; it moves when it grows. */
export let colsTable: usize = 0;
let tableSize: u32 = 0;
let blockCount: u32 = 0;

/** Makes blocks up to `count`; false when memory is exhausted. */
export function ensureBlocks(count: u32): bool {
  if (count > tableSize) {
    const size = max(count, max(64, tableSize * 2));
    const table = alloc(size * 4, WORKSPACE);
    if (!table) return false;
    if (blockCount) memory.copy(table, colsTable, blockCount * 4);
    free(colsTable, tableSize * 4, WORKSPACE);
    colsTable = table;
    tableSize = size;
  }
  while (blockCount < count) {
    const block = allocZeroed(COL_SIZE, WORKSPACE);
    if (!block) return false;
    store<u32>(colsTable + ((<usize>blockCount) << 2), <u32>block);
    blockCount++;
  }
  return true;
}

// @ts-ignore: decorator
@inline export function blockAt(index: u32): usize {
  return <usize>load<u32>(colsTable + ((<usize>index) << 2));
}

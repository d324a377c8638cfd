// Column blocks that sources decode into.
import { alloc, allocZeroed, free, WORKSPACE } from '../mem/alloc';
import { COL_SIZE } from '../mem/layout';

/**
 * Column blocks by index, shared by all sources: only one batch is under way at a time.
 * colsTable is the u32 table of their addresses, good as ctx.cols.
 */
export let colsTable: usize = 0;
let tableSize: u32 = 0;
let blockCount: u32 = 0;

/** Makes sure that there are so many blocks; false when memory is exhausted. */
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
    store<u32>(colsTable + (<usize>blockCount << 2), <u32>block);
    blockCount++;
  }
  return true;
}

// @ts-ignore: decorator
@inline export function blockAt(index: u32): usize {
  return <usize>load<u32>(colsTable + (<usize>index << 2));
}

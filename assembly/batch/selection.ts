// Row selections of operators that narrow a batch. A selection lives while it is emitted, so all operators share one
// stack of blocks: push before filling, pop after emit.
import { alloc, WORKSPACE } from '../mem/alloc';
import { BATCH_ROWS, Tag, tagAt } from '../mem/layout';

/** More nested operators than this are answered as without memory; the planner never comes near. */
const MAX_DEPTH: u32 = 64;
/** One more row than a batch has: branch-free narrowing stores behind the last kept row. */
const BLOCK: u32 = BATCH_ROWS * 4 + 16;
const BLOCKS: usize = memory.data(4 * 64, 16);
let depth: u32 = 0;

/** Returns room for the row numbers of one batch (u32 each); 0 when memory or the depth is exhausted. */
export function selectionPush(): usize {
  if (depth == MAX_DEPTH) return 0;
  const slot = BLOCKS + ((<usize>depth) << 2);
  let block = <usize>load<u32>(slot);
  if (!block) {
    block = alloc(BLOCK, WORKSPACE);
    if (!block) return 0;
    store<u32>(slot, <u32>block);
  }
  depth++;
  return block;
}

/** True when all selections were given back. */
export function selectionIsFree(): bool {
  return depth == 0;
}

export function selectionPop(): void {
  assert(depth > 0, 'more selections were given back than acquired');
  depth--;
}

/** Writes the selected rows that did not fail to `to` and returns how many they are. */
export function withoutErrors(sel: usize, selLen: u32, rowErrors: usize, to: usize): u32 {
  let n: u32 = 0;
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    store<u32>(to + ((<usize>n) << 2), row);
    n += <u32>(tagAt(rowErrors, row) != Tag.ERROR);
  }
  return n;
}

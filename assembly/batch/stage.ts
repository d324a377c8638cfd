// Column blocks for batches that operators produce (released rows, window results, sorted rows). Such a batch lives
// only while it is emitted, so all operators share one stack of blocks: acquire before filling, release after emit,
// last in first out.
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { BATCH_ROWS, COL_HAS_RAW, COL_SIZE, COL_TAGS, COL_UNIFORM, Tag } from '../mem/layout';

const MAX_BLOCKS: u32 = 4096;
const KEPT_BLOCKS: u32 = 256;
let blocks: usize = 0;
let made: u32 = 0;
let used: u32 = 0;

/** Selection of all rows, 0 … BATCH_ROWS-1. */
export let identity: usize = 0;

/** False when the first memory is not to be had. */
export function stageInit(): bool {
  blocks = alloc(MAX_BLOCKS * 4, WORKSPACE);
  identity = alloc(BATCH_ROWS * 4, WORKSPACE);
  if (!blocks || !identity) return false;
  for (let i: u32 = 0; i < BATCH_ROWS; i++) store<u32>(identity + (i << 2), i);
  return true;
}

/**
 * Returns the address of a u32 array of `count` column blocks (usable as `ctx.cols`), headers set to MIXED and without
 * raw text; 0 when memory or the block limit is exhausted.
 */
export function stageAcquire(count: u32): usize {
  if (used + count > MAX_BLOCKS) return 0;
  while (made < used + count) {
    const block = alloc(COL_SIZE, WORKSPACE);
    if (!block) return 0;
    store<u32>(blocks + (made << 2), <u32>block);
    made++;
  }
  const at = blocks + (used << 2);
  used += count;
  for (let i: u32 = 0; i < count; i++) {
    const block = <usize>load<u32>(at + (i << 2));
    store<u8>(block, Tag.MIXED, COL_UNIFORM);
    store<u8>(block, 0, COL_HAS_RAW);
  }
  return at;
}

/** Frees the blocks beyond those that most plans need; nothing must be in use. */
export function stageTrim(): void {
  assert(used == 0, 'a node kept blocks of the stage');
  while (made > KEPT_BLOCKS && made > used) free(<usize>load<u32>(blocks + (--made << 2)), COL_SIZE, WORKSPACE);
}

/** Gives back the blocks acquired last. */
export function stageRelease(count: u32): void {
  assert(used >= count, 'more blocks were given back than acquired');
  used -= count;
}

/** Notes the tag that all rows of the column have, if they have one. */
export function noteUniform(col: usize, n: u32): void {
  const first = load<u8>(col, COL_TAGS);
  const tags = col + COL_TAGS;
  const all = i8x16.splat(first);
  let i: u32 = 0;
  while (i + 16 <= n && i8x16.all_true(i8x16.eq(v128.load(tags + i), all))) i += 16;
  while (i < n && load<u8>(tags + i) == first) i++;
  const same = i >= n;
  store<u8>(col, same ? first : Tag.MIXED, COL_UNIFORM);
  store<u8>(col, 0, COL_HAS_RAW);
}

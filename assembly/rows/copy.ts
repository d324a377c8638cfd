// Rows of a store written into column blocks. Text stays where it is: the blocks are good as long as the rows are held.
import { COL_TAGS, COL_VALS } from '../mem/layout';
import { pageTags, pageVals } from './page';

/**
 * Writes column `c` of `n` rows to the block, payloads and tags; the rows are named by {page u32, row u32} at `refs`, `step` bytes
 * apart. Those without a page (0) stand in the column block `own`.
 */
export function copyOut(block: usize, c: u32, refs: usize, step: u32, n: u32, own: usize): void {
  let page: usize = 0;
  let vals: usize = 0;
  let tags: usize = 0;
  for (let i: u32 = 0; i < n; i++, refs += step) {
    const at = <usize>load<u32>(refs);
    const row = <usize>load<u32>(refs, 4);
    if (!at) {
      store<u64>(block + (<usize>i << 3), load<u64>(own + (row << 3), COL_VALS), COL_VALS);
      store<u8>(block + i, load<u8>(own + row, COL_TAGS), COL_TAGS);
      continue;
    }
    if (at != page) {
      page = at;
      vals = pageVals(page, c);
      tags = pageTags(page, c);
    }
    store<u64>(block + (<usize>i << 3), load<u64>(vals + (row << 3)), COL_VALS);
    store<u8>(block + i, load<u8>(tags + row), COL_TAGS);
  }
}

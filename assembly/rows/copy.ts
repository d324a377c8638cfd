// Writes rows of a store into column blocks. Text stays in the store, so the blocks are valid as long as the rows are
// held.
import { COL_HAS_RAW, COL_RAW, COL_TAGS, COL_UNIFORM, COL_VALS, Tag } from '../mem/layout';
import { noteUniform } from '../batch/stage';
import { Page, pageTags, pageUniforms, pageVals } from './page';

/**
 * Writes column `c` of `n` rows to the block, payloads and tags; the rows are named by {page u32, row u32} at `refs`,
 * `step` bytes apart.
 */
export function copyOut(block: usize, c: u32, refs: usize, step: u32, n: u32): void {
  let page: Page = changetype<Page>(0);
  let vals: usize = 0;
  let tags: usize = 0;
  for (let i: u32 = 0; i < n; i++, refs += step) {
    const at = changetype<Page>(load<u32>(refs));
    const row = <usize>load<u32>(refs, 4);
    if (at != page) {
      page = at;
      vals = pageVals(page, c);
      tags = pageTags(page, c);
    }
    store<u64>(block + ((<usize>i) << 3), load<u64>(vals + (row << 3)), COL_VALS);
    store<u8>(block + i, load<u8>(tags + row), COL_TAGS);
  }
}

// ---- rows of two kinds -----------------------------------------------------------------------------------------
//
// A batch of held rows and of rows of the current batch, which have page 0. Each column is written kind by kind. A
// column that only one kind has, such as those of one stream among several, thus costs nothing for the other kind.

/** Held rows as {page u32, row u32}; then their places in the new batch. */
const HELD: usize = memory.data(8 * 1024, 16);
const HELD_AT: usize = memory.data(4 * 1024, 16);
/** Rows of the current batch by their numbers; then their places in the new batch. */
const OWN: usize = memory.data(4 * 1024, 16);
const OWN_AT: usize = memory.data(4 * 1024, 16);
let held: u32 = 0;
let own: u32 = 0;
let rows: u32 = 0;

/** Begins a batch of `n` rows that are named by {page u32, row u32} at `refs`. */
export function partBegin(refs: usize, n: u32): void {
  let ofHeld: u32 = 0;
  let ofOwn: u32 = 0;
  // Without a branch, because the next kind can't be predicted.
  for (let i: u32 = 0; i < n; i++, refs += 8) {
    const name = load<u64>(refs);
    const isHeld = <u32>(<u32>name != 0);
    store<u64>(HELD + ((<usize>ofHeld) << 3), name);
    store<u32>(HELD_AT + ((<usize>ofHeld) << 2), i);
    store<u32>(OWN + ((<usize>ofOwn) << 2), <u32>(name >> 32));
    store<u32>(OWN_AT + ((<usize>ofOwn) << 2), i);
    ofHeld += isHeld;
    ofOwn += 1 - isHeld;
  }
  held = ofHeld;
  own = ofOwn;
  rows = n;
}

/** Tag of the held rows in column `c` of `columns`, if their pages have one tag for all rows. */
function heldUniform(c: u32, columns: u32): u8 {
  let page: Page = changetype<Page>(0);
  let uniform: u8 = Tag.MIXED;
  for (let i: u32 = 0; i < held; i++) {
    const at = changetype<Page>(load<u32>(HELD + ((<usize>i) << 3)));
    if (at == page) continue;
    const tag = load<u8>(pageUniforms(at, columns) + c);
    if (page && tag != uniform) return Tag.MIXED;
    page = at;
    uniform = tag;
  }
  return uniform;
}

/**
 * Writes column `c` of a store with `columns` columns to the block; the values of the current batch stand in the block
 * `from`.
 */
export function partColumn(block: usize, c: u32, columns: u32, from: usize): void {
  const heldTag = held ? heldUniform(c, columns) : load<u8>(from, COL_UNIFORM);
  const ownTag = own ? load<u8>(from, COL_UNIFORM) : heldTag;
  const isSame = heldTag == ownTag && heldTag != Tag.MIXED;
  store<u8>(block, isSame ? heldTag : Tag.MIXED, COL_UNIFORM);
  store<u8>(block, 0, COL_HAS_RAW);
  // Where one kind has no values in the column, all rows are first filled with its tag.
  const isEmpty = heldTag <= Tag.NULL || ownTag <= Tag.NULL;
  if (isEmpty) memory.fill(block + COL_VALS, 0, rows << 3);
  if (isSame) memory.fill(block + COL_TAGS, heldTag, rows);
  else if (isEmpty) memory.fill(block + COL_TAGS, min(heldTag, ownTag), rows);
  if (held && heldTag > Tag.NULL) heldVals(block, c);
  if (own && ownTag > Tag.NULL) ownVals(block, from);
  if (isSame) return;
  if (held && !(isEmpty && heldTag <= ownTag)) {
    if (heldTag == Tag.MIXED) heldTags(block, c);
    else putTags(block, HELD_AT, held, heldTag);
  }
  if (own && !(isEmpty && ownTag < heldTag)) {
    if (ownTag == Tag.MIXED) ownTags(block, from);
    else putTags(block, OWN_AT, own, ownTag);
  }
  if (heldTag != Tag.MIXED && ownTag != Tag.MIXED) return;
  const hasRaw = load<u8>(block, COL_HAS_RAW);
  noteUniform(block, rows);
  store<u8>(block, hasRaw, COL_HAS_RAW);
}

function heldVals(block: usize, c: u32): void {
  let page: Page = changetype<Page>(0);
  let vals: usize = 0;
  for (let i: u32 = 0; i < held; i++) {
    const at = changetype<Page>(load<u32>(HELD + ((<usize>i) << 3)));
    const row = <usize>load<u32>(HELD + ((<usize>i) << 3), 4);
    if (at != page) {
      page = at;
      vals = pageVals(page, c);
    }
    store<u64>(block + ((<usize>load<u32>(HELD_AT + ((<usize>i) << 2))) << 3), load<u64>(vals + (row << 3)), COL_VALS);
  }
}

function heldTags(block: usize, c: u32): void {
  let page: Page = changetype<Page>(0);
  let tags: usize = 0;
  for (let i: u32 = 0; i < held; i++) {
    const at = changetype<Page>(load<u32>(HELD + ((<usize>i) << 3)));
    const row = <usize>load<u32>(HELD + ((<usize>i) << 3), 4);
    if (at != page) {
      page = at;
      tags = pageTags(page, c);
    }
    store<u8>(block + load<u32>(HELD_AT + ((<usize>i) << 2)), load<u8>(tags + row), COL_TAGS);
  }
}

/** Copies payloads of the current batch, for numbers also the texts that they came with. */
function ownVals(block: usize, from: usize): void {
  if (!load<u8>(from, COL_HAS_RAW)) {
    for (let i: u32 = 0; i < own; i++) {
      const row = (<usize>load<u32>(OWN + ((<usize>i) << 2))) << 3;
      store<u64>(
        block + ((<usize>load<u32>(OWN_AT + ((<usize>i) << 2))) << 3),
        load<u64>(from + row, COL_VALS),
        COL_VALS,
      );
    }
    return;
  }
  if (held) memory.fill(block + COL_RAW, 0, rows << 3);
  store<u8>(block, 1, COL_HAS_RAW);
  for (let i: u32 = 0; i < own; i++) {
    const row = (<usize>load<u32>(OWN + ((<usize>i) << 2))) << 3;
    const at = (<usize>load<u32>(OWN_AT + ((<usize>i) << 2))) << 3;
    store<u64>(block + at, load<u64>(from + row, COL_VALS), COL_VALS);
    store<u64>(block + at, load<u64>(from + row, COL_RAW), COL_RAW);
  }
}

function ownTags(block: usize, from: usize): void {
  for (let i: u32 = 0; i < own; i++) {
    const tag = load<u8>(from + load<u32>(OWN + ((<usize>i) << 2)), COL_TAGS);
    store<u8>(block + load<u32>(OWN_AT + ((<usize>i) << 2)), tag, COL_TAGS);
  }
}

function putTags(block: usize, places: usize, n: u32, tag: u8): void {
  for (let i: u32 = 0; i < n; i++) store<u8>(block + load<u32>(places + ((<usize>i) << 2)), tag, COL_TAGS);
}

// The batch that a source is filling: its rows so far, its error rows, and the work at the end of a row or batch.
import * as ctx from '../../batch/context';
import { alloc, WORKSPACE } from '../../mem/alloc';
import {
  BATCH_ROWS,
  COL_HAS_RAW,
  COL_RAW,
  COL_SIZE,
  COL_TAGS,
  COL_UNIFORM,
  COL_VALS,
  setAt,
  span,
  Tag,
} from '../../mem/layout';
import { poolBytesCopy } from '../../mem/pool';
import { messageLen, messageOff } from '../../text/message';
import { setFailedRow } from '../../node/failures';
import { addException } from '../../node/node';
import { blockAt } from './blocks';
import { Source, stateOf } from './state';
import { useAt } from './use';
import { Node } from '../../gen/node-layouts';

/**
 * State of the source that is filling. A variable, because the loops over a message's values have few registers to
 * spare.
 */
export let filling: Source = changetype<Source>(0);
/** Rows of the batch. */
export let filledRows: u32 = 0;
/** Column block with tag ERROR at rows that failed, 0 when none did. */
export let filledErrors: usize = 0;
let errorBlock: usize = 0;

export function batchBegin(state: Source): void {
  filling = state;
  filledRows = 0;
  filledErrors = 0;
  const count = state.useCount;
  for (let i: u32 = 0; i < count; i++) {
    if (!useAt(state, i).refs) continue;
    const block = blockAt(i);
    store<u8>(block, 0, COL_HAS_RAW);
    memory.fill(block + COL_TAGS, Tag.MISSING, BATCH_ROWS);
  }
}

// @ts-ignore: decorator
@inline export function nextRow(): void {
  filledRows++;
}

/** Removes rows from the end of the batch, down to `count`. */
export function batchRewind(state: Source, count: u32): void {
  while (filledRows > count) clearRow(state, --filledRows);
}

/** Makes every column of the row MISSING again. */
export function clearRow(state: Source, row: u32): void {
  const count = state.useCount;
  for (let i: u32 = 0; i < count; i++) {
    if (useAt(state, i).refs) store<u8>(blockAt(i) + row, Tag.MISSING, COL_TAGS);
  }
}

/** Stores a value that is not a number with a known text. */
// @ts-ignore: decorator
@inline export function put(block: usize, row: u32, tag: u8, payload: u64): void {
  store<u8>(block + row, tag, COL_TAGS);
  store<u64>(block + ((<usize>row) << 3), payload, COL_VALS);
  store<u64>(block + ((<usize>row) << 3), 0, COL_RAW);
}

/** Adds an error row with the message in text/message.ts and counts it. */
export function addErrorRow(node: Node): void {
  const state = stateOf(node);
  if (!putErrorRow(state)) {
    setFailedRow(0);
    return;
  }
  state.decodeErrors++;
  addException(node, messageOff(), messageLen(), 1);
}

/** Adds an error row with the message in text/message.ts; false when memory is exhausted. */
export function putErrorRow(state: Source): bool {
  const row = filledRows;
  clearRow(state, row);
  if (!filledErrors) {
    if (!errorBlock) errorBlock = alloc(COL_SIZE, WORKSPACE);
    if (!errorBlock) return false;
    filledErrors = errorBlock;
    memory.fill(errorBlock + COL_TAGS, Tag.MISSING, BATCH_ROWS);
    store<u8>(errorBlock, Tag.MIXED, COL_UNIFORM);
    store<u8>(errorBlock, 0, COL_HAS_RAW);
  }
  const len = messageLen();
  const text = poolBytesCopy(ctx.scratch, messageOff(), len);
  setAt(filledErrors, row, Tag.ERROR, text ? span(text, len) : 0);
  filledRows++;
  return true;
}

/** Finds out for each column whether all rows have one tag, and clears payloads of rows without the column. */
export function batchEnd(state: Source): void {
  const rows = filledRows;
  const count = state.useCount;
  for (let i: u32 = 0; i < count; i++) {
    if (!useAt(state, i).refs) continue;
    const block = blockAt(i);
    const tag = rows ? load<u8>(block, COL_TAGS) : Tag.MISSING;
    const all = i8x16.splat(tag);
    let uniform = true;
    let at: u32 = 0;
    for (; at + 16 <= rows; at += 16) {
      if (!i8x16.all_true(i8x16.eq(v128.load(block + at, COL_TAGS), all))) {
        uniform = false;
        break;
      }
    }
    if (uniform)
      for (; at < rows; at++)
        if (load<u8>(block + at, COL_TAGS) != tag) {
          uniform = false;
          break;
        }
    store<u8>(block, uniform ? tag : Tag.MIXED, COL_UNIFORM);
    if (uniform && tag != Tag.MISSING) continue;
    for (at = 0; at < rows; at++) {
      if (load<u8>(block + at, COL_TAGS) != Tag.MISSING) continue;
      store<u64>(block + ((<usize>at) << 3), 0, COL_VALS);
      store<u64>(block + ((<usize>at) << 3), 0, COL_RAW);
    }
  }
}

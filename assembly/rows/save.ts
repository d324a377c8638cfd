// Saves and loads rows one after the other: no address leaves the kernel, and pages are made anew. While a snapshot is
// being taken, it saves the rows instead.
import { LoadFault } from '../gen/state-layouts';
import { BATCH_ROWS, Tag } from '../mem/layout';
import { ABSENT, areSame, placeOf, savedCount } from '../state/members';
import {
  canFollow,
  readFail,
  readFails,
  readTime,
  readU32,
  readU64,
  readUpTo,
  readValue,
  valueRead,
} from '../state/reader';
import { writeTime, writeU32, writeValue } from '../state/writer';
import { Rows, RowsFlag } from './layout';
import { Page, PAGE_TIMES, pageTag, pageTags, pageUniforms, pageVal, pageVals, timeAt } from './page';
import { loadedSnapshotTake } from './loaded-snapshot';
import { BY_PAGES, snapshotRows } from './snapshot';
import { rowsAdd, rowsFirst } from './store';

/** Saves the rows of a store from which they leave in order: for each row its time, if it has one, and its values. */
export function rowsSave(rows: Rows): void {
  if (snapshotRows(rows)) return;
  const hasTimes = (rows.flags & RowsFlag.TIMES) != 0;
  writeU32(rows.count);
  for (let page = rowsFirst(rows); page; page = page.next) {
    const to = page.to;
    for (let row = page.left; row < to; row++) {
      if (hasTimes) writeTime(timeAt(page, row));
      rowSave(rows, page, row);
    }
  }
}

/**
 * Adds saved rows, whose columns are the members `list` of their node (state/members.ts); new columns have no values.
 */
export function rowsLoad(rows: Rows, list: u32): void {
  const hasTimes = (rows.flags & RowsFlag.TIMES) != 0;
  const first = readU64();
  if (first == BY_PAGES) {
    pagesLoad(rows, list);
    return;
  }
  const count = <u32>first;
  // Rows without times and columns take no bytes.
  const columns = savedCount(list, rows.columns);
  if (first > u32.MAX_VALUE || ((hasTimes || columns) && !canFollow(count))) readFail(LoadFault.DAMAGED);
  for (let done: u32 = 0; done < count && !readFails(); done++) {
    const ms = hasTimes ? readTime() : 0;
    const page = rowLoad(rows, count - done, list);
    if (page && hasTimes) store<f64>(changetype<usize>(page) + ((<usize>(page.to - 1)) << 3), ms, PAGE_TIMES);
  }
}

/** Takes the pages whose numbers were saved from the loaded snapshot. */
function pagesLoad(rows: Rows, list: u32): void {
  for (;;) {
    const serial = readU32();
    if (serial == 0 || readFails()) return;
    const left = readUpTo(BATCH_ROWS);
    const to = readUpTo(BATCH_ROWS);
    const fault = readFails() ? LoadFault.NONE : loadedSnapshotTake(rows, serial - 1, left, to, list);
    if (fault) readFail(fault);
  }
}

/** Saves the values of a row. */
export function rowSave(rows: Rows, page: Page, row: u32): void {
  const columns = rows.columns;
  for (let c: u32 = 0; c < columns; c++) writeValue(pageTag(page, c, row), pageVal(page, c, row));
}

/**
 * Adds a saved row, the first of `more`, whose columns are the members `list` of its node. Returns its page, in which
 * it is the last row; 0 when it can't be read.
 */
export function rowLoad(rows: Rows, more: u32, list: u32): Page {
  const page = rowsAdd(rows, more);
  if (!page) {
    readFail(LoadFault.MEMORY);
    return changetype<Page>(0);
  }
  const columns = rows.columns;
  const uniforms = pageUniforms(page, columns);
  const row = <usize>(page.to - 1);
  if (areSame(list)) {
    for (let c: u32 = 0; c < columns; c++) {
      const tag = readCell(page);
      setCell(page, uniforms, c, row, tag, readFails() ? 0 : valueRead);
    }
    return readFails() ? changetype<Page>(0) : page;
  }
  for (let c: u32 = 0; c < columns; c++) setCell(page, uniforms, c, row, Tag.MISSING, 0);
  const saved = savedCount(list, columns);
  for (let i: u32 = 0; i < saved && !readFails(); i++) {
    const tag = readCell(page);
    const c = placeOf(list, i);
    if (c == ABSENT || readFails()) continue;
    if (c < columns) setCell(page, uniforms, c, row, tag, valueRead);
    else readFail(LoadFault.DAMAGED);
  }
  return readFails() ? changetype<Page>(0) : page;
}

/** Reads a value of a row of the page, and returns its tag. */
function readCell(page: Page): u8 {
  const tag = readValue(page.pool);
  if (tag > Tag.ERROR) readFail(LoadFault.DAMAGED);
  return readFails() ? Tag.MISSING : tag;
}

function setCell(page: Page, uniforms: usize, c: u32, row: usize, tag: u8, payload: u64): void {
  store<u8>(pageTags(page, c) + row, tag);
  store<u64>(pageVals(page, c) + (row << 3), payload);
  if (row == 0) store<u8>(uniforms + c, tag);
  else if (load<u8>(uniforms + c) != tag) store<u8>(uniforms + c, Tag.MIXED);
}

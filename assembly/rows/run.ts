// Runs of rows of a page as they are saved, each as a part (state/form.ts) whose identity is the number of the page.
// Numbers and lengths of texts in its columns take few bytes.
//
//   run      from u32 | n u32 | capacity u32 | columns u32 | has times u8 | times (rows/numbers.ts) | columns
//   column   tag u8 of all its rows | nothing, where the tag says all
//                                   | numbers, where payloads are
//                                   | lengths as numbers, then the texts, where they are texts
//            or MIXED               | a value for each row
import { LoadFault } from '../gen/state-layouts';
import { alloc } from '../mem/alloc';
import { BATCH_ROWS, Tag, lenOf, offOf, span } from '../mem/layout';
import { Pool, poolAlloc, poolBytes, poolInit, poolTake } from '../mem/pool';
import { placeOf } from '../state/members';
import { readBool, readFail, readFails, readRaw, readU8, readUpTo, readValue, valueRead } from '../state/reader';
import { partBegin, partEnd, writeBool, writeRaw, writeU32, writeU8, writeValue } from '../state/writer';
import { numbersLoad, numbersSave } from './numbers';
import { MIN_PAGE } from './layout';
import { Page, PAGE_TIMES, pageFree, pageLay, pageSize, pageTags, pageUniforms, pageVals } from './page';

/** Approximate bytes of text in a run, so that writing one takes hardly any time. */
const RUN_TEXT: u32 = 262144;
/** Columns of a page at most. */
const MOST_COLUMNS: u32 = 65536;
const LENGTHS: usize = memory.data(8 * 1024, 16);

/** Number of rows of the page behind `from` that make a run. */
export function runRows(page: Page, from: u32, to: u32): u32 {
  const each = poolBytes(page.pool) / page.to;
  return min(to - from, max(RUN_TEXT / max(each, 1), 1));
}

/** Writes the rows `from` to `from + n` of a page. */
export function runSave(page: Page, serial: u32, from: u32, n: u32, columns: u32, hasTimes: bool): void {
  partBegin(serial);
  writeU32(from);
  writeU32(n);
  writeU32(page.capacity);
  writeU32(columns);
  writeBool(hasTimes);
  if (hasTimes) numbersSave(changetype<usize>(page) + PAGE_TIMES + ((<usize>from) << 3), n, true);
  const uniforms = pageUniforms(page, columns);
  for (let c: u32 = 0; c < columns; c++) {
    const vals = pageVals(page, c) + ((<usize>from) << 3);
    const uniform = load<u8>(uniforms + c);
    switch (uniform) {
      case Tag.MISSING:
      case Tag.NULL:
        writeU8(uniform);
        break;
      case Tag.BOOL:
      case Tag.I64:
      case Tag.F64:
      case Tag.TIME:
        writeU8(uniform);
        numbersSave(vals, n, uniform == Tag.F64);
        break;
      case Tag.STR:
      case Tag.BYTES:
        writeU8(uniform);
        textsSave(vals, n);
        break;
      default: {
        writeU8(Tag.MIXED);
        const tags = pageTags(page, c) + from;
        for (let i: usize = 0; i < n; i++) writeValue(load<u8>(tags + i), load<u64>(vals + (i << 3)));
      }
    }
  }
  partEnd();
}

function textsSave(vals: usize, n: u32): void {
  for (let i: usize = 0; i < (<usize>n) << 3; i += 8) store<u64>(LENGTHS + i, lenOf(load<u64>(vals + i)));
  numbersSave(LENGTHS, n, false);
  for (let i: usize = 0; i < (<usize>n) << 3; i += 8) {
    const text = load<u64>(vals + i);
    writeRaw(offOf(text), lenOf(text));
  }
}

/** Columns and times of a page without a store, which stand in place of its links. */
// @ts-ignore: decorator
@inline function formOf(columns: u32, hasTimes: bool): u32 {
  return (columns << 1) | <u32>hasTimes;
}

/** True when the page, which has no store, has the form of a store with such columns and times. */
export function pageSuits(page: Page, columns: u32, hasTimes: bool): bool {
  return changetype<usize>(page.next) == formOf(columns, hasTimes);
}

/**
 * Gives a page without a store the columns of a node, its members `list`, in place of the saved ones; new columns have
 * no values. Returns the page, or 0 when memory is exhausted: the page is unchanged then.
 */
export function pageWithOwn(page: Page, columns: u32, list: u32, acct: usize): Page {
  const form = page.next;
  const saved = changetype<usize>(form) >> 1;
  const hasTimes = (changetype<usize>(form) & 1) != 0;
  const capacity = page.capacity;
  const made = changetype<Page>(alloc(pageSize(columns, hasTimes, capacity), acct));
  if (!made) return changetype<Page>(0);
  pageLay(made, columns, hasTimes, capacity);
  poolInit(made.pool, 128, acct);
  poolTake(made.pool, page.pool);
  made.next = changetype<Page>(formOf(columns, hasTimes));
  const rows = <usize>page.to;
  made.to = <u32>rows;
  if (hasTimes) memory.copy(changetype<usize>(made) + PAGE_TIMES, changetype<usize>(page) + PAGE_TIMES, rows << 3);
  memory.fill(pageVals(made, 0), 0, (<usize>(columns * capacity)) << 3);
  memory.fill(pageTags(made, 0), Tag.MISSING, <usize>(columns * capacity));
  memory.fill(pageUniforms(made, columns), Tag.MISSING, columns);
  for (let i: u32 = 0; i < saved; i++) {
    const c = placeOf(list, i);
    if (c >= columns) continue;
    memory.copy(pageVals(made, c), pageVals(page, i), rows << 3);
    memory.copy(pageTags(made, c), pageTags(page, i), rows);
    store<u8>(pageUniforms(made, columns) + c, load<u8>(pageUniforms(page, saved) + i));
  }
  unownedPageFree(page, acct);
  return made;
}

/** Frees a page without a store. */
export function unownedPageFree(page: Page, acct: usize): void {
  const form = page.next;
  pageFree(page, changetype<usize>(form) >> 1, (changetype<usize>(form) & 1) != 0, acct);
}

/**
 * Reads the run of the part under way into its page, which is made if there is none yet (0), and returns the page.
 * Returns 0 when the run can't be read; a given page stays the caller's.
 */
export function runLoad(known: Page, acct: usize): Page {
  const from = readUpTo(BATCH_ROWS);
  const n = readUpTo(BATCH_ROWS);
  const capacity = readUpTo(BATCH_ROWS);
  const columns = readUpTo(MOST_COLUMNS);
  const hasTimes = readBool();
  const form = changetype<Page>(formOf(columns, hasTimes));
  const isGood = known
    ? known.to == from && known.capacity == capacity && known.next == form
    : from == 0 && capacity >= MIN_PAGE && (capacity & (capacity - 1)) == 0;
  if (!isGood || n == 0 || from + n > capacity) readFail(LoadFault.DAMAGED);
  if (readFails()) return changetype<Page>(0);
  let page = known;
  if (!page) {
    page = changetype<Page>(alloc(pageSize(columns, hasTimes, capacity), acct));
    if (!page) {
      readFail(LoadFault.MEMORY);
      return changetype<Page>(0);
    }
    pageLay(page, columns, hasTimes, capacity);
    poolInit(page.pool, capacity << 4, acct);
    page.next = form;
  }
  if (hasTimes) numbersLoad(changetype<usize>(page) + PAGE_TIMES + ((<usize>from) << 3), n);
  for (let c: u32 = 0; c < columns && !readFails(); c++) columnLoad(page, pageUniforms(page, columns) + c, c, from, n);
  if (!readFails()) {
    page.to = from + n;
    return page;
  }
  if (!known) unownedPageFree(page, acct);
  return changetype<Page>(0);
}

function columnLoad(page: Page, uniformAt: usize, c: u32, from: u32, n: u32): void {
  const vals = pageVals(page, c) + ((<usize>from) << 3);
  const tags = pageTags(page, c) + from;
  let uniform = readU8();
  switch (uniform) {
    case Tag.MISSING:
    case Tag.NULL:
      memory.fill(vals, 0, (<usize>n) << 3);
      break;
    case Tag.BOOL:
    case Tag.I64:
    case Tag.F64:
    case Tag.TIME:
      numbersLoad(vals, n);
      break;
    case Tag.STR:
    case Tag.BYTES:
      textsLoad(page.pool, vals, n);
      break;
    case Tag.MIXED:
      for (let i: usize = 0; i < n && !readFails(); i++) {
        const tag = readValue(page.pool);
        if (tag > Tag.ERROR) readFail(LoadFault.DAMAGED);
        store<u8>(tags + i, tag);
        store<u64>(vals + (i << 3), valueRead);
        if (i == 0) uniform = tag;
        else if (tag != uniform) uniform = Tag.MIXED;
      }
      break;
    default:
      readFail(LoadFault.DAMAGED);
  }
  if (readFails()) return;
  if (uniform != Tag.MIXED) memory.fill(tags, uniform, n);
  store<u8>(uniformAt, from == 0 || load<u8>(uniformAt) == uniform ? uniform : Tag.MIXED);
}

function textsLoad(pool: Pool, vals: usize, n: u32): void {
  numbersLoad(LENGTHS, n);
  for (let i: usize = 0; i < (<usize>n) << 3 && !readFails(); i += 8) {
    const len = load<u64>(LENGTHS + i);
    if (len > 0x7fff0000) {
      readFail(LoadFault.DAMAGED);
      return;
    }
    const to = poolAlloc(pool, <u32>len);
    if (!to) {
      readFail(LoadFault.MEMORY);
      return;
    }
    readRaw(to, <u32>len);
    store<u64>(vals + i, span(to, <u32>len));
  }
}

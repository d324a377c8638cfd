// Rows that a window keeps: pages of columns, each with the text of its rows, so that a page is freed as a whole when its
// last row has left the window.
//
//   rows    first u32 | last u32 | count u32 | acct u32 | 0 …              count: rows in all pages
//   page    next u32 | capacity u32 | from u32 | to u32 | pool 32 | bytes u32 | 0 … | 64: times f64[capacity]
//           then for each input payloads u64[capacity], then for each input tags u8[capacity]
//
// Inputs that are constants are not stored. Pages grow from 16 to 1024 rows, so that small windows stay small.
import { alloc, free, refusals } from '../mem/alloc';
import { copyValue, poolFree, poolInit } from '../mem/pool';
import { BATCH_ROWS, Tag } from '../mem/layout';
import { isConst, tagsOf, valsOf } from '../ops/operand';
import { LoadFault } from '../gen/state-layouts';
import { readF64, readFail, readFails, readLength, readValue, valueRead } from '../state/reader';
import { writeF64, writeU32, writeValue } from '../state/writer';
import { timeOfRow } from './times';
import { S_INPUTS, bindOf, bindTag, bindVal, inputOperand, setBind } from '../agg/spec';

const FIRST: usize = 0;
const LAST: usize = 4;
export const ROWS_COUNT: usize = 8;
const ACCT: usize = 12;

export const PAGE_NEXT: usize = 0;
const CAPACITY: usize = 4;
export const PAGE_FROM: usize = 8;
export const PAGE_TO: usize = 12;
const POOL: usize = 16;
const BYTES: usize = 48;
const TIMES: u32 = 64;

export function rowsInit(rows: usize, acct: usize): void {
  memory.fill(rows, 0, 16);
  store<u32>(rows, <u32>acct, ACCT);
}

// @ts-ignore: decorator
@inline export function rowsFirst(rows: usize): usize {
  return <usize>load<u32>(rows, FIRST);
}

// @ts-ignore: decorator
@inline export function timeAt(page: usize, i: u32): f64 {
  return load<f64>(page + TIMES + (<usize>i << 3));
}

function addPage(rows: usize, inputs: u32): usize {
  const last = <usize>load<u32>(rows, LAST);
  const capacity = last ? min(load<u32>(last, CAPACITY) << 2, BATCH_ROWS) : 16;
  const bytes = TIMES + capacity * (8 + inputs * 9);
  const acct = <usize>load<u32>(rows, ACCT);
  const page = alloc(bytes, acct);
  if (!page) return 0;
  memory.fill(page, 0, TIMES);
  store<u32>(page, capacity, CAPACITY);
  store<u32>(page, bytes, BYTES);
  poolInit(page + POOL, capacity << 4, acct);
  if (last) store<u32>(last, <u32>page, PAGE_NEXT);
  else store<u32>(rows, <u32>page, FIRST);
  store<u32>(rows, <u32>page, LAST);
  return page;
}

/** Keeps the bound rows `sel[0 … n)` with their times (window/times.ts); false when memory is exhausted. */
export function rowsAppend(rows: usize, spec: usize, sel: usize, n: u32): bool {
  const inputs = load<u32>(spec, S_INPUTS);
  const before = refusals;
  let done: u32 = 0;
  while (done < n) {
    let page = <usize>load<u32>(rows, LAST);
    if (!page || load<u32>(page, PAGE_TO) == load<u32>(page, CAPACITY)) {
      page = addPage(rows, inputs);
      if (!page) return false;
    }
    const capacity = load<u32>(page, CAPACITY);
    const to = load<u32>(page, PAGE_TO);
    const part = min(n - done, capacity - to);
    const from = sel + (<usize>done << 2);
    let vals = page + TIMES + (<usize>capacity << 3);
    let tags = vals + (<usize>(inputs * capacity) << 3);
    for (let i: u32 = 0; i < inputs; i++) {
      if (!isConst(inputOperand(spec, i))) storeColumn(page + POOL, bindOf(i), from, part, vals + (<usize>to << 3), tags + to);
      vals += <usize>capacity << 3;
      tags += capacity;
    }
    for (let i: u32 = 0; i < part; i++) {
      store<f64>(page + TIMES + (<usize>(to + i) << 3), timeOfRow(load<u32>(from + (<usize>i << 2))));
    }
    store<u32>(page, to + part, PAGE_TO);
    done += part;
  }
  store<u32>(rows, load<u32>(rows, ROWS_COUNT) + n, ROWS_COUNT);
  return refusals == before;
}

function storeColumn(pool: usize, bind: usize, sel: usize, n: u32, vals: usize, tags: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + (<usize>i << 2));
    const tag = bindTag(bind, row);
    const payload = bindVal(bind, row);
    store<u8>(tags + i, tag);
    store<u64>(vals + (<usize>i << 3), tag == Tag.ERROR ? copyValue(pool, Tag.STR, payload) : copyValue(pool, tag, payload));
  }
}

/** Saves the rows: a time, then the values of the inputs that are no constants. */
export function rowsSave(rows: usize, spec: usize): void {
  const inputs = load<u32>(spec, S_INPUTS);
  writeU32(load<u32>(rows, ROWS_COUNT));
  for (let page = rowsFirst(rows); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    const capacity = load<u32>(page, CAPACITY);
    const vals = page + TIMES + (<usize>capacity << 3);
    const tags = vals + (<usize>(inputs * capacity) << 3);
    const to = load<u32>(page, PAGE_TO);
    for (let row = load<u32>(page, PAGE_FROM); row < to; row++) {
      writeF64(timeAt(page, row));
      for (let i: u32 = 0; i < inputs; i++) {
        if (isConst(inputOperand(spec, i))) continue;
        const at = <usize>(i * capacity + row);
        writeValue(load<u8>(tags + at), load<u64>(vals + (at << 3)));
      }
    }
  }
}

/** Adds saved rows. */
export function rowsLoad(rows: usize, spec: usize): void {
  const inputs = load<u32>(spec, S_INPUTS);
  const count = readLength();
  for (let done: u32 = 0; done < count && !readFails(); done++) {
    let page = <usize>load<u32>(rows, LAST);
    if (!page || load<u32>(page, PAGE_TO) == load<u32>(page, CAPACITY)) {
      page = addPage(rows, inputs);
      if (!page) {
        readFail(LoadFault.MEMORY);
        return;
      }
    }
    const capacity = load<u32>(page, CAPACITY);
    const vals = page + TIMES + (<usize>capacity << 3);
    const tags = vals + (<usize>(inputs * capacity) << 3);
    const row = load<u32>(page, PAGE_TO);
    store<f64>(page + TIMES + (<usize>row << 3), readF64());
    for (let i: u32 = 0; i < inputs; i++) {
      if (isConst(inputOperand(spec, i))) continue;
      const at = <usize>(i * capacity + row);
      store<u8>(tags + at, readValue(page + POOL));
      store<u64>(vals + (at << 3), valueRead);
    }
    store<u32>(page, row + 1, PAGE_TO);
    store<u32>(rows, load<u32>(rows, ROWS_COUNT) + 1, ROWS_COUNT);
  }
}

/** Binds the inputs to the page: its rows are numbered from 0. Constants stand in `program`. */
export function bindPage(page: usize, spec: usize, program: usize): void {
  const inputs = load<u32>(spec, S_INPUTS);
  const capacity = load<u32>(page, CAPACITY);
  let vals = page + TIMES + (<usize>capacity << 3);
  let tags = vals + (<usize>(inputs * capacity) << 3);
  for (let i: u32 = 0; i < inputs; i++) {
    const operand = inputOperand(spec, i);
    if (isConst(operand)) {
      const tag = tagsOf(program, operand);
      setBind(i, valsOf(program, operand), tag, 0, load<u8>(tag));
    } else setBind(i, vals, tags, 1, Tag.MIXED);
    vals += <usize>capacity << 3;
    tags += capacity;
  }
}

/** Drops the rows whose time is before `ms`; rows are in the order of their times. */
export function rowsDropBefore(rows: usize, ms: f64): void {
  let page = <usize>load<u32>(rows, FIRST);
  while (page) {
    const to = load<u32>(page, PAGE_TO);
    let from = load<u32>(page, PAGE_FROM);
    const before = from;
    if (to > from && timeAt(page, to - 1) < ms) from = to;
    else while (from < to && timeAt(page, from) < ms) from++;
    store<u32>(rows, load<u32>(rows, ROWS_COUNT) - (from - before), ROWS_COUNT);
    store<u32>(page, from, PAGE_FROM);
    if (from < to) return;
    page = dropPage(rows, page);
  }
}

/** Drops the first `n` rows. */
export function rowsDrop(rows: usize, n: u32): void {
  store<u32>(rows, load<u32>(rows, ROWS_COUNT) - n, ROWS_COUNT);
  let page = <usize>load<u32>(rows, FIRST);
  while (page) {
    const from = load<u32>(page, PAGE_FROM);
    const part = min(n, load<u32>(page, PAGE_TO) - from);
    store<u32>(page, from + part, PAGE_FROM);
    n -= part;
    if (from + part < load<u32>(page, PAGE_TO)) return;
    page = dropPage(rows, page);
  }
}

/** Takes the empty first page out and returns the next; the only page is kept for what comes. */
function dropPage(rows: usize, page: usize): usize {
  const next = <usize>load<u32>(page, PAGE_NEXT);
  if (!next) {
    poolFree(page + POOL);
    store<u32>(page, 0, PAGE_FROM);
    store<u32>(page, 0, PAGE_TO);
    return 0;
  }
  store<u32>(rows, <u32>next, FIRST);
  freePage(rows, page);
  return next;
}

function freePage(rows: usize, page: usize): void {
  poolFree(page + POOL);
  free(page, load<u32>(page, BYTES), <usize>load<u32>(rows, ACCT));
}

export function rowsFree(rows: usize): void {
  let page = <usize>load<u32>(rows, FIRST);
  while (page) {
    const next = <usize>load<u32>(page, PAGE_NEXT);
    freePage(rows, page);
    page = next;
  }
  memory.fill(rows, 0, ACCT);
}

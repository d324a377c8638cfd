// Deferred work of an interval join (node/deferred.ts): the rows of the batch that have not met all their partners, or
// how far time has come. The join gets no other rows meanwhile.
//
//   job    0    rows 48                 values of rows that did not fail, with their times in a last column
//   (rows/store.ts)
//          48   texts 32                those of failures (mem/pool.ts)
//          80   items u32 -> item[count] | count u32 | acct u32 | ends u32 (items from there on are failures that come
//          last)
//          96   phase u32 | at u32 | member u32 | round u32
//          112  other u32 | left u32 | own u32 | ofTime u32
//          128  due f64 | last f64
//          144  ms f64                  how far time has come, of a job without a batch
//   item   value u64 (number of the row in the batch, or text of its failure) | entry u32 | note u32
import * as ctx from '../../batch/context';
import { identity, stageAcquire } from '../../batch/stage';
import { alloc, free } from '../../mem/alloc';
import { Bind, BIND_SIZE, bindBlock } from '../../mem/bind';
import { BATCH_ROWS, Tag } from '../../mem/layout';
import { Pool, copyValue, poolAlloc, poolFree, poolInit } from '../../mem/pool';
import { partBegin, partColumn } from '../../rows/copy';
import { Rows, ROWS_SIZE } from '../../rows/layout';
import { rowsAppend, rowsFirst, rowsFree, rowsInit } from '../../rows/store';

/** Next step of the job. */
export namespace Phase {
  /** Rows are worked off that can meet no row of the next time. */
  export const TIME: u32 = 0;
  /** The next rows, all of one time, meet their partners. */
  export const ROWS: u32 = 1;
  /** A row is in the middle of the list of its key. */
  export const LIST: u32 = 2;
  /** Rows are worked off that are too old. */
  export const OLD: u32 = 3;
  /** Keys are dropped that have no rows. */
  export const KEYS: u32 = 4;
  export const DONE: u32 = 5;
}

const TEXTS: usize = ROWS_SIZE;
/** Work that an interval join has deferred. */
// @ts-ignore: decorator
@unmanaged
export class IntervalJob extends Rows {
  private gap48: u64;
  private gap56: u64;
  private gap64: u64;
  private gap72: u64;
  items: usize;
  itemCount: u32;
  jobAccount: usize;
  ends: u32;
  phase: u32;
  /** Rows of one time: the first one, the one at work, and the round (1: rows of the left). */
  at: u32;
  member: u32;
  round: u32;
  /** List that a row is in the middle of: its next row, the rows left, and the name of the row that meets them. */
  other: u32;
  left: u32;
  own: u32;
  /** 1 for a job without a batch, in which only time has come further. */
  ofTime: u32;
  due: f64;
  lastTime: f64;
  ms: f64;

  get texts(): Pool {
    return changetype<Pool>(changetype<usize>(this) + TEXTS);
  }
}

const JOB_SIZE: u32 = 152;

const ITEM_LOG: u32 = 4;
/** A row or failure of the batch. */
// @ts-ignore: decorator
@unmanaged
class JobItem {
  value: u64;
  entry: u32;
  note: u32;
}

/** Makes a job for `count` rows of `columns` columns; 0 when memory is exhausted. */
export function jobNew(columns: u32, count: u32, acct: usize): IntervalJob {
  const job = changetype<IntervalJob>(alloc(JOB_SIZE, acct));
  if (!job) return changetype<IntervalJob>(0);
  memory.fill(changetype<usize>(job), 0, JOB_SIZE);
  rowsInit(job, columns + 1, 0, acct);
  poolInit(job.texts, 256, acct);
  job.jobAccount = acct;
  const items: usize = count ? alloc(count << ITEM_LOG, acct) : 0;
  if (count && !items) {
    jobFree(job);
    return changetype<IntervalJob>(0);
  }
  job.items = items;
  job.itemCount = count;
  return job;
}

export function jobFree(job: IntervalJob): void {
  const acct = job.jobAccount;
  rowsFree(job);
  poolFree(job.texts);
  free(job.items, job.itemCount << ITEM_LOG, acct);
  free(changetype<usize>(job), JOB_SIZE, acct);
}

// @ts-ignore: decorator
@inline function itemAt(job: IntervalJob, i: u32): JobItem {
  return changetype<JobItem>(job.items + ((<usize>i) << ITEM_LOG));
}

// @ts-ignore: decorator
@inline export function jobCount(job: IntervalJob): u32 {
  return job.itemCount;
}

/** Notes the value, the entry of the key and the note of row `i`. */
export function jobItem(job: IntervalJob, i: u32, value: u64, entry: u32, note: u8): void {
  const item = itemAt(job, i);
  item.value = value;
  item.entry = entry;
  item.note = note;
}

/** As `jobItem` of a row that failed; false when memory is exhausted. */
export function jobFailure(job: IntervalJob, i: u32, failure: u64, note: u8): bool {
  const copy = copyValue(job.texts, Tag.ERROR, failure);
  jobItem(job, i, copy, 0, note);
  return copy != 0;
}

/** Keeps the rows `sel[0 … n)` of the columns that are bound, the times among them; false when memory is exhausted. */
export function jobKeep(job: IntervalJob, binds: usize, columns: u32, times: usize, sel: usize, n: u32): bool {
  if (n == 0) return true;
  const all = poolAlloc(ctx.scratch, (columns + 1) * BIND_SIZE);
  if (!all) return false;
  memory.copy(all, binds, columns * BIND_SIZE);
  bindBlock(changetype<Bind>(all + columns * BIND_SIZE), times);
  return rowsAppend(job, all, columns + 1, sel, n, 0);
}

/**
 * Writes the batch of the job into blocks of the stage, of which `columns` + 1 are acquired, binds them at `binds`, and
 * gives back its entries, notes, failures and row numbers; the addresses of the lists are in `jobEntries` … `jobSel`. 0
 * when memory is exhausted.
 */
export function jobBatch(job: IntervalJob, columns: u32, binds: usize): usize {
  const count = jobCount(job);
  const names = poolAlloc(ctx.scratch, BATCH_ROWS << 3);
  jobEntries = poolAlloc(ctx.scratch, (count << 2) + 4);
  jobNotes = poolAlloc(ctx.scratch, count + 1);
  jobFailures = poolAlloc(ctx.scratch, (count << 3) + 8);
  jobSel = poolAlloc(ctx.scratch, (count << 2) + 4);
  if (!names || !jobEntries || !jobNotes || !jobFailures || !jobSel) return 0;
  const stage = stageAcquire(columns + 1);
  if (!stage) return 0;
  for (let i: u32 = 0; i < count; i++) {
    const item = itemAt(job, i);
    store<u32>(jobEntries + ((<usize>i) << 2), item.entry);
    store<u8>(jobNotes + i, <u8>item.note);
    store<u64>(jobFailures + ((<usize>i) << 3), item.value);
    store<u32>(jobSel + ((<usize>i) << 2), load<u32>(changetype<usize>(item)));
  }
  let n: u32 = 0;
  for (let page = rowsFirst(job); page; page = page.next) {
    const to = page.to;
    for (let row: u32 = 0; row < to; row++, n++) {
      store<u32>(names + ((<usize>n) << 3), changetype<u32>(page));
      store<u32>(names + ((<usize>n) << 3), row, 4);
    }
  }
  if (n) {
    partBegin(names, n);
    for (let c: u32 = 0; c <= columns; c++) {
      const block = <usize>load<u32>(stage + ((<usize>c) << 2));
      partColumn(block, c, columns + 1, 0);
      if (c < columns) bindBlock(changetype<Bind>(binds + c * BIND_SIZE), block);
    }
  }
  ctx.setBatch(stage, n, identity, n, 0);
  return stage;
}

/** Addresses of the lists that `jobBatch` writes: entries, notes, failures and row numbers. */
export let jobEntries: usize = 0;
export let jobNotes: usize = 0;
export let jobFailures: usize = 0;
export let jobSel: usize = 0;

/** Rows of the batch of the job. */
// @ts-ignore: decorator
@inline export function jobRows(job: Rows): u32 {
  return job.count;
}

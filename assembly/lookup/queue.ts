// Rows and signals that wait until what is asked for the rows is there, in their order. Rows are copied: each batch is
// a store of its own, with the columns that go on and a mark of those that failed.
//
//   queue   0   first u32 | last u32 | batches u32 | number u32 (of the last item)
//           16  rows u32 | 0 u32 | 0 u64
//   item    0   next u32 | number u32 | signal u32 (0: rows) | count u32
//           16  entries u32 -> u32[count] (0: nothing is asked) | ready u32 (so many at the front are) | text u32 |
//           textLen u32
//           32  value u64 (of the signal) | 0 u64
//           48  rows 48
import { alloc, allocZeroed, free } from '../mem/alloc';
import { lenOf, offOf, span } from '../mem/layout';
import { ROWS_SIZE } from '../rows/layout';
import { rowsFree, rowsInit } from '../rows/store';
import { EntryState, entryLeave, entryState } from './answers';

const FIRST: usize = 0;
const LAST: usize = 4;
const BATCHES: usize = 8;
const NUMBER: usize = 12;
const ROWS: usize = 16;
export const QUEUE_SIZE: u32 = 32;

const ITEM_NUMBER: usize = 4;
const ITEM_SIGNAL: usize = 8;
const ITEM_COUNT: usize = 12;
const ITEM_ENTRIES: usize = 16;
const ITEM_READY: usize = 20;
const ITEM_TEXT: usize = 24;
const ITEM_TEXT_LEN: usize = 28;
const ITEM_VALUE: usize = 32;
const ITEM_ROWS: u32 = 48;
const ITEM_SIZE: u32 = ITEM_ROWS + ROWS_SIZE;

// @ts-ignore: decorator
@inline export function queueFirst(queue: usize): usize {
  return <usize>load<u32>(queue, FIRST);
}

/** Batches of rows that wait. */
// @ts-ignore: decorator
@inline export function queueBatches(queue: usize): u32 {
  return load<u32>(queue, BATCHES);
}

/** Rows that wait. */
// @ts-ignore: decorator
@inline export function queueWaiting(queue: usize): u32 {
  return load<u32>(queue, ROWS);
}

/** Number of the last item that came in; items have numbers in their order. */
// @ts-ignore: decorator
@inline export function queueNumber(queue: usize): u32 {
  return load<u32>(queue, NUMBER);
}

// @ts-ignore: decorator
@inline export function itemNext(item: usize): usize {
  return <usize>load<u32>(item);
}

// @ts-ignore: decorator
@inline export function itemNumber(item: usize): u32 {
  return load<u32>(item, ITEM_NUMBER);
}

/** The signal, 0 for rows. */
// @ts-ignore: decorator
@inline export function itemSignal(item: usize): u32 {
  return load<u32>(item, ITEM_SIGNAL);
}

// @ts-ignore: decorator
@inline export function itemValue(item: usize): u64 {
  return load<u64>(item, ITEM_VALUE);
}

// @ts-ignore: decorator
@inline export function itemCount(item: usize): u32 {
  return load<u32>(item, ITEM_COUNT);
}

// @ts-ignore: decorator
@inline export function itemRows(item: usize): usize {
  return item + ITEM_ROWS;
}

// @ts-ignore: decorator
@inline export function itemEntries(item: usize): usize {
  return <usize>load<u32>(item, ITEM_ENTRIES);
}

// @ts-ignore: decorator
@inline export function itemEntry(item: usize, i: u32): usize {
  return <usize>load<u32>(itemEntries(item) + ((<usize>i) << 2));
}

function append(queue: usize, item: usize): void {
  const last = <usize>load<u32>(queue, LAST);
  if (last) store<u32>(last, <u32>item);
  else store<u32>(queue, <u32>item, FIRST);
  store<u32>(queue, <u32>item, LAST);
  const number = queueNumber(queue) + 1;
  store<u32>(queue, number, NUMBER);
  store<u32>(item, number, ITEM_NUMBER);
}

/**
 * Adds an item for `count` rows of so many columns, whose store and entries the caller fills; 0 when memory is
 * exhausted.
 */
export function queueRows(queue: usize, count: u32, columns: u32, acct: usize): usize {
  const item = allocZeroed(ITEM_SIZE, acct);
  const entries: usize = item ? allocZeroed(max<u32>(count, 1) << 2, acct) : 0;
  if (!entries) {
    free(item, ITEM_SIZE, acct);
    return 0;
  }
  store<u32>(item, count, ITEM_COUNT);
  store<u32>(item, <u32>entries, ITEM_ENTRIES);
  rowsInit(itemRows(item), columns, 0, acct);
  append(queue, item);
  store<u32>(queue, queueBatches(queue) + 1, BATCHES);
  store<u32>(queue, queueWaiting(queue) + count, ROWS);
  return item;
}

/** Adds a signal; the text of an error that its value names is copied if `hasText`. False when memory is exhausted. */
export function queueSignal(queue: usize, signal: u32, value: u64, hasText: bool, acct: usize): bool {
  const item = allocZeroed(ITEM_SIZE, acct);
  if (!item) return false;
  store<u32>(item, signal, ITEM_SIGNAL);
  store<u64>(item, value, ITEM_VALUE);
  rowsInit(itemRows(item), 0, 0, acct);
  if (hasText && offOf(value)) {
    const len = lenOf(value);
    const text = alloc(max(len, 1), acct);
    if (!text) {
      free(item, ITEM_SIZE, acct);
      return false;
    }
    memory.copy(text, offOf(value), len);
    store<u32>(item, <u32>text, ITEM_TEXT);
    store<u32>(item, max(len, 1), ITEM_TEXT_LEN);
    store<u64>(item, span(text, len), ITEM_VALUE);
  }
  append(queue, item);
  return true;
}

/** All answers that the item waits for are there, or none will come. */
export function itemIsReady(item: usize): bool {
  const count: u32 = itemSignal(item) ? 0 : itemCount(item);
  let i = load<u32>(item, ITEM_READY);
  while (i < count) {
    const entry = itemEntry(item, i);
    if (entry && entryState(entry) == EntryState.WAITING) break;
    i++;
  }
  store<u32>(item, i, ITEM_READY);
  return i == count;
}

/** Takes the first item out and frees it; its rows leave their entries. */
export function queueDrop(queue: usize, answers: usize, keeps: bool, acct: usize): void {
  const item = queueFirst(queue);
  const next = itemNext(item);
  store<u32>(queue, <u32>next, FIRST);
  if (!next) store<u32>(queue, 0, LAST);
  if (!itemSignal(item)) {
    store<u32>(queue, queueBatches(queue) - 1, BATCHES);
    const count = itemCount(item);
    store<u32>(queue, queueWaiting(queue) - count, ROWS);
    for (let i: u32 = 0; i < count; i++) if (itemEntry(item, i)) entryLeave(answers, itemEntry(item, i), keeps, acct);
    free(itemEntries(item), max<u32>(count, 1) << 2, acct);
  }
  rowsFree(itemRows(item));
  free(<usize>load<u32>(item, ITEM_TEXT), load<u32>(item, ITEM_TEXT_LEN), acct);
  free(item, ITEM_SIZE, acct);
}

/** Frees what waits; entries are freed by their owner. */
export function queueFree(queue: usize, acct: usize): void {
  for (let item = queueFirst(queue); item; ) {
    const next = itemNext(item);
    if (!itemSignal(item)) free(itemEntries(item), max<u32>(itemCount(item), 1) << 2, acct);
    rowsFree(itemRows(item));
    free(<usize>load<u32>(item, ITEM_TEXT), load<u32>(item, ITEM_TEXT_LEN), acct);
    free(item, ITEM_SIZE, acct);
    item = next;
  }
  memory.fill(queue, 0, QUEUE_SIZE);
}

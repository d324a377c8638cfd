// Rows and signals that wait, in their order, until the answers for the rows are there. Rows are copied: each batch is
// a store of its own, with the columns that go on and a mark of those that failed.
//
//   queue   0   first u32 | last u32 | batches u32 | number u32 (of the last item)
//           16  rows u32 | 0 u32 | 0 u64
//   item    0   next u32 | number u32 | signal u32 (0: rows) | count u32
//           16  entries u32 -> u32[count] (0: nothing is asked) | ready u32 (so many at the front are) | text u32 |
//           textLen u32
//           32  value u64 (of the signal) | 0 u64
//           48  rows 48
import { alloc, allocZeroed, free } from '../../mem/alloc';
import { lenOf, offOf, span } from '../../mem/layout';
import { Rows, ROWS_SIZE } from '../../rows/layout';
import { rowsFree, rowsInit } from '../../rows/store';
import { Answers, Answer, EntryState, entryLeave, entryState } from './answers';

/** Items that wait, in their order. */
// @ts-ignore: decorator
@unmanaged
export class Queue {
  first: Item;
  last: Item;
  batches: u32;
  number: u32;
  rows: u32;
}

export const QUEUE_SIZE: u32 = 32;

/** A batch or signal that waits. */
// @ts-ignore: decorator
@unmanaged
export class Item {
  next: Item;
  number: u32;
  signal: u32;
  count: u32;
  entries: usize;
  ready: u32;
  text: usize;
  textLen: u32;
  value: u64;

  get rows(): Rows {
    return changetype<Rows>(changetype<usize>(this) + ITEM_ROWS);
  }
}

const ITEM_ROWS: u32 = 48;
const ITEM_SIZE: u32 = ITEM_ROWS + ROWS_SIZE;

// @ts-ignore: decorator
@inline export function queueFirst(queue: Queue): Item {
  return queue.first;
}

/** Batches of rows that wait. */
// @ts-ignore: decorator
@inline export function queueBatches(queue: Queue): u32 {
  return queue.batches;
}

/** Rows that wait. */
// @ts-ignore: decorator
@inline export function queueWaiting(queue: Queue): u32 {
  return queue.rows;
}

/** Number of the last item that came in; items have numbers in their order. */
// @ts-ignore: decorator
@inline export function queueNumber(queue: Queue): u32 {
  return queue.number;
}

// @ts-ignore: decorator
@inline export function itemNext(item: Item): Item {
  return item.next;
}

// @ts-ignore: decorator
@inline export function itemNumber(item: Item): u32 {
  return item.number;
}

/** The signal, 0 for rows. */
// @ts-ignore: decorator
@inline export function itemSignal(item: Item): u32 {
  return item.signal;
}

// @ts-ignore: decorator
@inline export function itemValue(item: Item): u64 {
  return item.value;
}

// @ts-ignore: decorator
@inline export function itemCount(item: Item): u32 {
  return item.count;
}

// @ts-ignore: decorator
@inline export function itemRows(item: Item): Rows {
  return item.rows;
}

// @ts-ignore: decorator
@inline export function itemEntries(item: Item): usize {
  return item.entries;
}

// @ts-ignore: decorator
@inline export function itemEntry(item: Item, i: u32): Answer {
  return changetype<Answer>(load<u32>(itemEntries(item) + ((<usize>i) << 2)));
}

function append(queue: Queue, item: Item): void {
  const last = queue.last;
  if (last) last.next = item;
  else queue.first = item;
  queue.last = item;
  const number = queueNumber(queue) + 1;
  queue.number = number;
  item.number = number;
}

/**
 * Adds an item for `count` rows of `columns` columns, whose store and entries the caller fills; 0 when memory is
 * exhausted.
 */
export function queueRows(queue: Queue, count: u32, columns: u32, acct: usize): Item {
  const item = changetype<Item>(allocZeroed(ITEM_SIZE, acct));
  const entries: usize = item ? allocZeroed(max<u32>(count, 1) << 2, acct) : 0;
  if (!entries) {
    free(changetype<usize>(item), ITEM_SIZE, acct);
    return changetype<Item>(0);
  }
  item.count = count;
  item.entries = entries;
  rowsInit(itemRows(item), columns, 0, acct);
  append(queue, item);
  queue.batches = queueBatches(queue) + 1;
  queue.rows = queueWaiting(queue) + count;
  return item;
}

/** Adds a signal; the text of an error that its value names is copied if `hasText`. False when memory is exhausted. */
export function queueSignal(queue: Queue, signal: u32, value: u64, hasText: bool, acct: usize): bool {
  const item = changetype<Item>(allocZeroed(ITEM_SIZE, acct));
  if (!item) return false;
  item.signal = signal;
  item.value = value;
  rowsInit(itemRows(item), 0, 0, acct);
  if (hasText && offOf(value)) {
    const len = lenOf(value);
    const text = alloc(max(len, 1), acct);
    if (!text) {
      free(changetype<usize>(item), ITEM_SIZE, acct);
      return false;
    }
    memory.copy(text, offOf(value), len);
    item.text = text;
    item.textLen = max(len, 1);
    item.value = span(text, len);
  }
  append(queue, item);
  return true;
}

/** True when all answers that the item waits for are there, or will not come. */
export function itemIsReady(item: Item): bool {
  const count: u32 = itemSignal(item) ? 0 : itemCount(item);
  let i = item.ready;
  while (i < count) {
    const entry = itemEntry(item, i);
    if (entry && entryState(entry) == EntryState.WAITING) break;
    i++;
  }
  item.ready = i;
  return i == count;
}

/** Takes the first item out and frees it; its rows leave their entries. */
export function queueDrop(queue: Queue, answers: Answers, keeps: bool, acct: usize): void {
  const item = queueFirst(queue);
  const next = itemNext(item);
  queue.first = next;
  if (!next) queue.last = changetype<Item>(0);
  if (!itemSignal(item)) {
    queue.batches = queueBatches(queue) - 1;
    const count = itemCount(item);
    queue.rows = queueWaiting(queue) - count;
    for (let i: u32 = 0; i < count; i++) if (itemEntry(item, i)) entryLeave(answers, itemEntry(item, i), keeps, acct);
    free(itemEntries(item), max<u32>(count, 1) << 2, acct);
  }
  rowsFree(itemRows(item));
  free(item.text, item.textLen, acct);
  free(changetype<usize>(item), ITEM_SIZE, acct);
}

/** Frees all items; entries are freed by their owner. */
export function queueFree(queue: Queue, acct: usize): void {
  for (let item = queueFirst(queue); item; ) {
    const next = itemNext(item);
    if (!itemSignal(item)) free(itemEntries(item), max<u32>(itemCount(item), 1) << 2, acct);
    rowsFree(itemRows(item));
    free(item.text, item.textLen, acct);
    free(changetype<usize>(item), ITEM_SIZE, acct);
    item = next;
  }
  memory.fill(changetype<usize>(queue), 0, QUEUE_SIZE);
}

// Which of many filters below one node a small batch has to go to. Thousands of rules that compare a column with a
// constant, each with another one, stand in tables here, ascending by their constants: the place of a value in a table
// parts those that it passes from those that it does not. Only nodes that a row of the batch passes are called, in the
// order in which they follow each other, and nodes of which nothing is known here; all others have taken the batch
// without being touched.
//
// A filter that is called decides for itself, so this must not miss any; it may call too many. What a filter took is
// what its node counts and what is counted here for all of them (node/node.ts).
//
// The lists are made when the nodes below have stayed the same for a while, and dropped when one comes or goes.
import { ABOVE, BELOW, EQUAL, MANNER, TEXT, WHOLE } from './condition';
import * as ctx from '../batch/context';
import {
  N_CHILD,
  N_CHOICE,
  N_COMPARED,
  N_CONDITION,
  N_CONSTANT,
  N_FLAGS,
  N_PARENT,
  N_SIBLING,
} from '../gen/node-layouts';
import {
  CHOICE_ALWAYS,
  CHOICE_BLOCK,
  CHOICE_BLOCK_SIZE,
  CHOICE_CHILDREN,
  CHOICE_FILTERS,
  CHOICE_IN,
  CHOICE_KEYS,
  CHOICE_LAST,
  CHOICE_MARKS,
  CHOICE_ORDER,
  CHOICE_POSITIONS,
  CHOICE_QUIET,
  CHOICE_SIZE_OF,
  CHOICE_TABLE,
  CHOICE_TABLES,
  CHOICE_TABLE_BEGIN,
  CHOICE_TABLE_COMPARED,
  CHOICE_TABLE_CONDITION,
  CHOICE_TABLE_END,
  CHOICE_TABLE_SIZE_OF,
} from '../gen/emit-layouts';
import { NodeFlag } from '../gen/node-layouts';
import { accountOf, joinChoice } from '../node/node';
import { WORKSPACE, alloc, allocZeroed, free } from '../mem/alloc';
import { COL_TAGS, COL_VALS, Tag, isNull, lenOf, offOf } from '../mem/layout';
import { bytesCompare } from '../value/bytes';

/** Larger batches go to all nodes: a row more or less of them passes nearly everywhere. */
export const CHOICE_ROWS: u32 = 32;
/** With fewer filters it is as fast to ask each of them. */
const MIN_FILTERS: u32 = 32;
/** A table with fewer constants takes longer to look into than its filters to ask. */
const MIN_CONSTANTS: u32 = 8;
/** More ways of comparing are not told apart; their filters are called for each batch. */
const MAX_TABLES: u32 = 64;
/** Batches after a change until the lists are made: making them takes as long as asking all filters so many times. */
const QUIET_BATCHES: u32 = 8;

/** An entry while the lists are made: constant u64 | position u32 | table u32. */
const ENTRY: u32 = 16;
const ENTRY_POSITION: usize = 8;
const ENTRY_TABLE: usize = 12;
/**
 * What was chosen last is certain: of the filters in tables exactly those with a condition that is all of it pass the
 * row. True of one row that compares with the constants of all tables.
 */
export let isCertain: bool = false;

/** Tables while the lists are made. */
const FOUND: usize = memory.data(16 * 64, 16);

/** Adds a filter with a noted condition to those that its parent may choose among. */
export function mayBeChosen(node: usize): void {
  const parent = <usize>load<u32>(node, N_PARENT);
  if (!load<u32>(parent, N_CHOICE)) {
    const made = allocZeroed(CHOICE_SIZE_OF, 0);
    // Without it all nodes are called, as they are for large batches.
    if (!made) return;
    store<u32>(parent, <u32>made, N_CHOICE);
    store<u32>(parent, load<u32>(parent, N_FLAGS) | NodeFlag.CHOOSES, N_FLAGS);
  }
  joinChoice(node);
}

/**
 * Chooses the nodes below that the current batch has to go to (at most CHOICE_ROWS rows, none of which failed) and
 * counts it for all filters with a condition. Returns what to give to `nextChosen`, 0 when the batch has to go to all
 * nodes.
 */
export function choose(node: usize): usize {
  const choice = <usize>load<u32>(node, N_CHOICE);
  if (load<u32>(choice, CHOICE_FILTERS) < MIN_FILTERS) return 0;
  const quiet = load<u32>(choice, CHOICE_QUIET);
  if (quiet < QUIET_BATCHES) {
    store<u32>(choice, quiet + 1, CHOICE_QUIET);
    if (quiet + 1 < QUIET_BATCHES) return 0;
    makeLists(node, choice);
  }
  const tables = load<u32>(choice, CHOICE_TABLES);
  if (!tables || !load<u32>(choice, CHOICE_BLOCK)) return 0;
  store<u64>(choice, load<u64>(choice, CHOICE_IN) + ctx.selLen, CHOICE_IN);
  store<f64>(choice, ctx.nowMs, CHOICE_LAST);
  const marks = <usize>load<u32>(choice, CHOICE_MARKS);
  isCertain = ctx.selLen == 1;
  memory.copy(marks, <usize>load<u32>(choice, CHOICE_ALWAYS), bitBytes(load<u32>(choice, CHOICE_CHILDREN)));
  for (let i: u32 = 0; i < tables; i++)
    markTable(choice, <usize>load<u32>(choice, CHOICE_TABLE) + i * CHOICE_TABLE_SIZE_OF, marks);
  return choice;
}

/** Bytes of a list of bits. */
// @ts-ignore: decorator
@inline function bitBytes(count: u32): u32 {
  return ((count + 63) >> 6) << 3;
}

// @ts-ignore: decorator
@inline function mark(marks: usize, position: u32): void {
  const at = marks + ((position >> 6) << 3);
  store<u64>(at, load<u64>(at) | ((<u64>1) << (position & 63)));
}

function markRange(choice: usize, marks: usize, from: u32, to: u32): void {
  const positions = <usize>load<u32>(choice, CHOICE_POSITIONS);
  // Rules made one after the other often have neighbouring constants: the bits of one word are gathered first.
  let at = marks;
  let bits: u64 = 0;
  for (let i = from; i < to; i++) {
    const position = load<u32>(positions + ((<usize>i) << 2));
    const word = marks + ((position >> 6) << 3);
    if (word != at) {
      store<u64>(at, load<u64>(at) | bits);
      at = word;
      bits = 0;
    }
    bits |= (<u64>1) << (position & 63);
  }
  store<u64>(at, load<u64>(at) | bits);
}

/** Marks the filters of a table that a row of the batch passes, or that may fail at one. */
function markTable(choice: usize, table: usize, marks: usize): void {
  const condition = <u32>load<u16>(table, CHOICE_TABLE_CONDITION);
  const block = <usize>load<u32>(ctx.cols + ((<usize>load<u16>(table, CHOICE_TABLE_COMPARED)) << 2));
  const keys = <usize>load<u32>(choice, CHOICE_KEYS);
  const begin = load<u32>(table, CHOICE_TABLE_BEGIN);
  const end = load<u32>(table, CHOICE_TABLE_END);
  const n = ctx.selLen;
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(ctx.sel + ((<usize>i) << 2));
    const tag = load<u8>(block + row, COL_TAGS);
    if (isNull(tag)) continue;
    const val = load<u64>(block + (row << 3), COL_VALS);
    if (!compares(condition, tag, val)) {
      isCertain = false;
      markRange(choice, marks, begin, end);
      return;
    }
    const from = below(condition, tag, val, keys, begin, end);
    let to = from;
    while (to < end && orderOf(condition, tag, val, keys, to) == EQUAL) to++;
    if (condition & ABOVE) markRange(choice, marks, begin, from);
    if (condition & EQUAL) markRange(choice, marks, from, to);
    if (condition & BELOW) markRange(choice, marks, to, end);
  }
}

/** A value of the kind can be compared with the constants of the table, and has an order. */
// @ts-ignore: decorator
@inline function compares(condition: u32, tag: u8, val: u64): bool {
  if (condition & TEXT) return tag == Tag.STR;
  return tag == Tag.I64 || (tag == Tag.F64 && reinterpret<f64>(val) == reinterpret<f64>(val));
}

/** The first constant from `begin` that is not less than the value. */
function below(condition: u32, tag: u8, val: u64, keys: usize, begin: u32, end: u32): u32 {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (orderOf(condition, tag, val, keys, middle) == ABOVE) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * How the value stands to a constant of the table. Integers are compared with doubles as doubles: that keeps their
 * order.
 */
// @ts-ignore: decorator
@inline function orderOf(condition: u32, tag: u8, val: u64, keys: usize, i: u32): u32 {
  const key = load<u64>(keys + ((<usize>i) << 3));
  if (condition & TEXT) {
    const order = compareTexts(val, key);
    return order < 0 ? BELOW : order > 0 ? ABOVE : EQUAL;
  }
  if (condition & WHOLE && tag == Tag.I64) return <i64>val < <i64>key ? BELOW : <i64>val > <i64>key ? ABOVE : EQUAL;
  const x = tag == Tag.I64 ? <f64>(<i64>val) : reinterpret<f64>(val);
  const y = condition & WHOLE ? <f64>(<i64>key) : reinterpret<f64>(key);
  return x < y ? BELOW : x > y ? ABOVE : EQUAL;
}

/** Any order of texts will do: short ones first. */
// @ts-ignore: decorator
@inline function compareTexts(a: u64, b: u64): i32 {
  const aLen = lenOf(a);
  const bLen = lenOf(b);
  return aLen != bLen ? (aLen < bLen ? -1 : 1) : bytesCompare(offOf(a), aLen, offOf(b), bLen);
}

// ---- making the lists -------------------------------------------------------------------------------------------

/** Makes the lists; without memory, or where nothing is gained, all nodes are called. */
function makeLists(node: usize, choice: usize): void {
  store<u32>(choice, 0, CHOICE_TABLES);
  let children: u32 = 0;
  for (let child = <usize>load<u32>(node, N_CHILD); child; child = <usize>load<u32>(child, N_SIBLING)) children++;
  const filters = load<u32>(choice, CHOICE_FILTERS);
  const room = 2 * filters * ENTRY;
  const entries = alloc(room, WORKSPACE);
  if (!entries) return;
  const bits = bitBytes(children);
  const size = 2 * bits + filters * 12 + children * 4 + MAX_TABLES * CHOICE_TABLE_SIZE_OF;
  const block = alloc(size, accountOf(node));
  if (block) {
    store<u32>(choice, <u32>block, CHOICE_BLOCK);
    store<u32>(choice, size, CHOICE_BLOCK_SIZE);
    store<u32>(choice, children, CHOICE_CHILDREN);
    store<u32>(choice, <u32>block, CHOICE_ALWAYS);
    store<u32>(choice, <u32>(block + bits), CHOICE_MARKS);
    store<u32>(choice, <u32>(block + 2 * bits), CHOICE_KEYS);
    store<u32>(choice, <u32>(block + 2 * bits + filters * 8), CHOICE_POSITIONS);
    store<u32>(choice, <u32>(block + 2 * bits + filters * 12), CHOICE_ORDER);
    store<u32>(choice, <u32>(block + 2 * bits + filters * 12 + children * 4), CHOICE_TABLE);
    memory.fill(block, 0, bits);
    fillLists(node, choice, entries, entries + filters * ENTRY);
  }
  free(entries, room, WORKSPACE);
}

/** `spare` has as much room as `entries`. */
function fillLists(node: usize, choice: usize, entries: usize, spare: usize): void {
  const order = <usize>load<u32>(choice, CHOICE_ORDER);
  const always = <usize>load<u32>(choice, CHOICE_ALWAYS);
  let position: u32 = 0;
  let count: u32 = 0;
  let found: u32 = 0;
  for (let child = <usize>load<u32>(node, N_CHILD); child; child = <usize>load<u32>(child, N_SIBLING)) {
    store<u32>(order + ((<usize>position) << 2), <u32>child);
    const table = tableOf(child, found);
    if (table < 0) {
      mark(always, position);
    } else {
      found = max(found, <u32>table + 1);
      const entry = entries + count++ * ENTRY;
      store<u64>(entry, load<u64>(child, N_CONSTANT));
      store<u32>(entry, position, ENTRY_POSITION);
      store<u32>(entry, table, ENTRY_TABLE);
    }
    position++;
  }
  writeTables(choice, sorted(entries, spare, count), count);
}

/** Number of the table that a filter belongs to, a new one among them; -1 when it is called for each batch. */
function tableOf(child: usize, found: u32): i32 {
  const condition = load<u16>(child, N_CONDITION) & <u16>MANNER;
  if (!condition) return -1;
  // Nothing is known of a constant that is no number.
  if (!(condition & (TEXT | WHOLE)) && load<f64>(child, N_CONSTANT) != load<f64>(child, N_CONSTANT)) return -1;
  const compared = load<u16>(child, N_COMPARED);
  for (let i: u32 = 0; i < found; i++) {
    const table = FOUND + i * CHOICE_TABLE_SIZE_OF;
    if (load<u16>(table, CHOICE_TABLE_CONDITION) == condition && load<u16>(table, CHOICE_TABLE_COMPARED) == compared)
      return i;
  }
  if (found == MAX_TABLES) return -1;
  const table = FOUND + found * CHOICE_TABLE_SIZE_OF;
  store<u16>(table, condition, CHOICE_TABLE_CONDITION);
  store<u16>(table, compared, CHOICE_TABLE_COMPARED);
  return found;
}

/**
 * Sorts the entries by table and constant: merges runs of twice the length each time. Returns where they stand in the
 * end.
 */
function sorted(entries: usize, spare: usize, count: u32): usize {
  let from = entries;
  let to = spare;
  for (let run: u32 = 1; run < count; run <<= 1) {
    for (let at: u32 = 0; at < count; at += run << 1)
      mergeRuns(from, to, at, min(at + run, count), min(at + (run << 1), count));
    const other = from;
    from = to;
    to = other;
  }
  return from;
}

function mergeRuns(from: usize, to: usize, begin: u32, middle: u32, end: u32): void {
  let left = begin;
  let right = middle;
  for (let i = begin; i < end; i++) {
    const takesLeft = right == end || (left < middle && !isLess(from + right * ENTRY, from + left * ENTRY));
    v128.store(to + i * ENTRY, v128.load(from + (takesLeft ? left++ : right++) * ENTRY));
  }
}

function isLess(a: usize, b: usize): bool {
  const table = load<u32>(a, ENTRY_TABLE);
  if (table != load<u32>(b, ENTRY_TABLE)) return table < load<u32>(b, ENTRY_TABLE);
  const condition = <u32>load<u16>(FOUND + table * CHOICE_TABLE_SIZE_OF, CHOICE_TABLE_CONDITION);
  if (condition & TEXT) return compareTexts(load<u64>(a), load<u64>(b)) < 0;
  return condition & WHOLE ? load<i64>(a) < load<i64>(b) : load<f64>(a) < load<f64>(b);
}

/** Writes tables with enough constants; the filters of others are called for each batch. */
function writeTables(choice: usize, entries: usize, count: u32): void {
  const keys = <usize>load<u32>(choice, CHOICE_KEYS);
  const positions = <usize>load<u32>(choice, CHOICE_POSITIONS);
  const always = <usize>load<u32>(choice, CHOICE_ALWAYS);
  let tables: u32 = 0;
  for (let begin: u32 = 0, end: u32 = 0; begin < count; begin = end) {
    const number = load<u32>(entries + begin * ENTRY, ENTRY_TABLE);
    for (; end < count && load<u32>(entries + end * ENTRY, ENTRY_TABLE) == number; end++) {
      const entry = entries + end * ENTRY;
      store<u64>(keys + ((<usize>end) << 3), load<u64>(entry));
      store<u32>(positions + ((<usize>end) << 2), load<u32>(entry, ENTRY_POSITION));
    }
    if (end - begin < MIN_CONSTANTS) {
      markRange(choice, always, begin, end);
      continue;
    }
    const table = <usize>load<u32>(choice, CHOICE_TABLE) + tables++ * CHOICE_TABLE_SIZE_OF;
    store<u32>(table, load<u32>(FOUND + number * CHOICE_TABLE_SIZE_OF, CHOICE_TABLE_CONDITION));
    store<u32>(table, begin, CHOICE_TABLE_BEGIN);
    store<u32>(table, end, CHOICE_TABLE_END);
  }
  store<u32>(choice, tables, CHOICE_TABLES);
}

// The choice among many filters below one node for a small batch. Thousands of rules that compare a column with a
// constant, each with another one, stand in tables here, ascending by their constants: the place of a value in a table
// parts the filters that it passes from the others. Only filters that a row of the batch passes are called, in their
// order, and nodes of which nothing is known here. All others have taken the batch without being touched.
//
// A filter that is called decides for itself, so the choice may call too many filters, but must not miss one. The rows
// that a filter took are the count of its node and the count that is kept here for all filters (node/node.ts).
//
// The lists are made when the nodes below have stayed the same for a while, and dropped when one comes or goes.
import { ABOVE, BELOW, EQUAL, MANNER, TEXT, WHOLE } from './condition';
import * as ctx from '../batch/context';
import { Choice, ChoiceTable, CHOICE_SIZE_OF, CHOICE_TABLE_SIZE_OF } from '../gen/emit-layouts';
import { Node, NodeFlag } from '../gen/node-layouts';
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
 * True when the last choice is exact: a filter chosen from a table passes the row if its condition is whole
 * (`isWhole`). It takes a single row whose values compare with the constants of all tables.
 */
export let isCertain: bool = false;

/** Tables while the lists are made. */
const FOUND: usize = memory.data(16 * 64, 16);

/** Adds a filter with a noted condition to those that its parent may choose among. */
export function mayBeChosen(node: Node): void {
  const parent = node.parent;
  if (!parent.choice) {
    const made = changetype<Choice>(allocZeroed(CHOICE_SIZE_OF, 0));
    // Without it all nodes are called, as they are for large batches.
    if (!made) return;
    parent.choice = made;
    parent.flags |= NodeFlag.CHOOSES;
  }
  joinChoice(node);
}

/**
 * Chooses the nodes below that the current batch has to go to (at most CHOICE_ROWS rows, none of which failed) and
 * counts it for all filters with a condition. Returns what to give to `nextChosen`, 0 when the batch has to go to all
 * nodes.
 */
export function choose(node: Node): Choice {
  const choice = node.choice;
  if (choice.filters < MIN_FILTERS) return changetype<Choice>(0);
  const quiet = choice.quiet;
  if (quiet < QUIET_BATCHES) {
    choice.quiet = quiet + 1;
    if (quiet + 1 < QUIET_BATCHES) return changetype<Choice>(0);
    makeLists(node, choice);
  }
  const tables = choice.tables;
  if (!tables || !choice.block) return changetype<Choice>(0);
  choice.in += ctx.selLen;
  choice.last = ctx.nowMs;
  const marks = choice.marks;
  isCertain = ctx.selLen == 1;
  memory.copy(marks, choice.always, bitBytes(choice.children));
  for (let i: u32 = 0; i < tables; i++)
    markTable(choice, changetype<ChoiceTable>(choice.table + i * CHOICE_TABLE_SIZE_OF), marks);
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

function markRange(choice: Choice, marks: usize, from: u32, to: u32): void {
  const positions = choice.positions;
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
function markTable(choice: Choice, table: ChoiceTable, marks: usize): void {
  const condition = <u32>table.condition;
  const block = <usize>load<u32>(ctx.cols + ((<usize>table.compared) << 2));
  const keys = choice.keys;
  const begin = table.begin;
  const end = table.end;
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

/** True when the value has an order and can be compared with the constants of the table. */
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
function makeLists(node: Node, choice: Choice): void {
  choice.tables = 0;
  let children: u32 = 0;
  for (let child = node.child; child; child = child.sibling) children++;
  const filters = choice.filters;
  const room = 2 * filters * ENTRY;
  const entries = alloc(room, WORKSPACE);
  if (!entries) return;
  const bits = bitBytes(children);
  const size = 2 * bits + filters * 12 + children * 4 + MAX_TABLES * CHOICE_TABLE_SIZE_OF;
  const block = alloc(size, accountOf(node));
  if (block) {
    choice.block = <u32>block;
    choice.blockSize = size;
    choice.children = children;
    choice.always = block;
    choice.marks = block + bits;
    choice.keys = block + 2 * bits;
    choice.positions = block + 2 * bits + filters * 8;
    choice.order = block + 2 * bits + filters * 12;
    choice.table = block + 2 * bits + filters * 12 + children * 4;
    memory.fill(block, 0, bits);
    fillLists(node, choice, entries, entries + filters * ENTRY);
  }
  free(entries, room, WORKSPACE);
}

/** `spare` has as much room as `entries`. */
function fillLists(node: Node, choice: Choice, entries: usize, spare: usize): void {
  const order = choice.order;
  const always = choice.always;
  let position: u32 = 0;
  let count: u32 = 0;
  let found: u32 = 0;
  for (let child = node.child; child; child = child.sibling) {
    store<u32>(order + ((<usize>position) << 2), changetype<u32>(child));
    const table = tableOf(child, found);
    if (table < 0) {
      mark(always, position);
    } else {
      found = max(found, <u32>table + 1);
      const entry = entries + count++ * ENTRY;
      store<u64>(entry, child.constant);
      store<u32>(entry, position, ENTRY_POSITION);
      store<u32>(entry, table, ENTRY_TABLE);
    }
    position++;
  }
  writeTables(choice, sorted(entries, spare, count), count);
}

/** Number of the table that a filter belongs to, a new one among them; -1 when it is called for each batch. */
function tableOf(child: Node, found: u32): i32 {
  const condition = child.condition & <u16>MANNER;
  if (!condition) return -1;
  // A constant that is no number (NaN) has no place in a table.
  if (
    !(condition & (TEXT | WHOLE)) &&
    load<f64>(changetype<usize>(child), offsetof<Node>('constant')) !=
      load<f64>(changetype<usize>(child), offsetof<Node>('constant'))
  )
    return -1;
  const compared = child.compared;
  for (let i: u32 = 0; i < found; i++) {
    const table = changetype<ChoiceTable>(FOUND + i * CHOICE_TABLE_SIZE_OF);
    if (table.condition == condition && table.compared == compared) return i;
  }
  if (found == MAX_TABLES) return -1;
  const table = changetype<ChoiceTable>(FOUND + found * CHOICE_TABLE_SIZE_OF);
  table.condition = condition;
  table.compared = compared;
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
  const condition = <u32>load<u16>(FOUND + table * CHOICE_TABLE_SIZE_OF, offsetof<ChoiceTable>('condition'));
  if (condition & TEXT) return compareTexts(load<u64>(a), load<u64>(b)) < 0;
  return condition & WHOLE ? load<i64>(a) < load<i64>(b) : load<f64>(a) < load<f64>(b);
}

/** Writes tables with enough constants; the filters of others are called for each batch. */
function writeTables(choice: Choice, entries: usize, count: u32): void {
  const keys = choice.keys;
  const positions = choice.positions;
  const always = choice.always;
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
    const table = changetype<ChoiceTable>(choice.table + tables++ * CHOICE_TABLE_SIZE_OF);
    store<u32>(
      changetype<usize>(table),
      load<u32>(FOUND + number * CHOICE_TABLE_SIZE_OF, offsetof<ChoiceTable>('condition')),
    );
    table.begin = begin;
    table.end = end;
  }
  choice.tables = tables;
}

// Candidates by hash: pairs whose keys cannot be equal are left out. Used only where the condition is false, without an
// error, for every pair left out: all values of a key that are not null are of one kind.
import { accountOf } from '../../node/node';
import { Tag } from '../../mem/layout';
import { firstNumber, pageOf } from '../../rows/number';
import { PAGE_LEFT, PAGE_NEXT, PAGE_NUMBER, PAGE_TO, pageTag, pageTags, pageVal } from '../../rows/page';
import { rowsFirst } from '../../rows/store';
import {
  BRANCH_INDEX,
  BRANCH_LOOKUPS,
  JOIN_BRANCH_IS_TABLE,
  JOIN_KEY_IS_PLAIN,
  JOIN_KEY_LEFT,
  JOIN_KEY_LEFT_BRANCH,
  JOIN_KEY_RIGHT,
  JOIN_FIRST,
  JOIN_STEP_BRANCH,
  JOIN_STEP_IS_KEYED,
  JOIN_STEP_KEYS,
  branchAt,
  branchRows,
  keyAt,
} from './spec';
import { NO_ROW, failure, leftCount, lefts, node, placeOf, rightCount, rights, rowOf, spec, state, step } from './run';
import { equalBegin } from './equal';
import { KIND_OTHER, NO_HASH, hashAdd, hashDone, isOneKind, kindOf, rightHash } from './keys';
import {
  indexAdd,
  indexAddRow,
  indexCount,
  indexFirst,
  indexFree,
  indexKinds,
  indexNew,
  indexNext,
  indexRow,
} from './hash-index';
import { addPair, outerIsRight } from './pairs';
import { isPaused, noteBatch } from './pause';
import { Way } from './way';

/** A row costs as much to hash as so many pairs to judge. */
const PAIRS_PER_ROW: u64 = 4;

/** Rows that come to an index between two looks whether to stop. */
const INDEX_ROWS: u32 = 4096;

/**
 * Index of the step, whether it goes with it, and where looking up was stopped: outer row, its page, slot of the index
 * + 1. While an index is made: the next row that comes to it, and its page.
 */
let index: usize = 0;
let isOwn: bool = false;
let at: u32 = 0;
let atPage: usize = 0;
let atRow: u32 = 0;
let atSlot: u32 = 0;

/** Bytes that `hashSave` writes. */
export const HASH_SIZE: u32 = 24;

/** Puts what is looked up aside. */
export function hashSave(to: usize): void {
  store<u32>(to, <u32>index);
  store<u32>(to, <u32>isOwn, 4);
  store<u32>(to, at, 8);
  store<u32>(to, <u32>atPage, 12);
  store<u32>(to, atSlot, 16);
  store<u32>(to, atRow, 20);
}

/** Takes it back. */
export function hashRestore(from: usize): void {
  index = <usize>load<u32>(from);
  isOwn = load<u32>(from, 4) != 0;
  at = load<u32>(from, 8);
  atPage = <usize>load<u32>(from, 12);
  atSlot = load<u32>(from, 16);
  atRow = load<u32>(from, 20);
}

/** Decides how the candidates of the step are found, and makes ready what that needs. */
export function hashWay(): u32 {
  const keys = load<u32>(step, JOIN_STEP_KEYS);
  if (keys == 0) return Way.LOOP;
  const branch = load<u32>(step, JOIN_STEP_BRANCH);
  if (!outerIsRight && load<u32>(branchAt(spec, branch), JOIN_BRANCH_IS_TABLE)) {
    const table = branchRows(state, branch);
    // Rows are added to it as they come.
    index = <usize>load<u32>(table, BRANCH_INDEX);
    isOwn = false;
    if (index) return probe(keys);
    return isTableWorthwhile(table) ? indexBegin(keys, rightCount) : Way.LOOP;
  }
  if (!isWorthwhile(leftCount)) return Way.LOOP;
  if (load<u32>(step, JOIN_STEP_IS_KEYED)) return equalBegin() ? Way.EQUAL : Way.LOOP;
  return indexBegin(keys, outerIsRight ? leftCount : rightCount);
}

/** Begins to make an index of so many rows. */
function indexBegin(keys: u32, rows: u32): u32 {
  index = indexNew(spec, step, keys, rows, accountOf(node));
  isOwn = true;
  at = 0;
  atPage = outerIsRight ? 0 : rowsFirst(rights);
  atRow = atPage ? load<u32>(atPage, PAGE_LEFT) : 0;
  return index ? Way.INDEX : Way.LOOP;
}

/** Goes on with making the index; false when that was stopped. */
export function indexSome(): bool {
  const keys = load<u32>(step, JOIN_STEP_KEYS);
  while (outerIsRight ? at < leftCount : atPage != 0) {
    if (outerIsRight) {
      const to = min(at + INDEX_ROWS, leftCount);
      for (; at < to; at++) {
        for (let k: u32 = 0; k < keys; k++) indexCount(index, k, leftKind(keyAt(spec, step, k), at), 1);
        indexAdd(index, at, leftHash(at));
      }
    } else {
      const first = at;
      while (atPage && at - first < INDEX_ROWS) {
        const to = load<u32>(atPage, PAGE_TO);
        for (let row = load<u32>(atPage, PAGE_LEFT); row < to; row++) indexAddRow(index, at++, atPage, row);
        atPage = <usize>load<u32>(atPage, PAGE_NEXT);
      }
    }
    noteBatch();
    if (isPaused()) return false;
  }
  return true;
}

/** The index is made: the way in which candidates are found. That of a table stays with it. */
export function indexWay(): u32 {
  const branch = load<u32>(step, JOIN_STEP_BRANCH);
  if (!outerIsRight && load<u32>(branchAt(spec, branch), JOIN_BRANCH_IS_TABLE)) {
    store<u32>(branchRows(state, branch), <u32>index, BRANCH_INDEX);
    isOwn = false;
  }
  const way = probe(load<u32>(step, JOIN_STEP_KEYS));
  if (way != Way.HASH) hashEnd();
  return way;
}

/** Frees the index of the step. */
export function hashEnd(): void {
  if (isOwn) indexFree(index, accountOf(node));
  index = 0;
}

/** True when an index pays for so many lookups of rows of the left side. */
function isWorthwhile(lookups: u32): bool {
  return <u64>lookups * rightCount >= (<u64>lookups + rightCount) * PAIRS_PER_ROW;
}

/** True when enough rows were looked up in vain for a table to get an index. */
function isTableWorthwhile(table: usize): bool {
  const lookups = <u64>load<u32>(table, BRANCH_LOOKUPS) + leftCount;
  store<u32>(table, <u32>min<u64>(lookups, 0xffffffff), BRANCH_LOOKUPS);
  return isWorthwhile(load<u32>(table, BRANCH_LOOKUPS));
}

/** Makes ready to look the outer rows up, if the kinds of the keys allow it. */
function probe(keys: u32): u32 {
  if (!outerIsRight && !lefts && leftCount == 1) return probeOne(keys) ? Way.NONE : Way.LOOP;
  for (let k: u32 = 0; k < keys; k++) {
    if (!isOneKind(indexKinds(index, k) | outerKinds(keyAt(spec, step, k)))) return Way.LOOP;
  }
  at = 0;
  atPage = 0;
  atSlot = 0;
  return Way.HASH;
}

/** Looks outer rows up; false when that was stopped. */
export function hashSome(): bool {
  if (outerIsRight) return probeRights();
  for (let l = at; l < leftCount && failure == 0; l++) {
    if (find(leftHash(l), l)) continue;
    at = l;
    return false;
  }
  return true;
}

/** As `probe` for a message of one row, in the first step. */
function probeOne(keys: u32): bool {
  const first = load<u32>(spec, JOIN_FIRST);
  const page = rowsFirst(branchRows(state, first));
  const row = load<u32>(page, PAGE_LEFT);
  let hash: u32 = 0;
  let isNull = false;
  for (let k: u32 = 0; k < keys; k++) {
    const key = keyAt(spec, step, k);
    if (load<u32>(key, JOIN_KEY_LEFT_BRANCH) != first) return false;
    const slot = load<u32>(key, JOIN_KEY_LEFT);
    const tag = pageTag(page, slot, row);
    if (!isOneKind(indexKinds(index, k) | (((<u32>1) << kindOf(tag)) & ~1))) return false;
    if (tag <= Tag.NULL) isNull = true;
    else hash = hashAdd(hash, tag, pageVal(page, slot, row));
  }
  if (!isNull) findAll(hashDone(hash), 0);
  return true;
}

function probeRights(): bool {
  let page = atPage ? atPage : rowsFirst(rights);
  // Position of the first row of the page that is held.
  let first = atPage ? at - (atRow - load<u32>(page, PAGE_LEFT)) : 0;
  let row: u32 = atPage ? atRow : page ? load<u32>(page, PAGE_LEFT) : 0;
  while (page) {
    const left = load<u32>(page, PAGE_LEFT);
    const to = load<u32>(page, PAGE_TO);
    for (; row < to && failure == 0; row++) {
      if (find(rightHash(spec, step, page, row), first + row - left)) continue;
      at = first + row - left;
      atPage = page;
      atRow = row;
      return false;
    }
    first += to - left;
    page = <usize>load<u32>(page, PAGE_NEXT);
    row = page ? load<u32>(page, PAGE_LEFT) : 0;
  }
  return true;
}

/**
 * Adds the outer row `o` with the rows of the index that have its hash, from where that was stopped; false when it was
 * stopped again.
 */
// @ts-ignore: decorator
@inline function find(hash: u32, o: u32): bool {
  if (hash == NO_HASH) return true;
  for (let slot = atSlot ? atSlot : indexFirst(index, hash); slot; slot = indexNext(index, slot)) {
    if (isPaused()) {
      atSlot = slot;
      return false;
    }
    const i = indexRow(index, slot, hash);
    if (i >= 0 && !(outerIsRight ? addPair(i, o) : addPair(o, i))) break;
  }
  atSlot = 0;
  return true;
}

/** As `find` without a stop. */
function findAll(hash: u32, o: u32): void {
  if (hash == NO_HASH) return;
  for (let slot = indexFirst(index, hash); slot; slot = indexNext(index, slot)) {
    const i = indexRow(index, slot, hash);
    if (i >= 0 && !addPair(o, i)) return;
  }
}

/** Kinds of a key's values among the outer rows, a bit for each; null has none. */
function outerKinds(key: usize): u32 {
  let kinds: u32 = 0;
  if (outerIsRight) {
    for (let page = rowsFirst(rights); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
      const tags = pageTags(page, load<u32>(key, JOIN_KEY_RIGHT));
      const to = load<u32>(page, PAGE_TO);
      for (let row = load<u32>(page, PAGE_LEFT); row < to; row++) kinds |= (<u32>1) << kindOf(load<u8>(tags + row));
    }
  } else for (let l: u32 = 0; l < leftCount; l++) kinds |= (<u32>1) << leftKind(key, l);
  return kinds & ~1;
}

/** Kind of a key's value in row `l` of the left side. */
function leftKind(key: usize, l: u32): u32 {
  const branch = load<u32>(key, JOIN_KEY_LEFT_BRANCH);
  const place = placeOf(branch);
  if (place < 0) return KIND_OTHER;
  const position = rowOf(place, l, NO_ROW);
  // What a computed key is without a row is not known here.
  if (position == NO_ROW) return load<u32>(key, JOIN_KEY_IS_PLAIN) ? kindOf(Tag.MISSING) : KIND_OTHER;
  const rows = branchRows(state, branch);
  const number = firstNumber(rows) + position;
  const page = pageOf(rows, number);
  return kindOf(pageTag(page, load<u32>(key, JOIN_KEY_LEFT), number - load<u32>(page, PAGE_NUMBER)));
}

/** Hash of the keys of row `l` of the left side; NO_HASH when one of them is null. */
function leftHash(l: u32): u32 {
  const keys = load<u32>(step, JOIN_STEP_KEYS);
  let hash: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) {
    const key = keyAt(spec, step, k);
    const branch = load<u32>(key, JOIN_KEY_LEFT_BRANCH);
    const place = placeOf(branch);
    const position: u32 = place < 0 ? NO_ROW : rowOf(place, l, NO_ROW);
    if (position == NO_ROW) return NO_HASH;
    const rows = branchRows(state, branch);
    const number = firstNumber(rows) + position;
    const page = pageOf(rows, number);
    const row = number - load<u32>(page, PAGE_NUMBER);
    const slot = load<u32>(key, JOIN_KEY_LEFT);
    const tag = pageTag(page, slot, row);
    if (tag <= Tag.NULL) return NO_HASH;
    hash = hashAdd(hash, tag, pageVal(page, slot, row));
  }
  return hashDone(hash);
}

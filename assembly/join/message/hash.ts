// Candidates by hash: pairs whose keys cannot be equal are left out. Used only where the condition is false, without an
// error, for every pair left out: all values of a key that are not null are of one kind.
import { accountOf } from '../../node/node';
import { Tag } from '../../mem/layout';
import { firstNumber, pageOf } from '../../rows/number';
import { Page, pageTag, pageTags, pageVal } from '../../rows/page';
import { rowsFirst } from '../../rows/store';
import { Branch, branchAt, branchRows, keyAt } from './spec';
import { NO_ROW, failure, leftCount, lefts, node, placeOf, rightCount, rights, rowOf, spec, state, step } from './run';
import { equalBegin } from './equal';
import { KIND_OTHER, NO_HASH, hashAdd, hashDone, isOneKind, kindOf, rightHash } from './keys';
import {
  HashIndex,
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
import { JoinKey } from '../../gen/join-layouts';

/** Pairs whose judging takes as long as hashing one row. */
const PAIRS_PER_ROW: u64 = 4;

/** Rows that come to an index between two looks whether to stop. */
const INDEX_ROWS: u32 = 4096;

/**
 * Index of the step, whether it goes with it, and where looking up was stopped: outer row, its page, slot of the index
 * + 1. While an index is made: the next row that comes to it, and its page.
 */
let index: HashIndex = changetype<HashIndex>(0);
let isOwn: bool = false;
let at: u32 = 0;
let atPage: Page = changetype<Page>(0);
let atRow: u32 = 0;
let atSlot: u32 = 0;

/** Bytes that `hashSave` writes. */
export const HASH_SIZE: u32 = 24;

/** Saves the lookup under way. */
export function hashSave(to: usize): void {
  store<u32>(to, changetype<u32>(index));
  store<u32>(to, <u32>isOwn, 4);
  store<u32>(to, at, 8);
  store<u32>(to, changetype<u32>(atPage), 12);
  store<u32>(to, atSlot, 16);
  store<u32>(to, atRow, 20);
}

/** Restores the lookup that `hashSave` saved. */
export function hashRestore(from: usize): void {
  index = changetype<HashIndex>(load<u32>(from));
  isOwn = load<u32>(from, 4) != 0;
  at = load<u32>(from, 8);
  atPage = changetype<Page>(load<u32>(from, 12));
  atSlot = load<u32>(from, 16);
  atRow = load<u32>(from, 20);
}

/** Decides how the candidates of the step are found, and prepares for that. */
export function hashWay(): u32 {
  const keys = step.keys;
  if (keys == 0) return Way.LOOP;
  const branch = step.branch;
  if (!outerIsRight && branchAt(spec, branch).isTable) {
    const table = branchRows(state, branch);
    // Rows are added to it as they come.
    index = changetype<HashIndex>(table.index);
    isOwn = false;
    if (index) return probe(keys);
    return isTableWorthwhile(table) ? indexBegin(keys, rightCount) : Way.LOOP;
  }
  if (!isWorthwhile(leftCount)) return Way.LOOP;
  if (step.isKeyed) return equalBegin() ? Way.EQUAL : Way.LOOP;
  return indexBegin(keys, outerIsRight ? leftCount : rightCount);
}

/** Begins to make an index of `rows` rows. */
function indexBegin(keys: u32, rows: u32): u32 {
  index = indexNew(spec, step, keys, rows, accountOf(node));
  isOwn = true;
  at = 0;
  atPage = outerIsRight ? changetype<Page>(0) : rowsFirst(rights);
  atRow = atPage ? atPage.left : 0;
  return index ? Way.INDEX : Way.LOOP;
}

/** Goes on with making the index; false when that was stopped. */
export function indexSome(): bool {
  const keys = step.keys;
  while (outerIsRight ? at < leftCount : !!atPage) {
    if (outerIsRight) {
      const to = min(at + INDEX_ROWS, leftCount);
      for (; at < to; at++) {
        for (let k: u32 = 0; k < keys; k++) indexCount(index, k, leftKind(keyAt(spec, step, k), at), 1);
        indexAdd(index, at, leftHash(at));
      }
    } else {
      const first = at;
      while (atPage && at - first < INDEX_ROWS) {
        const to = atPage.to;
        for (let row = atPage.left; row < to; row++) indexAddRow(index, at++, atPage, row);
        atPage = atPage.next;
      }
    }
    noteBatch();
    if (isPaused()) return false;
  }
  return true;
}

/** The way to find candidates once the index is made; the index of a table stays with the table. */
export function indexWay(): u32 {
  const branch = step.branch;
  if (!outerIsRight && branchAt(spec, branch).isTable) {
    branchRows(state, branch).index = changetype<usize>(index);
    isOwn = false;
  }
  const way = probe(step.keys);
  if (way != Way.HASH) hashEnd();
  return way;
}

/** Frees the index of the step. */
export function hashEnd(): void {
  if (isOwn) indexFree(index, accountOf(node));
  index = changetype<HashIndex>(0);
}

/** True when an index pays for `lookups` lookups of rows of the left side. */
function isWorthwhile(lookups: u32): bool {
  return <u64>lookups * rightCount >= (<u64>lookups + rightCount) * PAIRS_PER_ROW;
}

/** True when enough rows were looked up in vain for a table to get an index. */
function isTableWorthwhile(table: Branch): bool {
  const lookups = <u64>table.lookups + leftCount;
  table.lookups = <u32>min<u64>(lookups, 0xffffffff);
  return isWorthwhile(table.lookups);
}

/** Makes ready to look the outer rows up, if the kinds of the keys allow it. */
function probe(keys: u32): u32 {
  if (!outerIsRight && !lefts && leftCount == 1) return probeOne(keys) ? Way.NONE : Way.LOOP;
  for (let k: u32 = 0; k < keys; k++) {
    if (!isOneKind(indexKinds(index, k) | outerKinds(keyAt(spec, step, k)))) return Way.LOOP;
  }
  at = 0;
  atPage = changetype<Page>(0);
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
  const first = spec.first;
  const page = rowsFirst(branchRows(state, first));
  const row = page.left;
  let hash: u32 = 0;
  let isNull = false;
  for (let k: u32 = 0; k < keys; k++) {
    const key = keyAt(spec, step, k);
    if (key.leftBranch != first) return false;
    const slot = key.left;
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
  let first = atPage ? at - (atRow - page.left) : 0;
  let row: u32 = atPage ? atRow : page ? page.left : 0;
  while (page) {
    const left = page.left;
    const to = page.to;
    for (; row < to && failure == 0; row++) {
      if (find(rightHash(spec, step, page, row), first + row - left)) continue;
      at = first + row - left;
      atPage = page;
      atRow = row;
      return false;
    }
    first += to - left;
    page = page.next;
    row = page ? page.left : 0;
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
function outerKinds(key: JoinKey): u32 {
  let kinds: u32 = 0;
  if (outerIsRight) {
    for (let page = rowsFirst(rights); page; page = page.next) {
      const tags = pageTags(page, key.right);
      const to = page.to;
      for (let row = page.left; row < to; row++) kinds |= (<u32>1) << kindOf(load<u8>(tags + row));
    }
  } else for (let l: u32 = 0; l < leftCount; l++) kinds |= (<u32>1) << leftKind(key, l);
  return kinds & ~1;
}

/** Kind of a key's value in row `l` of the left side. */
function leftKind(key: JoinKey, l: u32): u32 {
  const branch = key.leftBranch;
  const place = placeOf(branch);
  if (place < 0) return KIND_OTHER;
  const position = rowOf(place, l, NO_ROW);
  // The value of a computed key for a missing row is not known here.
  if (position == NO_ROW) return key.isPlain ? kindOf(Tag.MISSING) : KIND_OTHER;
  const rows = branchRows(state, branch);
  const number = firstNumber(rows) + position;
  const page = pageOf(rows, number);
  return kindOf(pageTag(page, key.left, number - page.number));
}

/** Hash of the keys of row `l` of the left side; NO_HASH when one of them is null. */
function leftHash(l: u32): u32 {
  const keys = step.keys;
  let hash: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) {
    const key = keyAt(spec, step, k);
    const branch = key.leftBranch;
    const place = placeOf(branch);
    const position: u32 = place < 0 ? NO_ROW : rowOf(place, l, NO_ROW);
    if (position == NO_ROW) return NO_HASH;
    const rows = branchRows(state, branch);
    const number = firstNumber(rows) + position;
    const page = pageOf(rows, number);
    const row = number - page.number;
    const slot = key.left;
    const tag = pageTag(page, slot, row);
    if (tag <= Tag.NULL) return NO_HASH;
    hash = hashAdd(hash, tag, pageVal(page, slot, row));
  }
  return hashDone(hash);
}

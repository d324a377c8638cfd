// Matches of a step whose condition is that keys are equal, and nothing else: no pair is judged. The keys of both sides
// are read into columns; rows of the inner side with equal keys are a list, so that an outer row is compared with one
// of them.
//
//   block   left side | right side | slots {hash u32, first row + 1 u32}[2^n] | next row + 1 u32[inner] | last row
//   u32[inner]
//   side    payloads u64[rows] for each key | hashes u32[rows] | tags u8[rows] for each key
import { accountOf } from '../../node/node';
import { alloc, free } from '../../mem/alloc';
import { Tag, lenOf, offOf } from '../../mem/layout';
import { pageTags, pageUniforms, pageVals } from '../../rows/page';
import { rowsFirst } from '../../rows/store';
import { LACKS_ROWS, copyValues } from '../../rows/values';
import { textHash, textsEqual } from '../../value/bytes';
import { equalValues } from '../../value/compare';
import { branchRows, keyAt } from './spec';
import { KIND_OTHER, NO_HASH, hashAdd, hashDone, isOneKind, kindOf } from './keys';
import {
  isLast,
  leftCount,
  lefts,
  node,
  placeOf,
  rightCount,
  rights,
  rowsOfTuples,
  spec,
  state,
  step,
  tupleSize,
} from './run';
import { addMatch, outerIsRight } from './pairs';
import { isPaused, noteBatch } from './pause';
import { JoinKey } from '../../gen/join-layouts';
import { Rows } from '../../rows/layout';

/** Bytes of a side. */
// @ts-ignore: decorator
@inline function sideSize(rows: u32, keys: u32): u64 {
  return (<u64>rows * (keys * 9 + 4) + 7) & ~7;
}

/** The block of the step, its bytes and slots, and where its matches were stopped: outer row, inner row + 1. */
let block: usize = 0;
let blockSize: u32 = 0;
let blockSlots: u32 = 0;
let outerAt: u32 = 0;
let innerAt: u32 = 0;

/** Steps that make the matches ready, in this order, before rows are looked up. */
namespace Ready {
  /** Slots are cleared. */
  export const SLOTS: u32 = 0;
  /** Keys of a side are hashed. */
  export const LEFTS: u32 = 1;
  export const RIGHTS: u32 = 2;
  /** Rows of the inner side come to their lists. */
  export const LISTS: u32 = 3;
  export const ALL: u32 = 4;
}
let ready: u32 = 0;
/** Next row, or byte, of the step that was stopped. */
let readyAt: u32 = 0;
/** Rows that are made ready between two looks whether to stop, and bytes that are cleared. */
const READY_ROWS: u32 = 4096;
const READY_BYTES: u32 = 1 << 18;

/** Bytes that `equalSave` writes. */
export const EQUAL_SIZE: u32 = 32;

/** Saves the matches under way. */
export function equalSave(to: usize): void {
  store<u32>(to, <u32>block);
  store<u32>(to, blockSize, 4);
  store<u32>(to, blockSlots, 8);
  store<u32>(to, outerAt, 12);
  store<u32>(to, innerAt, 16);
  store<u32>(to, <u32>isText, 20);
  store<u32>(to, ready, 24);
  store<u32>(to, readyAt, 28);
}

/** Restores the matches that `equalSave` saved. */
export function equalRestore(from: usize): void {
  block = <usize>load<u32>(from);
  blockSize = load<u32>(from, 4);
  blockSlots = load<u32>(from, 8);
  outerAt = load<u32>(from, 12);
  innerAt = load<u32>(from, 16);
  isText = load<u32>(from, 20) != 0;
  ready = load<u32>(from, 24);
  readyAt = load<u32>(from, 28);
}

/** Reads the keys of the step; false when its matches can't be found this way. */
export function equalBegin(): bool {
  const keys = step.keys;
  const inner = outerIsRight ? leftCount : rightCount;
  let slots: u32 = 64;
  while (slots >> 2 < inner && slots < 1 << 28) slots <<= 1;
  const ofLeft = sideSize(leftCount, keys);
  const size = ofLeft + sideSize(rightCount, keys) + ((<u64>slots) << 3) + ((<u64>inner) << 3);
  if (size > 0x7fffffff) return false;
  const acct = accountOf(node);
  block = alloc(<u32>size, acct);
  if (!block) return false;
  blockSize = <u32>size;
  blockSlots = slots;
  outerAt = 0;
  innerAt = 0;
  const right = block + <usize>ofLeft;
  let done = true;
  for (let k: u32 = 0; k < keys && done; k++) {
    done = isOneKind(readLeft(block, k, keyAt(spec, step, k)) | readRight(right, k, keyAt(spec, step, k)));
  }
  ready = Ready.SLOTS;
  readyAt = 0;
  if (done) isText = keys == 1 && isTextSide(block, leftCount) && isTextSide(right, rightCount);
  else equalEnd();
  return done;
}

/** Makes the matches ready; false when that was stopped. */
function makeReady(): bool {
  const keys = step.keys;
  const right = block + <usize>sideSize(leftCount, keys);
  const table = right + <usize>sideSize(rightCount, keys);
  const nexts = table + ((<usize>blockSlots) << 3);
  const inner = outerIsRight ? leftCount : rightCount;
  while (ready < Ready.ALL) {
    const end = readyEnd(inner);
    const to = min(readyAt + (ready == Ready.SLOTS ? READY_BYTES : READY_ROWS), end);
    switch (ready) {
      case Ready.SLOTS:
        memory.fill(table + readyAt, 0, to - readyAt);
        break;
      case Ready.LEFTS:
        hashSide(block, leftCount, keys, readyAt, to);
        break;
      case Ready.RIGHTS:
        hashSide(right, rightCount, keys, readyAt, to);
        break;
      default:
        listInner(outerIsRight ? block : right, inner, keys, table, blockSlots, nexts, readyAt, to);
    }
    readyAt = to;
    if (to == end) {
      ready++;
      readyAt = 0;
    }
    noteBatch();
    if (isPaused()) return false;
  }
  return true;
}

/** Number of rows, or bytes, that the current step makes ready. */
function readyEnd(inner: u32): u32 {
  switch (ready) {
    case Ready.SLOTS:
      return (blockSlots << 3) + (inner << 2);
    case Ready.LEFTS:
      return leftCount;
    case Ready.RIGHTS:
      return rightCount;
    default:
      return inner;
  }
}

/** Frees the block of the matches. */
export function equalEnd(): void {
  free(block, blockSize, accountOf(node));
  block = 0;
}

// @ts-ignore: decorator
@inline function valsAt(side: usize, rows: u32, k: u32): usize {
  return side + ((<usize>(rows * k)) << 3);
}

// @ts-ignore: decorator
@inline function hashesAt(side: usize, rows: u32, keys: u32): usize {
  return side + ((<usize>(rows * keys)) << 3);
}

// @ts-ignore: decorator
@inline function tagsAt(side: usize, rows: u32, keys: u32, k: u32): usize {
  return side + ((<usize>(rows * keys)) << 3) + ((<usize>rows) << 2) + <usize>(rows * k);
}

/** True when the rows have one key, which is a text in each row. */
let isText: bool = false;

/** True when the only key of a side is a text in each of its rows. */
function isTextSide(side: usize, count: u32): bool {
  const tags = tagsAt(side, count, 1, 0);
  for (let i: u32 = 0; i < count; i++) if (load<u8>(tags + i) != Tag.STR) return false;
  return true;
}

/** Reads a key of the left side; returns the kinds of its values, a bit for each; null has none. */
function readLeft(side: usize, k: u32, key: JoinKey): u32 {
  const branch = key.leftBranch;
  const place = placeOf(branch);
  if (place < 0) return 1 << KIND_OTHER;
  // The value of a computed key for a missing row is not known here.
  const missing: u32 = key.isPlain ? 0 : 1 << KIND_OTHER;
  return readSide(side, leftCount, k, branchRows(state, branch), key.left, lefts ? place : -1, missing);
}

function readRight(side: usize, k: u32, key: JoinKey): u32 {
  return readSide(side, rightCount, k, rights, key.right, -1, 0);
}

/**
 * Reads a key of a side; returns the kinds of its values. `place` is that of the rows in the tuples, -1 for rows that
 * follow each other; `missing` is the kinds that a tuple without a row adds.
 */
function readSide(side: usize, count: u32, k: u32, rows: Rows, slot: u32, place: i32, missing: u32): u32 {
  const keys = step.keys;
  const valsTo = valsAt(side, count, k);
  const tagsTo = tagsAt(side, count, keys, k);
  if (place < 0) return readPages(rows, slot, valsTo, tagsTo);
  const seen = copyValues(rows, slot, rowsOfTuples(place), tupleSize(), 0, 0, count, tagsTo, valsTo);
  let kinds = seen & LACKS_ROWS ? missing : 0;
  for (let tags = seen & ~LACKS_ROWS; tags; tags &= tags - 1) kinds |= (<u32>1) << kindOf(<u8>ctz(tags));
  return kinds & ~1;
}

/** As `readSide` of all rows in their order. */
function readPages(rows: Rows, slot: u32, valsTo: usize, tagsTo: usize): u32 {
  let kinds: u32 = 0;
  for (let page = rowsFirst(rows); page; page = page.next) {
    const first = page.left;
    const n = page.to - first;
    memory.copy(valsTo, pageVals(page, slot) + ((<usize>first) << 3), (<usize>n) << 3);
    memory.copy(tagsTo, pageTags(page, slot) + first, n);
    const uniform = load<u8>(pageUniforms(page, rows.columns) + slot);
    if (uniform != Tag.MIXED) kinds |= (<u32>1) << kindOf(uniform);
    else for (let i: u32 = 0; i < n; i++) kinds |= (<u32>1) << kindOf(load<u8>(tagsTo + i));
    valsTo += (<usize>n) << 3;
    tagsTo += n;
  }
  return kinds & ~1;
}

/** Hashes the keys of the rows `from` to `to`; NO_HASH where one of them is null. */
function hashSide(side: usize, count: u32, keys: u32, from: u32, to: u32): void {
  const hashes = hashesAt(side, count, keys);
  if (isText) {
    for (let i = from; i < to; i++) {
      const text = load<u64>(side + ((<usize>i) << 3));
      store<u32>(hashes + ((<usize>i) << 2), hashDone(textHash(offOf(text), lenOf(text))));
    }
    return;
  }
  for (let i = from; i < to; i++) {
    let hash: u32 = 0;
    let isNull = false;
    for (let k: u32 = 0; k < keys; k++) {
      const tag = load<u8>(tagsAt(side, count, keys, k) + i);
      if (tag <= Tag.NULL) isNull = true;
      else hash = hashAdd(hash, tag, load<u64>(valsAt(side, count, k) + ((<usize>i) << 3)));
    }
    store<u32>(hashes + ((<usize>i) << 2), isNull ? NO_HASH : hashDone(hash));
  }
}

// @ts-ignore: decorator
@inline function isSameText(a: u64, b: u64): bool {
  return lenOf(a) == lenOf(b) && textsEqual(offOf(a), offOf(b), lenOf(a));
}

/** All keys of row `l` of the left and row `r` of the right side are equal. */
// @ts-ignore: decorator
@inline function isEqual(left: usize, right: usize, keys: u32, l: u32, r: u32): bool {
  if (isText) return isSameText(load<u64>(left + ((<usize>l) << 3)), load<u64>(right + ((<usize>r) << 3)));
  for (let k: u32 = 0; k < keys; k++) {
    const isSame = equalValues(
      load<u8>(tagsAt(left, leftCount, keys, k) + l),
      load<u64>(valsAt(left, leftCount, k) + ((<usize>l) << 3)),
      load<u8>(tagsAt(right, rightCount, keys, k) + r),
      load<u64>(valsAt(right, rightCount, k) + ((<usize>r) << 3)),
    );
    if (!isSame) return false;
  }
  return true;
}

/** True when all keys of two rows of one side are equal. */
// @ts-ignore: decorator
@inline function isAlike(side: usize, count: u32, keys: u32, one: u32, other: u32): bool {
  if (isText) return isSameText(load<u64>(side + ((<usize>one) << 3)), load<u64>(side + ((<usize>other) << 3)));
  for (let k: u32 = 0; k < keys; k++) {
    const tags = tagsAt(side, count, keys, k);
    const vals = valsAt(side, count, k);
    if (
      !equalValues(
        load<u8>(tags + one),
        load<u64>(vals + ((<usize>one) << 3)),
        load<u8>(tags + other),
        load<u64>(vals + ((<usize>other) << 3)),
      )
    ) {
      return false;
    }
  }
  return true;
}

/** Adds matches; false when that was stopped. */
export function equalSome(): bool {
  if (ready < Ready.ALL && !makeReady()) return false;
  const isRight = outerIsRight;
  const keys = step.keys;
  const left = block;
  const right = block + <usize>sideSize(leftCount, keys);
  const table = right + <usize>sideSize(rightCount, keys);
  const slots = blockSlots;
  const outerCount = isRight ? rightCount : leftCount;
  const nexts = table + ((<usize>slots) << 3);
  let matches: u32 = 0;
  const hashes = isRight ? hashesAt(right, rightCount, keys) : hashesAt(left, leftCount, keys);
  for (let o = outerAt; o < outerCount; o++) {
    const hash = load<u32>(hashes + ((<usize>o) << 2));
    if (hash == NO_HASH) continue;
    if ((o & 1023) == 1023) noteBatch();
    for (let s = hash & (slots - 1); ; s = (s + 1) & (slots - 1)) {
      const first = load<u32>(table + ((<usize>s) << 3), 4);
      if (!first) break;
      if (load<u32>(table + ((<usize>s) << 3)) != hash) continue;
      if (!(isRight ? isEqual(left, right, keys, first - 1, o) : isEqual(left, right, keys, o, first - 1))) continue;
      for (let i = innerAt ? innerAt : first; i; i = load<u32>(nexts + ((<usize>(i - 1)) << 2))) {
        if (isPaused()) {
          outerAt = o;
          innerAt = i;
          return false;
        }
        if (!isLast && (++matches & 1023) == 0) noteBatch();
        if (!(isRight ? addMatch(i - 1, o) : addMatch(o, i - 1))) return true;
      }
      innerAt = 0;
      break;
    }
  }
  return true;
}

/** Brings the rows `from` to `to` to the lists of those with equal keys, in their order. */
function listInner(
  side: usize,
  count: u32,
  keys: u32,
  table: usize,
  slots: u32,
  nexts: usize,
  from: u32,
  to: u32,
): void {
  const lasts = nexts + ((<usize>count) << 2);
  const hashes = hashesAt(side, count, keys);
  for (let i = from; i < to; i++) {
    const hash = load<u32>(hashes + ((<usize>i) << 2));
    if (hash == NO_HASH) continue;
    for (let s = hash & (slots - 1); ; s = (s + 1) & (slots - 1)) {
      const slot = table + ((<usize>s) << 3);
      const first = load<u32>(slot, 4);
      if (!first) {
        store<u32>(slot, hash);
        store<u32>(slot, i + 1, 4);
        store<u32>(lasts + ((<usize>i) << 2), i);
        break;
      }
      if (load<u32>(slot) != hash || !isAlike(side, count, keys, first - 1, i)) continue;
      const last = lasts + ((<usize>(first - 1)) << 2);
      store<u32>(nexts + ((<usize>load<u32>(last)) << 2), i + 1);
      store<u32>(last, i);
      break;
    }
  }
}

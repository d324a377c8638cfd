// acc_collect(x): all values so far, nulls too, as a list. acc_distinct_collect(x): each different value once. Items
// and list stand in a pool of the partition. The result of a row is the beginning of that list, as long as it was then,
// so a row costs only its own item.
//
//   state   pool 32 | slots u32 | count u32 | room u32 (agg/state/list.ts) | bytes u32 of the items |
//           index u32, 0 none | entries u32
//   index   of many different items: numbers of items + 1 by their hashes, u32 each, at most half of them in use
import { listPush } from '../../agg/state/list';
import { refusals } from '../../mem/alloc';
import { SLOT_SIZE, SLOT_TAG, Tag, span } from '../../mem/layout';
import { Pool, copyValue, poolAlloc, poolFree, poolInit, poolReset } from '../../mem/pool';
import { tooLong, valueLength, valueLimit } from '../../ops/result';
import { readFail, readFails, readLength, readValue, valueRead } from '../../state/reader';
import { writeU32, writeValue } from '../../state/writer';
import { LoadFault } from '../../gen/state-layouts';
import { account, argTag, argVal, failRow, isTaken, put, rowAt, selLen, setOut, stateOf, whenFails } from '../run';
import { argumentFails } from './fail';
import { sameHash, sameValues } from '../../value/same';

const LIST: usize = 32;
const COUNT: usize = LIST + 4;
const BYTES: usize = LIST + 12;
const INDEX: usize = LIST + 16;
const ENTRIES: usize = LIST + 20;
/** Items up to which a list has no index. */
const FEW: u32 = 8;
/** Bytes of the first chunk of a partition's pool. */
const FIRST_CHUNK: u32 = 128;
/** Offset of the account in a pool; 0 before the pool is made. */
const POOL_ACCT: usize = 16;

export function accCollectRows(isDistinct: bool): void {
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (argumentFails(0, row) || whenFails(row)) continue;
    const state = stateOf(row);
    if (isTaken(row) && !(isDistinct && isThere(state, row)) && !append(state, row)) continue;
    put(
      row,
      Tag.ARRAY,
      span(<usize>load<u32>(changetype<usize>(state), LIST), load<u32>(changetype<usize>(state), COUNT)),
    );
  }
}

/** True when the list has the value of the row. */
function isThere(state: Pool, row: u32): bool {
  const tag = argTag(0, row);
  const payload = argVal(0, row);
  const count = load<u32>(changetype<usize>(state), COUNT);
  let slot = <usize>load<u32>(changetype<usize>(state), LIST);
  if (count > FEW && makeIndex(state, count)) return load<u32>(placeOf(state, tag, payload)) != 0;
  for (let n = count; n > 0; n--, slot += SLOT_SIZE) {
    if (sameValues(load<u8>(slot, SLOT_TAG), load<u64>(slot), tag, payload)) return true;
  }
  return false;
}

/** Address in the index at which the value stands, or would stand. */
function placeOf(state: Pool, tag: u8, payload: u64): usize {
  const index = <usize>load<u32>(changetype<usize>(state), INDEX);
  const slots = <usize>load<u32>(changetype<usize>(state), LIST);
  const mask = load<u32>(changetype<usize>(state), ENTRIES) - 1;
  let i = sameHash(tag, payload) & mask;
  while (true) {
    const place = index + ((<usize>i) << 2);
    const known = load<u32>(place);
    if (!known) return place;
    const slot = slots + (known - 1) * SLOT_SIZE;
    if (sameValues(load<u8>(slot, SLOT_TAG), load<u64>(slot), tag, payload)) return place;
    i = (i + 1) & mask;
  }
}

/**
 * Makes the index, or a larger one, when one more item would fill more than half of it. False when memory is exhausted.
 */
function makeIndex(state: Pool, count: u32): bool {
  if ((count + 1) << 1 <= load<u32>(changetype<usize>(state), ENTRIES)) return true;
  let entries: u32 = 64;
  while (entries < count << 2) entries <<= 1;
  const index = poolAlloc(state, entries << 2);
  if (!index) {
    store<u32>(changetype<usize>(state), 0, ENTRIES);
    return false;
  }
  memory.fill(index, 0, entries << 2);
  store<u32>(changetype<usize>(state), <u32>index, INDEX);
  store<u32>(changetype<usize>(state), entries, ENTRIES);
  let slot = <usize>load<u32>(changetype<usize>(state), LIST);
  for (let i: u32 = 1; i <= count; i++, slot += SLOT_SIZE) {
    store<u32>(placeOf(state, load<u8>(slot, SLOT_TAG), load<u64>(slot)), i);
  }
  return true;
}

/** Adds the value of the row. False when the list becomes longer than a value may be; the row then has an error. */
function append(state: Pool, row: u32): bool {
  const tag: u8 = argTag(0, row) == Tag.MISSING ? Tag.NULL : argTag(0, row);
  const payload = argVal(0, row);
  const limit = valueLimit();
  const bytes = <u64>load<u32>(changetype<usize>(state), BYTES) + SLOT_SIZE + valueLength(tag, payload, limit);
  if (bytes > limit) {
    failRow(row, tooLong('acc_collect', 0));
    return false;
  }
  const before = refusals;
  if (!load<u32>(changetype<usize>(state), POOL_ACCT)) poolInit(state, FIRST_CHUNK, account);
  const isPushed = listPush(state, changetype<usize>(state) + LIST, tag, copyValue(state, tag, payload));
  if (isPushed && load<u32>(changetype<usize>(state), ENTRIES))
    store<u32>(placeOf(state, tag, payload), load<u32>(changetype<usize>(state), COUNT));
  store<u32>(changetype<usize>(state), <u32>bytes, BYTES);
  if (refusals != before) setOut();
  return true;
}

export function collectFree(state: Pool): void {
  if (load<u32>(changetype<usize>(state), POOL_ACCT)) poolFree(state);
}

export function collectSave(state: usize): void {
  const n = load<u32>(state, COUNT);
  writeU32(load<u32>(state, BYTES));
  writeU32(n);
  let slot = <usize>load<u32>(state, LIST);
  for (let i: u32 = 0; i < n; i++, slot += SLOT_SIZE) writeValue(load<u8>(slot, SLOT_TAG), load<u64>(slot));
}

export function collectLoad(state: Pool, bytes: u32, acct: usize): void {
  const n = readLength();
  if (readFails() || !n) return;
  poolInit(state, FIRST_CHUNK, acct);
  const before = refusals;
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const tag = readValue(state);
    if (!readFails()) listPush(state, changetype<usize>(state) + LIST, tag, valueRead);
  }
  store<u32>(changetype<usize>(state), bytes, BYTES);
  if (refusals != before) readFail(LoadFault.MEMORY);
}

const PASSED: Pool = changetype<Pool>(memory.data(32, 16));

/** Reads the bytes of `collectSave` of a function that the node no longer has, and throws them away. */
export function collectPass(): void {
  const n = readLength();
  poolInit(PASSED, FIRST_CHUNK, 0);
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    readValue(PASSED);
    poolReset(PASSED);
  }
  poolFree(PASSED);
}

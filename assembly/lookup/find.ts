// Finds the rows of a table that match a row of the input.
import { accountOf } from '../node/node';
import { Tag, tagAt, valAt } from '../mem/layout';
import { blockOf, constOf, isConst } from '../ops/operand';
import { equalValues } from '../value/compare';
import { hashAdd, hashDone } from '../value/equal-hash';
import { indexAfter, indexFirst, indexHasHash, indexIsBy, isKey } from './names-index';
import { Record, recordShape, recordTag, recordVal } from './record';
import { shapeFind, shapeSerial } from './shape';
import { Look, keyAt, placeAt } from './spec';
import { LookupTable, tableCount, tableJoin, tableKey, tableRecord, tableSerial } from './table';
import { LookupSpec } from '../gen/lookup-layouts';
import { Program } from '../gen/ops-layouts';

const TAGS: usize = memory.data(64);
const VALS: usize = memory.data(64 * 8, 16);
const NAMES: usize = memory.data(64 * 8, 16);

/** Outcome of reading the keys of a row. */
export namespace KeyOutcome {
  export const FOUND: u32 = 0;
  /** A key has no value, or one that nothing can be looked up by: no row matches. */
  export const NONE: u32 = 1;
  /** A key failed; the reason is in `keyFailure`. */
  export const FAILED: u32 = 2;
}

/** Payload of the error of the key that failed. */
export let keyFailure: u64 = 0;

/** The table of a lookup. */
// @ts-ignore: decorator
@inline export function tableOf(spec: LookupSpec): LookupTable {
  return changetype<LookupTable>(spec.table.state);
}

/**
 * Finds the index to look up by, which may be another one since the table was loaded; false when memory is exhausted.
 */
export function findIndex(spec: LookupSpec, state: Look): bool {
  const table = tableOf(spec);
  if (state.serial == tableSerial(table)) return true;
  const keys = spec.keys;
  state.isByKey = 0;
  for (let k: u32 = 0; k < keys; k++) {
    const key = keyAt(spec, k);
    store<u32>(NAMES + ((<usize>k) << 3), changetype<u32>(spec) + key.nameAt);
    store<u32>(NAMES + ((<usize>k) << 3), key.nameLen, 4);
    if (!indexIsBy(tableKey(table), NAMES + ((<usize>k) << 3), 1)) continue;
    state.isByKey = 1;
    state.key = k;
  }
  const isByKey = state.isByKey != 0;
  const index = isByKey ? tableKey(table) : tableJoin(table, NAMES, keys, accountOf(spec.table));
  if (!index) return false;
  state.index = index;
  state.serial = tableSerial(table);
  return true;
}

/**
 * Reads the keys of a row of the input for `firstMatch`; with `isAny` all values are keys, with `takesErrors` errors as
 * well.
 */
export function readKeys(
  spec: LookupSpec,
  program: Program,
  row: u32,
  isAny: bool = false,
  takesErrors: bool = false,
): u32 {
  const keys = spec.keys;
  let outcome = KeyOutcome.FOUND;
  for (let k: u32 = 0; k < keys; k++) {
    const operand = keyAt(spec, k).operand;
    let tag: u8;
    let val: u64;
    if (isConst(operand)) {
      const slot = constOf(program, operand);
      tag = load<u8>(slot, 8);
      val = load<u64>(slot);
    } else {
      const block = blockOf(operand);
      tag = tagAt(block, row);
      val = valAt(block, row);
    }
    if (tag == Tag.ERROR && !takesErrors) {
      keyFailure = val;
      return KeyOutcome.FAILED;
    }
    if (!isAny && !isKey(tag)) outcome = KeyOutcome.NONE;
    store<u8>(TAGS + k, tag);
    store<u64>(VALS + ((<usize>k) << 3), val);
  }
  return outcome;
}

// @ts-ignore: decorator
@inline export function keyTag(k: u32): u8 {
  return load<u8>(TAGS + k);
}

/** Sets a key as `readKeys` would. */
export function setKey(k: u32, tag: u8, val: u64): void {
  store<u8>(TAGS + k, tag);
  store<u64>(VALS + ((<usize>k) << 3), val);
}

// @ts-ignore: decorator
@inline export function keyVal(k: u32): u64 {
  return load<u64>(VALS + ((<usize>k) << 3));
}

/** Tables of fewer rows are in the caches of the processor. */
const LARGE: u32 = 4096;
const SLOTS: usize = memory.data(4 * 1024, 16);
let touched: u64 = 0;

/**
 * Touches the memory that the batch's rows will read in a large table by its key: step by step for all rows, so that
 * they wait for memory together. One row after the other would wait for each step.
 */
export function touchMatches(spec: LookupSpec, state: Look, program: Program, sel: usize, n: u32): void {
  const table = tableOf(spec);
  const operand = keyAt(spec, state.key).operand;
  if (tableCount(table) < LARGE || isConst(operand)) return;
  const index = state.index;
  const block = blockOf(operand);
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const tag = tagAt(block, row);
    store<u32>(
      SLOTS + ((<usize>i) << 2),
      isKey(tag) ? indexFirst(index, hashDone(hashAdd(0, tag, valAt(block, row)))) : 0,
    );
  }
  let sum: u64 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const at = SLOTS + ((<usize>i) << 2);
    const first = load<u32>(at);
    if (!first) continue;
    sum += indexAfter(index, first);
    store<u32>(at, changetype<u32>(tableRecord(table, first - 1)));
  }
  for (let i: u32 = 0; i < n; i++) {
    const record = changetype<Record>(load<u32>(SLOTS + ((<usize>i) << 2)));
    // Values may be on another cache line than the record; all records are long enough for both reads.
    if (record) sum += recordVal(record, 0) + recordVal(record, 3);
  }
  touched = sum;
}

let hash: u32 = 0;
let slot: u32 = 0;

/** The first row of the table that matches, 0 none; `nextMatch` has the others. */
export function firstMatch(spec: LookupSpec, state: Look): Record {
  const keys = spec.keys;
  hash = 0;
  if (state.isByKey) {
    const k = state.key;
    hash = hashAdd(0, load<u8>(TAGS + k), load<u64>(VALS + ((<usize>k) << 3)));
  } else
    for (let k: u32 = 0; k < keys; k++) hash = hashAdd(hash, load<u8>(TAGS + k), load<u64>(VALS + ((<usize>k) << 3)));
  hash = hashDone(hash);
  slot = indexFirst(state.index, hash);
  return match(spec, state);
}

export function nextMatch(spec: LookupSpec, state: Look): Record {
  slot = indexAfter(state.index, slot);
  return match(spec, state);
}

/** State of the search, for `matchReturn` with the same keys. */
export function matchPlace(): u64 {
  return ((<u64>hash) << 32) | slot;
}

export function matchReturn(place: u64): void {
  hash = <u32>(place >> 32);
  slot = <u32>place;
}

/** The first match at or after `slot`. */
function match(spec: LookupSpec, state: Look): Record {
  const index = state.index;
  const table = tableOf(spec);
  for (; slot; slot = indexAfter(index, slot)) {
    if (!indexHasHash(index, slot, hash)) continue;
    const record = tableRecord(table, slot - 1);
    if (matches(spec, state, record)) return record;
  }
  return changetype<Record>(0);
}

function matches(spec: LookupSpec, state: Look, record: Record): bool {
  const keys = spec.keys;
  const fields = spec.fields;
  for (let k: u32 = 0; k < keys; k++) {
    const key = keyAt(spec, k);
    const place = placeIn(placeAt(state, fields + k), record, changetype<usize>(spec) + key.nameAt, key.nameLen);
    if (place < 0) return false;
    const tag = recordTag(record, place);
    if (!isKey(tag)) return false;
    if (!isEqual(tag, recordVal(record, place), load<u8>(TAGS + k), load<u64>(VALS + ((<usize>k) << 3)))) return false;
  }
  return true;
}

/** As `equalValues`, with the commonest kind of keys in front. */
// @ts-ignore: decorator
@inline function isEqual(tagA: u8, a: u64, tagB: u8, b: u64): bool {
  if (tagA == Tag.F64 && tagB == Tag.F64) return reinterpret<f64>(a) == reinterpret<f64>(b);
  return equalValues(tagA, a, tagB, b);
}

/** Place of a name in the record, -1 none; `known` has the shape looked at last, with the place of the name in it. */
// @ts-ignore: decorator
@inline export function placeIn(known: usize, record: Record, name: usize, len: u32): i32 {
  const shape = recordShape(record);
  if (load<u32>(known) == shapeSerial(shape)) return load<i32>(known, 4);
  const place = shapeFind(shape, name, len);
  store<u32>(known, shapeSerial(shape));
  store<i32>(known, place, 4);
  return place;
}

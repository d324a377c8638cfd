// Functions of the host: the state of a partition is bytes, which one call for many rows takes and returns
// (ops/call/states.ts).
//
//   state   slot of the bytes; with WHEN a slot of the last result, for the rows that WHEN leaves out
import { HostPart } from '../../gen/ops-layouts';
import { Tag } from '../../mem/layout';
import {
  CALL_ROWS,
  callArg,
  callBegin,
  callEnd,
  callGroup,
  callRow,
  callRun,
  groupTag,
  groupVal,
  rowTag,
  rowVal,
} from '../../ops/call/states';
import { KEPT_SIZE, keep, keptTag, keptVal, setSlotPlace, slotPlace } from '../../partitions/slot';
import {
  argTag,
  argVal,
  failRow,
  givenTag,
  givenVal,
  isTaken,
  keepsBatch,
  put,
  rowAt,
  selLen,
  setOut,
  stateOf,
  whenFails,
} from '../run';
import { slotCount } from '../spec';
import { argumentFails } from './fail';
import { FunctionSpec } from '../../gen/analytic-layouts';
import { Pool } from '../../mem/pool';

/** Rows that get a result; then their numbers in the call from 1, 0 for those that WHEN leaves out. */
const ROWS: usize = memory.data(4 * 512, 16);
const CALLED: usize = memory.data(4 * 512, 16);
/** First row of each partition of the call. */
const FIRST_ROWS: usize = memory.data(4 * 512, 16);

export function userRows(fn: FunctionSpec): void {
  const n = selLen;
  for (let done: u32 = 0; done < n; done += CALL_ROWS) userPart(fn, done, min(done + CALL_ROWS, n));
}

function userPart(fn: FunctionSpec, from: u32, to: u32): void {
  const count = selectRows(fn, from, to);
  if (!callBegin(fn.args)) {
    setOut();
    return;
  }
  const groups = addRows(fn, count);
  callRun(fn.size, HostPart.STEP);
  for (let g: u32 = 0; g < groups; g++) takeState(load<u32>(FIRST_ROWS + ((<usize>g) << 2)), groupTag(g), groupVal(g));
  giveRows(count, slotCount(fn) > 1);
  callEnd(false);
  for (let i: u32 = 0; i < count; i++) {
    const row = load<u32>(ROWS + ((<usize>i) << 2));
    if (givenTag(row) == Tag.ERROR) failRow(row, givenVal(row));
  }
}

/** Selects the rows in which no argument and no condition failed; returns their number. */
function selectRows(fn: FunctionSpec, from: u32, to: u32): u32 {
  const args = fn.args;
  let count: u32 = 0;
  for (let i = from; i < to; i++) {
    const row = rowAt(i);
    let fails = false;
    for (let a: u32 = 0; a < args && !fails; a++) fails = argumentFails(a, row);
    if (fails || whenFails(row)) continue;
    store<u32>(ROWS + ((<usize>count) << 2), row);
    count++;
  }
  return count;
}

/** Adds the rows that are taken in to the call, each partition with its first row. Returns the number of partitions. */
function addRows(fn: FunctionSpec, count: u32): u32 {
  const args = fn.args;
  let groups: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const row = load<u32>(ROWS + ((<usize>i) << 2));
    store<u32>(CALLED + ((<usize>i) << 2), 0);
    if (!isTaken(row)) continue;
    const state = stateOf(row);
    if (!slotPlace(state)) {
      store<u32>(FIRST_ROWS + ((<usize>groups) << 2), row);
      groups = callGroup(keptTag(state), keptVal(state)) + 1;
      setSlotPlace(state, groups);
    }
    const k = callRow(slotPlace(state) - 1);
    for (let a: u32 = 0; a < args; a++) callArg(a, k, argTag(a, row), argVal(a, row));
    store<u32>(CALLED + ((<usize>i) << 2), k + 1);
  }
  return groups;
}

/** Keeps the state that the host returned for the row's partition; after an error the old state stays. */
function takeState(row: u32, tag: u8, payload: u64): void {
  const state = stateOf(row);
  setSlotPlace(state, 0);
  if (tag == Tag.NULL) keep(state, Tag.MISSING, 0);
  else if (tag == Tag.BYTES && keep(state, tag, payload)) keepsBatch(row);
}

/**
 * Sets the results from the host; with `keepsLast` they are kept for rows that WHEN leaves out, which get the last one.
 */
function giveRows(count: u32, keepsLast: bool): void {
  for (let i: u32 = 0; i < count; i++) {
    const row = load<u32>(ROWS + ((<usize>i) << 2));
    const called = load<u32>(CALLED + ((<usize>i) << 2));
    const last = changetype<Pool>(changetype<usize>(stateOf(row)) + KEPT_SIZE);
    if (!called) {
      put(row, keptTag(last) == Tag.MISSING ? Tag.NULL : keptTag(last), keptVal(last));
      continue;
    }
    const tag = rowTag(called - 1);
    put(row, tag, rowVal(called - 1));
    if (keepsLast && tag != Tag.ERROR && keep(last, tag, rowVal(called - 1))) keepsBatch(row);
  }
}

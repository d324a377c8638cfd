// The description of a join as the host writes it (kernels/nodes/join.ts), and the state of its node.
//
// The spec is drawn in gen/join-layouts.ts.
//
//   state   0    pool 32             texts of errors
//           32   failOff u32 | failLen u32 | begun u32 | programs u32 (made)
//           48   pointers u32        -> u32[columns]: blocks of a batch of pairs
//           52   owners u32          -> {branch u16, slot u16}[columns]: where the value of a column stands
//           56   aside u32           the join of the message while it is stopped (join/message/aside.ts), 0 none
//           64   tuples 32, tuples 32                    results of the steps before the last (join/message/run.ts)
//           128  others 48                               values of the columns of no branch: one row (rows/store.ts)
//           176  branch 56 [branches]
//   branch  0    rows 48             of the message, or of the table (rows/store.ts): columns, then what keys need
//           48   index u32 | lookups u32                 of a table: its index (hash-index.ts), 0 none; rows looked up
//                                                before there was one

import { ROWS_SIZE } from '../../rows/layout';

export { JoinType } from '../../gen/join-layouts';
export {
  JOIN_COLUMNS,
  JOIN_BRANCH,
  JOIN_BRANCHES,
  JOIN_STEPS,
  JOIN_OTHERS,
  JOIN_OTHERS_AT,
  JOIN_FIRST,
} from '../../gen/join-layouts';
export {
  JOIN_BRANCH_COLUMNS,
  JOIN_BRANCH_COLUMNS_AT,
  JOIN_BRANCH_COMPUTED,
  JOIN_BRANCH_COMPUTED_AT,
  JOIN_BRANCH_IS_TABLE,
  JOIN_BRANCH_RETAIN,
} from '../../gen/join-layouts';
export {
  JOIN_STEP_TYPE,
  JOIN_STEP_BRANCH,
  JOIN_STEP_PROGRAM,
  JOIN_STEP_PROGRAM_LEN,
  JOIN_STEP_CONDITION,
  JOIN_STEP_KEYS,
  JOIN_STEP_IS_KEYED,
  JOIN_STEP_READS,
  JOIN_STEP_READS_AT,
  JOIN_STEP_MADE,
} from '../../gen/join-layouts';
export {
  JOIN_KEY_LEFT_BRANCH,
  JOIN_KEY_LEFT,
  JOIN_KEY_RIGHT,
  JOIN_KEY_IS_PLAIN,
} from '../../gen/join-layouts';
import {
  JOIN_BRANCHES_AT,
  JOIN_STEPS_AT,
  JOIN_FIRST,
  JOIN_BRANCH_COLUMNS,
  JOIN_BRANCH_COMPUTED,
  JOIN_BRANCH_SIZE_OF as BRANCH_SIZE,
  JOIN_STEP_BRANCH,
  JOIN_STEP_KEYS_AT,
  JOIN_STEP_SIZE_OF as STEP_SIZE,
  JOIN_KEY_SIZE_OF as KEY_SIZE,
} from '../../gen/join-layouts';

export const JOIN_STATE_FAIL: usize = 32;
export const JOIN_STATE_FAIL_LEN: usize = 36;
export const JOIN_STATE_BEGUN: usize = 40;
export const JOIN_STATE_PROGRAMS: usize = 44;
export const JOIN_STATE_POINTERS: usize = 48;
export const JOIN_STATE_OWNERS: usize = 52;
export const JOIN_STATE_ASIDE: usize = 56;
export const JOIN_STATE_TUPLES: usize = 64;
export const JOIN_STATE_OTHERS: usize = 128;
export const JOIN_STATE_BRANCHES: usize = JOIN_STATE_OTHERS + ROWS_SIZE;
export const BRANCH_INDEX: usize = ROWS_SIZE;
export const BRANCH_LOOKUPS: usize = ROWS_SIZE + 4;
/** The index that is made little by little to take its place, 0 none, and how many rows it has. */
export const BRANCH_NEXT: usize = ROWS_SIZE + 8;
export const BRANCH_NEXT_ROWS: usize = ROWS_SIZE + 12;
export const BRANCH_STATE_SIZE: u32 = ROWS_SIZE + 16;

/** Owners of columns that are no branch's: a value of the message; the branch number, which means nothing any more. */
export const OWNER_OTHER: u32 = 0xfffe;
export const OWNER_NONE: u32 = 0xffff;

/** Of `branch` (batch/context.ts): the rows come from a port and are for that table of the join. */
export const FOR_TABLE: u32 = 0x80000000;

/** A column without values: zeros are the tag MISSING. Nothing writes to it. */
export const NO_VALUES: usize = memory.data(17472, 64);

// @ts-ignore: decorator
@inline export function branchAt(spec: usize, i: u32): usize {
  return spec + <usize>load<u32>(spec, JOIN_BRANCHES_AT) + <usize>(i * BRANCH_SIZE);
}

// @ts-ignore: decorator
@inline export function stepAt(spec: usize, i: u32): usize {
  return spec + <usize>load<u32>(spec, JOIN_STEPS_AT) + <usize>(i * STEP_SIZE);
}

// @ts-ignore: decorator
@inline export function keyAt(spec: usize, step: usize, i: u32): usize {
  return spec + <usize>load<u32>(step, JOIN_STEP_KEYS_AT) + <usize>(i * KEY_SIZE);
}

// @ts-ignore: decorator
@inline export function branchRows(state: usize, branch: u32): usize {
  return state + JOIN_STATE_BRANCHES + <usize>(branch * BRANCH_STATE_SIZE);
}

/** Values that are kept of a row of the branch: its columns, then what keys need. */
// @ts-ignore: decorator
@inline export function slotsOf(branch: usize): u32 {
  return load<u32>(branch, JOIN_BRANCH_COLUMNS) + load<u32>(branch, JOIN_BRANCH_COMPUTED);
}

/** Place of a branch in the rows of the first `width` branches that were joined; -1 when it is not among them. */
export function positionOf(spec: usize, branch: u32, width: u32): i32 {
  if (branch == load<u32>(spec, JOIN_FIRST)) return 0;
  for (let i: u32 = 1; i < width; i++) {
    if (load<u32>(stepAt(spec, i - 1), JOIN_STEP_BRANCH) == branch) return <i32>i;
  }
  return -1;
}

// The description of a join as the host writes it (kernels/nodes/join.ts), and the state of its node.
//
// The spec is drawn in gen/join-layouts.ts.
//
//   state   0    pool 32             texts of errors
//           32   failOff u32 | failLen u32 | begun u32 | programs u32 (made)
//           48   pointers u32        -> u32[columns]: blocks of a batch of pairs
//           52   owners u32          -> {branch u16, slot u16}[columns]: where the value of a column stands
//           56   suspended u32       the join of the message while it is stopped (suspended-run.ts), 0 none
//           64   tuples 32, tuples 32                    results of the steps before the last (join/message/run.ts)
//           128  others 48                               values of the columns of no branch: one row (rows/store.ts)
//           176  branch 56 [branches]
//   branch  0    rows 48             of the message, or of the table (rows/store.ts): columns, then what keys need
//           48   index u32 | lookups u32                 of a table: its index (hash-index.ts), 0 none; rows looked up
//                                                before there was one

import { Rows, ROWS_SIZE } from '../../rows/layout';

export { JoinType } from '../../gen/join-layouts';
import {
  JoinSpec,
  JoinBranch,
  JoinStep,
  JoinKey,
  JOIN_BRANCH_SIZE_OF as BRANCH_SIZE,
  JOIN_STEP_SIZE_OF as STEP_SIZE,
  JOIN_KEY_SIZE_OF as KEY_SIZE,
} from '../../gen/join-layouts';
import { Pool } from '../../mem/pool';

/** State of a join. */
// @ts-ignore: decorator
@unmanaged
export class JoinState extends Pool {
  fail: u32;
  failLen: u32;
  begun: u32;
  programs: u32;
  pointers: usize;
  owners: usize;
  suspended: usize;

  get others(): Rows {
    return changetype<Rows>(changetype<usize>(this) + JOIN_STATE_OTHERS);
  }
}

export const JOIN_STATE_TUPLES: usize = 64;
const JOIN_STATE_OTHERS: usize = 128;
export const JOIN_STATE_BRANCHES: usize = JOIN_STATE_OTHERS + ROWS_SIZE;
/** Rows of a branch: of the message, or of a table. */
// @ts-ignore: decorator
@unmanaged
export class Branch extends Rows {
  index: usize;
  lookups: u32;
  /** The larger index that is to take the place of `index`, 0 none, and the rows that it has so far. */
  next: usize;
  nextRows: u32;
}

export const BRANCH_STATE_SIZE: u32 = ROWS_SIZE + 16;

/** Owners of columns of no branch: a value of the message, or the branch number, which has no meaning any more. */
export const OWNER_OTHER: u32 = 0xfffe;
export const OWNER_NONE: u32 = 0xffff;

/** Bit of `branch` (batch/context.ts) for rows from a port that fill the table of that branch. */
export const FOR_TABLE: u32 = 0x80000000;

/** A column without values: zeros are the tag MISSING. Nothing writes to it. */
export const NO_VALUES: usize = memory.data(17472, 64);

// @ts-ignore: decorator
@inline export function branchAt(spec: JoinSpec, i: u32): JoinBranch {
  return changetype<JoinBranch>(changetype<usize>(spec) + spec.branchesAt + <usize>(i * BRANCH_SIZE));
}

// @ts-ignore: decorator
@inline export function stepAt(spec: JoinSpec, i: u32): JoinStep {
  return changetype<JoinStep>(changetype<usize>(spec) + spec.stepsAt + <usize>(i * STEP_SIZE));
}

// @ts-ignore: decorator
@inline export function keyAt(spec: JoinSpec, step: JoinStep, i: u32): JoinKey {
  return changetype<JoinKey>(changetype<usize>(spec) + step.keysAt + <usize>(i * KEY_SIZE));
}

// @ts-ignore: decorator
@inline export function branchRows(state: JoinState, branch: u32): Branch {
  return changetype<Branch>(changetype<usize>(state) + JOIN_STATE_BRANCHES + <usize>(branch * BRANCH_STATE_SIZE));
}

/** Values that are kept of a row of the branch: its columns, then the values that keys compute. */
// @ts-ignore: decorator
@inline export function slotsOf(branch: JoinBranch): u32 {
  return branch.columns + branch.computed;
}

/** Place of a branch in the rows of the first `width` branches that were joined; -1 when it is not among them. */
export function positionOf(spec: JoinSpec, branch: u32, width: u32): i32 {
  if (branch == spec.first) return 0;
  for (let i: u32 = 1; i < width; i++) {
    if (stepAt(spec, i - 1).branch == branch) return <i32>i;
  }
  return -1;
}

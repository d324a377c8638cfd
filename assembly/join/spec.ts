// The description of a join as the host writes it (kernels/join-spec.ts), and the state of its node.
//
//   spec    0    columns u32         of the output
//           4    branchOperand u32   column of the input with the branch number, 0xffff: all rows are of branch 0
//           8    branches u32 | branchesAt u32 | steps u32 | stepsAt u32
//           24   others u32 | othersAt u32               columns of no branch: u16[others]
//           32   first u32                               branch on the left of the first step
//   branch  0    columns u32 | columnsAt u32             columns of the output that are the branch's: u16[columns]
//   (32)    8    computed u32 | computedAt u32           values of a row that only keys need: operands u16[computed]
//           16   isTable u32 | retain u32                rows kept over all messages, 0 all
//   step    0    type u32 | branch u32
//   (40)    8    program u32 | programLen u32            0 none; the address once the node is open
//           16   condition u32                           operand, 0xffff none
//           20   keys u32 | keysAt u32 | reads u32 | readsAt u32     reads: columns that the program reads, u16[reads]
//   key     0    leftBranch u32 | left u32 | right u32   slots of the rows' records
//   (16)    12   isPlain u32                             the left side is a column, not computed
//
// All `…At` are offsets from the start of the spec.
//
//   state   0    pool 32             rows of the message
//           32   failOff u32 | failLen u32 | begun u32 | programs u32 (made)
//           48   others u32          values of the columns of no branch (a record, join/rows.ts), 0 before the first row
//           52   pointers u32        -> u32[columns]: blocks of a batch of pairs
//           56   owners u32          -> {branch u16, slot u16}[columns]: where the value of a column stands
//           60   size u32            of the state
//           64   tuples 32, tuples 32                    results of the steps before the last (join/tuples.ts)
//           128  list 32 [branches]                      rows of the branches (join/rows.ts)

export namespace JoinType {
  export const INNER: u32 = 0;
  export const LEFT: u32 = 1;
  export const RIGHT: u32 = 2;
  export const FULL: u32 = 3;
  export const CROSS: u32 = 4;
}

export const J_COLUMNS: usize = 0;
export const J_BRANCH: usize = 4;
export const J_BRANCHES: usize = 8;
const J_BRANCHES_AT: usize = 12;
export const J_STEPS: usize = 16;
const J_STEPS_AT: usize = 20;
export const J_OTHERS: usize = 24;
export const J_OTHERS_AT: usize = 28;
export const J_FIRST: usize = 32;

export const B_COLUMNS: usize = 0;
export const B_COLUMNS_AT: usize = 4;
export const B_COMPUTED: usize = 8;
export const B_COMPUTED_AT: usize = 12;
export const B_IS_TABLE: usize = 16;
export const B_RETAIN: usize = 20;

export const T_TYPE: usize = 0;
export const T_BRANCH: usize = 4;
export const T_PROGRAM: usize = 8;
export const T_PROGRAM_LEN: usize = 12;
export const T_CONDITION: usize = 16;
export const T_KEYS: usize = 20;
const T_KEYS_AT: usize = 24;
export const T_READS: usize = 28;
export const T_READS_AT: usize = 32;

export const K_LEFT_BRANCH: usize = 0;
export const K_LEFT: usize = 4;
export const K_RIGHT: usize = 8;
export const K_IS_PLAIN: usize = 12;

export const S_FAIL: usize = 32;
export const S_FAIL_LEN: usize = 36;
export const S_BEGUN: usize = 40;
export const S_PROGRAMS: usize = 44;
export const S_OTHERS: usize = 48;
export const S_POINTERS: usize = 52;
export const S_OWNERS: usize = 56;
export const S_SIZE: usize = 60;
export const S_TUPLES: usize = 64;
export const S_LISTS: usize = 128;
export const LIST_SIZE: u32 = 32;

/** Owners of columns that are no branch's: a value of the message; the branch number, which means nothing any more. */
export const OWNER_OTHER: u32 = 0xfffe;
export const OWNER_NONE: u32 = 0xffff;

/** A column without values: zeros are the tag MISSING. Nothing writes to it. */
export const NO_VALUES: usize = memory.data(17472, 64);

// @ts-ignore: decorator
@inline export function branchAt(spec: usize, i: u32): usize {
  return spec + <usize>load<u32>(spec, J_BRANCHES_AT) + (<usize>i << 5);
}

// @ts-ignore: decorator
@inline export function stepAt(spec: usize, i: u32): usize {
  return spec + <usize>load<u32>(spec, J_STEPS_AT) + <usize>(i * 40);
}

// @ts-ignore: decorator
@inline export function keyAt(spec: usize, step: usize, i: u32): usize {
  return spec + <usize>load<u32>(step, T_KEYS_AT) + (<usize>i << 4);
}

// @ts-ignore: decorator
@inline export function listAt(state: usize, branch: u32): usize {
  return state + S_LISTS + (<usize>branch << 5);
}

/** Values that the record of a row of the branch has: its columns, then what keys need. */
// @ts-ignore: decorator
@inline export function slotsOf(branch: usize): u32 {
  return load<u32>(branch, B_COLUMNS) + load<u32>(branch, B_COMPUTED);
}

/** Place of a branch in the rows of the first `width` branches that were joined; -1 when it is not among them. */
export function positionOf(spec: usize, branch: u32, width: u32): i32 {
  if (branch == load<u32>(spec, J_FIRST)) return 0;
  for (let i: u32 = 1; i < width; i++) {
    if (load<u32>(stepAt(spec, i - 1), T_BRANCH) == branch) return <i32>i;
  }
  return -1;
}

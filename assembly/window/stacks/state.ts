// What a sliding or counting window keeps besides its rows and the back, which is the set of the window
// (window/stacks/stacks.ts).
//
//   stacks  front 144 | 144 set of the front 120 | 264 set to send 120
//           384 taken u32 | again u32 | failed u32 | firstFailed u32 | failedPage u32 | failedRow u32
//           408 step u32 | bound u32 | page u32 | before u32 | group u32 | place u32     of the join under way
//           (window/stacks/join.ts)
//           432 waits u32 | left u32 | since u32 | 0 u32
//
// `taken`: rows in the back, behind those of the front. `again`: some of the rows in the window were in a back before.
// `failed` and `firstFailed`: which of the kept rows, from 1, is the last and the first one known whose WHERE or key
// failed, 0 none; a window with such a row fails. `firstFailed` stands at `failedRow` of `failedPage`. `waits`: windows
// in the outbox; as long as there are some, rows that have left stay in the store: `left` in all, `since` the last of
// these windows came to its end.
import { SET_SIZE } from '../../agg/group/group';
import { ROWS_COUNT } from '../../rows/layout';
import { FRONT_SIZE } from './front';
import { W_ROWS } from '../content/state';

export const ENTRIES: usize = FRONT_SIZE;
export const QUERY: usize = FRONT_SIZE + SET_SIZE;
export const TAKEN: usize = FRONT_SIZE + 2 * SET_SIZE;
export const AGAIN: usize = TAKEN + 4;
export const FAILED: usize = TAKEN + 8;
export const FIRST_FAILED: usize = TAKEN + 12;
export const FAILED_PAGE: usize = TAKEN + 16;
export const FAILED_ROW: usize = TAKEN + 20;
export const STEP: usize = TAKEN + 24;
export const BOUND: usize = TAKEN + 28;
export const PAGE: usize = TAKEN + 32;
export const BEFORE: usize = TAKEN + 36;
export const GROUP: usize = TAKEN + 40;
export const PLACE: usize = TAKEN + 44;
export const WAITS: usize = TAKEN + 48;
export const LEFT: usize = TAKEN + 52;
export const SINCE: usize = TAKEN + 56;
export const STACKS_SIZE: u32 = <u32>TAKEN + 64;

/** So many rows are taken in anew with less work than it is to make a front of them. */
export const FEW: u32 = 16;

/** Kept rows that have not left the window. */
// @ts-ignore: decorator
@inline export function rowsInside(state: usize, stacks: usize): u32 {
  return load<u32>(state + W_ROWS, ROWS_COUNT) - load<u32>(stacks, LEFT);
}

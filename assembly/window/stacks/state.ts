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
import { Front, FRONT_SIZE } from './front';
import { Page } from '../../rows/page';
import { GroupSet, Group } from '../../agg/group/table';
import { WindowState } from '../content/state';

const ENTRIES: usize = FRONT_SIZE;
const QUERY: usize = FRONT_SIZE + SET_SIZE;
/** What a sliding or counting window keeps. */
// @ts-ignore: decorator
@unmanaged
export class Stacks extends Front {
  private gap144: u64;
  private gap152: u64;
  private gap160: u64;
  private gap168: u64;
  private gap176: u64;
  private gap184: u64;
  private gap192: u64;
  private gap200: u64;
  private gap208: u64;
  private gap216: u64;
  private gap224: u64;
  private gap232: u64;
  private gap240: u64;
  private gap248: u64;
  private gap256: u64;
  private gap264: u64;
  private gap272: u64;
  private gap280: u64;
  private gap288: u64;
  private gap296: u64;
  private gap304: u64;
  private gap312: u64;
  private gap320: u64;
  private gap328: u64;
  private gap336: u64;
  private gap344: u64;
  private gap352: u64;
  private gap360: u64;
  private gap368: u64;
  private gap376: u64;
  taken: u32;
  again: u32;
  failed: u32;
  firstFailed: u32;
  failedPage: Page;
  failedRow: u32;
  step: u32;
  bound: u32;
  page: Page;
  before: u32;
  group: Group;
  place: Group;
  waits: u32;
  left: u32;
  since: u32;

  get partials(): GroupSet {
    return changetype<GroupSet>(changetype<usize>(this) + ENTRIES);
  }

  get query(): GroupSet {
    return changetype<GroupSet>(changetype<usize>(this) + QUERY);
  }
}

export const STACKS_SIZE: u32 = <u32>offsetof<Stacks>('taken') + 64;

/** So many rows are taken in anew with less work than it is to make a front of them. */
export const FEW: u32 = 16;

/** Kept rows that have not left the window. */
// @ts-ignore: decorator
@inline export function rowsInside(state: WindowState, stacks: Stacks): u32 {
  return state.kept.count - stacks.left;
}

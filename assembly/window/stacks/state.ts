// State of a sliding or counting window besides its rows and its back, which is the set of the window
// (window/stacks/stacks.ts).
//
//   stacks  front 144 | 144 set of the front 120 | 264 set to send 120
//           384 taken u32 | again u32 | failed u32 | firstFailed u32 | failedPage u32 | failedRow u32
//           408 step u32 | bound u32 | page u32 | before u32 | group u32 | place u32     of the join under way
//           (window/stacks/join.ts)
//           432 waits u32 | left u32 | since u32 | 0 u32
//
// `taken`: rows in the back, behind the rows of the front. `again`: some of the rows in the window were in a back
// before. `failed` and `firstFailed`: numbers, from 1, of the last and first known kept row whose WHERE or key failed,
// 0 none; a window with such a row fails. `failedPage` and `failedRow`: place of the row `firstFailed`. `waits`:
// windows in the outbox; while there are some, rows that have left stay in the store. `left`: number of these rows;
// `since`: those among them that have left since the last of these windows ended.
import { SET_SIZE } from '../../agg/group/group';
import { Front, FRONT_SIZE } from './front';
import { Page } from '../../rows/page';
import { GroupSet, Group } from '../../agg/group/table';
import { WindowState } from '../content/state';

const ENTRIES: usize = FRONT_SIZE;
const QUERY: usize = FRONT_SIZE + SET_SIZE;
/** The two stacks of a sliding or counting window. */
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

/** Rows up to which a back made anew costs less than a front. */
export const FEW: u32 = 16;

/** Kept rows that have not left the window. */
// @ts-ignore: decorator
@inline export function rowsInside(state: WindowState, stacks: Stacks): u32 {
  return state.kept.count - stacks.left;
}

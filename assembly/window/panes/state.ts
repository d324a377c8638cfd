// State of the panes (window/panes/panes.ts) of a hopping window.
//
//   panes   front 144 | 144 back: a group set 120
//           264 list u32 | first u32 | to u32 | capacity u32          panes `first` to `to` may be in the next window
//           280 inFront u32 | inBack u32 | failed u32 (panes with an error) | groups u32 (of all panes of the list)
//           296 begun f64        begin of windows that the pane under way comes after, 0 none
//           304 step u32 | bound u32 | at u32 | group u32 | place u32 | links u32     of the join under way
//           (window/panes/join.ts)
//   pane    end f64 | group set 120
import { SET_SIZE } from '../../agg/group/group';
import { Front, FRONT_SIZE } from '../stacks/front';
import { GroupSet, Group } from '../../agg/group/table';

const BACK: usize = FRONT_SIZE;
/** The panes of a hopping window. */
// @ts-ignore: decorator
@unmanaged
export class Panes extends Front {
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
  panes: usize;
  firstPane: u32;
  to: u32;
  paneCapacity: u32;
  inFront: u32;
  inBack: u32;
  failed: u32;
  groups: u32;
  begun: f64;
  step: u32;
  bound: u32;
  at: u32;
  group: Group;
  place: Group;
  links: u32;

  get back(): GroupSet {
    return changetype<GroupSet>(changetype<usize>(this) + BACK);
  }
}

export const PANES_SIZE: u32 = <u32>offsetof<Panes>('panes') + 64;

export const PANE_SET: usize = 8;
export const PANE_SIZE: u32 = 8 + SET_SIZE;

// @ts-ignore: decorator
@inline export function paneAt(panes: Panes, i: u32): usize {
  return panes.panes + <usize>(i * PANE_SIZE);
}

/** The set of pane `i` of the window. It is valid only until a pane is added, which may move it. */
// @ts-ignore: decorator
@inline export function paneSet(panes: Panes, i: u32): GroupSet {
  return changetype<GroupSet>(paneAt(panes, panes.firstPane + i) + PANE_SET);
}

// What a hopping window keeps of the parts of its time (panes, window/panes/panes.ts).
//
//   panes   front 144 | 144 back: a group set 120
//           264 list u32 | first u32 | to u32 | capacity u32          panes `first` to `to` may be in the next window
//           280 inFront u32 | inBack u32 | failed u32 (panes with an error) | groups u32 (of all panes of the list)
//           296 begun f64        begin of windows that the pane under way comes after, 0 none
//           304 step u32 | bound u32 | at u32 | group u32 | place u32 | links u32     of the join under way
//           (window/panes/join.ts)
//   pane    end f64 | group set 120
import { SET_SIZE } from '../../agg/group/group';
import { FRONT_SIZE } from '../stacks/front';

export const BACK: usize = FRONT_SIZE;
export const LIST: usize = FRONT_SIZE + SET_SIZE;
export const FIRST: usize = LIST + 4;
export const TO: usize = LIST + 8;
export const CAPACITY: usize = LIST + 12;
export const IN_FRONT: usize = LIST + 16;
export const IN_BACK: usize = LIST + 20;
export const FAILED: usize = LIST + 24;
export const GROUPS: usize = LIST + 28;
export const BEGUN: usize = LIST + 32;
export const STEP: usize = LIST + 40;
export const BOUND: usize = LIST + 44;
export const AT: usize = LIST + 48;
export const GROUP: usize = LIST + 52;
export const PLACE: usize = LIST + 56;
export const LINKS: usize = LIST + 60;
export const PANES_SIZE: u32 = <u32>LIST + 64;

export const PANE_SET: usize = 8;
export const PANE_SIZE: u32 = 8 + SET_SIZE;

// @ts-ignore: decorator
@inline export function paneAt(panes: usize, i: u32): usize {
  return <usize>load<u32>(panes, LIST) + <usize>(i * PANE_SIZE);
}

/** The set of pane `i` of those that are in the window: panes that come meanwhile may move it. */
// @ts-ignore: decorator
@inline export function paneSet(panes: usize, i: u32): usize {
  return paneAt(panes, load<u32>(panes, FIRST) + i) + PANE_SET;
}

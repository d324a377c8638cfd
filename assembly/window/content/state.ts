// State of a window node (`state`), the same block for all kinds.
//
//   0    group set (agg/group/group.ts), 120
//   120  rows (window/content/kept.ts), 48
//   168  start f64 | end f64           of the window under way; end 0: none yet
//   184  first f64 | last f64          times of its first and last row
//   200  counter u32 | isOpen u32
//   208  queue u32 | queueFrom u32 | queueTo u32 | queueCapacity u32     times of triggers that wait
//   224  tick f64                      next aligned end, for the longest duration of a session
//   232  vectors u32 | 0 u32             window/stacks/vectors.ts, 0 none
//   240  stacks u32                    of window/stacks, window/panes or window/partitions, 0 none
//   244  outFirst u32 | outLast u32 | outCount u32 (of windows)     window/content/outbox.ts, 0 none
//
// State of a partition, where it differs; a partition has neither vectors nor an outbox of its own:
//
//   232  due f64                       when it is looked at next (window/partitions/due.ts)
//   244  place u32                     among those that are due, from 1; 0: it is not
//   248  order u64                     by which of several that are due at once one comes first
import { SET_SIZE } from '../../agg/group/group';
import { Rows } from '../../rows/layout';
import { GroupSet } from '../../agg/group/table';

const W_ROWS: usize = SET_SIZE;
/** State of a window, or of one of its partitions. */
// @ts-ignore: decorator
@unmanaged
export class WindowState extends GroupSet {
  private gap120: u64;
  private gap128: u64;
  private gap136: u64;
  private gap144: u64;
  private gap152: u64;
  private gap160: u64;
  start: f64;
  end: f64;
  firstTime: f64;
  lastTime: f64;
  counter: u32;
  isOpen: u32;
  queue: usize;
  queueFrom: u32;
  queueTo: u32;
  queueCapacity: u32;
  tick: f64;
  vectors: u32;
  private gap236: u32;
  stacks: usize;
  outFirst: usize;
  outLast: usize;
  outCount: u32;

  get kept(): Rows {
    return changetype<Rows>(changetype<usize>(this) + W_ROWS);
  }
}

/** Offset of the table of partitions, which stands in place of stacks where rows are partitioned. */
export const W_PARTITIONS: usize = offsetof<WindowState>('stacks');
export const W_SIZE: u32 = 256;

export const P_DUE: usize = offsetof<WindowState>('vectors');
export const P_PLACE: usize = offsetof<WindowState>('outFirst');
export const P_ORDER: usize = offsetof<WindowState>('outLast');

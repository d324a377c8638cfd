// State of a window node (N_STATE), the same block for all kinds.
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
// That of a partition, which has neither vectors nor an outbox of its own:
//
//   232  due f64                       when it is looked at next (window/partitions/due.ts)
//   244  place u32                     among those that are due, from 1; 0: it is not
//   248  order u64                     by which of several that are due at once one comes first
import { SET_SIZE } from '../../agg/group/group';

export const W_SET: usize = 0;
export const W_ROWS: usize = SET_SIZE;
export const W_START: usize = 168;
export const W_END: usize = 176;
export const W_FIRST: usize = 184;
export const W_LAST: usize = 192;
export const W_COUNTER: usize = 200;
export const W_OPEN: usize = 204;
export const W_QUEUE: usize = 208;
export const W_QUEUE_FROM: usize = 212;
export const W_QUEUE_TO: usize = 216;
export const W_QUEUE_CAPACITY: usize = 220;
export const W_TICK: usize = 224;
export const W_VECTORS: usize = 232;
export const W_STACKS: usize = 240;
/** In place of those where rows are partitioned. */
export const W_PARTITIONS: usize = W_STACKS;
export const W_OUT_FIRST: usize = 244;
export const W_OUT_LAST: usize = 248;
export const W_OUT_COUNT: usize = 252;
export const W_SIZE: u32 = 256;

export const P_DUE: usize = W_VECTORS;
export const P_PLACE: usize = W_OUT_FIRST;
export const P_ORDER: usize = W_OUT_LAST;

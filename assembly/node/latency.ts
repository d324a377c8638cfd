// Histograms of the times that operators took, kept only while monitoring asks for them; every batch is timed then.
import { allocZeroed, free } from '../mem/alloc';
import { accountOf } from './node';
import { Node, HISTOGRAM_BOUNDS, HISTOGRAM_FIRST_US, HIST_COUNTS, HIST_SIZE_OF } from '../gen/node-layouts';

/** True when every batch is timed and every time is kept; otherwise a sample is timed and only added up. */
export let isMeasured: bool = false;

export function measureAll(isOn: bool): void {
  isMeasured = isOn;
}

/** Notes one time of a node. Without memory for its histogram it is left out. */
export function note(node: Node, us: f64): void {
  let at = node.hist;
  if (!at) {
    at = allocZeroed(HIST_SIZE_OF, accountOf(node));
    if (!at) return;
    node.hist = at;
  }
  store<f64>(at, load<f64>(at) + us);
  let bound = <f64>HISTOGRAM_FIRST_US;
  let i: u32 = 0;
  while (i < HISTOGRAM_BOUNDS && us > bound) {
    bound *= 2;
    i++;
  }
  const count = at + HIST_COUNTS + ((<usize>i) << 3);
  store<u64>(count, load<u64>(count) + 1);
}

/** Frees the histogram of a node. */
export function noteFree(node: Node): void {
  free(node.hist, HIST_SIZE_OF, accountOf(node));
}

// Aggregates without a window: every row is a group and a message of its own.
import * as ctx from '../flow/context';
import { SET_COUNT, SET_ERROR, setReset } from '../agg/group';
import { takeIn } from './content';
import { sendGroups, sendNoMemory } from './output';
import { resume } from './batch';
import { timeOfRow } from './times';
import { W_SET } from './state';

/** Sends a message for each selected row that WHERE accepts. */
export function eachRowPush(node: usize, spec: usize, state: usize): void {
  const sel = ctx.sel;
  const n = ctx.selLen;
  const set = state + W_SET;
  for (let i: u32 = 0; i < n; i++) {
    const at = sel + (<usize>i << 2);
    const ms = timeOfRow(load<u32>(at));
    if (!takeIn(spec, state, at, 1)) sendNoMemory(node);
    else if (load<u32>(set, SET_COUNT) | load<u32>(set, SET_ERROR)) sendGroups(node, spec, set, ms, ms, ms);
    setReset(set);
    resume();
  }
}

// No window: every row is a message of its own, a group of one row or the row as it is.
import * as ctx from '../../batch/context';
import { WindowFlag } from '../../agg/group/spec';
import { lenOf, offOf } from '../../mem/layout';
import { setReset } from '../../agg/group/group';
import { isGrouped, judgeRow, takeIn, whereError } from '../content/content';
import { addRows, beginRows, endRows, sendFailure, sendGroups, sendNoMemory } from '../content/output';
import { resume } from '../content/frame';
import { timeOfRow } from '../content/times';
import { Kind } from './kind';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { GroupSet, Group } from '../../agg/group/table';
import { WindowState } from '../content/state';

export function rowWindow(kind: Kind): void {
  kind.flags = rowFlags;
  kind.push = eachRowPush;
}

function rowFlags(spec: WindowSpec): u32 {
  return WindowFlag.SENDS_AT_ONCE;
}

/** Sends a message for each selected row that WHERE accepts. */
function eachRowPush(node: Node, spec: WindowSpec, state: WindowState): void {
  const sel = ctx.sel;
  const n = ctx.selLen;
  const set = state;
  for (let i: u32 = 0; i < n; i++) {
    const at = sel + ((<usize>i) << 2);
    const ms = timeOfRow(load<u32>(at));
    if (!isGrouped(spec)) sendRow(node, spec, set, at, ms);
    else if (!takeIn(spec, state, at, 1)) sendNoMemory(node);
    else if (set.count | set.error) sendGroups(node, spec, set, ms, ms, ms);
    setReset(set);
    resume();
  }
}

/** Sends the kept values of the row at `sel`, or the error of its WHERE. */
function sendRow(node: Node, spec: WindowSpec, set: GroupSet, sel: usize, ms: f64): void {
  const verdict = judgeRow(spec, load<u32>(sel));
  if (verdict < 0) sendFailure(node, offOf(whereError()), lenOf(whereError()));
  else if (verdict > 0 && beginRows(node, spec, set, ms, ms, ms, changetype<Group>(0))) {
    addRows(node, spec, sel, 1);
    endRows(node, spec, 0);
  }
}

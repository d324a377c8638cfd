// latest(x, default): the newest value that is not null.
import { Tag } from '../../mem/layout';
import { argTag, argVal, isTaken, keepsBatch, put, rowAt, selLen, stateOf, whenFails } from '../run';
import { keep, keptTag, keptVal } from '../../partitions/slot';
import { argumentFails } from './fail';

export function latestRows(): void {
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (argumentFails(0, row) || argumentFails(1, row) || whenFails(row)) continue;
    const state = stateOf(row);
    const tag = argTag(0, row);
    if (tag > Tag.NULL && isTaken(row)) {
      if (keep(state, tag, argVal(0, row))) keepsBatch(row);
      put(row, tag, argVal(0, row));
    } else if (keptTag(state) != Tag.MISSING) put(row, keptTag(state), keptVal(state));
    else if (argTag(1, row) == Tag.MISSING) put(row, Tag.NULL, 0);
    else put(row, argTag(1, row), argVal(1, row));
  }
}

// Columns of pairs: the values of records, written into column blocks.
import { COL_TAGS, COL_UNIFORM, COL_VALS, Tag, setAt } from '../mem/layout';
import { noteUniform } from '../flow/stage';
import { OWNER_NONE, OWNER_OTHER, J_OTHERS, S_OTHERS, S_OWNERS, branchAt, slotsOf } from './spec';
import { placeOf, recordOf, spec, state } from './run';
import { recordTag, recordVal } from './rows';

/**
 * Writes column `column` of `n` pairs, whose tuples and right rows stand as numbers in two u32[n].
 */
export function fillColumn(block: usize, column: u32, leftNumbers: usize, rightNumbers: usize, n: u32): void {
  const owner = <usize>load<u32>(state, S_OWNERS) + (<usize>column << 2);
  const branch = <u32>load<u16>(owner);
  const slot = <u32>load<u16>(owner, 2);
  if (branch >= OWNER_OTHER) {
    fillOther(block, branch, slot, n);
    return;
  }
  const place = placeOf(branch);
  if (place < -1) {
    fillOther(block, OWNER_NONE, 0, n);
    return;
  }
  const slots = slotsOf(branchAt(spec, branch));
  for (let i: u32 = 0; i < n; i++) {
    const at = <usize>i << 2;
    const record = recordOf(place, load<u32>(leftNumbers + at), load<u32>(rightNumbers + at));
    if (record) setAt(block, i, recordTag(record, slots, slot), recordVal(record, slot));
    else setAt(block, i, Tag.MISSING, 0);
  }
  noteUniform(block, n);
}

/** A column of no branch has the same value in all rows of the message. */
function fillOther(block: usize, owner: u32, slot: u32, n: u32): void {
  const record = <usize>load<u32>(state, S_OTHERS);
  const isKnown = owner == OWNER_OTHER && record != 0;
  const tag: u8 = isKnown ? recordTag(record, load<u32>(spec, J_OTHERS), slot) : Tag.MISSING;
  const payload: u64 = isKnown ? recordVal(record, slot) : 0;
  for (let i: u32 = 0; i < n; i++) store<u64>(block + (<usize>i << 3), payload, COL_VALS);
  memory.fill(block + COL_TAGS, tag, n);
  store<u8>(block, tag, COL_UNIFORM);
}

// The form in which groups of the part under way were saved: their values and aggregates, and the places of these in
// the node now. When the window has changed, removed members are skipped, and new ones begin empty.
//
//   form   keeps u32 | aggregates u32 | function u32 of each
import { isAggregate } from '../../gen/aggregates';
import { LoadFault } from '../../gen/state-layouts';
import { alloc, free, WORKSPACE } from '../../mem/alloc';
import { ABSENT, Members, areSame, placeOf, savedCount } from '../../state/members';
import { readFail, readFails, readUpTo } from '../../state/reader';
import { writeU32 } from '../../state/writer';
import { AGG_SIZE_OF, aggsAt } from '../group/spec';
import { WindowSpec, AggregateSpec } from '../../gen/window-layouts';

const MOST_VALUES: u32 = 65535;

export let savedKeeps: u32 = 0;
export let savedAggs: u32 = 0;
/** Functions of the saved aggregates, u16 each. */
let functions: usize = 0;
let size: u32 = 0;
/** True when groups have the same members as when they were saved, in the same order. */
export let isSameForm: bool = true;

export function formSave(spec: WindowSpec): void {
  const aggs = spec.aggs;
  writeU32(spec.keeps);
  writeU32(aggs);
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) writeU32(load<u16>(agg, offsetof<AggregateSpec>('fn')));
}

/** Reads the form; `formEnd` is called at the end of the part. */
export function formLoad(spec: WindowSpec): void {
  const keeps = spec.keeps;
  const aggs = spec.aggs;
  savedKeeps = readUpTo(MOST_VALUES);
  savedAggs = readUpTo(MOST_VALUES);
  isSameForm = areSame(Members.KEPT) && areSame(Members.AGGREGATES);
  if (savedCount(Members.KEPT, keeps) != savedKeeps || savedCount(Members.AGGREGATES, aggs) != savedAggs)
    readFail(LoadFault.DAMAGED);
  if (readFails()) return;
  size = max(savedAggs, 1) << 1;
  functions = alloc(size, WORKSPACE);
  if (!functions) {
    readFail(LoadFault.MEMORY);
    return;
  }
  for (let a: u32 = 0; a < savedAggs && !readFails(); a++) {
    const fn = readUpTo(u16.MAX_VALUE);
    store<u16>(functions + ((<usize>a) << 1), <u16>fn);
    const place = placeOf(Members.AGGREGATES, a);
    const isKnown =
      place == ABSENT
        ? isAggregate(fn)
        : place < aggs && load<u16>(aggsAt(spec) + place * AGG_SIZE_OF, offsetof<AggregateSpec>('fn')) == fn;
    if (!isKnown) readFail(LoadFault.DAMAGED);
  }
  for (let k: u32 = 0; k < savedKeeps && !readFails(); k++) {
    const place = placeOf(Members.KEPT, k);
    if (place != ABSENT && place >= keeps) readFail(LoadFault.DAMAGED);
  }
}

// @ts-ignore: decorator
@inline export function savedFunction(a: u32): u32 {
  return load<u16>(functions + ((<usize>a) << 1));
}

export function formEnd(): void {
  free(functions, size, WORKSPACE);
  functions = 0;
  isSameForm = true;
}

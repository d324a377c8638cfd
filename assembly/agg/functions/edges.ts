// first_value(x) and last_value(x, ignoreNull).
import { Tag } from '../../mem/layout';
import { giveValue } from '../state/result';
import { NO_INPUT, bindOf, bindTag, bindVal, isTrue } from '../group/spec';
import { storeValue } from '../state/take';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

/** 1 once a value was taken. */
const IS_SET: usize = 12;

function setValue(set: GroupSet, state: usize, tagAt: usize, tag: u8, payload: u64): void {
  store<u32>(state, 1, IS_SET);
  storeValue(set.values, state, tag, payload);
  store<u8>(tagAt, tag);
}

/** True when last_value passes over nulls. */
function ignoresNulls(agg: AggregateSpec, row: u32): bool {
  const input = agg.b;
  return input != NO_INPUT && isTrue(bindTag(bindOf(input), row), bindVal(bindOf(input), row));
}

export function firstValueTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (!load<u32>(state, IS_SET)) setValue(set, state, tagAt, tag, payload);
}

export function firstValueMerge(
  set: GroupSet,
  agg: AggregateSpec,
  to: usize,
  tagTo: usize,
  from: usize,
  tag: u8,
): void {
  if (!load<u32>(to, IS_SET) && load<u32>(from, IS_SET)) setValue(set, to, tagTo, tag, load<u64>(from));
}

export function firstValueFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  giveValue(tag, load<u64>(state));
}

export function lastValueTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (tag > Tag.NULL || !ignoresNulls(agg, row)) setValue(set, state, tagAt, tag, payload);
}

/** The parameter must be a constant, which is bound for every row. */
export function lastValueMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (load<u32>(from, IS_SET) && !(tag <= Tag.NULL && ignoresNulls(agg, 0)))
    setValue(set, to, tagTo, tag, load<u64>(from));
}

export function lastValueFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  giveValue(tag, load<u64>(state));
}

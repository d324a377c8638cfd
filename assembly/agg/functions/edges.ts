// first_value(x) and last_value(x, ignoreNull).
import { Tag } from '../../mem/layout';
import { SET_VALUES } from '../group/group';
import { giveValue } from '../state/result';
import { AGG_B, NO_INPUT, bindOf, bindTag, bindVal, isTrue } from '../group/spec';
import { storeValue } from '../state/take';

/** 1 once a value was taken. */
const IS_SET: usize = 12;

function setValue(set: usize, state: usize, tagAt: usize, tag: u8, payload: u64): void {
  store<u32>(state, 1, IS_SET);
  storeValue(set + SET_VALUES, state, tag, payload);
  store<u8>(tagAt, tag);
}

/** True when last_value passes over nulls. */
function ignoresNulls(agg: usize, row: u32): bool {
  const input = load<u16>(agg, AGG_B);
  return input != NO_INPUT && isTrue(bindTag(bindOf(input), row), bindVal(bindOf(input), row));
}

export function firstValueTake(
  set: usize,
  agg: usize,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (!load<u32>(state, IS_SET)) setValue(set, state, tagAt, tag, payload);
}

export function firstValueMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (!load<u32>(to, IS_SET) && load<u32>(from, IS_SET)) setValue(set, to, tagTo, tag, load<u64>(from));
}

export function firstValueFinish(agg: usize, state: usize, tag: u8): void {
  giveValue(tag, load<u64>(state));
}

export function lastValueTake(
  set: usize,
  agg: usize,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (tag > Tag.NULL || !ignoresNulls(agg, row)) setValue(set, state, tagAt, tag, payload);
}

/** The parameter must be a constant, which is bound for every row. */
export function lastValueMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (load<u32>(from, IS_SET) && !(tag <= Tag.NULL && ignoresNulls(agg, 0)))
    setValue(set, to, tagTo, tag, load<u64>(from));
}

export function lastValueFinish(agg: usize, state: usize, tag: u8): void {
  giveValue(tag, load<u64>(state));
}

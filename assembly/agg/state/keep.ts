// Aggregates that keep their values: a list, and the parameter from the first row.
import { functionName } from '../../gen/aggregates';
import { SLOT_SIZE, Tag } from '../../mem/layout';
import { Pool, copyValue } from '../../mem/pool';
import { tooLong, valueLength, valueLimit } from '../../ops/result';
import { listPush } from './list';
import { NO_INPUT, bindOf, bindTag, bindVal } from '../group/spec';
import { failAggregate } from './take';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

/** Takes the parameter (operand b) of the first row; false when it failed, and the aggregate with it. */
export function keepParameter(set: GroupSet, agg: AggregateSpec, state: usize, tagAt: usize, row: u32): bool {
  const b = agg.b;
  if (load<u32>(state, 4) != 0 || b == NO_INPUT) return true;
  const tag = bindTag(bindOf(b), row);
  const payload = bindVal(bindOf(b), row);
  if (tag == Tag.ERROR) {
    failAggregate(set, state, tagAt, payload);
    return false;
  }
  // The parameter must outlive the batch, because an error in the result shows it.
  store<u64>(state, copyValue(set.values, tag, payload), 16);
  store<u8>(tagAt, tag);
  return true;
}

/** Keeps a value of an aggregate over numbers; nulls are left out. */
export function keepNumber(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (keepParameter(set, agg, state, tagAt, row) && tag > Tag.NULL) keep(set.values, state, tag, payload);
}

/** Keeps an item of a result; false when the result becomes longer than a value may be, and the aggregate fails. */
export function keepItem(set: GroupSet, fn: u32, state: usize, tagAt: usize, tag: u8, payload: u64): bool {
  if (!measure(set, fn, state, tagAt, tag, payload)) return false;
  keep(set.values, state, tag, payload);
  return true;
}

/**
 * Adds the length of an item to a list; false when the list becomes longer than a value may be, and the aggregate
 * fails.
 */
function measure(set: GroupSet, fn: u32, list: usize, tagAt: usize, tag: u8, payload: u64): bool {
  if (load<u8>(tagAt) == Tag.ERROR) return false;
  const limit = valueLimit();
  const len = <u64>load<u32>(list, 12) + SLOT_SIZE + (tag >= Tag.STR ? valueLength(tag, payload, limit) : 0);
  if (len > limit) {
    failAggregate(set, list, tagAt, tooLong(functionName(fn), 0));
    return false;
  }
  store<u32>(list, <u32>len, 12);
  return true;
}

function keep(pool: Pool, list: usize, tag: u8, payload: u64): void {
  listPush(pool, list, tag, copyValue(pool, tag, payload));
}

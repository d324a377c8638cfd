// percentile_approx(x, p), p from 0 to 1: as percentile_disc, from a sketch instead of all values.
//
//   state   sketch u32 | isSet u32 | 0 u64 | parameter u64, its tag being that of the state
import { Agg } from '../../gen/aggregates';
import { Tag, isNumber } from '../../mem/layout';
import { Pool, copyValue } from '../../mem/pool';
import { toF64 } from '../../value/number';
import { numberError, parameterError, rangeError } from '../state/error';
import { keepParameter } from '../state/keep';
import { giveResult } from '../state/result';
import { Sketch, sketchAdd, sketchMerge, sketchNew, sketchQuantile } from '../state/sketch';
import { giveDouble } from '../state/statistics';
import { failAggregate } from '../state/take';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

const IS_SET: usize = 4;
const PARAMETER: usize = 16;

/** The sketch of the state, a new one when it has none; 0 when memory is exhausted. */
function sketchOf(pool: Pool, state: usize): Sketch {
  const sketch = changetype<Sketch>(load<u32>(state));
  if (sketch) return sketch;
  const fresh = sketchNew(pool);
  store<u32>(state, changetype<u32>(fresh));
  store<u32>(state, <u32>!!fresh, IS_SET);
  return fresh;
}

export function percentileApproxTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (!keepParameter(set, agg, state, tagAt, row) || tag <= Tag.NULL) return;
  const x = isNumber(tag) ? toF64(tag, payload) : NaN;
  if (!isFinite(x)) {
    failAggregate(set, state, tagAt, numberError(Agg.PERCENTILE_APPROX, tag, payload));
    return;
  }
  const sketch = sketchOf(set.values, state);
  if (sketch) sketchAdd(set.values, sketch, x);
}

export function percentileApproxMerge(
  set: GroupSet,
  agg: AggregateSpec,
  to: usize,
  tagTo: usize,
  from: usize,
  tag: u8,
): void {
  if (tag == Tag.MISSING) return;
  if (load<u8>(tagTo) == Tag.MISSING) {
    store<u64>(to, copyValue(set.values, tag, load<u64>(from, PARAMETER)), PARAMETER);
    store<u8>(tagTo, tag);
  }
  if (!load<u32>(from)) return;
  const sketch = sketchOf(set.values, to);
  if (sketch) sketchMerge(set.values, sketch, changetype<Sketch>(load<u32>(from)));
}

export function percentileApproxFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  const sketch = changetype<Sketch>(load<u32>(state));
  if (!sketch) giveResult(Tag.NULL, 0);
  else if (!isNumber(tag)) {
    giveResult(Tag.ERROR, parameterError(Agg.PERCENTILE_APPROX, 'float64', tag, load<u64>(state, PARAMETER)));
  } else {
    const p = toF64(tag, load<u64>(state, PARAMETER));
    if (p >= 0 && p <= 1) giveDouble(sketchQuantile(sketch, p));
    else giveResult(Tag.ERROR, rangeError(Agg.PERCENTILE_APPROX));
  }
}

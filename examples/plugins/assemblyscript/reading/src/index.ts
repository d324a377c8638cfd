import { fail, held, isNull, loaded, quoted, release, saved, stateOf, withMember } from '../../helpers/index';

/**
 * The object with a member `level`: how the value lies between two limits. A reading without a value has the level
 * `none`.
 */
export function with_level(reading: string, value: f64, low: f64, high: f64): string {
  if (isNull(1)) return withMember(reading, 'level', quoted('none'));
  if (low > high) {
    fail(`the limits are ${low.toString()} and ${high.toString()}: the lower one comes first`);
    return reading;
  }
  return withMember(reading, 'level', quoted(value < low ? 'low' : value > high ? 'high' : 'good'));
}

/**
 * What an aggregate keeps of a group: how many values came, their mean, the sum of the squares of what they differ from
 * it.
 */
class Spread {
  count: i32 = 0;
  mean: f64 = 0;
  squares: f64 = 0;
}

export function spread_init(): i32 {
  return held(new Spread());
}

export function spread_accumulate(state: i32, value: f64): void {
  const spread = stateOf<Spread>(state);
  spread.count++;
  const before = value - spread.mean;
  spread.mean += before / spread.count;
  spread.squares += before * (value - spread.mean);
}

/** The standard deviation of the values by their mean. */
export function spread_finish(state: i32): f64 {
  const spread = stateOf<Spread>(state);
  const result = Math.sqrt(spread.squares / spread.count) / spread.mean;
  release(state);
  return result;
}

/** With this and the next the engine keeps the state of a group in the place of its rows. */
export function spread_save(state: i32): ArrayBuffer {
  return saved<Spread>(state);
}

export function spread_load(bytes: ArrayBuffer): i32 {
  return loaded<Spread>(bytes);
}

/** Adds what a later part of the group has seen; nobody uses that part any more. */
export function spread_merge(state: i32, later: i32): void {
  const one = stateOf<Spread>(state);
  const other = stateOf<Spread>(later);
  const count = one.count + other.count;
  if (other.count > 0) {
    const between = other.mean - one.mean;
    one.squares += other.squares + between * between * (<f64>one.count * other.count) / count;
    one.mean += between * other.count / count;
    one.count = count;
  }
  release(later);
}

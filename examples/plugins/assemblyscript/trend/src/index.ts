import { fail, held, loaded, saved, stateOf } from '../../helpers/index';

/** What is kept of a partition: the smoothed value, of how many. */
class Smooth {
  count: i32 = 0;
  value: f64 = 0;
}

export function ema_init(): i32 {
  return held(new Smooth());
}

/** The exponential moving average of the values so far: each counts for `weight`, all before it for the rest. */
export function ema_step(state: i32, value: f64, weight: f64): f64 {
  const smooth = stateOf<Smooth>(state);
  if (!(weight > 0 && weight <= 1)) {
    fail(`the weight is ${weight.toString()}: it must be above 0 and at most 1`);
    return 0;
  }
  smooth.value += smooth.count++ == 0 ? value : (value - smooth.value) * weight;
  return smooth.value;
}

export function ema_save(state: i32): ArrayBuffer {
  return saved<Smooth>(state);
}

export function ema_load(bytes: ArrayBuffer): i32 {
  return loaded<Smooth>(bytes);
}

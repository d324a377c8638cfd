// Reading values as times.
import { Tag, lenOf, offOf } from '../mem/layout';
import { MAX_TIME_TEXT, timeParse, timePrint, timeValue } from '../text/time';
import { textGrow, textRoom } from './text';

const MICROS: i64 = 1000;
/** Largest count of milliseconds whose microseconds fit. */
const MAX_MS: i64 = 9223372036854775;

/** Microseconds since the epoch of a datetime, epoch milliseconds or a text; i64.MIN_VALUE when it is none. */
export function timeOf(tag: u8, val: u64): i64 {
  if (tag == Tag.TIME) return <i64>val;
  if (tag == Tag.I64) return msToMicros(<i64>val);
  if (tag == Tag.F64) {
    const x = reinterpret<f64>(val);
    return abs(x) < 9.2e15 ? msToMicros(<i64>x) : i64.MIN_VALUE;
  }
  if (tag == Tag.STR) return timeParse(offOf(val), lenOf(val)) ? timeValue : i64.MIN_VALUE;
  return i64.MIN_VALUE;
}

// @ts-ignore: decorator
@inline function msToMicros(ms: i64): i64 {
  return ms > MAX_MS || ms < -MAX_MS ? i64.MIN_VALUE : ms * MICROS;
}

/** Appends the datetime in RFC 3339. */
export function putTime(micros: i64): void {
  const to = textRoom(MAX_TIME_TEXT);
  if (to) textGrow(<u32>(timePrint(to, micros) - to));
}

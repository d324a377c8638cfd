// Reading values as times.
import { Tag, lenOf, offOf } from '../mem/layout';
import { MAX_TIME_MS, MAX_TIME_TEXT, timeAt, timeMicros, timeParse, timePrintSpaced, timeValue } from '../text/time';
import { textGrow, textRoom } from './text';

const MICROS: i64 = 1000;
/** Largest count of milliseconds that counts as a time. */
const MAX_MS: i64 = 4600000000000000;

/** A datetime, epoch milliseconds or a text as TIME value; i64.MIN_VALUE when it is none. */
export function timeOf(tag: u8, val: u64): i64 {
  if (tag == Tag.TIME) return <i64>val;
  if (tag == Tag.I64) return ofMs(<i64>val);
  if (tag == Tag.F64) {
    const x = reinterpret<f64>(val);
    return abs(x) < 9.2e15 ? ofMs(<i64>x) : i64.MIN_VALUE;
  }
  if (tag == Tag.STR) return timeParse(offOf(val), lenOf(val)) ? timeValue : i64.MIN_VALUE;
  return i64.MIN_VALUE;
}

// @ts-ignore: decorator
@inline function ofMs(ms: i64): i64 {
  if (ms > MAX_MS || ms < -MAX_MS) return i64.MIN_VALUE;
  // Beyond all times that a value can have: it is ordered with them, and no more.
  return timeAt(max(min(ms, MAX_TIME_MS), -MAX_TIME_MS) * MICROS, 0);
}

// @ts-ignore: decorator
@inline function msMicros(ms: i64): i64 {
  return ms > MAX_MS || ms < -MAX_MS ? i64.MIN_VALUE : ms * MICROS;
}

/** As `timeOf`, in microseconds since the epoch. */
export function microsOf(tag: u8, val: u64): i64 {
  if (tag == Tag.I64) return msMicros(<i64>val);
  if (tag == Tag.F64) {
    const x = reinterpret<f64>(val);
    return abs(x) < 9.2e15 ? msMicros(<i64>x) : i64.MIN_VALUE;
  }
  const time = timeOf(tag, val);
  return time == i64.MIN_VALUE ? time : timeMicros(time);
}

/** Appends the datetime. */
export function putTime(time: i64): void {
  const to = textRoom(MAX_TIME_TEXT);
  if (to) textGrow(<u32>(timePrintSpaced(to, time) - to));
}

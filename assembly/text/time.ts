// Points in time as text.
//
// A TIME value is an instant and the offset from UTC that it was written with. The two upper bits tell its form:
//
//   00, 11   UTC: i64, nanoseconds since the epoch up to NEAR on both sides (years 1834 to 2106), microseconds from
//   there on
//   01       offset in quarters of an hour i7 | microseconds since the epoch i55 (years 1399 to 2540)
//   10       offset in minutes i12 | milliseconds since the epoch i50: other offsets and years
//            offset with seconds, where no offset in minutes is: a number from ODD on, ODD_SCALE for each second of the
//            offset. Of times
//            from ODD_FROM on it counts milliseconds, behind ODD_FAR seconds of all years, FAR_SCALE for each second of
//            the offset
//
// The first is one ascending scale, so that such times compare as integers do. `timeInstant` brings the others to it,
// which is what equality, order and hashes of times begin with.
import { NEAR } from '../gen/mem-layouts';

/** Longest text of timePrint and timePrintSpaced, bytes. */
export const MAX_TIME_TEXT: u32 = 48;
/** Set by timeParse: a TIME value. */
export let timeValue: i64 = 0;

const NEAR_US: i64 = NEAR / 1000;

/** Largest milliseconds since the epoch, on both sides, of which times are made. */
export const MAX_TIME_MS: i64 = 310000000000000;

/** The time in UTC of microseconds since the epoch and the nanoseconds behind them, 0 to 999. */
export function timeAt(micros: i64, nanos: i32): i64 {
  if (micros >= NEAR_US) return NEAR + (micros - NEAR_US);
  if (micros < -NEAR_US) return micros + NEAR_US - NEAR;
  return micros * 1000 + nanos;
}

const QUARTERS: u64 = 1;
const MINUTES: u64 = 2;

/** Offsets with seconds are below that many on both sides. */
const ODD_LIMIT: i32 = 57600;
/** Behind the offset of 23:59. */
const ODD: u64 = 1440 << 50;
const ODD_SCALE: u32 = 43;
/** 1761-06: in the 279 years behind it stand all changes of clocks that have an offset with seconds. */
const ODD_FROM: i64 = -6597069766656;
const ODD_FAR: u64 = ODD + ((<u64>(2 * ODD_LIMIT)) << ODD_SCALE);
const FAR_SCALE: u32 = 40;
const FAR_SECONDS: i64 = 1 << 39;
/** Before the offset of -23:59. */
const ODD_END: u64 = 2657 << 50;

// @ts-ignore: decorator
@inline function formOf(time: i64): u64 {
  return <u64>time >> 62;
}

/**
 * As `timeAt`, at an offset in seconds east of UTC, which costs the nanoseconds, that of odd minutes the microseconds,
 * and one with seconds before ODD_FROM and long after it the milliseconds.
 */
function timeWith(micros: i64, nanos: i32, offset: i32): i64 {
  if (!offset) return timeAt(micros, nanos);
  const quarters = offset / 900;
  if (quarters * 900 == offset && quarters > -64 && quarters < 64 && (micros << 9) >> 9 == micros) {
    return <i64>((QUARTERS << 62) | ((<u64>(quarters & 0x7f)) << 55) | (((<u64>micros) << 9) >> 9));
  }
  const ms = micros / 1000 - <i64>(micros % 1000 < 0);
  const minutes = offset / 60;
  if (minutes * 60 != offset) return <i64>((MINUTES << 62) | oddOf(ms, offset));
  return <i64>((MINUTES << 62) | ((<u64>(minutes & 0xfff)) << 50) | (((<u64>ms) << 14) >> 14));
}

/** The number of a time whose offset has seconds. */
function oddOf(ms: i64, offset: i32): u64 {
  const place = <u64>(offset + ODD_LIMIT);
  if (ms >= ODD_FROM && ms < ODD_FROM + ((<i64>1) << ODD_SCALE))
    return ODD + (place << ODD_SCALE) + <u64>(ms - ODD_FROM);
  const seconds = ms / 1000 - <i64>(ms % 1000 < 0);
  return ODD_FAR + (place << FAR_SCALE) + <u64>(seconds + FAR_SECONDS);
}

/** The time in form 10 has an offset with seconds. */
// @ts-ignore: decorator
@inline function isOdd(time: i64): bool {
  const n = ((<u64>time) << 2) >> 2;
  return n >= ODD && n < ODD_END;
}

function oddOffset(time: i64): i32 {
  const n = ((<u64>time) << 2) >> 2;
  return <i32>(n < ODD_FAR ? (n - ODD) >> ODD_SCALE : (n - ODD_FAR) >> FAR_SCALE) - ODD_LIMIT;
}

function oddMicros(time: i64): i64 {
  const n = ((<u64>time) << 2) >> 2;
  if (n < ODD_FAR) return (<i64>((n - ODD) & (((<u64>1) << ODD_SCALE) - 1)) + ODD_FROM) * 1000;
  return (<i64>((n - ODD_FAR) & (((<u64>1) << FAR_SCALE) - 1)) - FAR_SECONDS) * 1000000;
}

/** Seconds east of UTC with which the time was written. */
export function timeOffset(time: i64): i32 {
  const form = formOf(time);
  if (form == QUARTERS) return <i32>((time << 2) >> 57) * 900;
  if (form != MINUTES) return 0;
  return isOdd(time) ? oddOffset(time) : <i32>((time << 2) >> 52) * 60;
}

/** The time in UTC: a number that is equal, less or greater as the instant is. */
// @ts-ignore: decorator
@inline export function timeInstant(time: i64): i64 {
  return (time ^ (time << 1)) >= 0 ? time : timeAt(timeMicros(time), 0);
}

/** Microseconds since the epoch of a TIME value, rounded down. */
export function timeMicros(time: i64): i64 {
  const form = formOf(time);
  if (form == QUARTERS) return (time << 9) >> 9;
  if (form == MINUTES) return isOdd(time) ? oddMicros(time) : ((time << 14) >> 14) * 1000;
  if (time >= NEAR) return time - NEAR + NEAR_US;
  if (time < -NEAR) return time + NEAR - NEAR_US;
  const micros = time / 1000;
  return micros - <i64>(micros * 1000 > time);
}

/** Nanoseconds that `timeMicros` rounds off. */
export function timeNanos(time: i64): i32 {
  // The two other forms have numbers outside ±NEAR, one above and one below.
  return time >= NEAR || time < -NEAR ? 0 : <i32>(time - timeMicros(time) * 1000);
}

const DAY_US: i64 = 86400000000;

/** Days since 1970-01-01 of a date in the proleptic Gregorian calendar. */
function daysOf(year: i32, month: i32, day: i32): i32 {
  // Years begin in March, so that the leap day is the last.
  const y = month <= 2 ? year - 1 : year;
  const era = (y >= 0 ? y : y - 399) / 400;
  const ofEra = y - era * 400;
  const ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719468;
}

/** Set by dateOf. */
let dateYear: i32 = 0;
let dateMonth: i32 = 0;
let dateDay: i32 = 0;

/** Splits days since the epoch into year, month and day. */
function dateOf(days: i32): void {
  const z = days + 719468;
  const era = (z >= 0 ? z : z - 146096) / 146097;
  const ofEra = z - era * 146097;
  const y = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365;
  const ofYear = ofEra - (365 * y + y / 4 - y / 100);
  const m = (5 * ofYear + 2) / 153;
  dateDay = ofYear - (153 * m + 2) / 5 + 1;
  dateMonth = m < 10 ? m + 3 : m - 9;
  dateYear = y + era * 400 + <i32>(dateMonth <= 2);
}

// @ts-ignore: decorator
@inline function put2(at: usize, v: i32): usize {
  store<u8>(at, 48 + <u8>(v / 10));
  store<u8>(at, 48 + <u8>(v % 10), 1);
  return at + 2;
}

/** Writes `+08:00`, `-00:44:30`, without the colons if `colon` is false. */
function printOffset(out: usize, offset: i32, colon: bool): usize {
  store<u8>(out, offset < 0 ? 0x2d : 0x2b);
  const seconds = abs(offset);
  let at = put2(out + 1, seconds / 3600);
  if (colon) store<u8>(at++, 0x3a);
  at = put2(at, (seconds / 60) % 60);
  if (seconds % 60 == 0) return at;
  if (colon) store<u8>(at++, 0x3a);
  return put2(at, seconds % 60);
}

/**
 * Writes RFC 3339 with as many fraction digits as needed (`2024-02-03T04:05:06.789Z`, `…+08:00`) and returns the end.
 */
export function timePrint(out: usize, time: i64): usize {
  const at = printLocal(out, time);
  const offset = timeOffset(time);
  if (offset) return printOffset(at, offset, true);
  store<u8>(at, 0x5a);
  return at + 1;
}

/** Date and time of day at the offset of the time. */
function printLocal(out: usize, time: i64): usize {
  const micros = timeMicros(time) + <i64>timeOffset(time) * 1000000;
  let days = micros / DAY_US;
  let rest = micros - days * DAY_US;
  if (rest < 0) {
    rest += DAY_US;
    days--;
  }
  dateOf(<i32>days);
  let at = out;
  let year = dateYear;
  if (year < 0) {
    store<u8>(at++, 0x2d);
    year = -year;
  }
  if (year > 9999) {
    let scale = 10000;
    while (year / scale >= 10) scale *= 10;
    for (; scale >= 10000; scale /= 10) store<u8>(at++, 48 + <u8>((year / scale) % 10));
    year %= 10000;
  }
  at = put2(at, year / 100);
  at = put2(at, year % 100);
  store<u8>(at++, 0x2d);
  at = put2(at, dateMonth);
  store<u8>(at++, 0x2d);
  at = put2(at, dateDay);
  store<u8>(at++, 0x54);
  const seconds = <i32>(rest / 1000000);
  let fraction = <i32>(rest - <i64>seconds * 1000000) * 1000 + timeNanos(time);
  at = put2(at, seconds / 3600);
  store<u8>(at++, 0x3a);
  at = put2(at, (seconds / 60) % 60);
  store<u8>(at++, 0x3a);
  at = put2(at, seconds % 60);
  if (fraction) {
    store<u8>(at++, 0x2e);
    for (let scale = 100000000; fraction > 0; scale /= 10) {
      store<u8>(at++, 48 + <u8>(fraction / scale));
      fraction %= scale;
    }
  }
  return at;
}

/**
 * As `timePrint`, in the form in which times stand within texts: `2024-02-03 04:05:06.789 +0000 UTC`, `… +0800 +0800`.
 */
export function timePrintSpaced(out: usize, time: i64): usize {
  const z = printLocal(out, time);
  let t = out;
  while (load<u8>(t) != 0x54) t++;
  store<u8>(t, 0x20);
  const offset = timeOffset(time);
  if (offset) {
    store<u8>(z, 0x20);
    const at = printOffset(z + 1, offset, false);
    store<u8>(at, 0x20);
    return printOffset(at + 1, offset, false);
  }
  // " +0000 "
  store<u64>(z, 0x20303030302b20);
  store<u16>(z, 0x5455, 7);
  store<u8>(z, 0x43, 9);
  return z + 10;
}

let p: usize = 0;
let end: usize = 0;

/** Reads `least` to `most` digits; -1 when there are fewer. */
function number(least: u32, most: u32): i32 {
  let v = 0;
  let n: u32 = 0;
  while (n < most && p < end) {
    const d = <u32>load<u8>(p) - 48;
    if (d >= 10) break;
    v = v * 10 + <i32>d;
    p++;
    n++;
  }
  return n < least ? -1 : v;
}

// @ts-ignore: decorator
@inline function take(c: u32): bool {
  if (p >= end || <u32>load<u8>(p) != c) return false;
  p++;
  return true;
}

/** Days since the epoch of the date that was read last. */
let days: i64 = 0;

/** Reads a date, of which day and month may be missing, into `days`. */
function readDate(): bool {
  const year = number(4, 4);
  if (year < 0) return false;
  let month = 1;
  let day = 1;
  if (p < end && <u32>load<u8>(p) - 48 < 10) {
    month = number(2, 2);
    day = number(2, 2);
  } else if (p < end) {
    const mark = <u32>load<u8>(p);
    if (mark != 0x2d && mark != 0x2f && mark != 0x2e) return false;
    p++;
    month = number(1, 2);
    if (take(mark)) day = number(1, 2);
    else if (p < end) return false;
  }
  if (month < 1 || month > 12 || day < 1 || day > monthLength(year, month)) return false;
  days = <i64>daysOf(year, month, day);
  return true;
}

/** Nanoseconds behind the microseconds of the time of day that was read last. */
let nanos: i32 = 0;

/** Reads a time of day, of which minute, second and fraction may be missing: microseconds, -1 for other texts. */
function readTimeOfDay(): i64 {
  const hour = number(1, 2);
  let minute = 0;
  let second = 0;
  let micros: i64 = 0;
  if (take(0x3a)) {
    minute = number(1, 2);
    if (take(0x3a)) {
      second = number(1, 2);
      if (take(0x2e) || take(0x2c)) micros = readFraction();
    }
  }
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 || micros < 0) return -1;
  return <i64>(hour * 3600 + minute * 60 + second) * 1000000 + micros;
}

/** Microseconds of the digits behind a point, -1 when there are none; what is finer than `nanos` is passed over. */
function readFraction(): i64 {
  const from = p;
  let fraction = number(1, 9);
  if (fraction < 0) return -1;
  for (let n = p - from; n < 9; n++) fraction *= 10;
  while (p < end && <u32>load<u8>(p) - 48 < 10) p++;
  nanos = fraction % 1000;
  return fraction / 1000;
}

/**
 * Reads the common forms: `2024-02-03`, `2024-2-3 4:05`, `2024-02-03T04:05:06.789Z`, `… +02:00`, `… -00:44:30`,
 * `2024/02/03 04:05:06`, `20240203`, `2024-02`, `2024`. Without a zone it is UTC. False for other texts; the result is
 * in timeValue.
 */
export function timeParse(off: usize, len: u32): bool {
  p = off;
  end = off + len;
  while (p < end && load<u8>(p) == 0x20) p++;
  while (p < end && load<u8>(end - 1) == 0x20) end--;
  if (!readDate()) return false;
  let micros: i64 = 0;
  let offset: i32 = 0;
  nanos = 0;
  if (p < end) {
    if (!take(0x54) && !take(0x74) && !take(0x20)) return false;
    micros = readTimeOfDay();
    if (micros < 0) return false;
    offset = zone();
    if (offset == NO_ZONE || p < end) return false;
  }
  timeValue = timeWith(days * DAY_US + micros - <i64>offset * 1000000, nanos, offset);
  return true;
}

function monthLength(year: i32, month: i32): i32 {
  if (month == 2) return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

const NO_ZONE: i32 = 0x7fffffff;

/** Seconds east of UTC of `Z`, `+02:00`, `+0200`, `+02`, `-00:44:30`, ` UTC` or nothing; NO_ZONE for other texts. */
function zone(): i32 {
  take(0x20);
  if (p == end || take(0x5a) || take(0x7a)) return 0;
  if (
    p + 3 == end &&
    ((load<u16>(p) == 0x5455 && load<u8>(p, 2) == 0x43) || (load<u16>(p) == 0x4d47 && load<u8>(p, 2) == 0x54))
  ) {
    p = end;
    return 0;
  }
  const west = take(0x2d);
  if (!west && !take(0x2b)) return NO_ZONE;
  const hours = number(2, 2);
  take(0x3a);
  const minutes = p < end ? number(2, 2) : 0;
  let seconds = 0;
  if (p < end) {
    take(0x3a);
    seconds = number(2, 2);
  }
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59) return NO_ZONE;
  const offset = (hours * 60 + minutes) * 60 + seconds;
  if (seconds && offset >= ODD_LIMIT) return NO_ZONE;
  return west ? -offset : offset;
}

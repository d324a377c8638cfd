// Ends of aligned windows: multiples of the step within the natural unit above the unit of the window (seconds within
// the minute, minutes within the hour, hours within the day, milliseconds within the second; days from local midnight).
// Where the clocks of the zone are set, days and steps of several hours end by them and are longer or shorter by that.
import { hostZoneOffset } from '../../batch/host';

const SECOND: f64 = 1000;
const MINUTE: f64 = 60000;
export const HOUR: f64 = 3600000;
const DAY: f64 = 86400000;
/** Bound on how far clocks are set, in ms: Samoa left out a day once. */
const MOST_MOVED: f64 = 2 * DAY;

// @ts-ignore: decorator
@inline function offsetAt(zone: u32, ms: f64): f64 {
  return zone ? hostZoneOffset(zone, ms) : 0;
}

/** The next end after `ms` in local time; both are local. */
function localEnd(local: f64, unitMs: f64, stepMs: f64): f64 {
  if (unitMs >= DAY) return floor(local / DAY) * DAY + stepMs;
  const above = unitMs >= HOUR ? DAY : unitMs >= MINUTE ? HOUR : unitMs >= SECOND ? MINUTE : SECOND;
  const base = floor(local / above) * above;
  return base + (floor((local - base) / stepMs) + 1) * stepMs;
}

/**
 * First aligned end after `ms` in a zone. A step that does not divide the natural unit starts anew with each unit, but
 * the ends that follow this one (`endAfter`) just add the step.
 */
export function alignedEnd(ms: f64, unitMs: f64, stepMs: f64, zone: u32): f64 {
  const offset = offsetAt(zone, ms);
  const end = localEnd(ms + offset, unitMs, stepMs);
  return zone && unitMs >= HOUR ? instantOf(end, offset, ms, unitMs, stepMs, zone) : end - offset;
}

/** The `steps`-th end after `end`, which is an aligned end too. */
export function endAfter(end: f64, steps: f64, unitMs: f64, stepMs: f64, zone: u32): f64 {
  const next = end + steps * stepMs;
  if (!zone || unitMs < HOUR) return next;
  const offset = hostZoneOffset(zone, end);
  return instantOf(alignedLocal(end + offset, unitMs, stepMs) + steps * stepMs, offset, end, unitMs, stepMs, zone);
}

/**
 * The last end at or before `ms`, among the ends that follow the aligned end `end`. Steps between them may be shorter
 * or longer by as much as the clocks were set.
 */
export function lastEnd(end: f64, ms: f64, unitMs: f64, stepMs: f64, zone: u32): f64 {
  const isRegular = !zone || unitMs < HOUR;
  const steps = floor((ms - end - (isRegular ? 0 : MOST_MOVED)) / stepMs);
  let last = steps > 0 ? endAfter(end, steps, unitMs, stepMs, zone) : end;
  if (isRegular) return last;
  for (let next = endAfter(last, 1, unitMs, stepMs, zone); next <= ms; next = endAfter(last, 1, unitMs, stepMs, zone))
    last = next;
  return last;
}

/** Begin of the window of length `lengthMs` that ends at the aligned end `end`. */
export function startBefore(end: f64, unitMs: f64, stepMs: f64, lengthMs: f64, zone: u32): f64 {
  const start = end - lengthMs;
  if (!zone || unitMs < HOUR) return start;
  const offset = hostZoneOffset(zone, end);
  if (unitMs < DAY) {
    const other = hostZoneOffset(zone, start);
    if (other == offset || isOfHours(other - offset, unitMs, stepMs)) return start;
  }
  const local = alignedLocal(end + offset, unitMs, stepMs) - lengthMs;
  return instantOf(local, hostZoneOffset(zone, start - DAY), start - DAY, unitMs, stepMs, zone);
}

/**
 * Local time of an aligned end. Where clocks skip the midnight or hour of the end, this is the skipped hour, not the
 * one shown.
 */
function alignedLocal(local: f64, unitMs: f64, stepMs: f64): f64 {
  const unit = unitMs >= DAY ? DAY : DAY % stepMs == 0 ? stepMs : 0;
  return unit ? floor(local / unit) * unit : local;
}

/** True for windows so short that setting the clocks by `moved` ms leaves them aligned; their length stays the same. */
// @ts-ignore: decorator
@inline function isOfHours(moved: f64, unitMs: f64, stepMs: f64): bool {
  return unitMs < DAY && moved % stepMs == 0;
}

/**
 * The first time after `after` at which clocks of the zone show `local`. Where they skip that time, it is later by as
 * much as they were set. At `after` the clocks are ahead of UTC by `offset`.
 */
function instantOf(local: f64, offset: f64, after: f64, unitMs: f64, stepMs: f64, zone: u32): f64 {
  const guess = local - offset;
  const other = hostZoneOffset(zone, guess);
  if (other == offset || isOfHours(other - offset, unitMs, stepMs)) return guess;
  const moved = local - other;
  return moved > after && hostZoneOffset(zone, moved) == other ? moved : guess;
}

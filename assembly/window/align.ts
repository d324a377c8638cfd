// Ends of aligned windows: multiples of the step within the natural unit above the unit of the window (seconds within the
// minute, minutes within the hour, hours within the day, milliseconds within the second; days from local midnight).

const SECOND: f64 = 1000;
const MINUTE: f64 = 60000;
const HOUR: f64 = 3600000;
const DAY: f64 = 86400000;

/**
 * First aligned end after `ms`. `zoneMs` is the offset of local time from UTC.
 * A step that does not divide the natural unit starts anew with each unit, but the ends that follow this one just add the
 * step.
 */
export function alignedEnd(ms: f64, unitMs: f64, stepMs: f64, zoneMs: f64): f64 {
  const local = ms + zoneMs;
  if (unitMs >= DAY) return floor(local / DAY) * DAY + stepMs - zoneMs;
  const above = unitMs >= HOUR ? DAY : unitMs >= MINUTE ? HOUR : unitMs >= SECOND ? MINUTE : SECOND;
  const base = floor(local / above) * above;
  return base + (floor((local - base) / stepMs) + 1) * stepMs - zoneMs;
}

/** Zones by their names, from the host's time zone data. */

const maxZones = 64;

interface Zone {
  readonly format: Intl.DateTimeFormat;
  /**
   * A quarter of an hour without a change of clocks, and the offset in it: rows that follow each other are near each
   * other.
   */
  quarter: number;
  offset: number;
}

const zones = new Map<string, Zone>();
const quarterMs = 900_000;
/** Largest milliseconds a JavaScript date holds. */
const maxMs = 8.64e15;

/**
 * Seconds east of UTC in a zone at a time (epoch ms); '' is UTC, Local the server's own. Throws for an unknown name.
 */
export function zoneOffset(name: string, ms: number): number {
  if (isUtc(name)) return 0;
  const zone = zoneNamed(name);
  const at = Math.max(-maxMs, Math.min(maxMs, ms));
  const quarter = Math.floor(at / quarterMs);
  if (zone.quarter === quarter) return zone.offset;
  const first = offsetIn(zone.format, Math.max(-maxMs, quarter * quarterMs));
  // Clocks of old changed within a quarter of an hour, too.
  if (offsetIn(zone.format, Math.min(maxMs, (quarter + 1) * quarterMs - 1)) !== first) return offsetIn(zone.format, at);
  zone.offset = first;
  zone.quarter = quarter;
  return first;
}

/** As `zoneOffset`, in milliseconds. */
export function zoneOffsetMs(name: string, ms: number): number {
  return zoneOffset(name, ms) * 1000;
}

/** UTC, which is also what no name means. */
export function isUtc(name: string): boolean {
  return name === '' || name === 'UTC';
}

/** Offsets of old have seconds, too. */
function offsetIn(format: Intl.DateTimeFormat, ms: number): number {
  const text = format.format(ms);
  const found = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?/.exec(text);
  const seconds = (Number(found?.[2] ?? 0) * 60 + Number(found?.[3] ?? 0)) * 60 + Number(found?.[4] ?? 0);
  return found?.[1] === '-' ? -seconds : seconds;
}

/** The zone of the process and the setting that it is of: to ask takes 0.5 ms, and each rule asks. */
let own: { readonly setting: string | undefined; readonly name: string } | undefined;

/** Name of the server's own zone. */
export function ownZone(): string {
  const setting = process.env.TZ;
  if (own?.setting !== setting || own === undefined) {
    own = { setting, name: Intl.DateTimeFormat().resolvedOptions().timeZone };
  }
  return own.name;
}

function zoneNamed(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: name === 'Local' ? undefined : name,
      timeZoneName: 'longOffset',
    });
  } catch {
    throw new Error(`unknown time zone ${name}`);
  }
  // The oldest goes first: names that come with the rows must not fill the memory.
  if (zones.size >= maxZones) zones.delete(zones.keys().next().value as string);
  const zone = { format, quarter: Number.NaN, offset: 0 };
  zones.set(name, zone);
  return zone;
}

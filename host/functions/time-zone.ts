/** Zones by their names, from the host's time zone data. */

const maxZones = 64;
const zones = new Map<string, Intl.DateTimeFormat>();

/** Minutes east of UTC in a zone at a time (epoch ms); '' is UTC, Local the server's own. Throws for an unknown name. */
export function zoneOffset(name: string, ms: number): number {
  if (name === '' || name === 'UTC') return 0;
  const text = zoneNamed(name).format(ms);
  const found = /GMT(?:([+-])(\d{2}):(\d{2}))?/.exec(text);
  const minutes = Number(found?.[2] ?? 0) * 60 + Number(found?.[3] ?? 0);
  return found?.[1] === '-' ? -minutes : minutes;
}

function zoneNamed(name: string): Intl.DateTimeFormat {
  const known = zones.get(name);
  if (known !== undefined) return known;
  let zone: Intl.DateTimeFormat;
  try {
    zone = new Intl.DateTimeFormat('en-US', {
      timeZone: name === 'Local' ? undefined : name,
      timeZoneName: 'longOffset',
    });
  } catch {
    throw new Error(`unknown time zone ${name}`);
  }
  // The oldest goes first: names that come with the rows must not fill the memory.
  if (zones.size >= maxZones) zones.delete(zones.keys().next().value as string);
  zones.set(name, zone);
  return zone;
}

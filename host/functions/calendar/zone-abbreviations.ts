/** Abbreviations of a zone for its time: EST in winter, EDT in summer. */
import { readFileSync } from 'node:fs';
import { programFile } from '../../base/program/bundle.js';
import { ownZone } from './time-zone.js';

/** Names of offsets (seconds) that hold from a time on (epoch seconds). */
interface Era {
  readonly from: number;
  readonly names: ReadonlyMap<number, string>;
}

/** Zones that are no places. */
const ofOldNames: Readonly<Record<string, string>> = {
  'etc/utc': '0UTC',
  'etc/gmt': '0GMT',
  gmt: '0GMT',
  greenwich: '0GMT',
  uct: '0UTC',
  universal: '0UTC',
  zulu: '0UTC',
};

/** Zone in lower case → its eras as text. */
let texts: ReadonlyMap<string, string> | undefined;
/** The same, read; as many as there are zones at most. */
const read = new Map<string, readonly Era[]>();

/**
 * Letters that a zone has for an offset in seconds at a time (epoch ms); undefined where it has none but the digits of
 * the offset, and before 1970.
 */
export function zoneAbbreviation(zone: string, ms: number, offset: number): string | undefined {
  const second = Math.floor(ms / 1000);
  if (second < 0) return undefined;
  return erasOf(zone)
    .findLast(({ from }) => from <= second)
    ?.names.get(offset);
}

function erasOf(zone: string): readonly Era[] {
  const name = (zone === 'Local' ? ownZone() : zone).toLowerCase();
  const known = read.get(name);
  if (known !== undefined) return known;
  texts ??= allTexts();
  const text = texts.get(name) ?? ofOldNames[name];
  if (text === undefined) return [];
  const eras = text.split('|').map(eraOf);
  read.set(name, eras);
  return eras;
}

/** The table is read when somebody asks for letters first. */
function allTexts(): ReadonlyMap<string, string> {
  const lines = readFileSync(programFile('zone-names.txt', 'host/functions/calendar/zone-names.txt'), 'utf8').split(
    '\n',
  );
  return new Map(
    lines.flatMap((line) => {
      const [eras = '', zones = ''] = line.split(';');
      return zones === '' ? [] : zones.split(' ').map((one) => [one.toLowerCase(), eras] as const);
    }),
  );
}

function eraOf(text: string): Era {
  const [, from = '0', names = ''] = /^(?:(\d+):)?(.*)$/.exec(text) ?? [];
  return {
    from: Number(from),
    names: new Map([...names.matchAll(/(-?\d+)(\w+)/g)].map(([, minutes, name = '']) => [Number(minutes) * 60, name])),
  };
}

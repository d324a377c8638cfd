/**
 * Windows of days and hours in zones whose clocks are set, beside a naive model that looks at the clock of the zone
 * each quarter of an hour: where windows begin and end, and which rows they have.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const quarterMs = 900_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** Zones with years in which they set their clocks, each in a way of its own. */
const zones: [zone: string, year: number, what: string][] = [
  ['Europe/Berlin', 2024, 'an hour at two and three'],
  ['America/New_York', 2025, 'an hour at two'],
  ['Australia/Lord_Howe', 2024, 'half an hour'],
  ['America/Santiago', 2024, 'at midnight, which is skipped'],
  ['Atlantic/Azores', 2024, 'from midnight on'],
  ['America/Havana', 2024, 'midnight is shown twice'],
  ['Asia/Tehran', 2021, 'half hours from UTC, at midnight'],
  ['Antarctica/Troll', 2023, 'two hours'],
  ['Pacific/Apia', 2011, 'a day is left out'],
  ['Asia/Kolkata', 2024, 'never'],
];

/** What the clock of the zone shows, as if that were UTC. */
function clockOf(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const known = new Map<number, number>();
  return (at) => {
    const quarter = Math.floor(at / quarterMs) * quarterMs;
    let shown = known.get(quarter);
    if (shown === undefined) {
      const part = Object.fromEntries(format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)]));
      shown = Date.UTC(part.year!, part.month! - 1, part.day!, part.hour!, part.minute!, part.second!);
      known.set(quarter, shown);
    }
    return shown + at - quarter;
  };
}

/** The first time from `after` on at which the clock shows `local`, or later. */
function reached(clock: (at: number) => number, local: number, after: number): number {
  for (let at = Math.ceil(after / quarterMs) * quarterMs; ; at += quarterMs) if (clock(at) >= local) return at;
}

/** When the clock is set in the year. */
function changesIn(clock: (at: number) => number, year: number): number[] {
  const isSet = (from: number, to: number): boolean => clock(to) - clock(from) !== to - from;
  const found: number[] = [];
  for (let day = Date.UTC(year, 0, 1); day < Date.UTC(year + 1, 0, 1); day += dayMs) {
    if (!isSet(day, day + dayMs)) continue;
    let at = day;
    while (!isSet(at, at + quarterMs)) at += quarterMs;
    found.push(at + quarterMs);
  }
  return found;
}

/** The ends of the windows from the one with `first` on, up to `last`. */
function endsOf(clock: (at: number) => number, stepMs: number, first: number, last: number): number[] {
  const ends = new Set<number>();
  let label = Math.floor(clock(first) / dayMs) * dayMs + stepMs;
  while (label <= clock(first)) label += stepMs;
  // A day that is left out has no window.
  for (let after = first; after <= last; label += stepMs) {
    after = reached(clock, label, after);
    ends.add(after);
  }
  return [...ends];
}

function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Message {
  ids: number[] | null;
  b: number;
  e: number;
}

/** What the windows of the rows are, by the kernel. */
function windowsOf(window: string, zone: string, times: readonly number[]): Message[] {
  const rule = openRule(
    ['CREATE STREAM s (id BIGINT, ts BIGINT) WITH (TIMESTAMP="ts")'],
    `SELECT collect(id) AS ids, window_start() AS b, window_end() AS e FROM s GROUP BY ${window}`,
    { options: { isEventTime: true, lateToleranceMs: 0, maxFutureSkewMs: 0, timezone: zone } },
  );
  for (const [id, ts] of times.entries()) rule.feed('s', [{ id, ts }]);
  const messages = rule.taken().map((message) => (message as Message[])[0]!);
  rule.close();
  return messages;
}

const between = (times: readonly number[], begin: number, end: number): number[] =>
  times.flatMap((ts, id) => (ts >= begin && ts < end ? [id] : []));

for (const [zone, year, what] of zones) {
  const clock = clockOf(zone);
  const changes = changesIn(clock, year);
  const isOfHours = changes.every((at) => (clock(at) - clock(at - quarterMs) - quarterMs) % hourMs === 0);
  if (changes.length === 0) changes.push(Date.UTC(year, 2, 31));

  /** Times of rows around each change, the last one far behind. */
  const cases = changes.map((change, i) => {
    const random = numbers(i + 1);
    const times = Array.from({ length: 60 }, () => change - 3 * dayMs + random(6 * dayMs));
    for (const ms of [-1, 0, 1]) times.push(change + ms, change + hourMs + ms, change - hourMs + ms);
    return [...times.sort((a, b) => a - b), change + 9 * dayMs];
  });

  test(`${zone} (${what}): tumbling windows end by the clock`, () => {
    for (const times of cases) {
      for (const [unit, unitMs, n] of [
        ['dd', dayMs, 1],
        ['dd', dayMs, 2],
        ['dd', dayMs, 7],
        ['hh', hourMs, 3],
        ['hh', hourMs, 6],
        ['hh', hourMs, 8],
        ['hh', hourMs, 12],
        ['hh', hourMs, 24],
      ] as const) {
        const window = `TUMBLINGWINDOW(${unit}, ${n})`;
        const [first = 0] = times;
        const last = times.at(-1)!;
        const ends = endsOf(clock, n * unitMs, first, last).filter((end) => end <= last);
        const expected = ends.map((e, i) => {
          const b = i === 0 ? first : ends[i - 1]!;
          const ids = between(times, b, e);
          return { b, e, ids: ids.length === 0 ? null : ids };
        });
        assert.equal(windowsOf(window, zone, times), expected, `${window} from ${new Date(first).toISOString()}`);
      }
    }
  });

  test(`${zone} (${what}): hours are hours, and windows have the rows of the time that they tell`, () => {
    for (const times of cases) {
      for (const window of [
        'TUMBLINGWINDOW(hh, 1)',
        'TUMBLINGWINDOW(hh, 2)',
        'TUMBLINGWINDOW(hh, 5)',
        'TUMBLINGWINDOW(mi, 30)',
        'HOPPINGWINDOW(dd, 2, 1)',
        'HOPPINGWINDOW(dd, 3, 2)',
        'HOPPINGWINDOW(hh, 6, 3)',
        'HOPPINGWINDOW(hh, 24, 1)',
        'HOPPINGWINDOW(hh, 5, 3)',
      ]) {
        const where = `${window} from ${new Date(times[0]!).toISOString()}`;
        const found = windowsOf(window, zone, times);
        found.forEach(({ ids, b, e }, i) => {
          // Before the first row nothing was.
          const begin = i === 0 ? Math.min(b, times[0]!) : b;
          assert.equal(ids ?? [], between(times, begin, e), `${where}: ${b} to ${e}`);
          const before = found[i - 1];
          if (before === undefined) return;
          assert.ok(e > before.e, `${where}: ends follow each other`);
          if (window.startsWith('TUMBLING')) assert.is(b, before.e, where);
          if (window.endsWith('(hh, 1)') && isOfHours) assert.is(e - before.e, hourMs, where);
          if (window.endsWith('(mi, 30)')) assert.is(e - before.e, hourMs / 2, where);
        });
      }
    }
  });
}

test.run();

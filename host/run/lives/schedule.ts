/** When a scheduled rule runs: cron times with a duration, periods between two dates, or both. */

import { reasonOf } from '../../base/errors.js';
import { latePackage } from '../../base/program/late-package.js';
import { parseDuration } from '../../base/time/duration.js';
import { zoneOffsetMs } from '../../functions/calendar/time-zone.js';
import type { RuleOptions } from '../../model/engine.js';
import { lifeErrors } from './errors.js';

/** The library for cron expressions. */
const croner = latePackage<typeof import('croner')>('croner');

/** A period, epoch ms; the end is excluded. */
interface Period {
  readonly begin: number;
  readonly end: number;
}

/** Looks so many cron times ahead for one inside of a period. */
const maxLookAhead = 1000;

/** Gives the times of a cron expression. */
interface Times {
  /** First time after `now`, epoch ms; undefined when there is none. */
  next(now: number): number | undefined;
}

export class Schedule {
  readonly #times: Times | undefined;
  readonly #durationMs: number;
  readonly #periods: readonly Period[];

  private constructor(times: Times | undefined, durationMs: number, periods: readonly Period[]) {
    this.#times = times;
    this.#durationMs = durationMs;
    this.#periods = periods;
  }

  /**
   * Reads the schedule of a rule, whose cron times and dates are those of the zone; undefined when it has none and
   * simply runs. A cron expression counts only with a duration. Throws a `general` error that names the option.
   */
  static of(options: RuleOptions, zone: string): Schedule | undefined {
    const periods = readPeriods(options.cronDatetimeRange, zone);
    const times = options.cron === '' ? undefined : readTimes(options.cron, zone);
    const hasTimes = times !== undefined && options.durationMs > 0;
    if (!hasTimes && periods.length === 0) return undefined;
    return new Schedule(hasTimes ? times : undefined, hasTimes ? options.durationMs : 0, periods);
  }

  /** Whether the rule is to run at this time. */
  isActive(now: number): boolean {
    if (!this.#isInPeriod(now)) return false;
    const started = this.#startedAt(now);
    return this.#times === undefined || started !== undefined;
  }

  /** Next time at which `isActive` may change; undefined when it never does. */
  nextChange(now: number): number | undefined {
    const candidates: number[] = [];
    for (const { begin, end } of this.#periods) candidates.push(begin, end);
    if (this.#times !== undefined) {
      const started = this.#startedAt(now);
      const next = started === undefined ? this.#times.next(now) : started + this.#durationMs;
      if (next !== undefined) candidates.push(next);
    }
    const later = candidates.filter((time) => time > now);
    return later.length === 0 ? undefined : Math.min(...later);
  }

  /** Next time at which the rule is started, epoch ms; 0 when there is none. */
  nextStart(now: number): number {
    if (this.#times === undefined) {
      const begins = this.#periods.map(({ begin }) => begin).filter((begin) => begin > now);
      return begins.length === 0 ? 0 : Math.min(...begins);
    }
    let from = now;
    for (let i = 0; i < maxLookAhead; i++) {
      const next = this.#times.next(from);
      if (next === undefined) return 0;
      if (this.#isInPeriod(next)) return next;
      const begins = this.#periods.map(({ begin }) => begin - 1).filter((begin) => begin >= next);
      if (begins.length === 0) {
        // Only a period that has begun can hold a later time.
        if (this.#periods.every(({ end }) => end <= next)) return 0;
        from = next;
      } else {
        from = Math.max(next, Math.min(...begins));
      }
    }
    return 0;
  }

  #isInPeriod(now: number): boolean {
    return this.#periods.length === 0 || this.#periods.some(({ begin, end }) => begin <= now && now < end);
  }

  /** Start of the run that is under way at this time. */
  #startedAt(now: number): number | undefined {
    const started = this.#times?.next(now - this.#durationMs);
    return started !== undefined && started <= now ? started : undefined;
  }
}

function readTimes(text: string, zone: string): Times {
  const every = /^@every\s+(\S+)$/.exec(text.trim());
  if (every !== null) {
    const ms = parseDuration(every[1]);
    if (ms === undefined || ms < 1000) {
      throw lifeErrors.every(text);
    }
    // Whole periods since the epoch, so that a restart of the server does not move them.
    return { next: (now) => (Math.floor(now / ms) + 1) * ms };
  }
  const prefixed = /^(?:CRON_TZ|TZ)=(\S+)\s+(.*)$/.exec(text.trim());
  const pattern = (prefixed?.[2] ?? text.trim()).replaceAll('?', '*');
  const isNamed = pattern.startsWith('@');
  if (!isNamed && pattern.split(/\s+/).length !== 5) {
    throw lifeErrors.fields(text);
  }
  try {
    const { Cron } = croner();
    const cron = new Cron(pattern, { timezone: prefixed?.[1] ?? zone, paused: true });
    cron.nextRun(new Date(0));
    return { next: (now) => cron.nextRun(new Date(now))?.getTime() };
  } catch (error) {
    throw lifeErrors.cron(text, reasonOf(error), { cause: error });
  }
}

function readPeriods(given: unknown, zone: string): Period[] {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) throw lifeErrors.periods();
  return given.map((item: unknown, i) => {
    const where = `option cronDatetimeRange[${i}]`;
    if (typeof item !== 'object' || item === null) throw lifeErrors.period(where);
    const { begin, end, beginTimestamp, endTimestamp } = item as Record<string, unknown>;
    const hasStamps = isStamp(beginTimestamp) && isStamp(endTimestamp);
    const period = hasStamps
      ? { begin: beginTimestamp, end: endTimestamp }
      : { begin: readDate(`${where}.begin`, begin, zone), end: readDate(`${where}.end`, end, zone) };
    if (period.begin > period.end) throw lifeErrors.beginAfterEnd(where);
    return period;
  });
}

function isStamp(value: unknown): value is number {
  return typeof value === 'number' && value > 0;
}

function readDate(where: string, value: unknown, zone: string): number {
  const match = typeof value === 'string' ? /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)$/.exec(value.trim()) : null;
  // As if the text were UTC, then moved by the offset of the zone.
  const utc = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2]}Z`);
  if (Number.isNaN(utc)) {
    throw lifeErrors.time(where, JSON.stringify(value));
  }
  const guess = utc - zoneOffsetMs(zone, utc);
  // Near a change of the clock the offset at the guess is the true one.
  return utc - zoneOffsetMs(zone, guess);
}

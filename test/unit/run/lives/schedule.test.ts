import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { zoneOffsetMs } from '../../../../host/functions/calendar/time-zone.js';
import type { RuleOptions } from '../../../../host/model/engine.js';
import { Schedule } from '../../../../host/run/lives/schedule.js';

const minute = 60_000;
const noon = Date.UTC(2026, 5, 1, 12);

function schedule(cron: string, durationMs: number, cronDatetimeRange?: unknown, zone = 'UTC'): Schedule | undefined {
  return Schedule.of({ cron, durationMs, cronDatetimeRange } as unknown as RuleOptions, zone);
}

function refusal(...args: Parameters<typeof schedule>): string {
  try {
    schedule(...args);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

test('a rule without cron and periods, or with a cron expression alone, has no schedule', () => {
  assert.is(schedule('', 0), undefined);
  assert.is(schedule('', 5000), undefined);
  assert.is(schedule('0 0 * * *', 0), undefined);
});

test('runs from each cron time for its duration', () => {
  const daily = schedule('0 12 * * *', 10 * minute)!;
  assert.is(daily.isActive(noon - 1), false);
  assert.is(daily.isActive(noon), true);
  assert.is(daily.isActive(noon + 10 * minute - 1), true);
  assert.is(daily.isActive(noon + 10 * minute), false);
  assert.is(daily.nextChange(noon - minute), noon);
  assert.is(daily.nextChange(noon), noon + 10 * minute);
  assert.is(daily.nextStart(noon), noon + 24 * 60 * minute);
});

test('cron times are those of the configured zone, or of the one they name', () => {
  const berlin = schedule('0 6 * * *', minute, undefined, 'Europe/Berlin')!;
  assert.is(berlin.nextStart(noon), Date.UTC(2026, 5, 2, 4));
  const tokyo = schedule('TZ=Asia/Tokyo 0 6 * * ?', minute, undefined, 'Europe/Berlin')!;
  assert.is(tokyo.nextStart(noon), Date.UTC(2026, 5, 1, 21));
});

test('descriptors and @every', () => {
  assert.is(schedule('@hourly', minute)!.nextStart(noon), noon + 60 * minute);
  const every = schedule('@every 1m30s', 1000)!;
  assert.is(every.nextStart(noon), noon + 90_000);
  assert.is(every.isActive(noon), true);
  assert.is(every.isActive(noon + 1000), false);
});

test('periods alone: the rule runs inside of them', () => {
  const range = [{ begin: '2026-06-01 14:00:00', end: '2026-06-01 15:00:00' }];
  const inside = schedule('', 0, range, 'Europe/Berlin')!;
  assert.is(inside.isActive(noon), true);
  assert.is(inside.isActive(noon - 1), false);
  assert.is(inside.isActive(noon + 60 * minute), false);
  assert.is(inside.nextStart(noon - minute), noon);
  assert.is(inside.nextStart(noon), 0);
  assert.is(inside.nextChange(noon + 60 * minute), undefined);
  const stamps = schedule('', 0, [{ beginTimestamp: noon, endTimestamp: noon + minute }])!;
  assert.is(stamps.isActive(noon + 1), true);
});

test('cron times count only inside of a period', () => {
  const range = [{ begin: '2026-06-03 00:00:00', end: '2026-06-04 00:00:00' }];
  const both = schedule('0 * * * *', minute, range)!;
  assert.is(both.isActive(noon), false);
  assert.is(both.nextStart(noon), Date.UTC(2026, 5, 3, 0));
  assert.is(both.isActive(Date.UTC(2026, 5, 3, 5)), true);
  assert.is(both.nextStart(Date.UTC(2026, 5, 3, 23, 30)), 0);
});

test('dates near a change of the clock are right', () => {
  assert.is(zoneOffsetMs('Europe/Berlin', Date.UTC(2026, 2, 29, 0, 59)), 60 * minute);
  assert.is(zoneOffsetMs('Europe/Berlin', Date.UTC(2026, 2, 29, 1, 1)), 120 * minute);
  const range = [{ begin: '2026-03-29 03:30:00', end: '2026-03-29 04:00:00' }];
  assert.is(schedule('', 0, range, 'Europe/Berlin')!.nextStart(0), Date.UTC(2026, 2, 29, 1, 30));
});

test('wrong schedules are refused with the option and the reason', () => {
  assert.match(refusal('61 * * * *', minute), /cron: 61 .*minute/);
  assert.match(refusal('* * * *', minute), /five fields/);
  assert.match(refusal('@every soon', minute), /@every 1m30s/);
  assert.match(refusal('@sometimes', minute), /no cron expression/);
  assert.match(
    refusal('', 0, [{ begin: 'now', end: '2026-01-01 00:00:00' }]),
    /cronDatetimeRange\[0\]\.begin is "now"/,
  );
  assert.match(refusal('', 0, [{ beginTimestamp: 5, endTimestamp: 4 }]), /begin is after end/);
  assert.match(refusal('', 0, 'always'), /must be a list/);
});

test.run();

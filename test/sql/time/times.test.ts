/** What depends on the clock and the time zone of the machine; `cases/functions/times.case` has the rest. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evaluate } from '../../support/sql/function-cases.js';

test('the time zone Local is that of the server', () => {
  const zone = process.env.TZ;
  process.env.TZ = 'Asia/Tokyo';
  try {
    assert.equal(evaluate('convert_tz(a, "Local")', [{ a: 0 }]), ['1970-01-01T09:00:00+09:00']);
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test('the current date and time are those of the clock', () => {
  const before = new Date();
  const [date] = evaluate('current_date()', [{}]);
  const [time] = evaluate('current_time()', [{}]);
  const [now] = evaluate('now()', [{}]);
  const day = (at: Date) => at.toISOString().slice(0, 10);
  assert.ok([day(before), day(new Date())].includes(String(date)), String(date));
  assert.match(String(time), /^\d\d:\d\d:\d\d/);
  assert.ok(Math.abs(Date.parse(`${String(now).replace(' ', 'T')}Z`) - before.getTime()) < 60_000, String(now));
});

test.run();

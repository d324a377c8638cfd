/** Functions of dates and times, and TIMESTAMP_FORMAT: SQL and rows in, rows out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Case, check, evaluate } from './function-cases.js';
import { openRule } from './rule-kernel.js';

const leap = '2024-02-29T13:14:15.678Z';
const noTimes: Case[] = [
  ['nope', /'nope' cannot be read as a time/],
  ['', /'' cannot be read as a time/],
  ['2023-02-29', /'2023-02-29' cannot be read as a time/],
  [true, /true is no time/],
  [{ x: 1 }, /map\[x:1\] is no time/],
];
const parts: [name: string, ofLeap: unknown, ofEpoch: unknown][] = [
  ['month', 2, 1],
  ['day', 29, 1],
  ['hour', 13, 0],
  ['minute', 14, 0],
  ['second', 15, 0],
  ['microsecond', 678_000, 0],
  ['day_of_week', 4, 4],
  ['day_of_year', 60, 1],
  ['day_name', 'Thursday', 'Thursday'],
  ['month_name', 'February', 'January'],
  ['last_day', '2024-02-29', '1970-01-31'],
];
for (const [name, ofLeap, ofEpoch] of parts) {
  check(`${name}(a)`, [
    [leap, ofLeap],
    [Date.parse(leap), ofLeap],
    [0, ofEpoch],
    [null, /<nil> is no time/],
    ...noTimes,
  ]);
}
check('hour(a)', [
  ['2024-02-29T13:14:15+05:30', 13],
  ['2024-02-29', 0],
]);
check('to_seconds(a)', [
  [leap, 1_709_212_455],
  [-1, -1],
  ['2024-02-29T13:14:15+05:30', 1_709_192_655],
  [null, null],
  ...noTimes,
]);
check('format_time(a, b)', [
  [leap, 'yyyy/MM/dd HH:mm:ss', '2024/02/29 13:14:15'],
  [leap, "EEEE d MMMM 'é'", 'Thursday 29 February é'],
  [-1, 'ss', '59'],
  [leap, null, null],
  [null, 'yyyy', null],
  ...noTimes.map(([time, error]) => [time, 'yyyy', error]),
]);
check('date_calc(a, "1h30m")', [
  ['2024-02-28 23:00:00', '2024-02-29 00:30:00'],
  [0, '1970-01-01 01:30:00'],
  ...noTimes,
]);
check('date_diff(a, b)', [
  [0, 1000, 1_000_000_000],
  ['2024-02-28', '2024-03-01', 172_800_000_000_000],
  [1, 0, -1_000_000],
  [0, null, /<nil> is no time/],
  ...noTimes.map(([time, error]) => [0, time, error]),
]);
check('from_days(a)', [
  [1, '1970-01-01'],
  [0, null],
  [-1, '1969-12-30'],
  [1.5, /1.5 is not a whole number/],
  ['1', /1 is not a whole number/],
  [null, null],
]);
check('from_unix_time(a)', [
  [1, '1970-01-01 00:00:01'],
  [0, null],
  [-1, '1969-12-31 23:59:59'],
  ['1', /not a whole number/],
]);
check('convert_tz(a, b)', [
  ['2024-07-01T00:00:00Z', 'Europe/Paris', '2024-07-01T02:00:00+02:00'],
  ['2024-01-01T00:00:00Z', 'Europe/Paris', '2024-01-01T01:00:00+01:00'],
  [1, 'Asia/Kolkata', '1970-01-01T05:30:00.001+05:30'],
  [0, 'UTC', '1970-01-01T00:00:00Z'],
  [0, 'Nowhere', /unknown time zone Nowhere/],
  [0, null, null],
  ...noTimes.map(([time, error]) => [time, 'UTC', error]),
]);

test('TIMESTAMP_FORMAT reads the texts of datetime columns; what does not fit is the error of its row', () => {
  const options = 'STRICT_VALIDATION="true", TIMESTAMP_FORMAT="dd.MM.yyyy HH:mm"';
  const statement = `CREATE STREAM demo (t DATETIME) WITH (TYPE="memory", DATASOURCE="demo", FORMAT="json", ${options})`;
  const texts = ['29.02.2024 05:06', 60_000, '30.02.2024 05:06', 'nope', '', true, null, undefined];
  const got = evaluate(
    't',
    texts.map((t) => ({ t })),
    [statement],
  );
  assert.equal(got.slice(0, 2), ['2024-02-29T05:06:00Z', '1970-01-01T00:01:00Z']);
  for (const i of [2, 3, 4]) assert.match(String(got[i]), `'${texts[i]}' is no time of the format dd.MM.yyyy HH:mm`);
  assert.match(String(got[5]), /true is no time/);
  assert.equal(got.slice(6), [null, null]);
});

test('TIMESTAMP_FORMAT gives event time; rows whose time is no such text are errors, the others are in their windows', () => {
  const options = 'TIMESTAMP="t", TIMESTAMP_FORMAT="yyyy-MM-dd HH:mm:ss"';
  const statement = `CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="demo", FORMAT="json", ${options})`;
  const sql = 'SELECT collect(id) AS ids FROM demo GROUP BY TUMBLINGWINDOW(ss, 10)';
  const rule = openRule([statement], sql, { options: { isEventTime: true, lateToleranceMs: 0 } });
  const texts = [
    '2024-02-29 00:00:01',
    'nope',
    '2024-02-30 00:00:02',
    null,
    '2024-02-29 00:00:09',
    '2024-02-29 00:00:11',
  ];
  rule.feed(
    'demo',
    texts.map((t, id) => ({ id, t })),
  );
  const messages = rule.taken();
  rule.close();
  assert.equal(messages.at(-1), [{ ids: [0, 4] }]);
  const errors = messages.slice(0, -1);
  assert.is(errors.length, 3);
  assert.match(String(errors[0]), /'nope' is no time of the format/);
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

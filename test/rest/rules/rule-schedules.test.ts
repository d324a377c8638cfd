/** Rules with times: cron, duration and periods in every combination, and what orders do to rules that wait. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

let server: TestServer;
const waiting = 'Stopped: waiting for next schedule.';

/** The clock of the server is ahead by so much, ms. */
let ahead = 0;
const clock = join(temporaryFolder(), 'clock');
const env = {
  KUIPER__BASIC__RULEPATROLINTERVAL: '100ms',
  NODE_OPTIONS: `--import ${new URL('../../support/crash/moved-clock.mjs', import.meta.url).href}`,
  MOVED_CLOCK: clock,
};

/** What the clock of the server says, epoch ms. */
const now = () => Date.now() + ahead;

/** Moves the clock of the server, which goes on from there. */
function moveTo(time: number): void {
  ahead = time - Date.now();
  writeFileSync(clock, String(ahead));
}

test.before(async () => {
  moveTo(Date.now());
  server = await startServer({ env });
  const sql = 'CREATE STREAM s (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after(async () => void (await server.stop()));

const ruleOf = (id: string, options: object, more: object = {}) => ({
  id,
  sql: 'SELECT a FROM s',
  actions: [{ nop: {} }],
  options,
  ...more,
});

async function create(id: string, options: object, more: object = {}): Promise<void> {
  const answer = await server.request('POST', '/rules', ruleOf(id, options, more));
  assert.is(answer.status, 201, answer.text);
}

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

function reach(id: string, state: string, message?: string) {
  return eventually(`${id} ${state} ${message ?? ''}`, async () => {
    const found = await status(id);
    return found.status === state && (message === undefined || found.message === message) ? found : undefined;
  });
}

/** A period from now plus `begin` to now plus `end`, ms. */
const period = (begin: number, end: number) => ({ beginTimestamp: now() + begin, endTimestamp: now() + end });
const past = { begin: '2020-01-01 00:00:00', end: '2020-01-02 00:00:00' };
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
/** For ten seconds of every minute. */
const eachMinute = { cron: '@every 1m', duration: '10s' };
/** The next minute that is not about to begin. */
const nextMinute = () => Math.ceil((now() + 5 * second) / minute) * minute;

test('a cron time without a duration has no effect', async () => {
  await create('cron', { cron: '0 0 1 1 *' });
  const found = await reach('cron', 'Running');
  assert.is(found.nextStartTimestamp, 0);
});

test('a period with a duration: the rule runs once in the period, for its duration', async () => {
  await create('once', { cronDatetimeRange: [period(-1000, hour)], duration: '250ms' });
  const { lastStartTimestamp } = await reach('once', 'Running');
  const ended = await reach('once', 'Stopped', 'duration terminated');
  assert.ok(ended.lastStopTimestamp - lastStartTimestamp >= 240);
  moveTo(now() + hour);
  const found = await reach('once', waiting);
  assert.is(found.lastStartTimestamp, lastStartTimestamp, 'not started a second time');
  assert.is(found.nextStartTimestamp, 0);
});

test('cron times count only in the period', async () => {
  const first = nextMinute();
  const range = { beginTimestamp: first, endTimestamp: first + 2 * minute };
  await create('both', { ...eachMinute, cronDatetimeRange: [range] });
  await create('always', eachMinute);
  for (const [start, next] of [
    [first, first + minute],
    [first + minute, 0],
  ] as const) {
    moveTo(start + second);
    const { lastStartTimestamp } = await reach('both', 'Running');
    assert.ok(lastStartTimestamp >= start && lastStartTimestamp < start + 10 * second);
    moveTo(start + 11 * second);
    const paused = await reach('both', waiting, 'schedule terminated');
    assert.is(paused.nextStartTimestamp, next);
  }
  const { lastStartTimestamp } = await status('both');
  const afterPeriod = first + 3 * minute;
  moveTo(afterPeriod + second);
  await eventually('a run without a period', async () => (await status('always')).lastStartTimestamp >= afterPeriod);
  // Not even an order to start makes it run now.
  assert.is((await server.request('POST', '/rules/both/restart')).status, 200);
  const over = await status('both');
  assert.equal(
    [over.status, over.lastStartTimestamp, over.nextStartTimestamp],
    [waiting, lastStartTimestamp, 0],
    'no run after the period',
  );
  assert.is((await server.request('DELETE', '/rules/always')).status, 200);
});

test('a clock that is set back or forth starts and ends rules by the new time', async () => {
  const minuteBegin = Math.ceil(now() / minute) * minute;
  moveTo(minuteBegin + 2000);
  await create('moved', { cron: '@every 1m', duration: '30s' });
  await reach('moved', 'Running');
  moveTo(minuteBegin - 20_000);
  await reach('moved', waiting);
  moveTo(minuteBegin + 3600_000 + 5000);
  await reach('moved', 'Running');
  assert.is((await server.request('DELETE', '/rules/moved')).status, 200);
});

test('a run that ended by itself comes once more when the clock is set back before it', async () => {
  const key = { data: [{ a: 1 }], interval: 1, loop: false };
  assert.is((await server.request('PUT', '/metadata/sources/simulator/confKeys/short', key)).status, 200);
  const sql = 'CREATE STREAM short (a BIGINT) WITH (TYPE="simulator", CONF_KEY="short")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const minuteBegin = Math.ceil(now() / minute) * minute;
  moveTo(minuteBegin + 2000);
  await create('ended', { cron: '@every 1m', duration: '50s' }, { sql: 'SELECT a FROM short' });
  const first = await reach('ended', 'Stopped', 'done');
  moveTo(minuteBegin - 24 * 3600_000 + 2000);
  await eventually('the next run', async () => {
    const { lastStartTimestamp, message } = await status('ended');
    return message === 'done' && lastStartTimestamp < first.lastStartTimestamp;
  });
  assert.is((await server.request('DELETE', '/rules/ended')).status, 200);
});

test('before its period a rule knows the first cron time in it', async () => {
  const later = period(hour, 3 * hour);
  await create('later', { cron: '*/10 * * * *', duration: '1m', cronDatetimeRange: [later] });
  const { status: state, nextStartTimestamp, lastStartTimestamp } = await status('later');
  assert.equal([state, lastStartTimestamp], [waiting, 0]);
  assert.is(nextStartTimestamp % 600_000, 0);
  assert.ok(nextStartTimestamp >= later.beginTimestamp && nextStartTimestamp < later.beginTimestamp + 600_000);
});

test('of several periods the rule runs in each', async () => {
  const later = period(2 * minute, hour);
  await create('several', { cronDatetimeRange: [past, period(0, minute), later] });
  const first = await reach('several', 'Running');
  moveTo(now() + minute);
  const between = await reach('several', waiting, 'schedule terminated');
  assert.is(between.nextStartTimestamp, later.beginTimestamp);
  moveTo(later.beginTimestamp);
  const again = await reach('several', 'Running');
  assert.ok(again.lastStartTimestamp >= later.beginTimestamp);
  assert.ok(again.lastStartTimestamp > first.lastStartTimestamp);
});

test('orders to a rule that waits: stop, start, restart, in bulk, trace', async () => {
  await create('idle', { cronDatetimeRange: [period(hour, 2 * hour)] }, { tags: ['idle'] });
  const order = (path: string, body?: unknown) => server.request('POST', path, body);
  assert.is((await status('idle')).status, waiting);
  assert.is((await order('/rules/idle/stop')).text, 'Rule idle was stopped.');
  assert.equal([(await status('idle')).status, (await status('idle')).message], ['Stopped', 'canceled manually']);
  assert.is((await status('idle')).nextStartTimestamp, 0, 'a stopped rule follows no schedule');
  for (const again of ['start', 'restart']) {
    assert.is((await order(`/rules/idle/${again}`)).status, 200);
    const found = await status('idle');
    assert.equal([found.status, found.lastStartTimestamp], [waiting, 0]);
    assert.ok(found.nextStartTimestamp > now());
  }
  assert.equal((await order('/rules/bulkstart', { tags: ['idle'] })).json, [{ ruleId: 'idle', success: true }]);
  assert.is((await status('idle')).status, waiting);
  assert.is((await order('/rules/idle/trace/start', { strategy: 'always' })).status, 400);
});

test('a rule that is not triggered follows no schedule', async () => {
  await create('untriggered', eachMinute, { triggered: false });
  await create('triggered', eachMinute);
  const start = nextMinute();
  moveTo(start + second);
  await reach('triggered', 'Running');
  moveTo(start + 11 * second);
  await reach('triggered', waiting);
  const { status: state, message, lastStartTimestamp, nextStartTimestamp } = await status('untriggered');
  assert.equal([state, message, lastStartTimestamp, nextStartTimestamp], ['Stopped', '', 0, 0]);
});

test('an update changes the schedule at once', async () => {
  await create('update', { cronDatetimeRange: [past] });
  assert.is((await status('update')).status, waiting);
  const put = (options: object) => server.request('PUT', '/rules/update', ruleOf('update', options));
  assert.is((await put({})).status, 200);
  await reach('update', 'Running');
  assert.is((await put({ cronDatetimeRange: [past] })).status, 200);
  await reach('update', waiting);
  assert.is((await put({ cronDatetimeRange: [{ begin: 'soon', end: 'later' }] })).status, 400);
  assert.equal((await server.request('GET', '/rules/update')).json.options, { cronDatetimeRange: [past] });
  assert.is((await status('update')).status, waiting);
});

test('after a restart rules wait, run and stay stopped as their schedules and orders say', async () => {
  await create('kept-running', { cronDatetimeRange: [period(-hour, hour)] });
  await reach('kept-running', 'Running');
  await create('kept-stopped', { cronDatetimeRange: [period(-hour, hour)] });
  await server.request('POST', '/rules/kept-stopped/stop');
  const { data } = server;
  await server.stop('SIGKILL');
  server = await startServer({ data, env });
  await reach('kept-running', 'Running');
  await reach('idle', waiting);
  await reach('kept-stopped', 'Stopped');
  assert.is((await status('kept-stopped')).nextStartTimestamp, 0);
});

test.run();

/** Rules with times: cron, duration and periods in every combination, and what orders do to rules that wait. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../harness.js';

let server: TestServer;
const waiting = 'Stopped: waiting for next schedule.';

test.before(async () => {
  server = await startServer({ env: { KUIPER__BASIC__RULEPATROLINTERVAL: '100ms' } });
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
const period = (begin: number, end: number) => ({
  beginTimestamp: Date.now() + begin,
  endTimestamp: Date.now() + end,
});
const past = { begin: '2020-01-01 00:00:00', end: '2020-01-02 00:00:00' };
const hour = 3_600_000;

test('a cron time without a duration has no effect', async () => {
  await create('cron', { cron: '0 0 1 1 *' });
  const found = await reach('cron', 'Running');
  assert.is(found.nextStartTimestamp, 0);
});

test('a period with a duration: the rule runs once in the period, for its duration', async () => {
  await create('once', { cronDatetimeRange: [period(-1000, 1200)], duration: '250ms' });
  const { lastStartTimestamp } = await reach('once', 'Running');
  const ended = await reach('once', 'Stopped', 'duration terminated');
  assert.ok(ended.lastStopTimestamp - lastStartTimestamp >= 240);
  // The period ends.
  const found = await reach('once', waiting);
  assert.is(found.lastStartTimestamp, lastStartTimestamp, 'not started a second time');
  assert.is(found.nextStartTimestamp, 0);
});

test('cron times count only in the period', async () => {
  const twoRuns = period(0, 2300);
  await create('both', { cron: '@every 1s', duration: '200ms', cronDatetimeRange: [twoRuns] });
  await reach('both', 'Running');
  const paused = await reach('both', waiting, 'schedule terminated');
  assert.ok(paused.nextStartTimestamp > paused.lastStopTimestamp - 1000);
  const over = await eventually('the end of the period', async () => {
    const found = await status('both');
    return found.status === waiting && Date.now() > twoRuns.endTimestamp + 50 ? found : undefined;
  });
  assert.is(over.nextStartTimestamp, 0);
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.is((await status('both')).lastStartTimestamp, over.lastStartTimestamp, 'no run after the period');
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
  await create('several', { cronDatetimeRange: [past, period(0, 500), period(900, hour)] });
  const first = await reach('several', 'Running');
  const between = await reach('several', waiting, 'schedule terminated');
  assert.ok(between.nextStartTimestamp > between.lastStopTimestamp);
  const second = await reach('several', 'Running');
  assert.ok(second.lastStartTimestamp >= between.nextStartTimestamp - 20);
  assert.ok(second.lastStartTimestamp > first.lastStartTimestamp);
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
    assert.ok(found.nextStartTimestamp > Date.now());
  }
  assert.equal((await order('/rules/bulkstart', { tags: ['idle'] })).json, [{ ruleId: 'idle', success: true }]);
  assert.is((await status('idle')).status, waiting);
  assert.is((await order('/rules/idle/trace/start', { strategy: 'always' })).status, 400);
});

test('a rule that is not triggered follows no schedule', async () => {
  await create('untriggered', { cron: '@every 1s', duration: '500ms' }, { triggered: false });
  await new Promise((resolve) => setTimeout(resolve, 1200));
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
  server = await startServer({ data });
  await reach('kept-running', 'Running');
  await reach('idle', waiting);
  await reach('kept-stopped', 'Stopped');
  assert.is((await status('kept-stopped')).nextStartTimestamp, 0);
});

test.run();

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;

test.before(async () => {
  server = await startServer({ env: { KUIPER__BASIC__RULEPATROLINTERVAL: '200ms' } });
  await server.request('PUT', '/metadata/sources/simulator/confKeys/rows', {
    data: [{ a: 1 }],
    interval: 10,
    loop: true,
  });
  const sql = 'CREATE STREAM sim (a BIGINT) WITH (TYPE="simulator", CONF_KEY="rows")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after(async () => void (await server.stop()));

function create(id: string, more: object = {}) {
  return server.request('POST', '/rules', { id, sql: 'SELECT a FROM sim', actions: [{ nop: {} }], ...more });
}

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

function reach(id: string, state: string, message?: string) {
  return eventually(`${id} ${state}`, async () => {
    const found = await status(id);
    return found.status === state && (message === undefined || found.message === message) ? found : undefined;
  });
}

const waiting = 'Stopped: waiting for next schedule.';

test('a rule with @every runs for its duration again and again', async () => {
  assert.is((await create('every', { options: { cron: '@every 1s', duration: '300ms' } })).status, 201);
  const first = await reach('every', 'Running');
  const paused = await reach('every', waiting, 'schedule terminated');
  assert.ok(paused.nextStartTimestamp > Date.now() - 50);
  assert.ok(paused.lastStopTimestamp >= first.lastStartTimestamp);
  const second = await reach('every', 'Running');
  assert.ok(second.lastStartTimestamp > first.lastStartTimestamp);
  await server.request('POST', '/rules/every/stop');
  const stopped = await reach('every', 'Stopped', 'canceled manually');
  assert.is(stopped.nextStartTimestamp, 0);
});

test('a rule waits for its period and for its cron time', async () => {
  const later = { beginTimestamp: Date.now() + 400, endTimestamp: Date.now() + 60_000 };
  await create('period', { options: { cronDatetimeRange: [later] } });
  const paused = await status('period');
  assert.is(paused.status, waiting);
  assert.is(paused.nextStartTimestamp, later.beginTimestamp);
  await reach('period', 'Running');
  const past = { begin: '2020-01-01 00:00:00', end: '2020-01-02 00:00:00' };
  await create('past', { options: { cronDatetimeRange: [past] } });
  assert.is((await status('past')).status, waiting);
  await create('yearly', { options: { cron: '0 0 1 1 *', duration: '10m' } });
  const yearly = await status('yearly');
  assert.ok(yearly.nextStartTimestamp > Date.now());
  const answer = await create('wrong', { options: { cron: '61 * * * *', duration: '1s' } });
  assert.is(answer.status, 400);
  assert.match(answer.json.message, /cron/);
  assert.is((await server.request('GET', '/rules/wrong')).status, 404);
});

test('a duration ends a rule', async () => {
  await create('short', { options: { duration: '200ms' } });
  await reach('short', 'Stopped', 'duration terminated');
});

test('a duration of a year is a year, not the longest time of a timer', async () => {
  const shortest = { duration: '600ms' };
  await create('year', { options: { duration: '8760h', forceExitTimeout: '8760h' } });
  await create('year-after', { options: shortest });
  await reach('year-after', 'Stopped', 'duration terminated');
  assert.is((await status('year')).status, 'Running');
  await server.request('PUT', '/metadata/sources/simulator/confKeys/yearly', { data: [{ a: 1 }], interval: '8760h' });
  await server.request('POST', '/streams', {
    sql: 'CREATE STREAM yearly (a BIGINT) WITH (TYPE="simulator", CONF_KEY="yearly")',
  });
  await create('yearly-rows', { sql: 'SELECT a FROM yearly', options: shortest });
  const { source_yearly_0_records_in_total: rows } = await reach('yearly-rows', 'Stopped', 'duration terminated');
  assert.is(rows, 1);
  for (const wrong of [1e20, '1e20', '99999999999999h', '-1s']) {
    const refused = await create('endless', { options: { duration: wrong } });
    assert.is(refused.status, 400, refused.text);
    assert.match(refused.json.message, /duration must be/);
  }
});

test('a refused update leaves the running rule as it is; versions only rise', async () => {
  await create('keep', { version: '1' });
  await reach('keep', 'Running');
  const { lastStartTimestamp } = await status('keep');
  const bad = await server.request('PUT', '/rules/keep', {
    sql: 'SELECT a FROM nowhere',
    actions: [{ nop: {} }],
    version: '2',
  });
  assert.is(bad.status, 400);
  const same = await server.request('PUT', '/rules/keep', {
    sql: 'SELECT a AS b FROM sim',
    actions: [{ nop: {} }],
    version: '1',
  });
  assert.is(same.status, 400);
  assert.match(same.json.message, /version/);
  const after = await status('keep');
  assert.is(after.status, 'Running');
  assert.is(after.lastStartTimestamp, lastStartTimestamp);
  assert.is((await server.request('GET', '/rules/keep')).json.sql, 'SELECT a FROM sim');
  const next = await server.request('PUT', '/rules/keep', {
    sql: 'SELECT a AS b FROM sim',
    actions: [{ nop: {} }],
    version: '2',
  });
  assert.is(next.status, 200, next.text);
});

test('a rule whose connection is missing is made and stopped by error', async () => {
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/lost', { connectionSelector: 'gone' });
  await server.request('POST', '/streams', {
    sql: 'CREATE STREAM lost (a BIGINT) WITH (DATASOURCE="t", CONF_KEY="lost")',
  });
  assert.is((await create('lost', { sql: 'SELECT a FROM lost' })).status, 201);
  const found = await reach('lost', 'Stopped: canceled by error.');
  assert.match(found.message, /gone/);
  assert.ok(found.lastStartTimestamp > 0 && found.lastStopTimestamp > 0);
});

test('a rule whose configuration key has a value that can not be used yet is refused', async () => {
  const key = '/metadata/sources/file/confKeys/later';
  assert.is((await server.request('PUT', key, { merger: 'own', path: server.data })).status, 200);
  const sql = 'CREATE STREAM later () WITH (DATASOURCE="a.csv", TYPE="file", CONF_KEY="later")';
  await server.request('POST', '/streams', { sql });
  const refused = await create('later', { sql: 'SELECT * FROM later' });
  assert.is(refused.status, 400);
  assert.match(refused.json.message, /property merger .* is not found/);
});

test('failures of a SELECT are counted below a sink that takes nothing', async () => {
  await create('fails', { sql: 'SELECT a / (a - 1) AS q FROM sim' });
  const found = await eventually('a failure', async () => {
    const figures = await status('fails');
    return figures.op_2_project_0_exceptions_total > 0 ? figures : undefined;
  });
  assert.is(found.status, 'Running');
  assert.match(found.op_2_project_0_last_exception, /divided by zero/);
  assert.is(found.sink_nop_0_0_records_out_total, 0);
});

test('the place of a source can be reset only where one is kept', async () => {
  await create('reset');
  const reset = (id: string, body: unknown) => server.request('PUT', `/rules/${id}/reset_state`, body);
  assert.match((await reset('reset', { type: 9 })).json.message, /9/);
  assert.match((await reset('reset', { type: 1, params: { streamName: 'other' } })).json.message, /other/);
  assert.is((await reset('reset', { type: 1, params: { streamName: 'sim' } })).status, 400);
  assert.is((await reset('reset', '{')).status, 400);
  assert.is((await reset('none', { type: 1 })).status, 404);
});

test('temporary streams are for temporary rules, and neither outlives the server', async () => {
  const sql = 'CREATE STREAM tmp (a BIGINT) WITH (TYPE="simulator", CONF_KEY="rows", TEMP="true")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const refused = await create('lasting', { sql: 'SELECT a FROM tmp' });
  assert.is(refused.status, 400);
  assert.match(refused.json.message, /tmp is temporary/);
  assert.is((await create('temp', { sql: 'SELECT a FROM tmp', temp: true })).status, 201);
  await reach('temp', 'Running');
  await server.request('POST', '/rules/temp/stop');
  assert.is((await server.request('GET', '/rules/temp')).json.triggered, false);
  const { data } = server;
  await server.stop();
  server = await startServer({ data });
  const ids = ((await server.request('GET', '/rules')).json as { id: string }[]).map(({ id }) => id);
  assert.not.ok(ids.includes('temp'));
  assert.ok(ids.includes('keep'));
  await reach('keep', 'Running');
  await reach('every', 'Stopped');
});

test('what a sink refuses is a failure of the sink, not of the rule', async () => {
  for (const [action, reason] of [
    [{ memory: {} }, /topic is required/],
    [{ file: { path: '' } }, /path must not be empty/],
    [{ log: { format: 'foo' } }, /format: foo is not known/],
    [{ log: { batchSize: -1 } }, /batchSize/],
    [{ log: { sendSingle: 'yes' } }, /sendSingle must be true or false/],
    [{ log: { bufferLength: -1 } }, /bufferLength must be at least 0/],
    [{ rest: { url: '' } }, /url must be an address/],
    [{ carrier: {} }, /sink carrier not found, there are .*file, .*websocket, zmq$/],
    [{ mqqt: {} }, /sink mqqt not found, did you mean mqtt\?$/],
  ] as const) {
    const refused = await create('sinks', { actions: [action] });
    assert.equal([refused.status, refused.json.error], [400, 2201], JSON.stringify(action));
    assert.match(refused.json.message, reason);
  }
});

test('the schema of a stream without declared columns has the fields that running rules read', async () => {
  const sql = 'CREATE STREAM free () WITH (DATASOURCE="free", TYPE="memory", SHARED="true")';
  await server.request('POST', '/streams', { sql });
  const schema = async () => (await server.request('GET', '/streams/free/schema')).json;
  assert.is(await schema(), null);
  await create('reads', { sql: 'SELECT x, y->z AS k, meta(topic) AS t FROM free WHERE w > 1' });
  assert.equal(await schema(), { w: null, x: null, y: null });
  await create('reads2', { sql: 'SELECT q.v FROM free AS q' });
  assert.equal(await schema(), { v: null, w: null, x: null, y: null });
  await create('whole', { sql: 'SELECT * FROM free' });
  assert.is(await schema(), null, 'a rule takes whole messages');
  for (const id of ['whole', 'reads']) await server.request('POST', `/rules/${id}/stop`);
  await reach('reads', 'Stopped');
  assert.equal(await schema(), { v: null });
  await server.request('DELETE', '/rules/reads2');
  assert.is(await schema(), null);
});

test('a rule whose stream is gone is not started, and is again when the stream is back', async () => {
  const sql = 'CREATE STREAM passing (a BIGINT) WITH (DATASOURCE="passing", TYPE="memory")';
  await server.request('POST', '/streams', { sql });
  await create('orphan', { sql: 'SELECT a FROM passing' });
  await server.request('POST', '/rules/orphan/stop');
  await server.request('DELETE', '/streams/passing');
  for (const step of ['start', 'restart']) {
    const refused = await server.request('POST', `/rules/orphan/${step}`);
    assert.equal([refused.status, refused.json.error], [400, 1000], step);
    assert.match(refused.json.message, /passing/);
  }
  await server.request('POST', '/streams', { sql });
  assert.is((await server.request('POST', '/rules/orphan/start')).status, 200);
});

test.run();

/** Event time: rows that come too late and rows from the future are counted, and told of once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, startServer } from '../../support/harness.js';

const dataPort = await freePort();
const server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort) } });
test.after(async () => {
  await server.stop();
});

const now = Date.now();
const year2100 = Date.parse('2100-01-01T00:00:00Z');
const lines = () => readFileSync(join(server.data, 'log', 'stream.log'), 'utf8').split('\n');

async function push(path: string, t: number): Promise<void> {
  const answer = await request(`http://127.0.0.1:${dataPort}`, 'POST', path, { t });
  assert.is(answer.status, 200, answer.text);
}

/** Makes a stream and a rule of event time, both with the name. */
async function rule(name: string, options: object, actions: object[] = [{ nop: {} }]): Promise<void> {
  const sql = `CREATE STREAM ${name} () WITH (TYPE="httppush", DATASOURCE="/${name}", FORMAT="json", TIMESTAMP="t")`;
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const created = await server.request('POST', '/rules', {
    id: name,
    sql: `SELECT count(*) AS n FROM ${name} GROUP BY TUMBLINGWINDOW(ss, 10)`,
    actions,
    options: { isEventTime: true, lateTolerance: 0, ...options },
  });
  assert.is(created.status, 201, created.text);
  await eventually('the source', async () => (await status(name))[`source_${name}_0_connection_status`] === 1);
}

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

/** Waits until the figure has the value; returns the operator that has it. */
const figure = (id: string, name: string, value: number) =>
  eventually(`${name} ${value}`, async () => {
    const found = Object.entries(await status(id)).find(([key, is]) => key.endsWith(`_0_${name}`) && is === value);
    return found?.[0].slice(0, -`_0_${name}`.length);
  });

async function metric(name: string, id: string, operator: string): Promise<string | undefined> {
  const { text } = await server.request('GET', '/metrics');
  return new RegExp(`^kuiper_op_${name}\\{rule="${id}",[^}]*op="${operator.slice(3)}"[^}]*\\} (\\d+)$`, 'm').exec(
    text,
  )?.[1];
}

test('rows from the future are counted, the first is one line', async () => {
  const id = 'ahead';
  await rule(id, {});
  await push(`/${id}`, now);
  await push(`/${id}`, year2100);
  const operator = await figure(id, 'records_ahead_total', 1);
  const told = (line: string) => line.includes(id) && line.includes(`the timestamp ${year2100} lies`);
  await eventually('the line', () => lines().some(told));
  await push(`/${id}`, year2100);
  await figure(id, 'records_ahead_total', 2);
  await figure(id, 'records_late_total', 0);
  assert.is(await metric('records_ahead_total', id, operator), '2');
  // A line of a row that comes later is there: nothing is on its way.
  await push(`/${id}`, year2100 + 1000);
  await eventually('the next line', () =>
    lines().some((line) => line.includes(`the timestamp ${year2100 + 1000} lies`)),
  );
  assert.match(
    lines().filter(told).join('\n'),
    /^[^\n]*failed: [^\n]*the timestamp \d+ lies \d+ s ahead[^\n]*maxFutureSkew[^\n]*$/,
  );
});

test('a rule that sends errors counts and tells of a row from the future once', async () => {
  const id = 'aheadsent';
  await rule(id, { sendError: true });
  await push(`/${id}`, year2100);
  await figure(id, 'records_ahead_total', 1);
  assert.is((await status(id)).exceptionsTotal, 1);
  const told = (t: number) => lines().filter((line) => line.includes(id) && line.includes(`the timestamp ${t} lies`));
  await eventually('the line', () => told(year2100).length > 0);
  // A line of a row that comes later is there: nothing is on its way.
  await push(`/${id}`, year2100 + 1000);
  await eventually('the next line', () => told(year2100 + 1000).length > 0);
  assert.is(told(year2100).length, 1, told(year2100).join('\n'));
});

test('rows that come too late are counted and told of, and are no errors', async () => {
  await rule('late', {});
  await push('/late', now);
  await push('/late', now - 60_000);
  const operator = await figure('late', 'records_late_total', 1);
  const told = (line: string) => line.includes('late') && line.includes('came too late');
  const line = await eventually('the line', () => lines().find(told));
  assert.match(line, `${operator}: a row came too late`);
  await push('/late', now - 60_000);
  await push('/late', now - 60_001);
  await figure('late', 'records_late_total', 3);
  assert.is(await metric('records_late_total', 'late', operator), '3');
  assert.is((await status('late')).exceptionsTotal, 0);
  const listed = (await server.request('GET', '/rules?trouble=true')).json.find(
    ({ id }: { id: string }) => id === 'late',
  );
  assert.equal(listed.trouble, []);
  // A failure that is told of after them: nothing of theirs is on its way.
  await push('/late', year2100);
  await eventually('the failure', () =>
    lines().some((text) => text.includes('late') && /failed: .*the timestamp/.test(text)),
  );
  assert.is(lines().filter(told).length, 1);
});

test('late rows go to a sink of their own, which counts them; they are no loss', async () => {
  const id = 'rescued';
  const path = join(server.data, 'rescued.txt');
  await rule(id, {}, [{ nop: {} }, { file: { path, lateRows: true, sendSingle: true } }]);
  for (const t of [now, now - 60_000, now - 1, now + 1]) await push(`/${id}`, t);
  await figure(id, 'records_late_total', 2);
  await eventually('the sink', async () => (await status(id)).sink_file_1_0_records_out_total === 2);
  const rows = [60_000, 1].map((by) => ({ t: now - by, __late: { stream: id, time: now - by, lateBy: by } }));
  await eventually('the file', () => readFileSync(path, 'utf8').split('\n').length > 2);
  assert.equal(
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
    rows,
  );
  const { edges } = (await server.request('GET', `/rules/${id}/topo`)).json;
  assert.equal(edges.op_3_watermark, ['op_4_window', 'op_6_late']);
  assert.is((await status(id)).op_6_late_0_records_in_total, 2);
  // A line of a row that comes later is there: nothing is on its way.
  await push(`/${id}`, year2100);
  await eventually('the line', () =>
    lines().some((line) => line.includes(id) && line.includes(`the timestamp ${year2100}`)),
  );
  assert.not.ok(lines().some((line) => line.includes(id) && line.includes('came too late')));
});

test('a sink of late rows that cannot be is refused by its property, at creation and by validation', async () => {
  const stream = 'CREATE STREAM refused () WITH (TYPE="memory", DATASOURCE="r", FORMAT="json", TIMESTAMP="t")';
  assert.is((await server.request('POST', '/streams', { sql: stream })).status, 201);
  const sql = 'SELECT * FROM refused';
  for (const [lateRows, options, reason] of [
    [true, {}, 'sink property lateRows needs the rule option isEventTime'],
    ['always', { isEventTime: true }, 'sink property lateRows must be true or false'],
  ] as const) {
    const body = { id: 'refused', sql, actions: [{ nop: { lateRows } }], options };
    const created = await server.request('POST', '/rules', body);
    assert.is(created.status, 400);
    assert.match(created.json.message, reason);
    const validated = await server.request('POST', '/rules/validate', body);
    assert.is(validated.status, 422);
    assert.match(validated.text, reason);
  }
});

test('how far event time has come and what waits for it is shown', async () => {
  const id = 'waiting';
  await rule(id, { lateTolerance: '1m' });
  await push(`/${id}`, now);
  const operator = await figure(id, 'records_waiting', 1);
  await figure(id, 'watermark', now - 60_000);
  // What metrics show may be a moment old.
  await eventually('the gauge', async () => (await metric('records_waiting', id, operator ?? '')) === '1');
  await eventually('the time', async () => (await metric('watermark', id, operator ?? '')) === String(now - 60_000));
});

test.run();

/**
 * Windows of each device by themselves, through REST: an alarm for one that is silent, what status and plan tell, rules
 * drawn as graphs.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let data: string;
let env: Record<string, string>;

test.before(async () => {
  const port = await freePort();
  data = `http://127.0.0.1:${port}`;
  env = { KUIPER__SOURCE__HTTPSERVERPORT: String(port) };
  server = await startServer({ env });
  await accepted('/streams', {
    sql:
      'CREATE STREAM telem (device STRING, temp FLOAT) WITH (TYPE="httppush", DATASOURCE="/telem", FORMAT="json", ' +
      'SHARED="true")',
  });
});
test.after(async () => void (await server.stop()));

async function accepted(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

/** Makes a rule that takes what is pushed from now on. */
async function createRule(body: { id: string } & Record<string, unknown>): Promise<void> {
  await accepted('/rules', body);
  await eventually(
    `${body.id} to be connected`,
    async () => (await figures(body.id)).source_telem_0_connection_status === 1,
  );
}

const pathOf = (id: string) => join(server.data, `${id}.txt`);
const sinkOf = (id: string) => ({ path: pathOf(id), sendSingle: true, interval: 1 });

function rowsOf(id: string): Record<string, unknown>[] {
  if (!existsSync(pathOf(id))) return [];
  return readFileSync(pathOf(id), 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

const push = async (device: string, temp: number) => {
  const answer = await fetch(`${data}/telem`, { method: 'POST', body: JSON.stringify({ device, temp }) });
  assert.is(answer.status, 200);
};

const figures = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

test('each device that falls silent raises an alarm, and leaves nothing behind', async () => {
  const sql =
    'SELECT device, last_value(temp, true) AS temp FROM telem ' +
    'GROUP BY device, SESSIONWINDOW(ms, 3600000, 400) OVER (PARTITION BY device)';
  await createRule({ id: 'silent', sql, actions: [{ file: sinkOf('silent') }] });
  await push('a', 1);
  await push('b', 2);
  await eventually('both devices', async () => (await figures('silent')).op_3_window_0_partitions === 2);
  // Another device goes on all the while.
  const rows = await eventually('the alarm of both', async () => {
    await push('c', 3);
    const sent = rowsOf('silent');
    return sent.length === 2 ? sent : undefined;
  });
  assert.equal(rows, [
    { device: 'a', temp: 1 },
    { device: 'b', temp: 2 },
  ]);
  await eventually('the alarm of the last', () => rowsOf('silent').length === 3);
  const status = await eventually('nothing kept', async () => {
    const found = await figures('silent');
    return found.op_3_window_0_partitions === 0 ? found : undefined;
  });
  assert.is(status.op_3_window_0_partitions_forgotten_total, 0);
  assert.is(status.op_3_window_0_exceptions_total, 0);

  const plan = (await server.request('GET', '/rules/silent/explain')).text;
  assert.match(plan, /windowType:session, unitMs:1, maxMs:3600000, timeoutMs:400, partition:\[ telem\.device \]/);
  assert.match(
    plan,
    /"keeps":"aggregates of each group of the open session .* of each partition: grows with the number of partitions/,
  );
  const topology = (await server.request('GET', '/rules/silent/topo')).json;
  assert.equal(topology.edges.op_2_decoder, ['op_3_window']);
  assert.is((await server.request('DELETE', '/rules/silent')).status, 200);
});

test('counts that nothing comes for are forgotten after stateTtl, and counted', async () => {
  const sql = 'SELECT device, count(*) AS n FROM telem GROUP BY device, COUNTWINDOW(2) OVER (PARTITION BY device)';
  await createRule({
    id: 'counts',
    sql,
    options: { stateTtl: '300ms' },
    actions: [{ file: sinkOf('counts') }],
  });
  await push('a', 1);
  await push('b', 2);
  await push('b', 3);
  await eventually('the count of b', () => rowsOf('counts').length === 1);
  const status = await eventually('both are forgotten', async () => {
    const found = await figures('counts');
    return found.op_3_window_0_partitions === 0 ? found : undefined;
  });
  assert.is(status.op_3_window_0_partitions_forgotten_total, 2);
  assert.equal(rowsOf('counts'), [{ device: 'b', n: 2 }]);
  assert.is((await server.request('DELETE', '/rules/counts')).status, 200);
});

test('devices that were at work before a restart raise their alarm after it', async () => {
  const sql =
    'SELECT device, count(*) AS n FROM telem GROUP BY device, SESSIONWINDOW(ss, 3600, 4) OVER (PARTITION BY device)';
  await createRule({ id: 'kept', sql, options: { qos: 1 }, actions: [{ file: sinkOf('kept') }] });
  await push('a', 1);
  await push('b', 2);
  await push('b', 3);
  await eventually('both devices', async () => (await figures('kept')).op_3_window_0_partitions === 2);
  await server.stop();
  server = await startServer({ data: server.data, env });
  const rows = await eventually('the alarms', () => (rowsOf('kept').length === 2 ? rowsOf('kept') : undefined));
  assert.equal(
    rows.toSorted((one, other) => String(one.device).localeCompare(String(other.device))),
    [
      { device: 'a', n: 1 },
      { device: 'b', n: 2 },
    ],
  );
  assert.is((await server.request('DELETE', '/rules/kept')).status, 200);
});

const graphOf = (id: string, window: object) => ({
  nodes: {
    src: { type: 'source', nodeType: 'httppush', props: { sourceType: 'stream', sourceName: 'telem' } },
    w: { type: 'operator', nodeType: 'window', props: window },
    g: { type: 'operator', nodeType: 'groupby', props: { dimensions: ['device'] } },
    n: { type: 'operator', nodeType: 'aggfunc', props: { expr: 'count(*) AS n' } },
    out: { type: 'operator', nodeType: 'pick', props: { fields: ['device', 'n'], isAgg: true } },
    sink: { type: 'sink', nodeType: 'file', props: sinkOf(id) },
  },
  topo: { sources: ['src'], edges: { src: ['w'], w: ['g'], g: ['n'], n: ['out'], out: ['sink'] } },
});

test('a graph partitions its windows by the property partitionBy', async () => {
  const graph = graphOf('drawn', { type: 'countwindow', size: 2, partitionBy: ['device'] });
  await createRule({ id: 'drawn', graph });
  for (const device of ['a', 'b', 'b', 'c', 'a']) await push(device, 1);
  const rows = await eventually('both counts', () => (rowsOf('drawn').length === 2 ? rowsOf('drawn') : undefined));
  assert.equal(rows, [
    { device: 'b', n: 2 },
    { device: 'a', n: 2 },
  ]);
  assert.is((await figures('drawn')).op_w_0_partitions, 3);
  const reasons: [object, RegExp][] = [
    [
      { type: 'tumblingwindow', unit: 'ss', size: 2, partitionBy: ['device'] },
      /node w .*partitionBy has no effect on a tumblingwindow/,
    ],
    [{ type: 'countwindow', size: 2, partitionBy: 'device' }, /node w .*partitionBy must be a list of texts/],
    [{ type: 'countwindow', size: 2, partitionBy: ['sum(device)'] }, /node w .*sum.*not allowed in partitionBy/],
  ];
  for (const [window, reason] of reasons) {
    const { status, text } = await server.request('POST', '/rules', { id: 'wrong', graph: graphOf('wrong', window) });
    assert.is(status, 400);
    assert.match(text, reason);
  }
});

test.run();

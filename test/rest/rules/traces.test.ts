import { createServer } from 'node:http';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Span } from '../../../host/model/traces.js';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;

test.before(async () => {
  server = await startServer({
    env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true', KUIPER__OPENTELEMETRY__LOCALTRACECAPACITY: '20' },
  });
  const rows = { data: [{ a: 1 }, { a: 5 }], interval: 10, loop: true };
  await server.request('PUT', '/metadata/sources/simulator/confKeys/rows', rows);
  const sql = 'CREATE STREAM sim (a BIGINT) WITH (TYPE="simulator", CONF_KEY="rows")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  await rule('traced', 'SELECT a * 2 AS b FROM sim WHERE a > 3', [{ memory: { topic: 'x' } }, { log: {} }]);
});
test.after(async () => void (await server.stop()));

async function rule(id: string, sql: string, actions: object[], options = {}): Promise<void> {
  const answer = await server.request('POST', '/rules', { id, sql, actions, options });
  assert.is(answer.status, 201, answer.text);
}

const idsOf = async (id: string, query = '') =>
  (await server.request('GET', `/trace/rule/${id}${query}`)).json as string[];
const isTraced = async (id: string) =>
  ((await server.request('GET', '/rules')).json as { id: string; trace: boolean }[]).find((item) => item.id === id)
    ?.trace;

/** Waits until the rule has taken more rows. */
async function moreRows(id: string): Promise<void> {
  const taken = async () => (await server.request('GET', `/rules/${id}/status`)).json.sourceRecordsInTotal as number;
  const before = await taken();
  await eventually(`more rows of ${id}`, async () => (await taken()) >= before + 4);
}

/** Waits for a trace whose root has this on its path. */
function traceWith(id: string, name: string): Promise<Span> {
  return eventually(`a trace with ${name}`, async () => {
    for (const traceId of await idsOf(id)) {
      const answer = await server.request('GET', `/trace/${traceId}`);
      if (answer.status === 200 && answer.text.includes(`"${name}"`)) return answer.json as Span;
    }
    return undefined;
  });
}

test('a traced rule has a span for each operator of a batch, nested from source to sinks', async () => {
  assert.equal(await idsOf('traced'), []);
  assert.is(await isTraced('traced'), false);
  const started = await server.request('POST', '/rules/traced/trace/start', { strategy: 'always' });
  assert.is(started.status, 200);
  assert.is(started.text, '');
  assert.is(await isTraced('traced'), true);
  const root = await traceWith('traced', '3_project');
  assert.is(root.Name, 'sim');
  assert.match(root.TraceID, /^[0-9a-f]{32}$/);
  assert.is(root.ParentSpanID, '0000000000000000');
  assert.is(root.Attribute?.rule, 'traced');
  assert.match(Buffer.from(String(root.Attribute?.data), 'base64').toString(), /^{"a":5}$/);
  assert.match(root.StartTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
  const names: string[] = [];
  for (let span = root; span.ChildSpan.length === 1; span = span.ChildSpan[0]!) {
    const child = span.ChildSpan[0]!;
    assert.is(child.ParentSpanID, span.SpanID);
    assert.is(child.TraceID, root.TraceID);
    assert.ok(child.StartTime >= span.StartTime && child.EndTime <= root.EndTime);
    names.push(child.Name);
    if (child.ChildSpan.length > 1) assert.is(child.ChildSpan.length, 2);
  }
  assert.equal(names.slice(-2), ['2_filter', '3_project']);
  const text = JSON.stringify(root);
  for (const name of ['memory_0', 'log_1_0_transform', 'log_1_1_encode', 'log_1']) assert.match(text, `"${name}"`);
  assert.match(text, '[{\\"b\\":10}]');
  assert.not.match(text, /\\u00|[^ -~]/, 'the own form of rows in memory is no text');
});

test('spans carry their data: bytes as base64, rows as text', async () => {
  const root = await traceWith('traced', '3_project');
  const dataOf = new Map<string, unknown>();
  const walk = (span: Span) => {
    dataOf.set(span.Name, span.Attribute?.data);
    for (const child of span.ChildSpan) walk(child);
  };
  walk(root);
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  assert.equal(Object.fromEntries(dataOf), {
    sim: base64('{"a":5}'),
    '2_filter': '{"a":5}',
    '3_project': '{"a":5}',
    memory_0_0_transform: '[{"b":10}]',
    memory_0: '[{"b":10}]',
    log_1_0_transform: '[{"b":10}]',
    log_1_1_encode: '[{"b":10}]',
    log_1: base64('[{"b":10}]'),
  });
});

/** What the spans of a trace show, by name. */
function dataIn(root: Span): Record<string, unknown> {
  const of = (span: Span): [string, unknown][] => [[span.Name, span.Attribute?.data], ...span.ChildSpan.flatMap(of)];
  return Object.fromEntries(of(root));
}

test('between a window and its sinks spans show rows, those of a sink that takes none as well', async () => {
  const sql = 'SELECT a, count(*) AS n FROM sim WHERE a > 3 GROUP BY a, COUNTWINDOW(2)';
  await rule('counted', sql, [{ nop: {} }], { enableRuleTracer: true });
  const data = dataIn(await traceWith('counted', 'nop_0'));
  assert.is(data.nop_0_0_transform, '[{"a":5,"n":1}]');
  assert.is(data.nop_0, '[{"a":5,"n":1}]');
  const [, project] = Object.entries(data).find(([name]) => /_project$/.test(name)) ?? [];
  assert.match(String(project), /^\[\{"a":5,"count.*":1\}\]$/);
  assert.is((await server.request('DELETE', '/rules/counted')).status, 200);
});

test(
  'a trace that starts and stops while the rule runs shows the same, and leaves the results as they ' + 'are',
  async () => {
    const sql =
      'SELECT b.a AS x, sim.a AS y FROM sim INNER JOIN sim AS b ON sim.a = b.a GROUP BY TUMBLINGWINDOW(ms, 50)';
    await rule('joined', sql, [{ nop: {} }]);
    for (let round = 0; round < 3; round++) {
      assert.is((await server.request('POST', '/rules/joined/trace/start', { strategy: 'always' })).status, 200);
      const known = await idsOf('joined');
      await eventually('a new trace', async () => (await idsOf('joined')).some((id) => !known.includes(id)));
      const data = dataIn(await traceWith('joined', 'nop_0'));
      assert.match(String(data.nop_0), '[{"x":');
      assert.is((await server.request('POST', '/rules/joined/trace/stop')).status, 200);
    }
    assert.is((await server.request('GET', '/rules/joined/status')).json.status, 'Running');
    assert.is((await server.request('DELETE', '/rules/joined')).status, 200);
  },
);

test('rows that a filter drops end the trace there', async () => {
  const root = await eventually('a trace without output', async () => {
    for (const id of await idsOf('traced')) {
      const { text, json } = await server.request('GET', `/trace/${id}`);
      if (!text.includes('3_project')) return json as Span;
    }
    return undefined;
  });
  assert.match(JSON.stringify(root), '"rowsIn":1,"rowsOut":0');
});

test('traces are bounded, and a limit gives the latest', async () => {
  await eventually('a full ring', async () => (await idsOf('traced')).length === 20 || undefined);
  assert.is((await idsOf('traced', '?limit=3')).length, 3);
  assert.is((await server.request('GET', '/trace/rule/traced?limit=x')).status, 400);
});

test('traces go to a collector when it is named', async () => {
  const bodies: string[] = [];
  const collector = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      bodies.push(`${request.method} ${request.url} ${body}`);
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => collector.once('listening', resolve));
  const { port } = collector.address() as { port: number };
  const body = { action: 'start', service_name: 'mine', collector_url: `127.0.0.1:${port}` };
  assert.is((await server.request('POST', '/tracer', body)).text, 'success');
  const sent = await eventually('traces at the collector', () => bodies[0]);
  assert.match(sent, /^POST \/v1\/traces \{"resourceSpans"/);
  assert.match(sent, '"stringValue":"mine"');
  assert.match(sent, /"traceId":"[0-9a-f]{32}"/);
  assert.is((await server.request('POST', '/tracer', { action: 'stop' })).text, 'success');
  collector.closeAllConnections();
  collector.close();
  assert.is(await isTraced('traced'), true);
});

test('after the stop nothing is traced', async () => {
  assert.is((await server.request('POST', '/rules/traced/trace/stop')).status, 200);
  assert.is(await isTraced('traced'), false);
  const before = await idsOf('traced', '?limit=1');
  await moreRows('traced');
  assert.equal(await idsOf('traced', '?limit=1'), before);
});

test('strategy head follows only input with a context', async () => {
  await rule('head', 'SELECT * FROM sim', [{ nop: {} }]);
  await server.request('POST', '/rules/head/trace/start', { strategy: 'head' });
  await moreRows('head');
  assert.equal(await idsOf('head'), []);
  const traceId = 'ab'.repeat(16);
  const data = [{ a: 1, note: { traceparent: `00-${traceId}-${'cd'.repeat(8)}-01` } }];
  await server.request('PUT', '/metadata/sources/simulator/confKeys/ctx', { data, interval: 10 });
  const sql = 'CREATE STREAM ctx () WITH (TYPE="simulator", CONF_KEY="ctx")';
  await server.request('POST', '/streams', { sql });
  await rule('head2', 'SELECT a FROM ctx', [{ nop: {} }]);
  await server.request('POST', '/rules/head2/trace/start', { strategy: 'head' });
  const ids = await eventually('a followed trace', async () => {
    const found = await idsOf('head2');
    return found.length > 0 ? found : undefined;
  });
  assert.equal(ids, [traceId]);
  assert.is(((await server.request('GET', `/trace/${traceId}`)).json as Span).ParentSpanID, 'cd'.repeat(8));
});

test('an option traces a rule from its start', async () => {
  await rule('opted', 'SELECT a FROM sim', [{ nop: {} }], { enableRuleTracer: true });
  assert.is(await isTraced('opted'), true);
  await traceWith('opted', '2_project');
});

test('wrong requests say what is wrong', async () => {
  const answers = [
    await server.request('POST', '/rules/traced/trace/start', '{bad'),
    await server.request('POST', '/rules/traced/trace/start', { strategy: 4 }),
    await server.request('POST', '/tracer', { action: 'dance' }),
    await server.request('POST', '/tracer', { action: 'start', collector_url: 7 }),
    await server.request('POST', '/tracer', { action: 'start', collector_url: 'ftp://x' }),
  ];
  for (const { status } of answers) assert.is(status, 400);
  assert.is((await server.request('POST', '/rules/none/trace/start', {})).status, 400);
  assert.is((await server.request('POST', '/rules/none/trace/stop')).status, 400);
  assert.is((await server.request('GET', '/trace/none')).status, 404);
  assert.equal(await idsOf('none'), []);
  await server.request('POST', '/rules/traced/stop');
  const stopped = await server.request('POST', '/rules/traced/trace/start', { strategy: 'always' });
  assert.is(stopped.status, 400);
  assert.match(stopped.json.message, /traced is not running/);
});

test.run();

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;

test.before(async () => {
  const port = await freePort();
  server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port) } });
  const rows = [1, 2, 3, 4, 5, 6].map((a) => ({ a, b: `x${a % 2}` }));
  await server.request('PUT', '/metadata/sources/simulator/confKeys/rows', { data: rows, interval: 5, loop: false });
  const sql = 'CREATE STREAM sim (a BIGINT, b STRING) WITH (TYPE="simulator", CONF_KEY="rows")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after(async () => void (await server.stop()));

const source = { type: 'source', nodeType: 'simulator', props: { sourceType: 'stream', sourceName: 'sim' } };
const operator = (nodeType: string, props: object) => ({ type: 'operator', nodeType, props });

let made = 0;

/** Runs a graph to the end of its rows and gives its status. */
async function run(nodes: object, edges: object, sources = ['src'], options = {}) {
  const id = `g${++made}`;
  const answer = await server.request('POST', '/rules', { id, graph: { nodes, topo: { sources, edges } }, options });
  assert.is(answer.status, 201, answer.text);
  const status: Record<string, number | string> = await eventually(`the end of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    if (json.status === 'Stopped' && json.message === 'done') return json;
    assert.is.not(json.status, 'Stopped: canceled by error.', json.message);
    return undefined;
  });
  return { id, status };
}

test('filter, function and pick make a query', async () => {
  const path = join(server.data, 'graph.txt');
  const { id, status } = await run(
    {
      src: source,
      big: operator('filter', { expr: 'same > 4' }),
      twice: operator('function', { expr: 'power(a, 1) as same' }),
      out: operator('pick', { fields: ['a', 'same as t'] }),
      sink: { type: 'sink', nodeType: 'file', props: { path, sendSingle: true } },
    },
    { src: ['twice'], twice: ['big'], big: ['out'], out: ['sink'] },
  );
  assert.is(status.source_sim_0_records_in_total, 6);
  assert.is(status.op_big_0_records_out_total, 2);
  assert.is(status.op_out_0_records_out_total, 2);
  assert.is(readFileSync(path, 'utf8'), '{"a":5,"t":5}\n{"a":6,"t":6}\n');
  const topology = (await server.request('GET', `/rules/${id}/topo`)).json;
  assert.equal(topology, {
    sources: ['source_sim'],
    edges: {
      source_sim: ['op_twice'],
      op_twice: ['op_big'],
      op_big: ['op_out'],
      op_out: ['op_sink_0_transform'],
      op_sink_0_transform: ['op_sink_1_encode'],
      op_sink_1_encode: ['sink_sink'],
    },
  });
  const explained = await server.request('GET', `/rules/${id}/explain`);
  assert.match(explained.text, /"op":"op_big","info":"FilterPlan Condition/);
});

test('a column that is picked is there in each row, as one that a statement selects', async () => {
  await server.request('PUT', '/metadata/sources/simulator/confKeys/gaps', {
    data: [{ a: 1, b: null }, { a: 2 }],
    interval: 5,
    loop: false,
  });
  const sql = 'CREATE STREAM gaps (a BIGINT, b STRING) WITH (TYPE="simulator", CONF_KEY="gaps")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const sent = async (fields: string[], options: object) => {
    const path = join(server.data, `gaps${++made}.txt`);
    const nodes = {
      src: { ...source, props: { sourceType: 'stream', sourceName: 'gaps' } },
      out: operator('pick', { fields }),
      sink: { type: 'sink', nodeType: 'file', props: { path, sendSingle: true } },
    };
    await run(nodes, { src: ['out'], out: ['sink'] }, ['src'], options);
    return readFileSync(path, 'utf8');
  };
  assert.is(await sent(['a', 'b'], { sendNilField: true }), '{"a":1,"b":null}\n{"a":2,"b":null}\n');
  assert.is(await sent(['a', 'b'], {}), '{"a":1,"b":null}\n{"a":2}\n');
  assert.is(await sent(['*'], { sendNilField: true }), '{"a":1,"b":null}\n{"a":2}\n');
});

test('a switch sends rows to the sinks of their cases', async () => {
  const { status } = await run(
    {
      src: source,
      by: operator('switch', { cases: ['a > 4', 'a > 2'], stopAtFirstMatch: true }),
      high: { type: 'sink', nodeType: 'memory', props: { topic: 'high' } },
      middle: { type: 'sink', nodeType: 'memory', props: { topic: 'middle' } },
    },
    { src: ['by'], by: [['high'], ['middle']] },
  );
  assert.is(status.sink_high_0_records_out_total, 2);
  assert.is(status.sink_middle_0_records_out_total, 2);
  assert.is(status.sourceRecordsInTotal, 6);
  assert.is(status.op_by_0_records_in_total, 6);
});

test('without stopping at the first match a row goes to all its cases', async () => {
  const { status } = await run(
    {
      src: source,
      by: operator('switch', { cases: ['a > 4', 'a > 2'] }),
      high: { type: 'sink', nodeType: 'nop', props: {} },
      middle: { type: 'sink', nodeType: 'nop', props: {} },
    },
    { src: ['by'], by: [['high'], ['middle']] },
  );
  assert.is(status.sink_high_0_records_out_total, 2);
  assert.is(status.sink_middle_0_records_out_total, 4);
});

test('windows, groups, aggregates, conditions on groups and order', async () => {
  const path = join(server.data, 'sums.txt');
  const { status } = await run(
    {
      src: source,
      early: operator('filter', { expr: 'a < 6' }),
      win: operator('window', { type: 'countwindow', unit: '', size: 4 }),
      grp: operator('groupby', { dimensions: ['b'] }),
      cnt: operator('aggfunc', { expr: 'sum(a) as s' }),
      hav: operator('filter', { expr: 's > 4' }),
      ord: operator('orderby', { sorts: [{ field: 's', desc: true }] }),
      out: operator('pick', { fields: ['b', 's'], isAgg: true }),
      sink: { type: 'sink', nodeType: 'file', props: { path, sendSingle: true } },
    },
    {
      src: ['early'],
      early: ['win'],
      win: ['grp'],
      grp: ['cnt'],
      cnt: ['hav'],
      hav: ['ord'],
      ord: ['out'],
      out: ['sink'],
    },
  );
  // Of 1 to 4 the even ones make 6, the odd ones 4; 5 waits for its window and 6 never came to it.
  assert.is(readFileSync(path, 'utf8'), '{"b":"x0","s":6}\n');
  assert.is(status.exceptionsTotal, 0);
});

const count = (size: number) => operator('window', { type: 'countwindow', size });
const file = (path: string) => ({ type: 'sink', nodeType: 'file', props: { path } });
const linesOf = (path: string) =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

test('a switch below a window sends the whole window where its first row belongs', async () => {
  const [low, high] = [join(server.data, 'low.txt'), join(server.data, 'high.txt')];
  await run(
    {
      src: source,
      win: count(3),
      by: operator('switch', { cases: ['a < 3', 'a >= 3'] }),
      low: file(low),
      high: file(high),
    },
    { src: ['win'], win: ['by'], by: [['low'], ['high']] },
  );
  const values = (path: string) => linesOf(path).map((rows: { a: number }[]) => rows.map(({ a }) => a));
  assert.equal(values(low), [[1, 2, 3]]);
  assert.equal(values(high), [[4, 5, 6]]);
});

test('cases of a switch below a window may use aggregates over it', async () => {
  const [small, large] = [join(server.data, 'small.txt'), join(server.data, 'large.txt')];
  const { id, status } = await run(
    {
      src: source,
      win: count(2),
      by: operator('switch', { cases: ['sum(a) < 5 AND b = "x1"', 'max(a) > 3', 'sum(cast(b, "bigint")) > 1'] }),
      grp: operator('aggfunc', { expr: 'sum(a) as s' }),
      out: operator('pick', { fields: ['s'], isAgg: true }),
      small: file(small),
      large: file(large),
      never: { type: 'sink', nodeType: 'nop', props: {} },
    },
    { src: ['win'], win: ['by'], by: [['small'], ['grp'], ['never']], grp: ['out'], out: ['large'] },
  );
  assert.equal(
    linesOf(small).map((rows: { a: number }[]) => rows.map(({ a }) => a)),
    [[1, 2]],
  );
  assert.equal(linesOf(large), [[{ s: 7 }], [{ s: 11 }]]);
  assert.is(status.op_by_0_records_in_total, 6);
  assert.is(status.op_by_0_records_out_total, 6);
  // A cast of these texts fails in every window, and for its own case only.
  assert.is(status.op_by_0_exceptions_total, 3);
  const { edges } = (await server.request('GET', `/rules/${id}/topo`)).json;
  assert.equal(edges.op_by, ['op_small_0_transform', 'op_grp', 'op_never_0_transform']);
});

test('a stream may come to a window on two ways, and to a sink', async () => {
  const [both, sums] = [join(server.data, 'both.txt'), join(server.data, 'ways.txt')];
  await run(
    {
      src: source,
      low: operator('filter', { expr: 'a < 3' }),
      even: operator('filter', { expr: 'mod(a, 2) = 0' }),
      win: count(5),
      sum: operator('aggfunc', { expr: 'sum(a) as s' }),
      out: operator('pick', { fields: ['s'], isAgg: true }),
      both: { type: 'sink', nodeType: 'file', props: { path: both, sendSingle: true, fields: ['a'] } },
      sums: file(sums),
    },
    { src: ['low', 'even'], low: ['win', 'both'], even: ['win', 'both'], win: ['sum'], sum: ['out'], out: ['sums'] },
  );
  assert.equal(linesOf(sums), [[{ s: 1 + 2 + 2 + 4 + 6 }]]);
  assert.equal(
    linesOf(both)
      .map(({ a }) => a)
      .sort(),
    [1, 2, 2, 4, 6],
  );
});

test('an empty window gives an aggregate of null on every branch', async () => {
  const id = `g${++made}`;
  const [sums, counts] = [join(server.data, 'none.txt'), join(server.data, 'zero.txt')];
  const nodes = {
    idle: { type: 'source', nodeType: 'httppush', props: { datasource: `/${id}` } },
    win: operator('window', { type: 'tumblingwindow', unit: 'ms', size: 50 }),
    sum: operator('aggfunc', { expr: 'sum(a) as s' }),
    out: operator('pick', { fields: ['s', 'window_end() > window_start() as known'] }),
    all: operator('aggfunc', { expr: 'count(*) as n' }),
    sums: file(sums),
    counts: file(counts),
  };
  const edges = { idle: ['win'], win: ['sum', 'all'], sum: ['out'], out: ['sums'], all: ['counts'] };
  const rule = { id, graph: { nodes, topo: { sources: ['idle'], edges } } };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  await eventually('empty windows', async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return json.sink_sums_0_records_out_total > 1 && json.sink_counts_0_records_out_total > 1;
  });
  assert.is((await server.request('DELETE', `/rules/${id}`)).status, 200);
  assert.equal(linesOf(sums)[0], [{ s: null, known: true }]);
  assert.equal(linesOf(counts)[0], [{ n: null }]);
});

test('a traced rule has spans along the branches of its graph', async () => {
  const id = `g${++made}`;
  const data = [{ a: 1 }];
  const nodes = {
    own: { type: 'source', nodeType: 'simulator', props: { data, interval: 20, loop: true } },
    no: operator('filter', { expr: 'a > 1' }),
    yes: operator('filter', { expr: 'a = 1' }),
    never: { type: 'sink', nodeType: 'nop', props: {} },
    sink: { type: 'sink', nodeType: 'nop', props: {} },
  };
  const edges = { own: ['no', 'yes'], no: ['never'], yes: ['sink'] };
  const options = { enableRuleTracer: true };
  const rule = { id, options, graph: { nodes, topo: { sources: ['own'], edges } } };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  await server.request('POST', `/rules/${id}/trace/start`, { strategy: 'always' });
  const root = await eventually('a trace', async () => {
    const [traceId] = (await server.request('GET', `/trace/rule/${id}`)).json as string[];
    if (traceId === undefined) return undefined;
    const answer = await server.request('GET', `/trace/${traceId}`);
    return answer.status === 200 ? answer.json : undefined;
  });
  await server.request('DELETE', `/rules/${id}`);
  type Span = { Name: string; ChildSpan: Span[] | null };
  const names = ({ Name, ChildSpan }: Span): string =>
    [Name, ...(ChildSpan ?? []).map((child) => `(${names(child)})`)].join(' ');
  assert.is(names(root), 'own (no) (yes (sink_0_transform (sink_1_encode (sink))))');
});

test('branches share their window, which takes each row in once', async () => {
  const [rows, sums] = [join(server.data, 'rows.txt'), join(server.data, 'groups.txt')];
  const { status } = await run(
    {
      src: source,
      win: count(3),
      odd: operator('filter', { expr: "b = 'x1'" }),
      grp: operator('groupby', { dimensions: ['b'] }),
      sum: operator('aggfunc', { expr: 'sum(a) as s' }),
      out: operator('pick', { fields: ['b', 's'], isAgg: true }),
      rows: file(rows),
      sums: file(sums),
    },
    { src: ['win'], win: ['odd', 'grp'], odd: ['rows'], grp: ['sum'], sum: ['out'], out: ['sums'] },
  );
  assert.equal(
    linesOf(rows).map((list: { a: number }[]) => list.map(({ a }) => a)),
    [[1, 3], [5]],
  );
  assert.equal(linesOf(sums), [
    [
      { b: 'x1', s: 4 },
      { b: 'x0', s: 2 },
    ],
    [
      { b: 'x0', s: 10 },
      { b: 'x1', s: 5 },
    ],
  ]);
  assert.is(status.op_win_0_records_in_total, 6);
  assert.is(status.op_odd_0_records_out_total, 3);
  assert.is(status.op_grp_0_records_out_total, 4);
});

test('a function without an answer gives null, and * means what the stream sent', async () => {
  const [all, sent] = [join(server.data, 'all.txt'), join(server.data, 'sent.txt')];
  await run(
    {
      own: { type: 'source', nodeType: 'simulator', props: { data: [{ v: 1 }], interval: 5, loop: false } },
      fn: operator('function', { expr: 'abs(missing) as none' }),
      pick: operator('pick', { fields: ['*'] }),
      all: file(all),
      sent: file(sent),
    },
    { own: ['fn'], fn: ['all', 'pick'], pick: ['sent'] },
    ['own'],
  );
  assert.equal(linesOf(all), [[{ v: 1, none: null }]]);
  assert.equal(linesOf(sent), [[{ v: 1 }]]);
});

test('a graph may define its source itself', async () => {
  const inline = {
    type: 'source',
    nodeType: 'simulator',
    props: { data: [{ v: 1 }, { v: 2 }], interval: 5, loop: false },
  };
  const { status } = await run({ own: inline, sink: { type: 'sink', nodeType: 'nop', props: {} } }, { own: ['sink'] }, [
    'own',
  ]);
  assert.is(status.source_own_0_records_in_total, 2);
});

test.run();

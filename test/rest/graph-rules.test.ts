import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, startServer, type TestServer } from '../harness.js';

let server: TestServer;
/** Address for pushed rows. */
let data: string;

test.before(async () => {
  const port = await freePort();
  data = `http://127.0.0.1:${port}`;
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
async function run(nodes: object, edges: object, sources = ['src']) {
  const id = `g${++made}`;
  const answer = await server.request('POST', '/rules', { id, graph: { nodes, topo: { sources, edges } } });
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

/** A graph of two streams of pushed rows that meet in a window of four; what comes of `rows` is returned. */
async function meet(above: object, edges: object, before: { nodes: object; edges: object } | null = null) {
  const id = `g${++made}`;
  const path = join(server.data, `${id}.txt`);
  const pushed = (name: string) => ({ type: 'source', nodeType: 'httppush', props: { datasource: `/${id}${name}` } });
  const nodes = { west: pushed('l'), east: pushed('r'), win: count(4), ...above, ...before?.nodes, sink: file(path) };
  const all = { west: ['win'], east: ['win'], ...before?.edges, ...edges };
  const rule = { id, graph: { nodes, topo: { sources: ['west', 'east'], edges: all } } };
  const answer = await server.request('POST', '/rules', rule);
  assert.is(answer.status, 201, answer.text);
  await eventually(`the start of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    const names = ['west', 'east'].map((name) => `source_${name}_0_connection_status`);
    return names.every((name) => json[name] === 1) || undefined;
  });
  const rows: [string, object][] = [
    ['l', { id: 1, v: 'a' }],
    ['r', { id: 1, w: 10 }],
    ['l', { id: 2, v: 'b' }],
    ['r', { id: 3, w: 30 }],
  ];
  for (const [name, row] of rows) await request(data, 'POST', `/${id}${name}`, row);
  const lines = await eventually(`a line of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return json.sink_sink_0_records_out_total > 0 ? linesOf(path) : undefined;
  });
  await server.request('DELETE', `/rules/${id}`);
  return lines;
}

const joinOf = (type: string) =>
  operator('join', { from: 'west', joins: [{ name: 'east', type, on: 'west.id = east.id' }] });
const pickBoth = operator('pick', { fields: ['west.id as l', 'east.id as r', 'v', 'w'] });
const joinEdges = { win: ['join'], join: ['out'], out: ['sink'] };

test('join nodes join the streams of a window: all types', async () => {
  const both = { l: 1, r: 1, v: 'a', w: 10 };
  const left = { l: 2, v: 'b' };
  const right = { r: 3, w: 30 };
  const expected: [string, object[]][] = [
    ['inner', [both]],
    ['left', [both, left]],
    ['right', [both, right]],
    ['full', [both, left, right]],
  ];
  for (const [type, rows] of expected) {
    assert.equal(await meet({ join: joinOf(type), out: pickBoth }, joinEdges), [rows], type);
  }
});

test('what functions and filters before the window do holds for the rows of their stream only', async () => {
  const before = {
    nodes: { fn: operator('function', { expr: 'coalesce(w, 5) as q' }), big: operator('filter', { expr: 'q > 10' }) },
    edges: { east: ['fn'], fn: ['big'], big: ['win'] },
  };
  const out = operator('pick', { fields: ['v', 'q'] });
  const lines = await meet({ win: count(3), join: joinOf('full'), out }, joinEdges, before);
  assert.equal(lines, [[{ v: 'a' }, { v: 'b' }, { q: 30 }]]);
});

test('streams may meet in a window without a join', async () => {
  const lines = await meet(
    { n: operator('aggfunc', { expr: 'count(*) as n' }), out: operator('pick', { fields: ['n', 'w'] }) },
    { win: ['n'], n: ['out'], out: ['sink'] },
  );
  assert.equal(lines, [[{ n: 4 }]]);
});

test('graphs that make no query are refused with the node and the reason', async () => {
  const sink = { type: 'sink', nodeType: 'nop', props: {} };
  const refusals: [object, object, RegExp][] = [
    [{ src: source }, { src: [] }, /src has no edge/],
    [{ src: source, sink }, { src: ['gone'] }, /gone is not defined/],
    [{ src: source, sink }, { src: ['sink'], sink: ['src'] }, /sink sink can't have an edge/],
    [{ src: source, f: operator('filter', {}), sink }, { src: ['f'], f: ['sink'] }, /node f \(filter\): expr must be/],
    [{ src: source, f: operator('filter', { expr: 'a >' }), sink }, { src: ['f'], f: ['sink'] }, /node f \(filter\)/],
    [{ src: source, f: operator('dance', {}), sink }, { src: ['f'], f: ['sink'] }, /node f \(dance\)/],
    [
      { src: source, f: operator('filter', { expr: 'a > 1' }), g: operator('filter', { expr: 'a > 1' }), sink },
      { src: ['f', 'sink'], f: ['g'], g: ['f'] },
      /f, g run in a circle/,
    ],
    [
      { src: source, p: operator('pick', { fields: ['a'] }), f: operator('filter', { expr: 'b > 1' }), sink },
      { src: ['p'], p: ['f'], f: ['sink'] },
      /column b was not picked/,
    ],
    [
      { src: { type: 'source', nodeType: 'simulator', props: { sourceName: 'nowhere' } }, sink },
      { src: ['sink'] },
      /nowhere/,
    ],
    [{ src: { type: 'spring', nodeType: 'x' }, sink }, { src: ['sink'] }, /nodes\.src\.type is "spring"/],
  ];
  // One operator between source and sink, or two.
  const alone: [object, RegExp][] = [
    [operator('aggfunc', { expr: 'sum(a)' }), /node f \(aggfunc\) takes a collection, but src gives rows/],
    [operator('groupby', { dimensions: ['a'] }), /node f \(groupby\) takes a collection, but src gives rows/],
    [operator('orderby', { sorts: [{ field: 'a' }] }), /node f \(orderby\) takes a collection, but src gives rows/],
    [operator('script', { script: 'x' }), /node f \(script\) is not supported: scripts would/],
    [operator('watermark', {}), /node f \(watermark\): emitters must be a list/],
    [operator('watermark', { emitters: ['gone'] }), /node f \(watermark\): emitters: "gone" is no stream of the rule/],
    [operator('window', { type: 'countwindow', size: 0 }), /node f \(window\): size must be a whole number above 0/],
    [
      operator('window', { type: 'hoppingwindow', unit: 'ss', size: 2, interval: 0 }),
      /node f \(window\): interval must be a whole number above 0/,
    ],
    [operator('window', { type: 'sessionwindow', unit: 'ss', size: 2 }), /interval must be a whole number above 0/],
    [
      operator('window', { type: 'hoppingwindow', unit: 'ss', size: 2, interval: 3 }),
      /interval must not be greater than size/,
    ],
  ];
  for (const [f, reason] of alone) refusals.push([{ src: source, f, sink }, { src: ['f'], f: ['sink'] }, reason]);
  const pairs: [object, object, RegExp][] = [
    [count(2), count(2), /node g \(window\) takes rows, but f gives a collection/],
    [
      count(2),
      operator('watermark', { emitters: ['sim'] }),
      /node g \(watermark\) takes rows, but f gives a collection/,
    ],
  ];
  for (const [f, g, reason] of pairs) {
    refusals.push([{ src: source, f, g, sink }, { src: ['f'], f: ['g'], g: ['sink'] }, reason]);
  }
  refusals.push(
    [
      {
        src: source,
        w: count(2),
        g: operator('groupby', { dimensions: ['a'] }),
        f: operator('function', { expr: 'abs(a) as b' }),
        sink,
      },
      { src: ['w'], w: ['g'], g: ['f'], f: ['sink'] },
      /node f \(function\) takes rows or a collection, but g gives groups/,
    ],
    [
      {
        src: source,
        f: operator('filter', { expr: 'a > 1' }),
        g: operator('filter', { expr: 'a > 2' }),
        h: operator('pick', { fields: ['a'] }),
        sink,
      },
      { src: ['f', 'g'], f: ['h'], g: ['h'], h: ['sink'] },
      /node h \(pick\) takes one input, not f, g/,
    ],
    [
      { src: { ...source, nodeType: 'mqtt' }, sink },
      { src: ['sink'] },
      /source src: nodeType is mqtt, but sim is of type simulator/,
    ],
    [
      { src: { ...source, props: { sourceType: 'table', sourceName: 'sim' } }, sink },
      { src: ['sink'] },
      /source src: sourceType is table, but sim is a stream/,
    ],
  );
  for (const [nodes, edges, reason] of refusals) {
    const answer = await server.request('POST', '/rules', {
      id: 'bad',
      graph: { nodes, topo: { sources: ['src'], edges } },
    });
    assert.is(answer.status, 400, String(reason));
    assert.match(answer.json.message, reason);
  }
  const both = { id: 'bad', sql: 'SELECT a FROM sim', graph: {}, actions: [{ nop: {} }] };
  assert.match((await server.request('POST', '/rules', both)).json.message, /both sql and graph/);
});

test.run();

/** Join nodes of graphs: streams of a window with each other and with tables, rows in, rows out. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, startServer, type TestServer } from '../../support/harness.js';

type Row = Record<string, unknown>;

let server: TestServer;
/** Address for pushed rows. */
let data: string;
let made = 0;

test.before(async () => {
  const port = await freePort();
  data = `http://127.0.0.1:${port}`;
  server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port) } });
  for (const name of ['places', 'owners']) {
    const sql = `CREATE TABLE ${name} () WITH (DATASOURCE="/${name}", TYPE="httppush", FORMAT="json", RETAIN_SIZE="9")`;
    assert.is((await server.request('POST', '/tables', { sql })).status, 201);
  }
});
test.after(async () => void (await server.stop()));

const operator = (nodeType: string, props: object) => ({ type: 'operator', nodeType, props });
const count = (size: number) => operator('window', { type: 'countwindow', size });
const pushed = (path: string) => ({ type: 'source', nodeType: 'httppush', props: { datasource: path } });
const table = (sourceName: string) => ({
  type: 'source',
  nodeType: 'httppush',
  props: { sourceType: 'table', sourceName },
});

/**
 * Runs a graph whose sink is `sink` and pushes rows to its sources once all are there; gives the first messages, as
 * many as asked for.
 */
async function runGraph(
  nodes: Record<string, object>,
  edges: object,
  rows: readonly (readonly [string, Row])[],
  { messages = 1, options = {} } = {},
): Promise<unknown[]> {
  const id = `join${++made}`;
  const path = join(server.data, `${id}.txt`);
  const sink = { type: 'sink', nodeType: 'file', props: { path } };
  const sources = Object.keys(nodes).filter((name) => (nodes[name] as { type: string }).type === 'source');
  const graph = { nodes: { ...nodes, sink }, topo: { sources, edges } };
  const answer = await server.request('POST', '/rules', { id, graph, options });
  assert.is(answer.status, 201, answer.text);
  const status = async () => (await server.request('GET', `/rules/${id}/status`)).json;
  await eventually(`the start of ${id}`, async () => {
    const json = await status();
    const states = Object.keys(json).filter((key) => key.endsWith('_connection_status'));
    return (states.length >= sources.length && states.every((key) => json[key] === 1)) || undefined;
  });
  for (const [to, row] of rows) await request(data, 'POST', `/${to}`, row);
  await eventually(
    `messages of ${id}`,
    async () => (await status()).sink_sink_0_records_out_total >= messages || undefined,
  );
  await server.request('DELETE', `/rules/${id}`);
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** A graph of two streams that meet in a window of four rows. */
async function meet(above: object, edges: object, before: { nodes: object; edges: object } | null = null) {
  const id = `meet${++made}`;
  const nodes = {
    ...{ west: pushed(`/${id}l`), east: pushed(`/${id}r`), win: count(4) },
    ...{ ...above, ...before?.nodes },
  };
  return await runGraph(nodes, { west: ['win'], east: ['win'], ...before?.edges, ...edges }, [
    [`${id}l`, { id: 1, v: 'a' }],
    [`${id}r`, { id: 1, w: 10 }],
    [`${id}l`, { id: 2, v: 'b' }],
    [`${id}r`, { id: 3, w: 30 }],
  ]);
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

test('functions, filters and picks may stand between the window and the join', async () => {
  const chain = (names: string[]) =>
    Object.fromEntries(names.slice(1).map((name, i) => [names[i], [name]])) as Record<string, string[]>;
  const edges = chain(['win', 'fn', 'keep', 'pick', 'join', 'out', 'sink']);
  const above = (type: string, keep: string) => ({
    fn: operator('function', { expr: 'coalesce(w, 7) as q' }),
    keep: operator('filter', { expr: keep }),
    pick: operator('pick', { fields: ['id', 'q', 'v'] }),
    join: joinOf(type),
    out: operator('pick', { fields: ['west.q as l', 'east.q as r', 'q', 'v'] }),
  });
  const both = { l: 7, r: 10, q: 7, v: 'a' };
  assert.equal(await meet(above('inner', 'q > 0'), edges), [[both]]);
  assert.equal(await meet(above('full', 'q > 0'), edges), [[both, { l: 7, q: 7, v: 'b' }, { r: 30, q: 30 }]]);
  // The filter leaves out the first row of the east.
  const late = [
    { l: 7, q: 7, v: 'a' },
    { l: 7, q: 7, v: 'b' },
    { r: 30, q: 30 },
  ];
  assert.equal(await meet(above('full', 'q != 10'), edges), [late]);
});

test('a function between the window and the join that gives no value gives null', async () => {
  const above = {
    fn: operator('function', { expr: 'abs(w) as s' }),
    join: joinOf('full'),
    out: operator('pick', { fields: ['west.s as l', 'east.s as r', 's'] }),
  };
  const edges = { win: ['fn'], fn: ['join'], join: ['out'], out: ['sink'] };
  assert.equal(await meet(above, edges), [[{ r: 10, s: null }, { s: null }, { r: 30, s: 30 }]]);
  const uuid = { ...above, fn: operator('function', { expr: 'newuuid() as s' }) };
  const nodes = {
    west: pushed('/u1'),
    east: pushed('/u2'),
    win: count(4),
    ...uuid,
    sink: { type: 'sink', nodeType: 'nop' },
  };
  const graph = { nodes, topo: { sources: ['west', 'east'], edges: { west: ['win'], east: ['win'], ...edges } } };
  const { status, json } = await server.request('POST', '/rules', { id: 'bad', graph });
  assert.is(status, 400);
  assert.match(json.message, /node join \(join\): what gives another value each time/);
});

test(
  'what another stream computed before the window is not there in rows of this one, whatever is made of ' + 'it',
  async () => {
    const before = {
      nodes: { fn: operator('function', { expr: 'coalesce(w, 5) as q' }) },
      edges: { east: ['fn'], fn: ['win'] },
    };
    const above = {
      more: operator('function', { expr: 'coalesce(q, 100) as p' }),
      join: joinOf('full'),
      out: operator('pick', { fields: ['west.p as l', 'east.p as r', 'east.q as q'] }),
    };
    const edges = { win: ['more'], more: ['join'], join: ['out'], out: ['sink'] };
    assert.equal(await meet(above, edges, before), [[{ l: 100, r: 10, q: 10 }, { l: 100 }, { r: 30, q: 30 }]]);
  },
);

test('a constant that one stream was given is not there in rows of others', async () => {
  const before = {
    nodes: { fn: operator('function', { expr: 'power(2, 3) as p' }) },
    edges: { east: ['fn'], fn: ['win'] },
  };
  const out = operator('pick', { fields: ['v', 'p'] });
  assert.equal(await meet({ join: joinOf('left'), out }, joinEdges, before), [[{ v: 'a', p: 8 }, { v: 'b' }]]);
});

test('streams of the window that no join names are left out', async () => {
  const id = `three${++made}`;
  const nodes = {
    ...{ west: pushed(`/${id}l`), other: pushed(`/${id}o`), east: pushed(`/${id}r`), win: count(4) },
    ...{ join: joinOf('full'), out: operator('pick', { fields: ['*'] }) },
  };
  const edges = { west: ['win'], other: ['win'], east: ['win'], win: ['join'], join: ['out'], out: ['sink'] };
  const rows: [string, Row][] = [
    [`${id}o`, { id: 1, o: true }],
    [`${id}l`, { id: 1, v: 'a' }],
    [`${id}r`, { id: 1, w: 10 }],
    [`${id}o`, { id: 2, o: true }],
  ];
  assert.equal(await runGraph(nodes, edges, rows), [[{ id: 1, v: 'a', w: 10 }]]);
});

const places: [string, Row][] = [
  ['places', { id: 1, name: 'one' }],
  ['places', { id: 2, name: 'two' }],
];
const atPlace = (type: string) =>
  operator('join', { from: 'visits', joins: [{ name: 'places', type, on: 'visits.place = places.id' }] });

test('a table is joined with each message of a stream as it comes', async () => {
  const id = `alone${++made}`;
  const nodes = {
    ...{ visits: pushed(`/${id}`), places: table('places') },
    twice: operator('function', { expr: 'power(place, 2) as square' }),
    join: atPlace('left'),
    known: operator('filter', { expr: 'square < 5' }),
    out: operator('pick', { fields: ['who', 'places.name as name', 'square'] }),
  };
  const edges = {
    visits: ['twice'],
    twice: ['join'],
    places: ['join'],
    join: ['known'],
    known: ['out'],
    out: ['sink'],
  };
  const visits: [string, Row][] = [
    [id, { who: 'a', place: 2 }],
    [id, { who: 'b', place: 3 }],
    [id, { who: 'c', place: 1 }],
    [id, { who: 'd', place: 0 }],
  ];
  assert.equal(await runGraph(nodes, edges, [...places, ...visits], { messages: 3 }), [
    [{ who: 'a', name: 'two', square: 4 }],
    [{ who: 'c', name: 'one', square: 1 }],
    [{ who: 'd', square: 0 }],
  ]);
});

test('in event time rows come to the table in the order of their times', async () => {
  const id = `timed${++made}`;
  const timed = { type: 'source', nodeType: 'httppush', props: { datasource: `/${id}`, timestamp: 'ts' } };
  const nodes = {
    ...{ visits: timed, places: table('places'), join: atPlace('left') },
    out: operator('pick', { fields: ['ts', 'name'] }),
  };
  const edges = { visits: ['join'], places: ['join'], join: ['out'], out: ['sink'] };
  const visits: [string, Row][] = [
    [id, { ts: 3000, place: 2 }],
    [id, { ts: 2000, place: 1 }],
    [id, { ts: 9000, place: 1 }],
  ];
  const options = { isEventTime: true, lateTolerance: '2s' };
  assert.equal(await runGraph(nodes, edges, [...places, ...visits], { messages: 2, options }), [
    [{ ts: 2000, name: 'one' }],
    [{ ts: 3000, name: 'two' }],
  ]);
});

test('tables are joined with the rows of a window, and groups are made of the pairs', async () => {
  const id = `window${++made}`;
  const nodes = {
    ...{ visits: pushed(`/${id}`), places: table('places'), owners: table('owners'), win: count(3) },
    join: operator('join', {
      from: 'visits',
      joins: [
        { name: 'places', type: 'inner', on: 'visits.place = places.id' },
        { name: 'owners', type: 'left', on: 'owners.place = places.id' },
      ],
    }),
    grp: operator('groupby', { dimensions: ['name'] }),
    sum: operator('aggfunc', { expr: 'sum(n) as s' }),
    ord: operator('orderby', { sorts: [{ field: 'name' }] }),
    out: operator('pick', { fields: ['name', 's', 'owner'], isAgg: true }),
  };
  const edges = {
    ...{ visits: ['win'], win: ['join'], places: ['join'], owners: ['join'], join: ['grp'] },
    ...{ grp: ['sum'], sum: ['ord'], ord: ['out'], out: ['sink'] },
  };
  const rows: [string, Row][] = [
    ...places,
    ['owners', { place: 2, owner: 'x' }],
    [id, { place: 2, n: 1 }],
    [id, { place: 1, n: 10 }],
    [id, { place: 2, n: 100 }],
  ];
  assert.equal(await runGraph(nodes, edges, rows), [
    [
      { name: 'one', s: 10 },
      { name: 'two', s: 101, owner: 'x' },
    ],
  ]);
});

test('two streams of a window and a table are one join', async () => {
  const id = `both${++made}`;
  const nodes = {
    ...{ west: pushed(`/${id}l`), east: pushed(`/${id}r`), places: table('places'), win: count(2) },
    join: operator('join', {
      from: 'west',
      joins: [
        { name: 'east', type: 'inner', on: 'west.id = east.id' },
        { name: 'places', type: 'inner', on: 'east.id = places.id' },
      ],
    }),
    out: operator('pick', { fields: ['v', 'w', 'name'] }),
  };
  const edges = { west: ['win'], east: ['win'], places: ['join'], win: ['join'], join: ['out'], out: ['sink'] };
  const rows: [string, Row][] = [...places, [`${id}l`, { id: 2, v: 'a' }], [`${id}r`, { id: 2, w: 10 }]];
  assert.equal(await runGraph(nodes, edges, rows), [[{ v: 'a', w: 10, name: 'two' }]]);
});

test('messages and windows look rows up in lookup tables, those that are kept and those that are asked', async () => {
  const data = [
    { id: 1, name: 'one' },
    { id: 2, name: 'two' },
  ];
  await server.request('PUT', '/metadata/sources/simulator/confKeys/names', { data });
  const asked =
    'CREATE TABLE asked () WITH (DATASOURCE="x", TYPE="simulator", CONF_KEY="names", KIND="lookup", KEY="id")';
  const kept = 'CREATE TABLE kept () WITH (DATASOURCE="kept", TYPE="memory", KIND="lookup", KEY="id")';
  for (const sql of [asked, kept]) assert.is((await server.request('POST', '/tables', { sql })).status, 201);
  const tableNode = (nodeType: string, sourceName: string) => ({
    type: 'source',
    nodeType,
    props: { sourceType: 'table', sourceName },
  });
  const look = (type: string, name: string) =>
    operator('join', { from: 'visits', joins: [{ name, type, on: `visits.id = ${name}.id` }] });
  const run = async (above: Record<string, object>, edges: object, messages: number) => {
    const id = `look${++made}`;
    const nodes = {
      ...{ visits: pushed(`/${id}`), asked: tableNode('simulator', 'asked') },
      ...above,
      out: operator('pick', { fields: ['v', 'name'] }),
    };
    const rows = [1, 3, 2].map((n): [string, Row] => [id, { id: n, v: `v${n}` }]);
    return await runGraph(nodes, { ...edges, asked: ['join'], join: ['out'], out: ['sink'] }, rows, { messages });
  };
  const both = [[{ v: 'v1', name: 'one' }], [{ v: 'v2', name: 'two' }]];
  assert.equal(await run({ join: look('inner', 'asked') }, { visits: ['join'] }, 2), both);
  assert.equal(
    (await run({ win: count(3), join: look('left', 'asked') }, { visits: ['win'], win: ['join'] }, 1)).flat(),
    [both[0]![0], { v: 'v3' }, both[1]![0]],
  );
  // Nothing has come to the table that is kept.
  const id = `look${++made}`;
  const nodes = {
    ...{ visits: pushed(`/${id}`), kept: tableNode('memory', 'kept'), join: look('left', 'kept') },
    out: operator('pick', { fields: ['v', 'name'] }),
  };
  const edges = { visits: ['join'], kept: ['join'], join: ['out'], out: ['sink'] };
  assert.equal(await runGraph(nodes, edges, [[id, { id: 1, v: 'v1' }]]), [[{ v: 'v1' }]]);
});

test('joins with tables that cannot be are refused with the node and the table', async () => {
  const looked = { type: 'source', nodeType: 'simulator', props: { sourceType: 'table', sourceName: 'asked' } };
  const sink = { type: 'sink', nodeType: 'nop', props: {} };
  const stream = { visits: pushed('/refused'), sink };
  const joinAll = { visits: ['join'], places: ['join'], join: ['sink'] };
  const refusals: [Record<string, object>, object, RegExp][] = [
    [
      {
        places: looked,
        join: operator('join', { from: 'visits', joins: [{ name: 'places', type: 'full', on: 'a = b' }] }),
      },
      joinAll,
      /node join \(join\): the lookup table places can be joined by INNER JOIN and LEFT JOIN only/,
    ],
    [
      { places: table('places'), f: operator('filter', { expr: 'id > 1' }) },
      { visits: ['sink'], places: ['f'], f: ['sink'] },
      /node f \(filter\) cannot read the table places: tables lead to join nodes only/,
    ],
    [
      { places: table('places') },
      { visits: ['sink'], places: ['sink'] },
      /node sink \(nop\) cannot read the table places/,
    ],
    [
      { places: table('places'), join: atPlace('left') },
      { visits: ['sink'], places: ['join'], join: ['sink'] },
      /node join \(join\) needs a stream, to which tables are joined/,
    ],
    [
      { places: table('places'), owners: table('owners'), join: atPlace('left') },
      { ...joinAll, owners: ['join'] },
      /node join \(join\): joins: table owners is not joined/,
    ],
    [{ places: table('gone'), join: atPlace('left') }, joinAll, /gone is not known/],
    [{ join: atPlace('left') }, { visits: ['join'], join: ['sink'] }, /takes a collection, but visits gives rows/],
  ];
  for (const [nodes, edges, reason] of refusals) {
    const all: Record<string, object> = { ...stream, ...nodes };
    const sources = Object.keys(all).filter((name) => (all[name] as { type: string }).type === 'source');
    const rule = { id: 'bad', graph: { nodes: all, topo: { sources, edges } } };
    const { status, json } = await server.request('POST', '/rules', rule);
    assert.is(status, 400, String(reason));
    assert.match(json.message, reason);
  }
});

test.run();

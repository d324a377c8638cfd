/** Graphs whose nodes look back at the rows before, and nodes with scripts: rows of a file in, rows of a file out. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

type Row = Record<string, unknown>;

let server: TestServer;
let made = 0;

test.before(async () => {
  server = await startServer();
  await server.request('PUT', '/metadata/sources/file/confKeys/here', { path: server.data, fileType: 'lines' });
});
test.after(async () => void (await server.stop()));

const operator = (nodeType: string, props: object) => ({ type: 'operator', nodeType, props });
const script = (text: string, isAgg = false) => operator('script', { script: text, isAgg });
const pick = (...fields: string[]) => operator('pick', { fields });
const count = (size: number) => operator('window', { type: 'countwindow', size });

const rows: Row[] = [
  { a: 1, k: 'x', ts: 1000 },
  { a: 1, k: 'y', ts: 2000 },
  { a: 3, k: 'x', ts: 3000 },
  { a: 4, k: 'x', ts: 4000 },
  { a: 4, k: 'y', ts: 5000 },
];

/** Sends the rows through the nodes, one behind the other, and gives what comes out; errors as they are written. */
async function through(nodes: readonly object[], input: readonly Row[] = rows, options: Row = {}): Promise<unknown[]> {
  const id = `seq${++made}`;
  writeFileSync(join(server.data, `${id}.in`), input.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const props = {
    datasource: `${id}.in`,
    confKey: 'here',
    format: 'json',
    timestamp: options.isEventTime ? 'ts' : null,
  };
  const names = ['demo', ...nodes.map((_, i) => `n${i}`), 'out'];
  const path = join(server.data, `${id}.out`);
  const all = [
    { type: 'source', nodeType: 'file', props },
    ...nodes,
    { type: 'sink', nodeType: 'file', props: { path, sendSingle: true } },
  ];
  const graph = {
    nodes: Object.fromEntries(names.map((name, i) => [name, all[i]])),
    topo: { sources: ['demo'], edges: Object.fromEntries(names.slice(1).map((name, i) => [names[i], [name]])) },
  };
  const answer = await server.request('POST', '/rules', { id, graph, options: { sendError: true, ...options } });
  assert.is(answer.status, 201, answer.text);
  await eventually(`the end of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return /^stopped/i.test(json.status) || undefined;
  });
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => (line.startsWith('{') ? JSON.parse(line) : line));
}

test('functions look back at the rows that come to their node', async () => {
  const of = async (expr: string, ...before: object[]) =>
    (await through([...before, operator('function', { expr: `${expr} as l` }), pick('l')])).map(
      (row) => (row as Row).l,
    );
  assert.equal(await of('lag(a)'), [null, 1, 1, 3, 4]);
  assert.equal(await of('lag(a) over (partition by k)'), [null, null, 1, 3, 1]);
  assert.equal(await of('lag(a) over (when a > 1)'), [null, null, null, 3, 4]);
  assert.equal(await of('acc_sum(a)'), [1, 2, 5, 9, 13]);
  assert.equal(await of('latest(a, 0)', operator('filter', { expr: 'k = "x"' })), [1, 3, 4], 'behind a filter');
  assert.equal(await of('lag(a)', count(2)), [null, 1, 1, 3], 'in windows');
});

test('the same function at two places sees what comes to each', async () => {
  const nodes = [
    operator('function', { expr: 'lag(a) as before' }),
    operator('filter', { expr: 'k = "x"' }),
    operator('function', { expr: 'lag(a) as later' }),
    pick('before', 'later'),
  ];
  assert.equal(await through(nodes), [
    { before: null, later: null },
    { before: 1, later: 1 },
    { before: 3, later: 3 },
  ]);
});

test('filters, switches and picks look back', async () => {
  const ids = (some: unknown[]) => some.map((row) => (row as Row).ts);
  assert.equal(ids(await through([operator('filter', { expr: 'had_changed(true, a) = true' })])), [1000, 3000, 4000]);
  assert.equal(ids(await through([operator('filter', { expr: 'lag(a) = 1' })])), [2000, 3000]);
  assert.equal(await through([pick('a', 'lag(a) + 1 as l')]), [
    { a: 1 },
    { a: 1, l: 2 },
    { a: 3, l: 2 },
    { a: 4, l: 4 },
    { a: 4, l: 5 },
  ]);
  assert.equal(await through([pick('changed_cols("c_", true, a)')]), [{ c_a: 1 }, {}, { c_a: 3 }, { c_a: 4 }, {}]);
  assert.equal(await through([pick('changed_cols("c_", true, a)'), operator('filter', { expr: 'c_a > 3' })]), [
    { c_a: 4 },
  ]);
});

test('what was computed of the rows before is aggregated in windows', async () => {
  const nodes = [
    operator('function', { expr: 'lag(a, 1, 0) as l' }),
    count(4),
    operator('groupby', { dimensions: ['k'] }),
    operator('aggfunc', { expr: 'sum(l) as s' }),
    operator('orderby', { sorts: [{ field: 'k' }] }),
    pick('k', 's'),
  ];
  assert.equal(await through(nodes), [
    { k: 'x', s: 4 },
    { k: 'y', s: 1 },
  ]);
});

test('a script makes of each row another, and the nodes behind it know only that', async () => {
  const twice = script('function exec(msg) { return { v: msg.a * 2, o: { x: msg.k } }; }');
  const nodes = [twice, operator('function', { expr: 'lag(v) as l' }), operator('filter', { expr: 'v > 2' })];
  assert.equal(await through(nodes), [
    { v: 6, o: { x: 'x' }, l: 2 },
    { v: 8, o: { x: 'x' }, l: 6 },
    { v: 8, o: { x: 'y' }, l: 8 },
  ]);
  assert.equal(
    await through([twice, pick('o->x as x', 'a')]),
    [...'xyxxy'].map((x) => ({ x })),
  );
});

test('a script keeps what is outside of exec from row to row, and sees columns that were computed', async () => {
  const sums = script('let sum = 0; function exec(msg) { sum += msg.l; return { sum }; }');
  const nodes = [operator('function', { expr: 'abs(a) as l' }), sums];
  assert.equal(
    await through(nodes),
    [1, 2, 5, 9, 13].map((sum) => ({ sum })),
  );
});

test('a script makes of a window one row, or others', async () => {
  const one = script('function exec(msgs) { return { n: msgs.length, first: msgs[0].a }; }', true);
  assert.equal(await through([count(2), one]), [
    { n: 2, first: 1 },
    { n: 2, first: 3 },
  ]);
  assert.equal(await through([count(2), one, pick('n + first as s')]), [{ s: 3 }, { s: 5 }]);
  const others = script('function exec(msgs) { return msgs.filter((m) => m.a > 1).map((m) => ({ v: m.a * 2 })); }');
  assert.equal(await through([count(2), others]), [{ v: 6 }, { v: 8 }]);
  assert.equal(await through([count(4), others, operator('filter', { expr: 'v > 6' })]), [{ v: 8 }]);
});

test('rows that a script made go into windows, by the time of the rows that they were made of', async () => {
  const nodes = [
    script('function exec(msg) { return { v: msg.a }; }'),
    operator('window', { type: 'tumblingwindow', unit: 'ss', size: 2 }),
    operator('aggfunc', { expr: 'sum(v) as s' }),
    pick('s'),
  ];
  const sums = await through(nodes, rows, { isEventTime: true, lateTolerance: 0 });
  assert.equal(sums, [{ s: 1 }, { s: 4 }]);
});

test('what a script throws, and what is no row, is the error of the row', async () => {
  const text =
    'function exec(m) { if (m.a === 1) throw new Error("one"); if (m.a === 3) return 5; return m.k === "x" ? ' +
    'null : m; }';
  const [first, second, third, fourth, last] = (await through([script(text)])) as [string, string, string, string, Row];
  for (const line of [first, second]) assert.match(line, /Error: one/);
  for (const line of [third, fourth]) assert.match(line, /row is not an object/);
  assert.equal(last, { a: 4, k: 'y', ts: 5000 });
});

test('scripts of two nodes, and a function exec of a client, do not know each other', async () => {
  const udf = { id: 'exec', script: 'function exec(x) { return x + 100; }', isAgg: false, description: '' };
  assert.is((await server.request('POST', '/udf/javascript', udf)).status, 201);
  const nodes = [
    script('function exec(m) { return { v: m.a + 1 }; }'),
    script('function exec(m) { return { v: m.v * 10 }; }'),
    pick('v', 'exec(v) as w'),
  ];
  assert.equal(await through(nodes, rows.slice(0, 1)), [{ v: 20, w: 120 }]);
});

test.run();

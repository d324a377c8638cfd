import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;

test.before(async () => {
  server = await startServer();
  const sql = 'CREATE STREAM sim (a BIGINT, b STRING) WITH (TYPE="simulator")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after(async () => void (await server.stop()));

const source = { type: 'source', nodeType: 'simulator', props: { sourceType: 'stream', sourceName: 'sim' } };
const operator = (nodeType: string, props: object) => ({ type: 'operator', nodeType, props });
const count = (size: number) => operator('window', { type: 'countwindow', size });

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
  // The simulator's column a is BIGINT, b is STRING.
  const never: [object, RegExp][] = [
    [
      operator('filter', { expr: 'a + b > 1' }),
      /node f \(filter\): the right side of \+ must be BIGINT or FLOAT, not STRING/,
    ],
    [operator('filter', { expr: 'b' }), /node f \(filter\): the condition of expr must be BOOLEAN, not STRING/],
    [
      operator('function', { expr: 'abs(b) as c' }),
      /node f \(function\): function abs: argument 1 \(x\) must be BIGINT/,
    ],
    [operator('pick', { fields: ['a', 'b * 2 as c'] }), /node f \(pick\): the left side of \* must be BIGINT or FLOAT/],
    [
      operator('switch', { cases: ['a > 1', 'b'] }),
      /node f \(switch\): the condition of cases must be BOOLEAN, not STRING/,
    ],
  ];
  for (const [f, reason] of never) refusals.push([{ src: source, f, sink }, { src: ['f'], f: ['sink'] }, reason]);
  // One operator between source and sink, or two.
  const alone: [object, RegExp][] = [
    [operator('aggfunc', { expr: 'sum(a)' }), /node f \(aggfunc\) takes a collection, but src gives rows/],
    [operator('groupby', { dimensions: ['a'] }), /node f \(groupby\) takes a collection, but src gives rows/],
    [operator('orderby', { sorts: [{ field: 'a' }] }), /node f \(orderby\) takes a collection, but src gives rows/],
    [operator('script', { script: 'x' }), /node f \(script\): the script defines no function exec/],
    [operator('script', { script: 'function exec(' }), /node f \(script\): the script is no JavaScript/],
    [operator('script', {}), /node f \(script\): script must be a text/],
    [operator('script', { script: 'function exec() {}', isAgg: 1 }), /isAgg must be true or false/],
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

test('joins that cannot be are refused with the node and the stream', async () => {
  const pushed = (name: string) => ({ type: 'source', nodeType: 'httppush', props: { datasource: `/${name}` } });
  const on = 'one.a = two.a';
  const joins: [object, RegExp][] = [
    [{ joins: [{ name: 'two', type: 'inner', on }] }, /node j \(join\): from must be a text/],
    [{ from: 'one', joins: [] }, /node j \(join\): joins must be a list of objects/],
    [{ from: 'one', joins: [{ name: 'two', type: 'sideways', on }] }, /type of two must be one of inner, left/],
    [{ from: 'one', joins: [{ name: 'two', type: 'left' }] }, /on of two is missing/],
    [
      { from: 'gone', joins: [{ name: 'two', type: 'left', on }] },
      /from: gone does not come to the node, only one, two/,
    ],
    [{ from: 'one', joins: [{ name: 'one', type: 'left', on }] }, /joins: one is joined twice/],
    [{ from: 'one', joins: [{ name: 'two', type: 'left', on: 'one.a =' }] }, /node j \(join\)/],
  ];
  for (const [props, reason] of joins) {
    const nodes = {
      one: pushed('one'),
      two: pushed('two'),
      w: count(2),
      j: operator('join', props),
      sink: { type: 'sink', nodeType: 'nop', props: {} },
    };
    const edges = { one: ['w'], two: ['w'], w: ['j'], j: ['sink'] };
    const graph = { nodes, topo: { sources: ['one', 'two'], edges } };
    const answer = await server.request('POST', '/rules', { id: 'bad', graph });
    assert.is(answer.status, 400, String(reason));
    assert.match(answer.json.message, reason);
  }
});

test('a draft is checked and explained as it would be created', async () => {
  const sink = { type: 'sink', nodeType: 'nop', props: {} };
  const graphOf = (f: object) => ({
    nodes: { src: source, f, sink },
    topo: { sources: ['src'], edges: { src: ['f'], f: ['sink'] } },
  });
  const bad = { id: 'draft', graph: graphOf(operator('groupby', { dimensions: ['a'] })) };
  const reason = /node f \(groupby\) takes a collection, but src gives rows/;
  for (const [path, status] of [
    ['/rules', 400],
    ['/rules/validate', 422],
  ] as const) {
    const answer = await server.request('POST', path, bad);
    assert.is(answer.status, status, path);
    assert.match(answer.text, reason);
  }
  const good = { id: 'draft', graph: graphOf(operator('filter', { expr: 'a > 1' })) };
  assert.equal((await server.request('POST', '/rules/validate', good)).json, { valid: true, sources: ['sim'] });
  const unlisted = { ...good.graph, nodes: { ...good.graph.nodes, other: source } };
  const answer = await server.request('POST', '/rules', { id: 'draft', graph: unlisted });
  assert.match(answer.json.message, /graph\.topo\.sources does not name the source other/);
});

test.run();

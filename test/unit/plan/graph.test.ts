import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readGraph } from '../../../host/meta/definitions/rule-graph.js';
import type { RuleDefinition } from '../../../host/model/engine.js';
import { explainRule } from '../../../host/plan/explain-rule.js';
import { planRule } from '../../../host/plan/index.js';
import type { NodePlan } from '../../../kernels/plan/ir.js';
import { catalogOf, noFold, ruleOf, streams } from '../../support/engine/planned-rules.js';
import { showPlan } from '../../support/plan/show-plan.js';

const named = (sourceName: string, nodeType = 'memory') => ({ type: 'source', nodeType, props: { sourceName } });
const operator = (nodeType: string, props: object) => ({ type: 'operator', nodeType, props });
const sink = { type: 'sink', nodeType: 'nop', props: {} };
const count = operator('window', { type: 'countwindow', size: 2 });
const tumbling = operator('window', { type: 'tumblingwindow', unit: 'ss', size: 2 });
const byA = operator('groupby', { dimensions: ['a'] });
const sum = operator('aggfunc', { expr: 'sum(b) as s' });

function ruleWith(nodes: object, edges: object, sources = ['src'], options = {}): RuleDefinition {
  const graph = readGraph({ nodes, topo: { sources, edges } });
  const sinks = graph.nodes.filter(({ type }) => type === 'sink');
  const actions = sinks.map(({ nodeType, props }) => ({ type: nodeType, props }));
  return { ...ruleOf('', options, actions), graph };
}

const planOf = (...args: Parameters<typeof ruleWith>) => planRule(ruleWith(...args), streams, noFold);
const kindsOf = ({ nodes }: { nodes: readonly NodePlan[] }) => nodes.map(({ kind }) => kind);

test('a window and the groups of its rows are one node when nothing else reads the window', () => {
  const nodes = { src: named('demo'), w: count, g: byA, s: sum, sink };
  const plan = planOf(nodes, { src: ['w'], w: ['g'], g: ['s'], s: ['sink'] });
  assert.equal(kindsOf(plan), ['window', 'filter', 'encode']);
  const of = (name: string) => plan.operators.find((one) => one.name === name)?.nodes;
  assert.equal(of('op_w'), of('op_g'));
});

test('branches below a window read one window that keeps the columns of all of them', () => {
  const nodes = {
    src: named('demo'),
    w: count,
    g: byA,
    s: sum,
    p: operator('pick', { fields: ['c'] }),
    one: sink,
    two: sink,
  };
  const plan = planOf(nodes, { src: ['w'], w: ['g', 'p'], g: ['s'], s: ['one'], p: ['two'] });
  const windows = plan.nodes.flatMap((node) => (node.kind === 'window' ? [node] : []));
  assert.equal(
    windows.map(({ window, grouped }) => [window.kind, grouped]),
    [
      ['count', false],
      ['message', true],
    ],
  );
  assert.equal(
    plan.sources.map(({ columns }) => columns.map((use) => (use.kind === 'field' ? use.name : use.kind)).sort()),
    [['a', 'b', 'c', 'row']],
  );
});

test(
  'a filter of the rows of a window that follows the clock stands before the window, of a counting one behind ' + 'it',
  () => {
    const f = operator('filter', { expr: 'a > 1' });
    const edges = { src: ['w'], w: ['f'], f: ['g'], g: ['s'], s: ['sink'] };
    const kindsWith = (w: object) => kindsOf(planOf({ src: named('demo'), w, f, g: byA, s: sum, sink }, edges));
    assert.equal(kindsWith(tumbling), ['filter', 'window', 'filter', 'encode']);
    assert.equal(kindsWith(count), ['window', 'filter', 'window', 'filter', 'encode']);
  },
);

test('event time: one watermark where streams meet, wherever the graph has watermark nodes', () => {
  const timed = { one: { ...named('timed'), props: { sourceName: 'timed' } } };
  const own = { type: 'source', nodeType: 'memory', props: { sourceName: 'timed' } };
  const options = { isEventTime: true };
  const mark = operator('watermark', { emitters: ['timed'] });
  const single = planOf({ ...timed, w: tumbling, sink }, { one: ['w'], w: ['sink'] }, ['one'], options);
  assert.equal(kindsOf(single), ['eventTime', 'window', 'encode']);
  const marked = { ...timed, two: own, m1: mark, m2: mark, w: tumbling, sink };
  const edges = { one: ['m1'], two: ['m2'], m1: ['w'], m2: ['w'], w: ['sink'] };
  const met = planOf(marked, edges, ['one', 'two'], options);
  assert.equal(kindsOf(met), ['merge', 'port', 'port', 'eventTime', 'window', 'encode']);
  const of = (name: string) => met.operators.find((one) => one.name === name)?.nodes;
  assert.equal([of('op_m1'), of('op_m2')], [[3], [3]]);
});

test('what a function gives before streams meet is a column of its branch', () => {
  const nodes = {
    one: named('demo'),
    two: named('typed', 'mqtt'),
    fn: operator('function', { expr: 'abs(x) as q' }),
    w: count,
    j: operator('join', { from: 'one', joins: [{ name: 'two', type: 'full', on: 'one.q = two.a' }] }),
    p: operator('pick', { fields: ['q', 'b'] }),
    sink,
  };
  const edges = { one: ['fn'], fn: ['w'], two: ['w'], w: ['j'], j: ['p'], p: ['sink'] };
  const plan = planOf(nodes, edges, ['one', 'two']);
  const port = plan.nodes.find((node) => node.kind === 'port');
  // The last column of the branch is a register, which the node of the function has filled.
  const last = port?.kind === 'port' ? port.columns.at(-1) : undefined;
  assert.ok(last !== undefined && last < 0x4000);
  const join = plan.nodes.find((node) => node.kind === 'join');
  const own = join?.kind === 'join' ? join.branches[0] : undefined;
  assert.is(own?.length, port?.kind === 'port' ? port.columns.length : undefined);
  assert.match(showPlan(plan), /source 0 demo: c0=x c1=b\n/);
});

/** A graph that spreads over so many cases, and one that is so long. */
function largeGraphs(count: number): RuleDefinition[] {
  const indexes = Array.from({ length: count }, (_, i) => i);
  const cases = operator('switch', { cases: indexes.map((i) => `a = ${i}`), stopAtFirstMatch: false });
  const sinks = Object.fromEntries(indexes.map((i) => [`s${i}`, sink]));
  const edges = { src: ['by'], by: indexes.map((i) => [`s${i}`]) };
  const filters = Object.fromEntries(indexes.map((i) => [`f${i}`, operator('filter', { expr: `a > ${i}` })]));
  const chain = Object.fromEntries(indexes.map((i) => [`f${i}`, [i + 1 < count ? `f${i + 1}` : 'sink']]));
  return [
    ruleWith({ src: named('demo'), by: cases, ...sinks }, edges),
    ruleWith({ src: named('demo'), ...filters, sink }, { src: ['f0'], ...chain }),
  ];
}

test('planning takes time in proportion to the nodes: a large graph is no burden for others', () => {
  const [small, large] = [50, 400];
  const [wide, long] = largeGraphs(large) as [RuleDefinition, RuleDefinition];
  assert.is(planRule(wide, streams, noFold).operators.length, 2 + 3 * large);
  assert.is(planRule(long, streams, noFold).operators.length, 1 + large + 3);
  const least = new Map([small, large].map((count) => [count, Number.POSITIVE_INFINITY]));
  // In turns, so that a busy machine is as busy for both.
  for (let round = 0; round < 5; round++) {
    for (const [count, before] of least) {
      const graphs = largeGraphs(count);
      const began = process.cpuUsage();
      for (const graph of graphs) planRule(graph, streams, noFold);
      least.set(count, Math.min(before, process.cpuUsage(began).user));
    }
  }
  // Quadratic steps would take the square of that.
  const times = least.get(large)! / Math.max(1000, least.get(small)!);
  assert.ok(times < 3 * (large / small), `${large / small} times the nodes take ${times.toFixed(1)} times as long`);
});

test('a watermark that feeds a meeting of streams and a sink orders the rows of both', () => {
  const timed = { type: 'source', nodeType: 'memory', props: { sourceName: 'timed' } };
  const mark = operator('watermark', { emitters: ['timed'] });
  const nodes = { one: timed, two: timed, m: mark, w: tumbling, sink, early: sink, again: sink };
  const edges = { one: ['m'], m: ['w', 'early', 'again'], two: ['w'], w: ['sink'] };
  const { nodes: planned } = planOf(nodes, edges, ['one', 'two'], { isEventTime: true });
  const orders = planned.flatMap(({ kind }, i) => (kind === 'eventTime' ? [i] : []));
  assert.is(orders.length, 2);
  const early = planned.filter(
    (node) => node.kind === 'encode' && 'node' in node.input && orders.includes(node.input.node),
  );
  assert.is(early.length, 1);
});

test('event time: rows are in order before they are joined with a table, whose rows need none', () => {
  const known = catalogOf(
    'CREATE STREAM timed () WITH (DATASOURCE="timed", TIMESTAMP="ts", TYPE="memory")',
    'CREATE TABLE places () WITH (DATASOURCE="places", TYPE="memory")',
  );
  const table = { type: 'source', nodeType: 'memory', props: { sourceType: 'table', sourceName: 'places' } };
  const j = operator('join', { from: 'timed', joins: [{ name: 'places', type: 'left', on: 'timed.id = places.id' }] });
  const nodes = { timed: named('timed'), places: table, j, also: { ...j }, sink, other: sink };
  const edges = { timed: ['j', 'also'], places: ['j', 'also'], j: ['sink'], also: ['other'] };
  const plan = planRule(ruleWith(nodes, edges, ['timed', 'places'], { isEventTime: true }), known, noFold);
  const once = ['window', 'join', 'port', 'encode'];
  assert.equal(kindsOf(plan), ['eventTime', ...once, ...once]);
  assert.equal(
    plan.sources.map(({ stream }) => stream),
    ['timed', 'places'],
  );
  assert.equal(plan.topology.sources, ['source_timed', 'source_places']);
  assert.equal(plan.topology.edges.source_places, ['op_j', 'op_also']);
});

test('places in what a pick or function node is given are those of the text itself', () => {
  const reasonOf = (nodeType: string, props: object) => {
    try {
      planOf({ src: named('typed', 'mqtt'), n: operator(nodeType, props), sink }, { src: ['n'], n: ['sink'] });
    } catch (error) {
      return (error as Error).message;
    }
    return 'taken';
  };
  const wrong = 'function abs: argument 1 (x) must be BIGINT or FLOAT, not STRING';
  const expr = 'abs(upper(b)) AS q';
  assert.is(reasonOf('function', { expr }), `node n (function): ${wrong} (line 1, column 5)`);
  assert.is(reasonOf('pick', { fields: ['a', expr] }), `node n (pick): ${wrong} (line 1, column 5)`);
  assert.match(reasonOf('pick', { fields: ['a', 'b AS'] }), /^node n \(pick\): line 1 column 5: found /);
  assert.match(reasonOf('function', { expr: 'abs(a FROM' }), /^node n \(function\): line 1 column 7: found /);
});

test('lengths of windows that cannot be are refused with the node and the bound', () => {
  const reasonOf = (props: object): string => {
    const nodes = { src: named('demo'), w: operator('window', props), sink };
    try {
      planOf(nodes, { src: ['w'], w: ['sink'] });
    } catch (error) {
      return (error as Error).message;
    }
    return 'planned';
  };
  assert.is(
    reasonOf({ type: 'countwindow', size: 2 ** 32 }),
    'node w (window): found "4294967296", expected the count, a whole number from 1 to 4294967295',
  );
  assert.is(
    reasonOf({ type: 'hoppingwindow', unit: 'ms', size: 10_000_000, interval: 1 }),
    'node w (window): found "1", expected a hop of at least 10: a row may be in 1000000 windows at most',
  );
  assert.is(
    reasonOf({ type: 'slidingwindow', unit: 'dd', size: 1_000_000 }),
    'node w (window): found "1000000", expected the length, a whole number from 0 to 365250',
  );
});

test('an explanation names the operators as the graph does', () => {
  const nodes = { src: named('demo'), w: count, g: byA, s: sum, sink };
  const text = explainRule(ruleWith(nodes, { src: ['w'], w: ['g'], g: ['s'], s: ['sink'] }), streams, noFold);
  const lines = text.split('\n').map((line) => JSON.parse(line.trim()) as { op: string; of?: string });
  assert.equal(
    lines.map(({ op }) => op),
    ['ProjectPlan_0', 'op_s', 'op_g', 'op_w', 'DataSourcePlan_4', 'Note'],
  );
  assert.is(lines.at(-1)?.of, 'op_w');
});

test.run();

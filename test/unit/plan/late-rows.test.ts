/** Plans of rules whose late rows go to sinks of their own: nodes, topology, explanation, refusals. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readGraph } from '../../../host/meta/definitions/rule-graph.js';
import type { RuleDefinition } from '../../../host/model/engine.js';
import { explainRule } from '../../../host/plan/explain-rule.js';
import { planRule } from '../../../host/plan/index.js';
import { catalogOf, noFold, ruleOf, streams } from '../../support/engine/planned-rules.js';

const isEventTime = true;
const sql = 'SELECT count(*) AS n FROM timed GROUP BY TUMBLINGWINDOW(ss, 10)';
const result = { type: 'memory', props: { topic: 'out' } };
const late = { type: 'memory', props: { topic: 'late', lateRows: true } };
const kindsOf = (rule: RuleDefinition, known = streams) => planRule(rule, known, noFold).nodes.map(({ kind }) => kind);

function refusal(rule: RuleDefinition): string {
  try {
    planRule(rule, streams, noFold);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('planned');
}

test('sinks of late rows hang behind the watermark, those of the result behind the window', () => {
  const rule = ruleOf(sql, { isEventTime }, [result, late, result]);
  assert.equal(kindsOf(rule), ['eventTime', 'window', 'encode', 'late', 'encode']);
  const { topology, operators, outputFields } = planRule(rule, streams, noFold);
  assert.equal(outputFields, ['n']);
  assert.equal(topology.edges, {
    source_timed: ['op_2_watermark'],
    op_2_watermark: ['op_3_window', 'op_5_late'],
    op_3_window: ['op_4_project'],
    op_4_project: ['op_memory_0_0_transform', 'op_memory_2_0_transform'],
    op_5_late: ['op_6_project'],
    op_6_project: ['op_memory_1_0_transform'],
    op_memory_0_0_transform: ['sink_memory_0'],
    op_memory_1_0_transform: ['sink_memory_1'],
    op_memory_2_0_transform: ['sink_memory_2'],
  });
  assert.equal(operators.find(({ name }) => name === 'op_5_late')?.after, ['op_2_watermark']);
});

test('where all sinks get late rows the result is not worked out', () => {
  assert.equal(kindsOf(ruleOf(sql, { isEventTime }, [late])), ['eventTime', 'late', 'encode']);
});

test('each stream of a join gives its rows, and each SELECT of a union', () => {
  const known = catalogOf(
    ...['a', 'b'].map((name) => `CREATE STREAM ${name} (id BIGINT, ts BIGINT) WITH (TIMESTAMP="ts", TYPE="memory")`),
  );
  const join = 'SELECT a.id FROM a INNER JOIN b ON a.id = b.id GROUP BY TUMBLINGWINDOW(ss, 10)';
  const ofJoin = kindsOf(ruleOf(join, { isEventTime }, [late]), known);
  assert.equal(ofJoin, ['merge', 'port', 'port', 'eventTime', 'late', 'encode', 'late', 'encode']);
  const union = ruleOf('SELECT id FROM a UNION ALL SELECT id FROM b', { isEventTime }, [result, late]);
  assert.is(kindsOf(union, known).filter((kind) => kind === 'late').length, 2);
});

test('an explanation shows where late rows go', () => {
  const lines = explainRule(ruleOf(sql, { isEventTime }, [result, late]), streams, noFold).split('\n');
  const shown = lines.map((line) => JSON.parse(line.trim()) as { op: string; info?: string });
  const at = shown.findIndex(({ op }) => op.startsWith('LateRowsPlan'));
  assert.equal(shown[at], { op: 'LateRowsPlan_1', info: 'StreamName: timed' });
  assert.match(shown[at - 1]?.info ?? '', /__late/);
  assert.is(shown[at + 1]?.op, 'WatermarkPlan_2');
});

test('a sink of a graph gets the rows that are late for the watermark before it', () => {
  const nodes = {
    src: { type: 'source', nodeType: 'memory', props: { sourceName: 'timed' } },
    w: { type: 'operator', nodeType: 'window', props: { type: 'tumblingwindow', unit: 'ss', size: 2 } },
    out: { type: 'sink', nodeType: 'nop', props: {} },
    late: { type: 'sink', nodeType: 'memory', props: { topic: 'late', lateRows: true } },
  };
  const ruleWith = (edges: object): RuleDefinition => {
    const graph = readGraph({ nodes, topo: { sources: ['src'], edges } });
    const actions = [result, nodes.late].map(({ props }) => ({ type: 'nop', props }));
    return { ...ruleOf('', { isEventTime }, actions), graph };
  };
  assert.equal(kindsOf(ruleWith({ src: ['w'], w: ['out', 'late'] })), [
    'eventTime',
    'window',
    'encode',
    'late',
    'encode',
  ]);
  assert.match(
    refusal(ruleWith({ src: ['w', 'late'], w: ['out'] })),
    /sink property lateRows needs rows in the order of their time/,
  );
});

test('refusals name the property', () => {
  assert.match(refusal(ruleOf(sql, {}, [late])), /^sink property lateRows needs the rule option isEventTime/);
  const wrong = { type: 'nop', props: { lateRows: 'yes' } };
  assert.is(refusal(ruleOf(sql, { isEventTime }, [wrong])), 'sink property lateRows must be true or false');
  assert.equal(kindsOf(ruleOf(sql, {}, [{ type: 'nop', props: { lateRows: false } }])), ['window', 'encode']);
});

test.run();

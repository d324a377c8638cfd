/** Plans of joins: SQL in, nodes of the kernel out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleOptions } from '../../../host/model/engine.js';
import { explainRule } from '../../../host/plan/explain-rule.js';
import { planRule } from '../../../host/plan/index.js';
import type { NodePlan } from '../../../kernels/plan/ir.js';
import { catalogOf, noFold, ruleOf } from '../../support/engine/planned-rules.js';
import { showPlan } from '../../support/plan/show-plan.js';

const streams = catalogOf(
  'CREATE STREAM x (ts BIGINT, id BIGINT, a STRING) WITH (DATASOURCE="x", TYPE="memory", TIMESTAMP="ts")',
  'CREATE STREAM y (ts BIGINT, id BIGINT, b BIGINT) WITH (DATASOURCE="y", TYPE="memory", TIMESTAMP="ts")',
  'CREATE STREAM l () WITH (DATASOURCE="l", TYPE="memory")',
  'CREATE STREAM r () WITH (DATASOURCE="r", TYPE="memory")',
  'CREATE TABLE k () WITH (DATASOURCE="k", TYPE="memory", KIND="lookup", KEY="id")',
);

const draft = (sql: string, options: Partial<RuleOptions> = {}) => planRule(ruleOf(sql, options), streams, noFold);
const shown = (sql: string, options: Partial<RuleOptions> = {}) => showPlan(draft(sql, options));
const join = (sql: string): Extract<NodePlan, { kind: 'join' }> => {
  const found = draft(sql).nodes.find((node) => node.kind === 'join');
  if (found?.kind !== 'join') throw new Error('the plan has no join');
  return found;
};
const refusal = (sql: string): string => {
  try {
    draft(sql);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};
const window = 'GROUP BY TUMBLINGWINDOW(ss, 10)';

test('drops rows of one stream before they wait for the window, where joined rows always have one of it', () => {
  const kinds = (sql: string, options: Partial<RuleOptions> = {}) =>
    draft(sql, options)
      .nodes.map(({ kind }) => kind)
      .join(' ');
  const on = 'ON x.id = y.id';
  const below = 'filter merge port port window join encode';
  const above = 'merge port port window join filter encode';
  assert.is(kinds(`SELECT a, b FROM x INNER JOIN y ${on} WHERE x.id > 1 ${window}`), below);
  assert.is(kinds(`SELECT a, b FROM x LEFT JOIN y ${on} WHERE x.id > 1 ${window}`), below);
  assert.is(
    kinds(`SELECT a, b FROM x INNER JOIN y ${on} WHERE x.id > 1 AND b > 1 ${window}`),
    'filter filter merge port port window join encode',
  );
  assert.is(kinds(`SELECT a, b FROM x LEFT JOIN y ${on} WHERE b > 1 ${window}`), above);
  assert.is(kinds(`SELECT a, b FROM x RIGHT JOIN y ${on} WHERE x.id > 1 ${window}`), above);
  assert.is(kinds(`SELECT a, b FROM x INNER JOIN y ${on} WHERE x.id > b ${window}`), above);
  assert.is(kinds(`SELECT a, b FROM x INNER JOIN y ${on} WHERE x.id > rand() ${window}`), above);
  assert.is(kinds(`SELECT a, b FROM x INNER JOIN y ${on} WHERE x.id > 1 GROUP BY COUNTWINDOW(5)`), above);
});

test('merges the streams through a port each, collects a window and joins its rows', () => {
  assert.equal(
    shown(`SELECT a, b FROM x LEFT JOIN y ON x.id = y.id WHERE b > 1 ${window}`),
    `source 0 x: c0=id c1=a
source 1 y: c0=id c1=b
#0 merge < ports
  branches of 2, 2 columns
#1 port < source 0
  branch 0 of #0: c0 c1
#2 port < source 1
  branch 1 of #0: c0 c1
#3 window < #0
  window tumbling unitMs 1000 lengthMs 10000
  give c0=c0 c1=c2 c2=c3 c3=c4 c4=c5
#4 join < #3
  r0 = compare.eq c1 c3
  left join branch 1 on r0 by c1=c3
#5 filter < #4
  r1 = compare.gt c4 1
  keep r1
#6 encode < #5
  {a: c2, b: c4}
  json lines > 0`,
  );
});

test('event time: each port gives its stream`s timestamp, one watermark orders the rows of all', () => {
  const text = shown(`SELECT a, b FROM x INNER JOIN y ON x.id = y.id ${window}`, { isEventTime: true });
  assert.match(text, /#1 port < source 0\n {2}branch 0 of #0 at c0: c1 c2/);
  assert.match(text, /#3 eventTime < #0\n {2}by c1 late 1000ms columns 6/);
  assert.match(text, /#4 window < #3\n {2}window tumbling .*, event time c1/);
});

test('aggregates of a join take each window as a message with its start and end', () => {
  const text = shown(
    `SELECT x.id AS k, sum(b) AS s, window_end() AS e FROM x INNER JOIN y ON x.id = y.id GROUP BY x.id, ` +
      `TUMBLINGWINDOW(ss, 10) HAVING s > 5 ORDER BY k`,
  );
  assert.match(text, /window message start c4 end c5 trigger c6, grouped by \[c1\]/);
  assert.match(text, /filter[\s\S]*sort[\s\S]*encode/);
});

test('equalities of ON between two columns are keys, whichever side they stand on', () => {
  const [step] = join(`SELECT a FROM x INNER JOIN y ON y.id = x.id AND y.b > 1 ${window}`).steps;
  assert.equal(step?.keys.length, 1);
  assert.is(step?.keys[0]?.leftBranch, 0);
  const [unequal] = join(`SELECT a FROM x INNER JOIN y ON x.id > y.id OR x.id = y.b ${window}`).steps;
  assert.equal(unequal?.keys, []);
});

test('a cross join has no condition', () => {
  const [step] = join(`SELECT a FROM x CROSS JOIN y ${window}`).steps;
  assert.is(step?.type, 'cross');
  assert.is(step?.condition, null);
  assert.is(step?.program, null);
});

test('a name without a stream: the first row that has it, the right one first in a RIGHT JOIN', () => {
  assert.match(shown(`SELECT id FROM l LEFT JOIN r ON l.k = r.k ${window}`), /r\d = logic\.present c2 c4/);
  assert.match(shown(`SELECT id FROM l RIGHT JOIN r ON l.k = r.k ${window}`), /r\d = logic\.present c4 c2/);
  assert.match(refusal(`SELECT id FROM x LEFT JOIN y ON x.id = y.id ${window}`), /id may be of stream x or y/);
});

test('* brings the columns of all streams, once for each name', () => {
  const { outputFields } = draft(`SELECT * FROM x LEFT JOIN y ON x.id = y.id ${window}`);
  assert.equal(outputFields, ['ts', 'id', 'a', 'b']);
});

test('a stream joined with itself under aliases is two sources', () => {
  const plan = draft(`SELECT p.a AS pa, q.a AS qa FROM x AS p INNER JOIN x AS q ON p.id = q.id ${window}`);
  assert.equal(
    plan.sources.map(({ stream }) => stream),
    ['x', 'x'],
  );
  assert.match(refusal(`SELECT a FROM x INNER JOIN x ON x.id = x.id ${window}`), /two streams of the join are named x/);
});

test('joins that cannot be are refused with their reason', () => {
  assert.match(refusal('SELECT a FROM x INNER JOIN y ON x.id = y.id'), /a join of streams needs a window/);
  assert.match(refusal(`SELECT a FROM x INNER JOIN none ON x.id = none.id ${window}`), /stream none is not known/);
  assert.match(
    refusal('SELECT a FROM x FULL JOIN k ON x.id = k.id'),
    /the lookup table k can be joined by INNER JOIN and/,
  );
  assert.match(
    refusal(`SELECT x.id FROM x INNER JOIN k ON x.id = k.id RIGHT JOIN y ON x.id = y.id ${window}`),
    /the RIGHT JOIN must stand before that with the lookup table k/,
  );
  assert.match(refusal(`SELECT y.a FROM x INNER JOIN y ON x.id = y.id ${window}`), /unknown field a of stream y/);
});

test('an interval join shows what it keeps, and with what that grows', () => {
  const timed = catalogOf(
    'CREATE STREAM l () WITH (FORMAT="json", TIMESTAMP="ts")',
    'CREATE STREAM r () WITH (FORMAT="json", TIMESTAMP="at")',
  );
  const rule = (on: string) =>
    ruleOf(`SELECT l.id AS id FROM l LEFT JOIN r ON ${on}`, { isEventTime: true, lateToleranceMs: 0 });
  const bounds = "r.at BETWEEN l.ts - INTERVAL '5' SECOND AND l.ts";
  const lines = explainRule(rule(`l.id = r.id AND ${bounds} AND r.v > 1`), timed, noFold).split('\n');
  assert.ok(
    lines.some((line) =>
      line.includes('joinType:INTERVAL_LEFT_JOIN, r -5000 ms to 0 ms after l, keys:[ l.id = r.id ], condition:r.v > 1'),
    ),
    lines.join('\n'),
  );
  const kept = lines.map((line) => (JSON.parse(line.trim()) as { keeps?: string }).keeps ?? '');
  assert.ok(kept.includes('the rows of r of the last 5000 ms: grows with their number'), kept.join('\n'));
  const warnings = (on: string) => planRule(rule(on), timed, noFold).warnings ?? [];
  assert.equal(warnings(`l.id = r.id AND ${bounds}`), []);
  assert.match(warnings(bounds)[0] ?? '', /the join by time with r has no equality: each row meets all/);
});

test(
  '* of streams without schema is one object of both rows, the first wins; a list of columns of others goes ' +
    'beside it',
  () => {
    assert.match(
      shown(`SELECT * FROM l INNER JOIN r ON l.k = r.k ${window}`),
      /r1 = nested\.concat c4 c2\n {2}object r1/,
    );
    const one = shown(`SELECT l.*, r.b FROM l LEFT JOIN r ON l.k = r.k ${window}`);
    assert.not.match(one, /call\.host/);
    assert.match(one, /nested\.merge c\d "b" c\d/);
    assert.match(shown(`SELECT l.* EXCEPT(a), r.* FROM l LEFT JOIN r ON l.k = r.k ${window}`), /nested\.merge c\d "a"/);
  },
);

test('FILTER and conditions of the window see the rows of each stream before they are joined', () => {
  const text = shown(
    `SELECT a, b FROM x INNER JOIN y ON x.id = y.id GROUP BY SLIDINGWINDOW(ss, 3) OVER (WHEN ts > 5) FILTER (WHERE ` +
      `x.id > 1)`,
  );
  assert.match(text, /filter < #0[\s\S]*compare\.gt r\d 1[\s\S]*window[\s\S]*join/);
});

test('the time and metadata of a joined row: of its window, of the first stream that has the key', () => {
  assert.match(shown(`SELECT event_time() AS t FROM x INNER JOIN y ON x.id = y.id ${window}`), /\{t: c5\?\}/);
  assert.match(
    shown(`SELECT meta(topic) AS t FROM x LEFT JOIN y ON x.id = y.id ${window}`),
    /logic\.present c\d+ c\d+/,
  );
});

test('a stream that is joined with itself shows under its aliases', () => {
  const { topology } = draft(`SELECT p.a AS pa FROM x AS p INNER JOIN x AS q ON p.id = q.id ${window}`);
  assert.equal(topology.sources, ['source_p', 'source_q']);
  assert.match(refusal(`SELECT x.a FROM x AS p INNER JOIN x AS q ON p.id = q.id ${window}`), /x may be p or q/);
});

test('topology and explanation name both streams and the join', () => {
  const sql = `SELECT x.a FROM x LEFT JOIN y ON x.id = y.id ${window}`;
  const { topology } = draft(sql);
  assert.equal(topology.sources, ['source_x', 'source_y']);
  assert.equal(topology.edges.source_x, ['op_3_window']);
  assert.equal(topology.edges.source_y, ['op_3_window']);
  assert.equal(topology.edges.op_3_window, ['op_4_join']);
  assert.match(
    explainRule(ruleOf(sql), streams, noFold),
    /ProjectPlan[\s\S]*JoinPlan[\s\S]*WindowPlan[\s\S]*DataSourcePlan[\s\S]*DataSourcePlan/,
  );
});

test.run();

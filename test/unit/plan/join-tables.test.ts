/** Plans of joins with scan tables: SQL in, nodes of the kernel, topology and explanation out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleOptions } from '../../../host/model/engine.js';
import { explainRule } from '../../../host/plan/explain-rule.js';
import { planRule } from '../../../host/plan/index.js';
import { catalogFor } from '../../../host/run/props/resolve.js';
import type { NodePlan } from '../../../kernels/plan/ir.js';
import { catalogOf, noFold, ruleOf } from '../../support/engine/planned-rules.js';
import { showPlan } from '../../support/plan/show-plan.js';

const catalog = catalogOf(
  'CREATE STREAM x (ts BIGINT, id BIGINT, a STRING) WITH (DATASOURCE="x", TYPE="mqtt", TIMESTAMP="ts")',
  'CREATE STREAM y (ts BIGINT, id BIGINT, b BIGINT) WITH (DATASOURCE="y", TYPE="memory", TIMESTAMP="ts")',
  'CREATE TABLE t (id BIGINT, name STRING) WITH (DATASOURCE="t", TYPE="mqtt", RETAIN_SIZE="5")',
  'CREATE TABLE f (id BIGINT, place STRING) WITH (DATASOURCE="t.json")',
  'CREATE TABLE m (id BIGINT) WITH (DATASOURCE="m", TYPE="memory")',
);

const draft = (sql: string, options: Partial<RuleOptions> = {}) => planRule(ruleOf(sql, options), catalog, noFold);
const shown = (sql: string, options: Partial<RuleOptions> = {}) => showPlan(draft(sql, options));
const join = (sql: string): Extract<NodePlan, { kind: 'join' }> => {
  const found = draft(sql).nodes.find((node) => node.kind === 'join');
  if (found?.kind !== 'join') throw new Error('the plan has no join');
  return found;
};
const refusal = (sql: string, options: Partial<RuleOptions> = {}): string => {
  try {
    draft(sql, options);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
};

test('without a window every row of the stream is joined to the table, no merge is needed', () => {
  assert.equal(
    shown('SELECT a, name FROM x LEFT JOIN t ON x.id = t.id'),
    `source 0 x: c0=id c1=a
source 1 t: c0=id c1=name
#0 window < source 0
  window row
  give c0=c0 c1=c1
#1 join < #0
  keep 5 rows of branch 1
  r0 = compare.eq c0 c5
  left join branch 1 on r0 by c0=c5
#2 port < source 1
  branch 1 of #1: c0 c1
#3 encode < #1
  {a: c1, name: c6}
  json lines > 0`,
  );
});

test('conditions on the stream alone stand before the join, where every joined row has a row of the stream', () => {
  const kinds = (sql: string) =>
    draft(sql)
      .nodes.map(({ kind }) => kind)
      .join(' ');
  const before = 'filter window join port encode';
  const after = 'window join port filter encode';
  assert.is(kinds('SELECT name FROM x LEFT JOIN t ON x.id = t.id WHERE x.id > 1'), before);
  assert.is(kinds('SELECT name FROM t RIGHT JOIN x ON x.id = t.id WHERE a = "p"'), before);
  assert.is(
    kinds('SELECT name FROM x INNER JOIN t ON x.id = t.id WHERE a = "p" AND name = "q"'),
    'filter window join port filter encode',
  );
  assert.is(
    kinds('SELECT name FROM x INNER JOIN t ON x.id = t.id WHERE name = "q" AND a = "p"'),
    'window join port filter filter encode',
  );
  assert.is(kinds('SELECT name FROM x RIGHT JOIN t ON x.id = t.id WHERE x.id > 1'), after);
  assert.is(kinds('SELECT name FROM x FULL JOIN t ON x.id = t.id WHERE x.id > 1'), after);
  assert.is(kinds('SELECT name FROM t LEFT JOIN x ON x.id = t.id WHERE x.id > 1'), after);
  assert.is(kinds('SELECT name FROM x INNER JOIN t ON x.id = t.id WHERE x.id > 1 GROUP BY COUNTWINDOW(2)'), after);
});

test('tables are the branches behind those of the streams, wherever they stand in the statement', () => {
  const { branches, first, steps, tables } = join(
    'SELECT t.name, x.a, y.b FROM t RIGHT JOIN x ON t.id = x.id LEFT JOIN f ON f.id = x.id INNER JOIN y ON x.id = y.id',
  );
  assert.equal(branches.length, 4);
  assert.is(first, 2);
  assert.equal(
    steps.map(({ type, branch }) => [type, branch]),
    [
      ['right', 0],
      ['left', 3],
      ['inner', 1],
    ],
  );
  assert.equal(
    tables?.map(({ branch }) => branch),
    [2, 3],
  );
});

test('FROM a table INNER JOIN a stream looks rows of the stream up in the table', () => {
  const { branches, first, steps } = join('SELECT * FROM t INNER JOIN x ON t.id = x.id LEFT JOIN f ON f.id = t.id');
  assert.is(first, 0);
  assert.equal(
    steps.map(({ type, branch, keys }) => [type, branch, keys.length]),
    [
      ['inner', 1, 1],
      ['left', 2, 1],
    ],
  );
  assert.is(branches[0]?.length, 3);
  const { first: table } = join('SELECT t.id FROM t INNER JOIN x ON t.id = x.id GROUP BY COUNTWINDOW(2)');
  assert.is(table, 1);
});

test('a table keeps RETAIN_SIZE rows, without it 9,999 of a file and the last of any other source', () => {
  const kept = (table: string) =>
    join(`SELECT x.id FROM x INNER JOIN ${table} ON x.id = ${table}.id`).tables?.[0]?.retainRows;
  assert.is(kept('t'), 5);
  assert.is(kept('f'), 9999);
  assert.is(kept('m'), 1);
});

test('a table of a test rule keeps as many of the rows given for it', () => {
  const mocks = { f: { data: [{ id: 1 }], interval: 0, loop: false } };
  const rule = { ...ruleOf('SELECT x.id FROM x INNER JOIN f ON x.id = f.id'), test: { mocks } };
  const plan = planRule(rule, catalogFor(rule, catalog), noFold);
  const [found] = plan.nodes.filter((node) => node.kind === 'join');
  assert.is(found?.tables?.[0]?.retainRows, 9999);
});

test('only streams need a TIMESTAMP in event time', () => {
  const plan = shown('SELECT a, name FROM x INNER JOIN t ON x.id = t.id', { isEventTime: true });
  assert.match(plan, /#0 eventTime < source 0\n {2}by c0 late/);
  assert.match(plan, /#1 window < #0\n {2}window row, event time c0/);
});

test('tables have no messages of their own', () => {
  assert.match(refusal('SELECT * FROM t'), /t is a table: a rule needs a stream/);
  assert.match(refusal('SELECT t.id FROM t INNER JOIN f ON t.id = f.id'), /t is a table: a rule needs a stream/);
});

test('what a window looks at is no table', () => {
  const filtered = (condition: string) =>
    refusal(`SELECT a FROM x INNER JOIN t ON x.id = t.id GROUP BY COUNTWINDOW(2) FILTER (WHERE ${condition})`);
  assert.match(filtered('t.name = "p"'), /FILTER cannot use the table t/);
  assert.match(filtered('name = "p"'), /unknown field name/);
  assert.is(filtered('x.id > 1 AND a = "p"'), '');
});

test('topology and explanation show the tables where they come to the rows', () => {
  const sql = 'SELECT a, name FROM x INNER JOIN t ON x.id = t.id GROUP BY COUNTWINDOW(2)';
  const { topology } = draft(sql);
  assert.equal(topology.sources, ['source_x', 'source_t']);
  assert.equal(topology.edges.source_x, ['op_2_decoder']);
  assert.equal(topology.edges.op_2_decoder, ['op_3_window']);
  assert.equal(topology.edges.op_3_window, ['op_6_join_aligner']);
  assert.equal(topology.edges.source_t, ['op_5_decoder']);
  assert.equal(topology.edges.op_5_decoder, ['op_6_join_aligner']);
  assert.equal(topology.edges.op_6_join_aligner, ['op_7_join']);
  const lines = explainRule(ruleOf(sql), catalog, noFold)
    .split('\n')
    .filter((line) => !line.startsWith('{"op":"Note"'));
  assert.equal(
    lines.map((line) => [line.search(/[^\t]/), JSON.parse(line).op]),
    [
      [0, 'ProjectPlan_0'],
      [1, 'JoinPlan_1'],
      [3, 'JoinAlignPlan_2'],
      [5, 'WindowPlan_3'],
      [7, 'DataSourcePlan_4'],
      [5, 'DataSourcePlan_4'],
    ],
  );
});

test.run();

/**
 * Joins of streams beside a table, without a window: those that find nothing are named in the plan, as the recorded
 * engine takes them.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { explainRule } from '../../../host/plan/explain-rule.js';
import { planRule } from '../../../host/plan/index.js';
import { catalogOf, noFold, ruleOf } from '../../support/engine/planned-rules.js';

const streams = [
  'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s", FORMAT="json")',
  'CREATE STREAM r () WITH (TYPE="memory", DATASOURCE="r", FORMAT="json")',
  'CREATE TABLE t () WITH (TYPE="memory", DATASOURCE="t", FORMAT="json", KIND="scan")',
];
const warningsOf = (sql: string) => planRule(ruleOf(sql), catalogOf(...streams), noFold).warnings ?? [];

for (const [sql, begin] of [
  ['SELECT s.a FROM s INNER JOIN r ON s.a = r.a INNER JOIN t ON s.a = t.a', 'INNER JOIN r finds nothing'],
  [
    'SELECT s.a FROM s INNER JOIN t ON s.a = t.a INNER JOIN r AS other ON s.a = other.a',
    'INNER JOIN other finds nothing',
  ],
  ['SELECT s.a FROM s CROSS JOIN r LEFT JOIN t ON s.a = t.a', 'CROSS JOIN r finds nothing'],
] as const) {
  test(`is named: ${sql}`, () => {
    const warnings = warningsOf(sql);
    assert.ok(
      warnings.some((text) => text.startsWith(begin)),
      warnings.join('; '),
    );
    assert.match(explainRule(ruleOf(sql), catalogOf(...streams), noFold), begin);
  });
}

for (const sql of [
  'SELECT s.a FROM s INNER JOIN t ON s.a = t.a',
  'SELECT s.a FROM s LEFT JOIN r ON s.a = r.a INNER JOIN t ON s.a = t.a',
  'SELECT r.a FROM s INNER JOIN t ON s.a = t.a RIGHT JOIN r ON s.a = r.a',
  'SELECT s.a FROM s INNER JOIN r ON s.a = r.a INNER JOIN t ON s.a = t.a GROUP BY TUMBLINGWINDOW(ss, 10)',
]) {
  test(`is not named: ${sql}`, () => {
    assert.not.ok(warningsOf(sql).some((text) => text.includes('finds nothing')));
  });
}

test.run();

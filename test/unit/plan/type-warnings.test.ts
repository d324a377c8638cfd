/** Comparisons that fail for each row are told of when the rule is made. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { planRule } from '../../../host/plan/index.js';
import { catalogOf, noFold, ruleOf } from './rules.js';

const streams = [
  'CREATE STREAM s (device STRING, temp FLOAT, n BIGINT) WITH (TYPE="memory", DATASOURCE="s", FORMAT="json")',
  'CREATE STREAM any () WITH (TYPE="memory", DATASOURCE="any", FORMAT="json")',
];
const warningsOf = (sql: string) => planRule(ruleOf(sql), catalogOf(...streams), noFold).warnings ?? [];

test('a declared column that is compared with a constant of another kind is named', () => {
  assert.equal(warningsOf('SELECT * FROM s WHERE device > 3'), [
    'column device is declared STRING and compared with a number: rows in which it is a text are errors',
  ]);
  assert.equal(warningsOf('SELECT temp, "x" < n AS b FROM s WHERE temp > 2'), [
    'column n is declared BIGINT and compared with a text: rows in which it is a number are errors',
  ]);
  assert.is(warningsOf('SELECT count(*) AS c FROM s WHERE n >= 1 AND device <= 1.5 GROUP BY COUNTWINDOW(2)').length, 1);
});

test('what can be compared is not', () => {
  for (const sql of [
    'SELECT * FROM s WHERE device > "3" AND temp > 3 AND n < 1.5',
    'SELECT * FROM any WHERE device > 3',
    'SELECT * FROM s WHERE cast(device, "bigint") > 3',
    'SELECT * FROM s WHERE isnull(device)',
  ]) {
    assert.equal(warningsOf(sql), [], sql);
  }
});

test.run();

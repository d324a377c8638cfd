/** Statements whose work or output grows with the square of their input are named in the plan, and others are not. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { explainRule } from '../../../host/plan/explain-rule.js';
import { planRule } from '../../../host/plan/index.js';
import { catalogOf, noFold, ruleOf } from '../../support/engine/planned-rules.js';

const streams = [
  'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s", FORMAT="json")',
  'CREATE STREAM r () WITH (TYPE="memory", DATASOURCE="r", FORMAT="json")',
];
const warningsOf = (sql: string) => planRule(ruleOf(sql), catalogOf(...streams), noFold).warnings ?? [];

const growing: [sql: string, warning: RegExp][] = [
  [
    'SELECT collect(*) AS c FROM s GROUP BY SLIDINGWINDOW(hh, 1)',
    /^the sliding window sends all that collect gathers with each row: its output grows with the square/,
  ],
  [
    'SELECT merge_agg(*) AS c FROM s GROUP BY a, SLIDINGWINDOW(ss, 10)',
    /sends all that merge_agg gathers with each row/,
  ],
  [
    'SELECT deduplicate(a, true) AS c FROM s GROUP BY SLIDINGWINDOW(ss, 10)',
    /sends all that deduplicate gathers with each row/,
  ],
  [
    'SELECT a, median(b) AS m, sum(b) AS t FROM s GROUP BY a, SLIDINGWINDOW(hh, 1)',
    /^the sliding window goes through all its rows with each row for median: its work grows with the square/,
  ],
  [
    'SELECT percentile_approx(b, 0.9) AS m FROM s GROUP BY COUNTWINDOW(1000, 1)',
    /^the count window goes through all its rows 1000 times for percentile_approx/,
  ],
  ['SELECT * FROM s GROUP BY SLIDINGWINDOW(hh, 1)', /^the sliding window sends all its rows with each row/],
  ['SELECT a FROM s GROUP BY HOPPINGWINDOW(ss, 600, 1)', /^the hopping window sends all its rows 600 times/],
  [
    'SELECT collect(a) AS c FROM s GROUP BY COUNTWINDOW(1000, 1)',
    /^the count window sends all that collect gathers 1000 times/,
  ],
  [
    'SELECT s.a FROM s INNER JOIN r ON s.a = r.a GROUP BY SLIDINGWINDOW(ss, 10)',
    /^the sliding window joins all its rows with each row/,
  ],
  [
    'SELECT s.a FROM s CROSS JOIN r GROUP BY TUMBLINGWINDOW(ss, 10)',
    /^the cross join with r makes a row of each pair of rows/,
  ],
  [
    'SELECT s.a FROM s INNER JOIN r ON s.a < r.a GROUP BY TUMBLINGWINDOW(ss, 10)',
    /^the inner join with r has no equality of its columns/,
  ],
];

for (const [sql, warning] of growing) {
  test(`is named: ${sql}`, () => {
    const warnings = warningsOf(sql);
    assert.ok(
      warnings.some((text) => warning.test(text)),
      warnings.join('; '),
    );
    const last = explainRule(ruleOf(sql), catalogOf(...streams), noFold)
      .split('\n')
      .at(-1)!;
    assert.equal(JSON.parse(last), { op: 'Warning', info: warnings.at(-1) });
  });
}

for (const sql of [
  'SELECT a FROM s',
  'SELECT a, count(*) AS n FROM s GROUP BY a, SLIDINGWINDOW(hh, 1)',
  'SELECT avg(a) AS n FROM s GROUP BY SLIDINGWINDOW(hh, 1)',
  'SELECT a, min(b) FILTER (WHERE c > 1) AS n FROM s GROUP BY a, COUNTWINDOW(100000, 1)',
  'SELECT percentile_approx(b, 0.9) AS m FROM s GROUP BY HOPPINGWINDOW(ss, 600, 1)',
  'SELECT median(b) AS m FROM s GROUP BY TUMBLINGWINDOW(hh, 1)',
  'SELECT collect(*) AS c FROM s GROUP BY SLIDINGWINDOW(hh, 1) OVER (WHEN a = 1)',
  'SELECT collect(*) AS c FROM s GROUP BY TUMBLINGWINDOW(hh, 1)',
  'SELECT * FROM s GROUP BY HOPPINGWINDOW(ss, 10, 5)',
  'SELECT * FROM s GROUP BY COUNTWINDOW(100, 50)',
  'SELECT s.a FROM s INNER JOIN r ON s.a = r.a AND s.b < r.b GROUP BY TUMBLINGWINDOW(ss, 10)',
]) {
  test(`is not named: ${sql}`, () => {
    assert.equal(warningsOf(sql), []);
    assert.not.match(explainRule(ruleOf(sql), catalogOf(...streams), noFold), 'Warning');
  });
}

test.run();

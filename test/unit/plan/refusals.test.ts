import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import type { RuleDefinition, RuleOptions } from '../../../host/model/engine.js';
import { planRule } from '../../../host/plan/index.js';
import { noFold, ruleOf, streams } from '../../support/engine/planned-rules.js';

function refusal(sql: string, options: Partial<RuleOptions> = {}, actions?: RuleDefinition['actions']): string {
  try {
    planRule(ruleOf(sql, options, actions), streams, noFold);
  } catch (error) {
    assert.instance(error, HaumeaError);
    const kind = actions === undefined ? 'plan' : 'sink';
    assert.is((error as HaumeaError).kind, kind, (error as HaumeaError).message);
    return (error as HaumeaError).message;
  }
  throw new Error(`planned: ${sql.slice(0, 200)}`);
}

const statements: Record<string, [sql: string, reason: RegExp][]> = {
  names: [
    ['SELECT a FROM nostream', /stream nostream is not known/],
    ['SELECT zz FROM typed', /unknown field zz of stream typed \(line 1, column 8\)/],
    ['SELECT arrr FROM typed', /did you mean arr\?/],
    ['SELECT typed.zz FROM typed', /unknown field zz/],
    ['SELECT a FROM raw', /unknown field a/],
    ['SELECT a AS x, b AS x FROM demo', /duplicate alias x/],
    ['SELECT a, b AS a FROM demo', /two output columns are named a/],
    ['SELECT a + 1 AS x, *, b AS c, c AS d, d AS b FROM demo', /defined by each other/],
    ['SELECT x AS y, y AS x FROM demo', /aliases y, x, y are defined by each other/],
    ['SELECT other.* FROM demo', /unknown stream other/],
  ],
  functions: [
    ['SELECT nofunc(a) FROM demo', /unknown function nofunc/],
    ['SELECT cuont(a) FROM demo', /did you mean count\?/],
    ['SELECT __proto__(a) FROM demo', /unknown function __proto__/],
    ['SELECT delay("soon", a) FROM demo', /function delay: argument 1 \(milliseconds\) must be a number/],
    ['SELECT sum(a, b) FROM demo', /sum takes 1 argument, not 2/],
    ['SELECT window_start(1) FROM demo', /window_start takes 0 arguments, not 1/],
    ['SELECT coalesce() FROM demo', /coalesce takes at least 1 argument, not 0/],
    ['SELECT cast(a, "int") FROM demo', /argument 2 must be one of bigint/],
    ['SELECT cast(a, 5) FROM demo', /argument 2 \(type\) must be a string/],
    ['SELECT deduplicate(a, 1) FROM demo', /argument 2 \(all\) must be a boolean/],
    ['SELECT isnull(a) OVER (PARTITION BY b) FROM demo', /OVER cannot follow isnull/],
    ['SELECT isnull(a) FILTER (WHERE b) FROM demo', /FILTER cannot follow isnull/],
    ['SELECT meta(1 + 2) FROM demo', /must be the name of a metadata key/],
    ['SELECT meta("topic") FROM demo', /must be the name of a metadata key, without quotes/],
    ['SELECT meta(a[0]) FROM demo', /must be the name of a metadata key/],
    ['SELECT meta(a, b) FROM demo', /takes 1 argument, not 2/],
    ['SELECT meta() FROM demo', /takes 1 argument, not 0/],
    ['SELECT mqtt(qos) FROM demo', /the argument of mqtt must be topic or messageid/],
    ['SELECT mqtt(*) FROM demo', /the argument of mqtt must be topic or messageid/],
    ['SELECT mqtt("topic") FROM demo', /the argument of mqtt must be topic or messageid/],
    ['SELECT mqtt(1) FROM demo', /the argument of mqtt must be topic or messageid/],
  ],
  aggregates: [
    ['SELECT a FROM demo WHERE sum(a) > 1', /aggregate sum is not allowed in WHERE/],
    ['SELECT sum(a) AS s FROM demo WHERE s > 1', /aggregate sum is not allowed in WHERE/],
    ['SELECT sum(sum(a)) FROM demo', /not allowed in the aggregate sum/],
    ['SELECT a FROM demo GROUP BY a', /GROUP BY needs a window/],
    ['SELECT a FROM demo GROUP BY sum(a), COUNTWINDOW(2)', /not allowed in GROUP BY/],
    ['SELECT a FROM demo HAVING a > 1', /HAVING needs an aggregate/],
    ['SELECT a FROM demo GROUP BY COUNTWINDOW(2) HAVING a > 1', /HAVING may only use aggregates/],
    ['SELECT a FROM demo GROUP BY b, COUNTWINDOW(2) HAVING b > 1 AND a + count(*) > 1', /HAVING may only use/],
  ],
  expressions: [
    ['SELECT a IN 1 FROM demo', /IN needs a list/],
    ['SELECT a LIKE 5 FROM demo', /pattern of LIKE must be a text/],
    ['SELECT a + count(*) OVER (WHEN a) FROM demo', /OVER cannot follow count/],
  ],
  windows: [
    [
      'SELECT a FROM demo GROUP BY TUMBLINGWINDOW(ss, 2) OVER (PARTITION BY b)',
      /PARTITION BY has no effect on TUMBLINGWINDOW, which ends by the clock for all rows: give the values in GROUP BY/,
    ],
    [
      'SELECT a FROM demo GROUP BY HOPPINGWINDOW(ss, 2, 1) OVER (PARTITION BY b)',
      /PARTITION BY has no effect on HOPPINGWINDOW/,
    ],
    ['SELECT a FROM demo GROUP BY COUNTWINDOW(2) OVER (PARTITION BY count(*))', /count.*not allowed in PARTITION BY/],
    [
      'SELECT a FROM demo GROUP BY COUNTWINDOW(2) OVER (PARTITION BY b ORDER BY a)',
      /ORDER BY cannot be used with a window/,
    ],
    [
      'SELECT a FROM demo GROUP BY SESSIONWINDOW(ss, 9, 2) OVER (PARTITION BY b WHEN a)',
      /belongs to SLIDINGWINDOW only/,
    ],
    ['SELECT a FROM demo GROUP BY TUMBLINGWINDOW(ss, 1) OVER (WHEN b)', /belongs to SLIDINGWINDOW only/],
    ['SELECT a FROM demo WHERE window_end() > 1 GROUP BY COUNTWINDOW(2)', /not known before the window is complete/],
  ],
  joins: [
    ['SELECT demo.a FROM demo INNER JOIN typed ON demo.a = typed.a', /a join of streams needs a window/],
    ['SELECT * FROM demo LEFT JOIN nostream ON demo.a = nostream.a', /stream nostream is not known/],
  ],
};

for (const [area, cases] of Object.entries(statements)) {
  test(`names the reason of a refusal: ${area}`, () => {
    for (const [sql, reason] of cases) assert.match(refusal(sql), reason, sql);
  });
}

test('accepts grouping expressions and the window in HAVING', () => {
  for (const having of ['b + 1 > 2', 'count(*) > 1', 'window_end() > 1', 'max(a) > b + 1']) {
    const sql = `SELECT b FROM demo GROUP BY b + 1, b, COUNTWINDOW(2) HAVING ${having}`;
    const kinds = planRule(ruleOf(sql), streams, noFold).nodes.map(({ kind }) => kind);
    assert.equal(kinds, ['window', 'filter', 'encode'], having);
  }
});

test('checks options against the statement and the stream', () => {
  assert.match(refusal('SELECT a FROM demo', { isEventTime: true }), /needs the option TIMESTAMP of stream demo/);
  assert.match(
    refusal('SELECT a FROM timed GROUP BY COUNTWINDOW(2)', { isEventTime: true }),
    /COUNTWINDOW cannot be used with event time/,
  );
  assert.match(
    refusal('SELECT a FROM demo GROUP BY COUNTWINDOW(2)', { sendMetaToSink: true }),
    /sendMetaToSink cannot be used with a window/,
  );
});

const properties: [props: Record<string, unknown>, reason: RegExp][] = [
  [{ format: 'nope' }, /format: nope is not known/],
  [{ dataTemplate: '{{.a' }, /template: sink:1: unclosed action/],
  [{ dataTemplate: '{{nofunc .a}}' }, /template: sink:1: function "nofunc" not defined/],
  [{ topic: 'x/{{.a' }, /sink property topic: template: sink:1: unclosed action/],
  [{ batchSize: -1 }, /batchSize must be a whole number from 0, not -1/],
  [{ batchSize: 1.5 }, /batchSize/],
  [{ lingerInterval: 'soon' }, /lingerInterval must be a duration/],
  [{ sendSingle: 'yes' }, /sendSingle must be true or false/],
  [{ fields: 'a' }, /fields must be a list of column names/],
  [{ fields: ['a'], excludeFields: ['b'] }, /cannot both be set/],
];

test('names the sink property that cannot be used', () => {
  for (const [props, reason] of properties) {
    assert.match(refusal('SELECT a FROM demo', {}, [{ type: 'mqtt', props }]), reason, JSON.stringify(props));
  }
});

test('refuses more intermediate results than there are registers', () => {
  const items = Array.from({ length: 600 }, (_, i) => `a + ${i} AS x${i}`);
  assert.match(refusal(`SELECT ${items.join(', ')} FROM demo`), /more than 512 intermediate results/);
});

test('refuses more values than an operation takes', () => {
  const zeros = (count: number) => Array.from({ length: count }, () => '0').join(', ');
  assert.match(refusal(`SELECT [a, ${zeros(1024)}] AS l FROM demo`), /has 1025 values, but takes 1024 at most/);
  assert.match(refusal(`SELECT coalesce(a, ${zeros(1024)}) AS l FROM demo`), /has 1025 values, but takes 1024 at most/);
});

test('refuses what builds up without end', () => {
  const chain = (count: number, item: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => item(i)).join(', ');
  assert.match(
    refusal(`SELECT ${chain(4096, (i) => `x${i + 1} AS x${i}`)} FROM demo`),
    /used before its definition over more than 100 other aliases/,
  );
  assert.match(
    refusal(`SELECT a AS x0, ${chain(4000, (i) => `x${i} + 1 AS x${i + 1}`)} FROM demo`),
    /build on each other over more than 1500 steps/,
  );
  assert.match(refusal(`SELECT [${chain(5000, (i) => `a${i}`)}] AS l FROM demo`), /reads more than 4096 columns/);
  const numbers = chain(101, (i) => `row_number() OVER (ORDER BY a${i}) AS n${i}`);
  assert.match(refusal(`SELECT ${numbers} FROM demo GROUP BY COUNTWINDOW(2)`), /in more than 100 orders/);
});

test('shares equal parts of expressions, however deep', () => {
  const deep = `${'('.repeat(300)}a${' + 1)'.repeat(300)}`;
  const items = Array.from({ length: 90 }, (_, i) => `x${i + 1} + ${deep} + ${i} AS x${i}`);
  const { nodes } = planRule(ruleOf(`SELECT ${items.join(', ')} FROM demo`), streams, noFold);
  assert.is(nodes[0]?.kind === 'encode' ? nodes[0].program?.ops.length : 0, 480);
});

test('plans long lists without running out of stack', () => {
  const list = Array.from({ length: 20_000 }, (_, i) => i).join(', ');
  const [filter] = planRule(ruleOf(`SELECT a FROM demo WHERE a IN (${list})`), streams, noFold).nodes;
  // An operation takes no more than 1,024 of them.
  const lists = filter?.kind === 'filter' ? (filter.program?.ops ?? []).map(({ args }) => args?.length ?? 0) : [];
  assert.is(Math.max(...lists), 1024);
  assert.is(
    lists.reduce((sum, length) => sum + length, 0),
    20_000,
  );
  const columns = Array.from({ length: 3000 }, (_, i) => `a${i}`);
  assert.equal(planRule(ruleOf(`SELECT ${columns.join(', ')} FROM demo`), streams, noFold).outputFields, columns);
});

test.run();

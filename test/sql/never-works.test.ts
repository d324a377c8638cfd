/** What the planner refuses for the types of its operands fails in each row where nobody knows the types before. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../host/base/errors.js';
import { arity, type FunctionDefinition } from '../../host/functions/define.js';
import { functionDefinitions } from '../../host/functions/registry.js';
import { planRule } from '../../host/plan/index.js';
import { catalogOf, noFold, ruleOf } from '../support/engine/planned-rules.js';
import { openRule } from '../support/engine/rule-kernel.js';

const loose = 'CREATE STREAM loose () WITH (TYPE="memory", DATASOURCE="loose")';
const typed =
  'CREATE STREAM typed (f FLOAT, s STRING, b BOOLEAN, l ARRAY(FLOAT), o STRUCT(a FLOAT)) WITH (TYPE="memory", ' +
  'DATASOURCE="typed")';
const catalog = catalogOf(loose, typed);

const texts = [
  'abc',
  '1',
  '2024-01-02T03:04:05Z',
  '$.a',
  '[1,2]',
  '{"a":1}',
  'gzip',
  'hex',
  'UTC',
  'yyyy',
  '1s',
  'a',
  '',
];
/** Values of each kind, by the column that is declared to hold it. */
const kinds: Readonly<Record<string, readonly unknown[]>> = {
  f: [0, 1, 2, 0.5, -1.5, 16, 1704164645000],
  s: texts,
  b: [true, false],
  l: [[1, 2], ['a', 'b'], [['a', 1]], [{ key: 'a', value: 1 }], [1.5], [true]],
  o: [{ a: 1 }, { a: { b: 1 } }, { a: [1, 2] }, { key: 'a', value: 1 }],
};
const all = Object.values(kinds).flat();

/** Why the statement is refused for a type; undefined when it is planned, or refused for something else. */
function refusal(sql: string): string | undefined {
  try {
    planRule(ruleOf(sql), catalog, noFold);
  } catch (error) {
    assert.instance(error, HaumeaError, sql);
    const { message } = error as HaumeaError;
    if (/must be [A-Z, ]+( or [A-Z]+)?, not [A-Z]/.test(message)) {
      assert.match(message, / \(line 1, column \d+\)$/);
      return message;
    }
  }
  return undefined;
}

/** Values that the expression has in rows of the stream without columns. */
function valuesOf(expression: string, rows: readonly object[], clause = ''): unknown[] {
  const rule = openRule([loose], `SELECT ${expression} AS r FROM loose${clause}`);
  rule.feed('loose', rows);
  // Errors are texts, and those that begin with a list are no JSON.
  const values = rule.written().flatMap((text) => {
    try {
      return (JSON.parse(text) as { r?: unknown }[]).map(({ r }) => r ?? null);
    } catch {
      return [];
    }
  });
  rule.close();
  return values.filter((value) => value !== null);
}

let seed = 1;
function pick<T>(some: readonly T[]): T {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return some[seed % some.length]!;
}

const isPlain = ({ implementation }: FunctionDefinition): boolean =>
  'op' in implementation || 'call' in implementation || 'aggregate' in implementation || 'analytic' in implementation;

test('arguments that are refused fail in each row', () => {
  let refused = 0;
  for (const definition of functionDefinitions().filter(isPlain)) {
    const { name, args, implementation } = definition;
    const { min, max } = arity(args);
    const count = max ?? min + 1;
    const clause = 'aggregate' in implementation ? ' GROUP BY COUNTWINDOW(1)' : '';
    for (let place = 0; place < count; place++) {
      for (const [column, samples] of Object.entries(kinds)) {
        const given = Array.from({ length: count }, (_, i) => (i === place ? column : 'null'));
        const reason = refusal(`SELECT ${name}(${given.join()}) AS r FROM typed${clause}`);
        if (reason === undefined) continue;
        refused++;
        const names = given.map((_one, i) => `x${i}`);
        const rows = Array.from({ length: 40 }, () =>
          Object.fromEntries(names.map((one, i) => [one, pick(i === place ? samples : all)])),
        );
        try {
          const values = valuesOf(`${name}(${names.join()})`, rows, clause);
          assert.equal(values, [], `${name}(${given.join()}) was refused (${reason}) and gave values`);
        } catch (error) {
          // Arguments that must stand in the statement.
          if (!(error instanceof HaumeaError)) throw error;
        }
      }
    }
  }
  assert.ok(refused > 200, `${refused} are refused`);
});

const operators = '+ - * / % & | ^ = != < <= > >= AND OR LIKE IN'.split(' ');

test('operators that are refused fail in each row', () => {
  let refused = 0;
  for (const operator of operators) {
    for (const [left, lefts] of Object.entries(kinds)) {
      for (const [right, rights] of Object.entries(kinds)) {
        const reason = refusal(`SELECT ${left} ${operator} ${right} AS r FROM typed`);
        if (reason === undefined) continue;
        refused++;
        const rows = lefts.flatMap((x) => rights.map((y) => ({ x, y })));
        assert.equal(valuesOf(`x ${operator} y`, rows), [], `${left} ${operator} ${right}: ${reason}`);
      }
    }
  }
  assert.ok(refused > 250, `${refused} are refused`);
});

const shapes = [
  '-x',
  'NOT x',
  'x->a',
  'x[0]',
  'x["a"]',
  'x BETWEEN 1 AND 3',
  'x BETWEEN "a" AND "b"',
  'CASE x WHEN 1 THEN 2 END',
];

test('other forms that are refused fail in each row', () => {
  for (const shape of shapes) {
    for (const [column, samples] of Object.entries(kinds)) {
      const reason = refusal(`SELECT ${shape.replace('x', column)} AS r FROM typed`);
      if (reason === undefined) continue;
      const rows = samples.map((x) => ({ x }));
      assert.equal(valuesOf(shape, rows), [], `${shape} of ${column}: ${reason}`);
    }
  }
});

test('conditions that are refused fail in each row', () => {
  const clauses = [
    'WHERE x',
    'GROUP BY COUNTWINDOW(1) FILTER (WHERE x)',
    'GROUP BY x, COUNTWINDOW(1) HAVING x',
    'GROUP BY COUNTWINDOW(1) QUALIFY x',
  ];
  for (const clause of clauses) {
    for (const [column, samples] of Object.entries(kinds)) {
      const isCondition = column === 'b';
      const reason = refusal(`SELECT 1 AS r FROM typed ${clause.replaceAll('x', column)}`);
      assert.is(reason === undefined, isCondition, `${clause} of ${column}: ${reason}`);
      if (isCondition) continue;
      const rows = samples.map((x) => ({ x }));
      assert.equal(valuesOf('1', rows, ` ${clause}`), [], clause);
    }
  }
});

/** What the planner says of statements on `typed`. */
const said: Readonly<Record<string, string>> = {
  'SELECT f + s AS r FROM typed': 'the right side of + must be BIGINT or FLOAT, not STRING (line 1, column 12)',
  'SELECT s * 2 AS r FROM typed': 'the left side of * must be BIGINT or FLOAT, not STRING (line 1, column 8)',
  'SELECT abs(s) AS r FROM typed':
    'function abs: argument 1 (x) must be BIGINT or FLOAT, not STRING (line 1, column 12)',
  'SELECT abs(upper(s)) AS r FROM typed':
    'function abs: argument 1 (x) must be BIGINT or FLOAT, not STRING (line 1, column 12)',
  'SELECT keys(l) AS r FROM typed': 'function keys: argument 1 (object) must be STRUCT, not ARRAY (line 1, column 13)',
  'SELECT sum(s) AS r FROM typed GROUP BY COUNTWINDOW(2)':
    'function sum: argument 1 (value) must be BIGINT or FLOAT, not STRING (line 1, column 12)',
  'SELECT lag(s) - 1 AS r FROM typed': 'the left side of - must be BIGINT or FLOAT, not STRING (line 1, column 8)',
  'SELECT o->a + o->b, o->a LIKE "x" AS r FROM typed':
    'the left side of LIKE must be STRING, not FLOAT (line 1, column 21)',
  'SELECT l[0] + s AS r FROM typed': 'the right side of + must be BIGINT or FLOAT, not STRING (line 1, column 15)',
  'SELECT s FROM typed WHERE s > 5': 'the right side of > must be STRING or DATETIME, not BIGINT (line 1, column 31)',
  'SELECT acc_sum(s) AS r FROM typed':
    'function acc_sum: argument 1 (value) must be BIGINT or FLOAT, not STRING (line 1, column 16)',
  'SELECT acc_avg("abc") AS r FROM typed':
    'function acc_avg: argument 1 (value) must be BIGINT or FLOAT, not STRING (line 1, column 16)',
  'SELECT acc_count(f, s, b) AS r FROM typed':
    'function acc_count: argument 2 (begin) must be BOOLEAN, not STRING (line 1, column 21)',
  'SELECT acc_max_by(f, b) AS r FROM typed':
    'function acc_max_by: argument 2 (key) must be BIGINT, FLOAT, STRING or DATETIME, not BOOLEAN (line 1, column 22)',
  'SELECT inc_max(l) AS r FROM typed GROUP BY COUNTWINDOW(2)':
    'function inc_max: argument 1 (value) must be BIGINT, FLOAT, STRING or DATETIME, not ARRAY (line 1, column 16)',
  'SELECT array_map("abs", s) AS r FROM typed':
    'function array_map: argument 2 (list) must be ARRAY, not STRING (line 1, column 25)',
  'SELECT delay(s, f) AS r FROM typed':
    'function delay: argument 1 (milliseconds) must be BIGINT or FLOAT, not STRING (line 1, column 14)',
  'SELECT s FROM typed WHERE f IN ("a", "b")':
    'the right side of IN must be BIGINT, FLOAT or DATETIME, not STRING (line 1, column 33)',
  'SELECT s FROM typed WHERE l NOT IN (1)':
    'the left side of IN must be BIGINT, FLOAT, STRING, BOOLEAN, DATETIME or BYTEA, not ARRAY (line 1, column 27)',
  'SELECT count(*) AS n FROM typed GROUP BY STATEWINDOW(s, s)':
    'the condition of STATEWINDOW must be BOOLEAN, not STRING (line 1, column 54)',
  'SELECT count(*) AS n FROM typed GROUP BY STATEWINDOW(b, f)':
    'the condition of STATEWINDOW must be BOOLEAN, not FLOAT (line 1, column 57)',
  'SELECT s FROM typed WHERE f': 'the condition of WHERE must be BOOLEAN, not FLOAT (line 1, column 27)',
  'SELECT CASE WHEN b = true THEN f + s END AS r FROM typed':
    'the right side of + must be BIGINT or FLOAT, not STRING (line 1, column 36)',
  'SELECT count(*) AS n FROM typed GROUP BY f + s, COUNTWINDOW(2)':
    'the right side of + must be BIGINT or FLOAT, not STRING (line 1, column 46)',
  'SELECT s AS x, x + 1 AS y FROM typed': 'the left side of + must be BIGINT or FLOAT, not STRING (line 1, column 16)',
  'SELECT x + 1 AS y FROM (SELECT s AS x FROM typed) AS t':
    'the left side of + must be BIGINT or FLOAT, not STRING (line 1, column 8)',
  'SELECT "a" + 1 AS r FROM loose': 'the left side of + must be BIGINT or FLOAT, not STRING (line 1, column 8)',
  'SELECT typed.s FROM typed INNER JOIN loose ON typed.f = typed.s GROUP BY COUNTWINDOW(2)':
    'the right side of = must be BIGINT, FLOAT or DATETIME, not STRING (line 1, column 57)',
};

for (const [sql, message] of Object.entries(said)) {
  test(`says what is wrong with ${sql}`, () => assert.is(refusal(sql), message));
}

test('conditions by which something is counted, kept or sent are refused', () => {
  const uses: Readonly<Record<string, string>> = {
    'SELECT count(*) FILTER (WHERE x) AS n FROM typed GROUP BY COUNTWINDOW(1)': 'the FILTER of count',
    'SELECT count(*) AS n FROM typed GROUP BY SLIDINGWINDOW(ss, 1) OVER (WHEN x)': 'OVER (WHEN …)',
    'SELECT lag(f) OVER (WHEN x) AS r FROM typed': 'OVER (WHEN …)',
  };
  for (const [sql, clause] of Object.entries(uses)) {
    assert.is(refusal(sql.replace('x)', 'b)')), undefined, sql);
    const reason = refusal(sql.replace('x)', 's)')) ?? '';
    assert.ok(reason.startsWith(`the condition of ${clause} must be BOOLEAN, not STRING (line 1`), reason);
  }
});

const planned = [
  'SELECT upper(f), concat(f, b), length(f), md5(l) FROM typed',
  'SELECT f + null, -null AS n, s LIKE null AS l FROM typed',
  'SELECT CASE f WHEN 1 THEN "a" WHEN "x" THEN "b" END AS r FROM typed',
  'SELECT b AND f AS r, b OR s AS q FROM typed',
  'SELECT f IN (1, "a") AS r, s IN (null, 1) AS q FROM typed',
  'SELECT acc_sum(s) OVER (WHEN b) AS r, acc_sum(s, b, b) AS q, acc_count(s) AS n, inc_sum(b) AS i FROM typed',
  'SELECT o->zz AS r, o.zz AS q FROM typed',
  'SELECT cast(s, "bigint") + f AS r, cast(f, "string") LIKE "1%" AS q FROM typed',
  'SELECT coalesce(s, f) + 1 AS r, CASE WHEN b = true THEN s ELSE f END * 2 AS q FROM typed',
  'SELECT day(s), day(f), format_time(f, "yyyy") FROM typed',
  'SELECT a + b, abs(a), a LIKE b FROM loose WHERE a > 3 AND b > "x"',
  'SELECT s FROM typed WHERE s > "3" AND f > 3 AND f < 1.5 AND isnull(s)',
];
for (const sql of planned) test(`takes ${sql}`, () => assert.is(refusal(sql), undefined));

const withoutMember: Readonly<Record<string, string>> = {
  'SELECT o->aa AS r FROM typed': 'the declaration of o has no member aa, which is null in every row, did you mean a?',
  'SELECT o.other AS r FROM typed': 'the declaration of o has no member other, which is null in every row',
};
for (const [sql, warning] of Object.entries(withoutMember)) {
  test(`warns of ${sql}`, () => assert.equal(planRule(ruleOf(sql), catalog, noFold).warnings, [warning]));
}

test.run();

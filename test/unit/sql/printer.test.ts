import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseExpression, parseStatement } from '../../../host/sql/parser.js';
import { print, printExpr } from '../../../host/sql/printer.js';
import { exprs, statements, withoutSpans } from '../../support/sql/arbitraries.js';

test('every printed expression reads back as the same tree', () => {
  fc.assert(
    fc.property(exprs, (expr) => {
      const text = printExpr(expr);
      const back = withoutSpans(parseExpression(text));
      if (!isDeepStrictEqual(back, withoutSpans(expr))) throw new Error(text);
    }),
    { numRuns: 1500 },
  );
});

test('every printed statement reads back as the same tree', () => {
  fc.assert(
    fc.property(statements, (statement) => {
      const text = print(statement);
      const back = withoutSpans(parseStatement(text));
      if (!isDeepStrictEqual(back, withoutSpans(statement))) throw new Error(text);
    }),
    { numRuns: 400 },
  );
});

const samples: [string, string][] = [
  ['a+b*c', 'a + b * c'],
  ['(a+b)*c', '(a + b) * c'],
  ['a-(b-c)', 'a - (b - c)'],
  ['not a = 1 and b <> 2 or c', 'NOT a = 1 AND b != 2 OR c'],
  ['not (a and b)', 'NOT (a AND b)'],
  ['a is not null', 'a IS NOT NULL'],
  ['- 3 + -a - -(3)', '-3 + -a - -(3)'],
  ['a between 1 and b+2 and c', 'a BETWEEN 1 AND b + 2 AND c'],
  ['`from`.x->y.z["b c"][1:]', '`from`.x->y.z["b c"][1:]'],
  ["'it''s' ", '"it\'s"'],
  ['5. + 1e3 + 1e21', '5.0 + 1000.0 + 1e+21'],
];

for (const [text, printed] of samples) {
  test(`prints ${text} as ${printed}`, () => assert.is(printExpr(parseExpression(text)), printed));
}

test('prints a whole SELECT on one line', () => {
  const text =
    'select a as x, * except(b) from s t left join u on t.id = u.id where a>1 group by a, hoppingwindow(ss,10,5) ' +
    'filter(where b) ' +
    'over(when c) having count(*) filter(where d) > 1 order by a desc, b asc limit 3;';
  assert.is(
    print(parseStatement(text)),
    'SELECT a AS x, * EXCEPT (b) FROM s AS t LEFT JOIN u ON t.id = u.id WHERE a > 1 GROUP BY a, ' +
      'HOPPINGWINDOW(SS, 10, 5) ' +
      'FILTER (WHERE b) OVER (WHEN c) HAVING count(*) FILTER (WHERE d) > 1 ORDER BY a DESC, b LIMIT 3',
  );
});

test('prints as-of joins', () => {
  const text =
    'select * from s asof join t match_condition (s.a>=t.a) on s.b=t.b asof left outer join u as v on s.c=v.c';
  assert.is(
    print(parseStatement(text)),
    'SELECT * FROM s ASOF JOIN t MATCH_CONDITION (s.a >= t.a) ON s.b = t.b ASOF LEFT JOIN u AS v ON s.c = v.c',
  );
});

test.run();

import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { test } from 'uvu';
import { HaumeaError } from '../../host/base/errors.js';
import type { Statement } from '../../host/sql/ast.js';
import { parseStatement } from '../../host/sql/parser.js';
import { print } from '../../host/sql/printer.js';
import { defineSource } from '../../host/sql/source-def.js';
import { withoutSpans } from '../support/sql/arbitraries.js';

const pieces =
  'SELECT FROM WHERE AND OR NOT GROUP BY HAVING ORDER LIMIT JOIN LEFT ON CASE WHEN THEN ELSE END IN BETWEEN LIKE ' +
  'IS NULL TRUE ' +
  'AS OVER PARTITION FILTER EXCEPT REPLACE INVISIBLE CREATE STREAM TABLE WITH ARRAY STRUCT BIGINT DEFAULT ' +
  'TUMBLINGWINDOW ' +
  'COUNTWINDOW ss a b demo `x` f "s" \'t\' 1 2.5 1e3 0 ( ) [ ] , . : ; -> + - * / % & | ^ = != <> < <= > >= == # -- ' +
  '/* */ \n " \' ` \\ é';
const words = pieces.split(' ');

const soup = fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((parts) => parts.join(' '));
const seeds = [
  'SELECT a, f(b, *) FILTER (WHERE c > 1) OVER (PARTITION BY d WHEN e) AS x FROM s AS t LEFT JOIN u ON t.a = u.a ' +
    'WHERE a IN (1, 2) LIMIT 3',
  'SELECT CASE a WHEN 1 THEN "x" ELSE -b[0:1]->c END FROM s WHERE a BETWEEN 1 AND 2 AND NOT b IS NULL GROUP BY a, ' +
    'HOPPINGWINDOW(ss, 2, 1)',
  'CREATE STREAM s (a BIGINT DEFAULT 1, b ARRAY(STRUCT(c STRING))) WITH (DATASOURCE="x", FORMAT="json", SHARED="true")',
];

/** A valid statement with some pieces cut out, doubled or replaced. */
const damaged = fc
  .tuple(
    fc.constantFrom(...seeds),
    fc.array(fc.tuple(fc.nat(200), fc.nat(6), fc.constantFrom('', ...words)), { minLength: 1, maxLength: 4 }),
  )
  .map(([seed, edits]) => edits.reduce((text, [at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut), seed));

/** Parses and, where that works, insists that printing keeps the tree; anything but a HaumeaError is a defect. */
function check(text: string): void {
  let statement: Statement;
  try {
    statement = parseStatement(text);
    if (statement.kind === 'create') defineSource(statement);
  } catch (error) {
    if (error instanceof HaumeaError) return;
    throw error;
  }
  const printed = print(statement);
  const again = parseStatement(printed);
  if (!isDeepStrictEqual(withoutSpans(again), withoutSpans(statement))) throw new Error(`${text}\nprinted: ${printed}`);
}

const runs = { numRuns: Number(process.env.HAUMEA_FUZZ_RUNS ?? 3000) };

test('any sequence of words parses or is refused', () => {
  fc.assert(fc.property(soup, check), runs);
});

test('any sequence of characters parses or is refused', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), check), runs);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (tail) => check(`SELECT ${tail} FROM demo`)),
    runs,
  );
});

test('any damage to a valid statement leaves it valid or refused', () => {
  fc.assert(fc.property(damaged, check), runs);
});

test.run();

import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Expr } from '../../../host/sql/ast.js';
import { parseExpression, parseSelect } from '../../../host/sql/parser.js';
import { printExpr } from '../../../host/sql/printer.js';
import { forEachExpression, some, transform, walk } from '../../../host/sql/visit.js';
import { exprs } from '../../support/sql/arbitraries.js';

const everywhere =
  'f(a, * REPLACE (b AS x)) FILTER (WHERE c) OVER (PARTITION BY d WHEN e) + CASE g WHEN h THEN i ELSE j END + ' +
  'k[l] + m[n:o] + p->q + [r, s] + (t BETWEEN u AND v) + (w IN (x1, y)) + (z LIKE aa) + (bb IS NULL) + (NOT cc) ' +
  '+ (dd IN ee)';

function columnsOf(expr: Expr): string[] {
  const names: string[] = [];
  walk(expr, (node) => {
    if (node.kind === 'column') names.push(node.name);
    return true;
  });
  return names;
}

test('walks into every part of an expression in source order', () => {
  const names = columnsOf(parseExpression(everywhere));
  assert.is(names.join(' '), 'a b c d e g h i j k l m n o p r s t u v w x1 y z aa bb cc dd ee');
});

test('leaves out what is below a node when the visitor says so', () => {
  const seen: string[] = [];
  walk(parseExpression('f(a) + b'), (node) => {
    if (node.kind === 'column') seen.push(node.name);
    return node.kind !== 'call';
  });
  assert.equal(seen, ['b']);
});

test('finds a node anywhere', () => {
  const expr = parseExpression(everywhere);
  assert.ok(some(expr, (node) => node.kind === 'column' && node.name === 'e'));
  assert.not(some(expr, (node) => node.kind === 'null'));
});

test('transforms bottom up without touching the input', () => {
  const expr = parseExpression('a + f(a, b)');
  const renamed = transform(expr, (node) =>
    node.kind === 'column' && node.name === 'a' ? { ...node, name: 'z' } : node,
  );
  assert.is(printExpr(renamed), 'z + f(z, b)');
  assert.is(printExpr(expr), 'a + f(a, b)');
});

test('a transformation that changes nothing returns the same object', () => {
  fc.assert(fc.property(exprs, (expr) => transform(expr, (node) => node) === expr));
});

test('a transformation reaches every column', () => {
  fc.assert(
    fc.property(exprs, (expr) => {
      const renamed = transform(expr, (node) => (node.kind === 'column' ? { ...node, name: `${node.name}!` } : node));
      return isDeepStrictEqual(
        columnsOf(renamed),
        columnsOf(expr).map((name) => `${name}!`),
      );
    }),
  );
});

test('visits the expressions of every clause', () => {
  const select = parseSelect(
    'SELECT a FROM s INNER JOIN t ON b WHERE c GROUP BY d, STATEWINDOW(e) FILTER (WHERE f) OVER (PARTITION BY g ' +
      'WHEN h) HAVING i ORDER BY j',
  );
  const names: string[] = [];
  forEachExpression(select, (expr) => names.push(...columnsOf(expr)));
  assert.is(names.join(''), 'abcdefghij');
});

test.run();

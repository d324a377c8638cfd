import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Expr } from '../../../host/sql/ast.js';
import { parseCreate, parseExpression, parseSelect, parseStatement } from '../../../host/sql/parser.js';
import { print, printExpr } from '../../../host/sql/printer.js';

/** Prints with every operation in parentheses, so that a text shows how it was grouped. */
function grouped(expr: Expr): string {
  switch (expr.kind) {
    case 'binary':
      return `(${grouped(expr.left)} ${expr.op} ${grouped(expr.right)})`;
    case 'unary':
      return `(${expr.op} ${grouped(expr.operand)})`;
    case 'between':
      return `(${grouped(expr.operand)} BETWEEN ${grouped(expr.low)} AND ${grouped(expr.high)})`;
    case 'in':
      return `(${grouped(expr.operand)} IN ${expr.set ? grouped(expr.set) : `<${expr.list?.map(grouped)}>`})`;
    case 'like':
      return `(${grouped(expr.operand)} LIKE ${grouped(expr.pattern)})`;
    case 'isNull':
      return `(${grouped(expr.operand)} IS NULL)`;
    case 'member':
      return `${grouped(expr.object)}!${expr.name}`;
    default:
      return printExpr(expr);
  }
}

const groupings: [string, string][] = [
  ['a OR b AND c', '(a OR (b AND c))'],
  ['NOT a AND b', '((NOT a) AND b)'],
  ['NOT a = b', '(NOT (a = b))'],
  ['NOT NOT a IN (1)', '(NOT (NOT (a IN <1>)))'],
  ['5 > 3 = true', '((5 > 3) = TRUE)'],
  ['a = 1 + 2 * 3', '(a = (1 + (2 * 3)))'],
  ['a - b - c', '((a - b) - c)'],
  ['a | b & c ^ d', '((a | (b & c)) ^ d)'],
  ['a % b / c', '((a % b) / c)'],
  ['a BETWEEN 1 AND 2 + 3 AND b', '((a BETWEEN 1 AND (2 + 3)) AND b)'],
  ['a = b BETWEEN 1 AND 2', '((a = b) BETWEEN 1 AND 2)'],
  ['a LIKE b = c', '((a LIKE b) = c)'],
  ['a IN b AND c', '((a IN b) AND c)'],
  ['a + 1 IS NULL OR b', '(((a + 1) IS NULL) OR b)'],
  ['a * b->c', '(a * b!c)'],
  ['-a.b * c', '((- a.b) * c)'],
  ['i -3', '(i - 3)'],
  ['i-3', '(i - 3)'],
  ['i*-2', '(i * -2)'],
  ['i - -3', '(i - -3)'],
];

for (const [text, expected] of groupings) {
  test(`groups ${text} as ${expected}`, () => assert.is(grouped(parseExpression(text)), expected));
}

const literals: [string, Expr['kind'], unknown][] = [
  ['12', 'integer', 12n],
  ['-12', 'integer', -12n],
  ['9223372036854775807', 'integer', 9223372036854775807n],
  ['99999999999999999999', 'integer', 9223372036854775807n],
  ['-9223372036854775808', 'integer', -9223372036854775808n],
  ['-99999999999999999999', 'integer', -9223372036854775808n],
  ['000000000000000000000012', 'integer', 12n],
  ['5.', 'number', 5],
  ['.5', 'number', 0.5],
  ['1.5E-3', 'number', 0.0015],
  ['1e3', 'number', 1000],
  ['True', 'boolean', true],
  [`'it''s "x"'`, 'string', `it's "x"`],
  [`"it's ""x"""`, 'string', `it's "x"`],
  [`"a\\n\\t\\\\\\"\\u00e9\\U0001F600"`, 'string', 'a\n\t\\"é😀'],
  [`'\\x41\\xc3\\xa9\\101'`, 'string', 'AéA'],
  ['""', 'string', ''],
];

for (const [text, kind, value] of literals) {
  test(`reads the literal ${text}`, () => {
    const expr = parseExpression(text);
    assert.is(expr.kind, kind);
    assert.is('value' in expr ? expr.value : undefined, value);
  });
}

test('reads paths: the first two parts are a column, the rest members', () => {
  const path = parseExpression('demo.o.x->y[0]["b c"]');
  assert.is(printExpr(path), 'demo.o.x->y[0]["b c"]');
  const column = parseExpression('o.x');
  assert.is(column.kind === 'column' && column.qualifier, 'o');
  assert.is(parseExpression('(o).x').kind, 'member');
  assert.is(parseExpression('o->"a b"').kind, 'member');
});

test('a column without a comma before it is no alias', () => {
  for (const sql of ['select device temp from telem', 'select count(*) c, d from telem', 'select 1 `a` from telem']) {
    assert.throws(() => parseSelect(sql), /found .*, expected ",", AS or FROM/, sql);
  }
  assert.is(parseSelect('select t.device from telem t').from.alias, 't');
});

test('words with a meaning elsewhere may name columns', () => {
  for (const word of ['ss', 'filter', 'replace', 'is', 'default', 'partition']) {
    assert.is(parseExpression(word).kind, 'column', word);
  }
  assert.is(parseExpression('replace(a, "x", "y")').kind, 'call');
  assert.is(parseSelect('SELECT a AS ms FROM demo').items[0]?.alias, 'ms');
  assert.throws(() => parseSelect('SELECT a ms FROM demo'), /found "ms", expected FROM/);
  assert.is(parseSelect('SELECT `from` AS `select` FROM `a b` `c`').from.alias, 'c');
  assert.is(parseSelect('SELECT o.from FROM demo').items.length, 1);
});

test('keywords are case-insensitive, names are not', () => {
  const select = parseSelect('select A from Demo wHeRe B Is Not Null');
  assert.is(select.from.name, 'Demo');
  assert.is(print(select), 'SELECT A FROM Demo WHERE B IS NOT NULL');
});

test('letters of any script make names and never keywords', () => {
  assert.is(parseSelect('SELECT größe, 温度 AS t FROM 数据').from.name, '数据');
  assert.throws(() => parseSelect('SELECT a FROM s WHERE a lıke "x"'), /expected the end/);
});

test('comments and line ends are blanks', () => {
  const text = '-- first\nSELECT /* a, */ b -- c\r\nFROM\n\tdemo /**/ ; ;';
  assert.is(print(parseStatement(text)), 'SELECT b FROM demo');
});

test('reads the standard spellings', () => {
  const text =
    'SELECT count(*) FILTER (WHERE a <> 1) AS n, lag(b) OVER (WHEN c PARTITION BY d) AS p INVISIBLE, t.* FROM demo t ' +
    'JOIN u ON t.id == u.id LEFT OUTER JOIN v x ON x.id = t.id CROSS JOIN w WHERE NOT a NOT IN (1, 2) AND b NOT ' +
    'LIKE "x%"';
  assert.is(
    print(parseSelect(text)),
    'SELECT count(*) FILTER (WHERE a != 1) AS n, lag(b) OVER (PARTITION BY d WHEN c) AS p INVISIBLE, t.* FROM ' +
      'demo AS t ' +
      'INNER JOIN u ON t.id = u.id LEFT JOIN v AS x ON x.id = t.id CROSS JOIN w WHERE NOT a NOT IN (1, 2) AND b ' +
      'NOT LIKE "x%"',
  );
});

test('reads every window', () => {
  const windows = [
    'TUMBLINGWINDOW(DD, 1)',
    'HOPPINGWINDOW(HH, 2, 1)',
    'SLIDINGWINDOW(MS, 0) OVER (WHEN a > 1)',
    'SLIDINGWINDOW(MI, 1, 0)',
    'SESSIONWINDOW(SS, 10, 2) FILTER (WHERE a > 1)',
    'COUNTWINDOW(5, 2)',
    'STATEWINDOW(a > 1, a < 1) OVER (PARTITION BY b)',
  ];
  for (const window of windows) {
    const text = `SELECT a FROM s GROUP BY b, ${window}`;
    assert.is(print(parseSelect(text)), text);
  }
  const swapped = 'SELECT a FROM s GROUP BY tumblingwindow(ss, 1) OVER (WHEN a) FILTER (WHERE b), b';
  assert.is(
    print(parseSelect(swapped)),
    'SELECT a FROM s GROUP BY b, TUMBLINGWINDOW(SS, 1) FILTER (WHERE b) OVER (WHEN a)',
  );
});

test('reads source names that look like topics', () => {
  assert.is(parseSelect('SELECT a FROM plant/+/line#').from.name, 'plant/+/line#');
});

test('reads stars with EXCEPT and REPLACE in any order', () => {
  const star = 'SELECT * REPLACE (a + 1 AS a, b AS c) EXCEPT (d, e), demo.* FROM demo';
  assert.is(print(parseSelect(star)), 'SELECT * EXCEPT (d, e) REPLACE (a + 1 AS a, b AS c), demo.* FROM demo');
});

test('reads column types with their other names', () => {
  const create = parseCreate(
    'CREATE STREAM s (a INT, b DOUBLE PRECISION, c VARCHAR(20), d TIMESTAMP, e BOOL DEFAULT true, f ' +
      'ARRAY(STRUCT(x BLOB)), g DECIMAL(10, 2),) ' +
      `WITH (datasource='x' FORMAT="JSON", SHARED=TRUE, RETAIN_SIZE=3)`,
  );
  assert.is(
    print(create),
    'CREATE STREAM s (a BIGINT, b FLOAT, c STRING, d DATETIME, e BOOLEAN DEFAULT TRUE, f ARRAY(STRUCT(x BYTEA)), ' +
      'g FLOAT) ' +
      'WITH (DATASOURCE="x", FORMAT="JSON", SHARED="TRUE", RETAIN_SIZE="3")',
  );
  assert.is(parseCreate('CREATE TABLE t WITH (DATASOURCE="x")').fields, null);
  assert.equal(parseCreate('CREATE TABLE t () WITH ()').fields, []);
});

test('reads the short statements', () => {
  for (const text of ['SHOW STREAMS', 'SHOW TABLES', 'DESCRIBE STREAM a', 'EXPLAIN TABLE b', 'DROP STREAM `c d`']) {
    assert.is(print(parseStatement(text)), text);
  }
});

test('spans tell where an expression stands', () => {
  const select = parseSelect('SELECT a,\n  b + c * 2 AS x\nFROM demo');
  assert.equal(select.items[1]?.expr.span, { start: 12, end: 21, line: 2, column: 3 });
  assert.equal(select.from.span, { start: 32, end: 36, line: 3, column: 6 });
});

test.run();

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { MAX_SQL_LENGTH } from '../../../host/sql/lexer.js';
import { parseExpression, parseStatement } from '../../../host/sql/parser.js';
import { printExpr } from '../../../host/sql/printer.js';

const MEGABYTE = 1024 * 1024;
/** Time of the processor: the clock would also count what other processes do. */
const limitMs = 3000;

/** Repeats a piece up to a megabyte. */
function megabyteOf(piece: string): string {
  return piece.repeat(Math.ceil(MEGABYTE / piece.length));
}

/** Parses and returns the message of the error, or null; fails on any other exception and on slowness. */
function attempt(text: string): string | null {
  const start = process.cpuUsage();
  let message: string | null = null;
  try {
    parseStatement(text);
  } catch (error) {
    assert.instance(error, HaumeaError, String(error));
    if (error instanceof Error) message = error.message;
  }
  const { user, system } = process.cpuUsage(start);
  const tookMs = (user + system) / 1000;
  assert.ok(tookMs < limitMs, `${text.slice(0, 20)}… took ${Math.round(tookMs)} ms`);
  return message;
}

const nestings = [
  '(',
  'f(',
  '[',
  '- ',
  'NOT ',
  'CASE ',
  'CASE WHEN a=',
  'a[',
  'a IN (',
  'a BETWEEN (',
  'f(a) FILTER (WHERE ',
  'a+(b*',
];
for (const piece of nestings) {
  test(`refuses a megabyte of ${piece} with a clear error`, () => {
    assert.match(attempt(`SELECT ${megabyteOf(piece)}`) ?? '', /nested more than 500 levels deep/);
  });
}

for (const piece of ['a+', 'a AND ', 'a=', 'a LIKE ', 'a IS NULL IS NULL IS ']) {
  test(`refuses a chain of a megabyte of ${piece}`, () => {
    assert.match(attempt(`SELECT ${megabyteOf(piece)}a FROM s`) ?? '', /operators on one path|found/);
  });
}

for (const piece of ['.a', '->a', '[0]', '[:1]']) {
  test(`refuses a megabyte of ${piece} behind a column`, () => {
    assert.match(attempt(`SELECT a.b${megabyteOf(piece)} FROM s`) ?? '', /operators on one path/);
  });
}

for (const piece of ['ARRAY(', 'STRUCT(a ']) {
  test(`refuses a column type nested by a megabyte of ${piece}`, () => {
    assert.match(attempt(`CREATE STREAM s (a ${megabyteOf(piece)}`) ?? '', /nested more than 500 levels deep/);
  });
}

for (const piece of [
  '"',
  "'",
  '`',
  '/*',
  '\\',
  '#',
  '1',
  '1.',
  '.',
  'e',
  '\n',
  ' ',
  '--',
  '--\n',
  'ä',
  '𝒳',
  '"" ',
  "'\\x41' ",
  '1e1 ',
]) {
  test(`gets through a megabyte of ${JSON.stringify(piece)}`, () => {
    attempt(`SELECT ${megabyteOf(piece)}`);
  });
}

test('long flat lists parse up to their bounds, which the refusal names', () => {
  const columns = 'a, '.repeat(4095);
  assert.is(attempt(`SELECT ${columns}b FROM s`), null);
  assert.match(attempt(`SELECT ${columns}b, c FROM s`) ?? '', /^line 1 column \d+: more than 4096 columns in SELECT$/);
  assert.is(attempt(`SELECT a IN (${'12345, '.repeat(19_999)}1) FROM s`), null);
  assert.is(attempt(`SELECT f(${'g(a), '.repeat(19_999)}1) FROM s`), null);
  assert.is(attempt(`SELECT "${megabyteOf('x\\n')}" FROM s`), null);
  assert.is(attempt(`CREATE STREAM s (${'a BIGINT, '.repeat(10_000)}) WITH (DATASOURCE="x")`), null);
});

const beyond: Record<string, string> = {
  '200000 words and symbols': `SELECT ${'1+2, '.repeat(4000)}[${'[1,2,3,4],'.repeat(20_000)}1] FROM s`,
  '20000 values in IN (…)': `SELECT a IN (${'1, '.repeat(20_000)}1) FROM s`,
  '20000 elements in a list': `SELECT [${'1, '.repeat(20_000)}1] FROM s`,
  '20000 arguments of concat': `SELECT concat(${'a, '.repeat(20_000)}a) FROM s`,
  '20000 branches of CASE': `SELECT CASE a ${'WHEN 1 THEN 2 '.repeat(20_001)} END FROM s`,
  '1000 expressions in GROUP BY': `SELECT a FROM s GROUP BY ${'a, '.repeat(1000)}a`,
  '1000 expressions in ORDER BY': `SELECT a FROM s ORDER BY ${'a, '.repeat(1000)}a`,
  '1000 expressions in PARTITION BY': `SELECT lag(a) OVER (PARTITION BY ${'a, '.repeat(1000)}a) FROM s`,
  '4096 columns in EXCEPT': `SELECT * EXCEPT(${'a, '.repeat(4096)}a) FROM s`,
  '4096 columns in REPLACE': `SELECT * REPLACE(${'a, '.repeat(4096)}a) FROM s`,
  '100 joins in a SELECT': `SELECT a FROM s ${'JOIN t ON a = b '.repeat(101)}`,
  '10000 columns of a stream or table, members of STRUCT among them':
    `CREATE STREAM s (${'a STRUCT(b BIGINT), '.repeat(5001)}) ` + 'WITH ()',
};
for (const [bound, text] of Object.entries(beyond)) {
  test(`refuses more than ${bound}`, () => {
    const message = attempt(text) ?? '';
    assert.match(message, /^line 1 column \d+: /);
    assert.ok(message.includes(`more than ${bound}`), message.slice(0, 200));
  });
}

test('a tree of the greatest height parses and prints', () => {
  const text = `a${' + a'.repeat(999)}`;
  assert.is(printExpr(parseExpression(text)), text);
  assert.throws(() => parseExpression(`${text}${' + a'.repeat(2)}`), /more than 1000 operators on one path/);
  const nested = `${'('.repeat(499)}a${')'.repeat(499)}`;
  assert.is(printExpr(parseExpression(nested)), 'a');
});

test('refuses longer statements by their length', () => {
  assert.match(attempt(' '.repeat(MAX_SQL_LENGTH + 1)) ?? '', /characters, at most/);
});

test.run();

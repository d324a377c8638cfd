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

test('parses long flat lists', () => {
  assert.is(attempt(`SELECT ${megabyteOf('a, ')}b FROM s`), null);
  assert.is(attempt(`SELECT a IN (${megabyteOf('12345, ')}1) FROM s`), null);
  assert.is(attempt(`SELECT f(${megabyteOf('g(a), ')}1) FROM s`), null);
  assert.is(attempt(`SELECT "${megabyteOf('x\\n')}" FROM s`), null);
  assert.is(attempt(`CREATE STREAM s (${megabyteOf('a BIGINT, ')}) WITH (DATASOURCE="x")`), null);
});

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

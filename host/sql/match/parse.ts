/**
 * `MATCH_RECOGNIZE (PARTITION BY … ORDER BY … MEASURES … PATTERN (…) DEFINE …)`. None of its words is reserved.
 */
import type { Expr, PatternClause, PatternPart } from '../ast.js';
import { type Cursor, most } from '../cursor.js';
import type { Token } from '../lexer.js';
import { parseExpr, parseOrderBy } from '../parse-expression.js';
import { atInterval, parseInterval } from '../parse-interval.js';

/** Greatest bound of a quantifier. */
const mostRepeats = 10_000;

/** PERMUTE of more would have too many orders. */
const mostPermuted = 8;

/** Variables of a pattern and its subsets, each. */
const mostVariables = 1000;

/** Reads it, from its first word on. */
export function parseMatch(cursor: Cursor): PatternClause {
  const first = cursor.advance();
  cursor.expectSymbol('(');
  const partitionBy: Expr[] = [];
  if (cursor.acceptWord('PARTITION')) {
    cursor.expectWord('BY', 'BY after PARTITION');
    do {
      cursor.room(partitionBy.length, most.keys, 'expressions in PARTITION BY');
      refusePattern(cursor, 'a key of PARTITION BY');
      partitionBy.push(parseExpr(cursor));
    } while (cursor.acceptSymbol(','));
  }
  const orderBy = parseOrderBy(cursor);
  const measures = parseMeasures(cursor);
  const rows = parseRows(cursor);
  const skip = parseSkip(cursor);
  const pattern = parsePattern(cursor);
  const withinMs = parseWithin(cursor);
  const subsets = parseSubsets(cursor);
  const defines = parseDefines(cursor);
  refuseOrder(cursor);
  const defined = defines.at(-1)?.name;
  const what = defined === undefined ? 'DEFINE or ")" behind MATCH_RECOGNIZE' : `"," or ")" behind DEFINE ${defined}`;
  cursor.expectSymbol(')', what);
  const span = cursor.spanFrom(first);
  return { partitionBy, orderBy, measures, rows, skip, pattern, withinMs, subsets, defines, span };
}

/** The refusal of the clause where none can stand: without its parenthesis, or behind other clauses. */
export function misplacedMatch(cursor: Cursor): Error {
  const first = cursor.advance();
  if (!cursor.atSymbol('(')) return cursor.unexpected('"(" after MATCH_RECOGNIZE');
  return cursor.errorAt(
    first,
    'MATCH_RECOGNIZE stands behind a table in FROM, before WHERE and GROUP BY: for rows of a join or a condition ' +
      'write FROM (SELECT …) AS t MATCH_RECOGNIZE (…)',
  );
}

const order =
  'PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER MATCH SKIP, PATTERN, WITHIN, SUBSET, DEFINE';
const firstWords = ['PARTITION', 'ORDER', 'MEASURES', 'ONE', 'ALL', 'AFTER', 'PATTERN', 'WITHIN', 'SUBSET', 'DEFINE'];

/** Refuses a clause that stands behind one that it belongs before, or without PATTERN. */
function refuseOrder(cursor: Cursor): void {
  const { token } = cursor;
  if (!firstWords.some((word) => cursor.atWord(word))) return;
  throw cursor.errorAt(token, `${token.upper} cannot stand here: the order is ${order}, each once`);
}

/** Refuses PATTERN (…) in the place of an expression: a list ends with a comma, or has nothing. */
function refusePattern(cursor: Cursor, expected: string): void {
  const next = cursor.peek();
  if (cursor.atWord('PATTERN') && next.kind === 'symbol' && next.text === '(') throw cursor.unexpected(expected);
}

/** An expression in which RUNNING and FINAL have a meaning. */
function parseInMatch(cursor: Cursor): Expr {
  cursor.isInMatch = true;
  const expr = parseExpr(cursor);
  cursor.isInMatch = false;
  return expr;
}

function parseMeasures(cursor: Cursor): PatternClause['measures'] {
  const measures: PatternClause['measures'] = [];
  if (!cursor.acceptWord('MEASURES')) return measures;
  do {
    cursor.room(measures.length, most.columns, 'columns in MEASURES');
    refusePattern(cursor, 'a measure, as in LAST(A.x) AS x');
    const expr = parseInMatch(cursor);
    if (cursor.atSymbol('.')) throw cursor.unexpected('a column: a measure is one value, as in A.x AS x');
    cursor.expectWord('AS', 'AS and a name: each measure needs one');
    const span = cursor.spanFrom(cursor.token);
    measures.push({ expr, name: cursor.expectName('a name after AS'), span });
  } while (cursor.acceptSymbol(','));
  return measures;
}

function parseRows(cursor: Cursor): PatternClause['rows'] {
  if (cursor.acceptWord('ONE')) {
    expectWords(cursor, ['ROW', 'PER', 'MATCH'], 'ONE ROW PER MATCH');
    if (['SHOW', 'OMIT', 'WITH'].some((word) => cursor.atWord(word))) {
      throw cursor.errorAt(cursor.token, `${cursor.token.upper} … belongs to ALL ROWS PER MATCH`);
    }
    return 'one';
  }
  if (!cursor.acceptWord('ALL')) return 'one';
  expectWords(cursor, ['ROWS', 'PER', 'MATCH'], 'ALL ROWS PER MATCH');
  if (cursor.acceptWord('SHOW')) {
    expectWords(cursor, ['EMPTY', 'MATCHES'], 'SHOW EMPTY MATCHES');
    return 'showEmpty';
  }
  if (cursor.acceptWord('OMIT')) {
    expectWords(cursor, ['EMPTY', 'MATCHES'], 'OMIT EMPTY MATCHES');
    return 'omitEmpty';
  }
  if (!cursor.acceptWord('WITH')) return 'showEmpty';
  expectWords(cursor, ['UNMATCHED', 'ROWS'], 'WITH UNMATCHED ROWS');
  return 'withUnmatched';
}

function expectWords(cursor: Cursor, words: readonly string[], phrase: string): void {
  for (const word of words) cursor.expectWord(word, `${word} of ${phrase}`);
}

function parseSkip(cursor: Cursor): PatternClause['skip'] {
  const first = cursor.token;
  const skipTo = (to: PatternClause['skip']['to'], variable: string | null): PatternClause['skip'] => {
    return { to, variable, span: cursor.spanFrom(first) };
  };
  if (!cursor.acceptWord('AFTER')) return skipTo('pastLast', null);
  expectWords(cursor, ['MATCH', 'SKIP'], 'AFTER MATCH SKIP');
  if (cursor.acceptWord('PAST')) {
    expectWords(cursor, ['LAST', 'ROW'], 'AFTER MATCH SKIP PAST LAST ROW');
    return skipTo('pastLast', null);
  }
  cursor.expectWord('TO', 'PAST LAST ROW, TO NEXT ROW, TO FIRST variable or TO LAST variable');
  const next = cursor.peek();
  if (cursor.atWord('NEXT') && next.kind === 'word' && next.upper === 'ROW') {
    cursor.advance();
    cursor.advance();
    return skipTo('next', null);
  }
  // `SKIP TO first` is to a variable of that name.
  const isWord = (next.kind === 'word' && next.upper !== 'PATTERN') || next.kind === 'quoted';
  const to = isWord && cursor.acceptWord('FIRST') ? 'first' : 'last';
  if (to === 'last' && isWord) cursor.acceptWord('LAST');
  return skipTo(to, cursor.expectName('NEXT ROW, or FIRST or LAST and a variable of the pattern'));
}

/** `PATTERN (…)`: its symbols are read from the word on, up to its last parenthesis. */
function parsePattern(cursor: Cursor): PatternPart {
  if (!cursor.atWord('PATTERN')) {
    refuseOrder(cursor);
    throw cursor.unexpected('PATTERN (…)');
  }
  cursor.readPattern(true);
  cursor.advance();
  cursor.expectSymbol('(', '"(" after PATTERN');
  const pattern = parseChoice(cursor);
  if (!cursor.atSymbol(')')) throw unexpectedPart(cursor);
  cursor.readPattern(false);
  cursor.advance();
  return pattern;
}

function unexpectedPart(cursor: Cursor): Error {
  if (!cursor.atSymbol(',')) return cursor.unexpected('a variable, "|" or ")" in PATTERN');
  return cursor.unexpected('a variable, "|" or ")": a comma stands in PERMUTE(A, B) alone, A B is one after the other');
}

function parseChoice(cursor: Cursor): PatternPart {
  return cursor.nested(() => {
    const options = [parseOption(cursor, false)];
    while (cursor.acceptSymbol('|')) {
      cursor.room(options.length, mostVariables, 'alternatives in PATTERN');
      options.push(parseOption(cursor, true));
    }
    return options.length === 1 ? options[0]! : { kind: 'choice', options };
  });
}

/** One of several alternatives must have a part; `()` stands for no row. */
function parseOption(cursor: Cursor, isOther: boolean): PatternPart {
  const first = cursor.token;
  const option = parseSequence(cursor);
  if (cursor.token !== first || !(isOther || cursor.atSymbol('|'))) return option;
  throw cursor.unexpected('a variable for an alternative, or () for no row');
}

function parseSequence(cursor: Cursor): PatternPart {
  const parts: PatternPart[] = [];
  while (isAtPart(cursor)) {
    cursor.room(parts.length, mostVariables, 'parts in a row in PATTERN');
    parts.push(parseRepeated(cursor));
  }
  return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts };
}

function isAtPart(cursor: Cursor): boolean {
  if (cursor.atSymbol('^') || cursor.atSymbol('$')) {
    const where = cursor.atSymbol('^') ? 'first' : 'last';
    throw cursor.errorAt(
      cursor.token,
      `"${cursor.token.text}" asks for the ${where} row of a partition, which a stream does not have: leave it out`,
    );
  }
  return cursor.atName() || cursor.atWord('NOT') || cursor.atSymbol('(') || cursor.atSymbol('{');
}

function parseRepeated(cursor: Cursor): PatternPart {
  let part = parsePart(cursor);
  for (;;) {
    const bounds = parseQuantifier(cursor);
    if (bounds === null) return part;
    if (part.kind === 'absent') throw cursor.errorAt(part.span, 'NOT cannot be repeated');
    if (part.kind === 'repeat') throw cursor.errorAt(bounds.token, 'two quantifiers: write ( ) around the first');
    const isReluctant = cursor.acceptSymbol('?');
    part = { kind: 'repeat', of: part, least: bounds.least, most: bounds.most, isReluctant };
  }
}

/** `*`, `+`, `?`, `{n}`, `{n,}`, `{,m}` or `{n,m}`; null where none follows. */
function parseQuantifier(cursor: Cursor): { least: number; most: number | null; token: Token } | null {
  const { token } = cursor;
  if (cursor.acceptSymbol('*')) return { least: 0, most: null, token };
  if (cursor.acceptSymbol('+')) return { least: 1, most: null, token };
  if (cursor.acceptSymbol('?')) return { least: 0, most: 1, token };
  const next = cursor.peek();
  if (!cursor.atSymbol('{') || (next.kind === 'symbol' && next.text === '-')) return null;
  cursor.advance();
  const least = cursor.token.kind === 'integer' ? parseBound(cursor) : null;
  let bound = least;
  if (cursor.acceptSymbol(',')) bound = cursor.token.kind === 'integer' ? parseBound(cursor) : null;
  else if (least === null) throw cursor.unexpected('a number of repetitions, as in {2}, {2,}, {,5} or {2,5}');
  cursor.expectSymbol('}', '"}" behind the number of repetitions');
  if (bound !== null && bound < (least ?? 0)) throw cursor.errorAt(token, 'the second bound is less than the first');
  if (bound === 0) throw cursor.errorAt(token, 'the most repetitions must be at least 1');
  return { least: least ?? 0, most: bound, token };
}

function parseBound(cursor: Cursor): number {
  const token = cursor.advance();
  const bound = Number(token.text);
  if (bound > mostRepeats) throw cursor.errorAt(token, `at most ${mostRepeats} repetitions can be asked for`);
  return bound;
}

function parsePart(cursor: Cursor): PatternPart {
  const first = cursor.token;
  if (cursor.acceptSymbol('(')) {
    const part = parseChoice(cursor);
    if (!cursor.acceptSymbol(')')) throw unexpectedPart(cursor);
    return part.kind === 'repeat' || part.kind === 'absent' ? { kind: 'sequence', parts: [part] } : part;
  }
  if (cursor.acceptSymbol('{')) {
    cursor.expectSymbol('-', '"-" of {- … -}');
    const of = parseChoice(cursor);
    cursor.expectSymbol('-', '"-}" behind what is left out');
    cursor.expectSymbol('}', '"-}" behind what is left out');
    return { kind: 'excluded', of };
  }
  if (cursor.acceptWord('NOT')) return parseAbsent(cursor, first);
  const next = cursor.peek();
  if (cursor.atWord('PERMUTE') && next.kind === 'symbol' && next.text === '(') return parsePermute(cursor);
  const name = cursor.expectName('a variable of the pattern');
  return { kind: 'variable', name, span: cursor.spanFrom(first) };
}

function parseAbsent(cursor: Cursor, first: Token): PatternPart {
  const name = cursor.expectName('a variable after NOT');
  if (!cursor.acceptWord('WITHIN')) throw cursor.unexpected(`WITHIN INTERVAL … after NOT ${name}`);
  return { kind: 'absent', name, withinMs: parseLength(cursor), span: cursor.spanFrom(first) };
}

function parsePermute(cursor: Cursor): PatternPart {
  const first = cursor.advance();
  cursor.expectSymbol('(');
  if (cursor.atSymbol(')')) throw cursor.unexpected('the parts of PERMUTE, as in PERMUTE(A, B)');
  const of = [parseChoice(cursor)];
  while (cursor.acceptSymbol(',')) of.push(parseChoice(cursor));
  cursor.expectSymbol(')', '"," or ")" in PERMUTE');
  if (of.length > mostPermuted) throw cursor.errorAt(first, `PERMUTE has at most ${mostPermuted} parts`);
  return { kind: 'permute', of };
}

function parseWithin(cursor: Cursor): number | null {
  return cursor.acceptWord('WITHIN') ? parseLength(cursor) : null;
}

function parseLength(cursor: Cursor): number {
  const { token } = cursor;
  if (!atInterval(cursor)) {
    throw cursor.errorAt(token, "WITHIN needs INTERVAL and a length of time, as in INTERVAL '10' SECOND");
  }
  const length = parseInterval(cursor);
  const ms = length.kind === 'integer' ? Number(length.value) : 0;
  if (ms <= 0) throw cursor.errorAt(token, 'the time after WITHIN must be longer than 0');
  return ms;
}

function parseSubsets(cursor: Cursor): PatternClause['subsets'] {
  const subsets: PatternClause['subsets'] = [];
  if (!cursor.acceptWord('SUBSET')) return subsets;
  do {
    cursor.room(subsets.length, mostVariables, 'names in SUBSET');
    const first = cursor.token;
    const name = cursor.expectName('a name after SUBSET');
    cursor.expectSymbol('=', `"=" after ${name}`);
    cursor.expectSymbol('(', '"(" before the variables of a subset');
    const of: PatternClause['subsets'][number]['of'] = [];
    do {
      const { token } = cursor;
      const member = cursor.expectName('a variable of the pattern');
      of.push({ name: member, span: cursor.spanFrom(token) });
    } while (cursor.acceptSymbol(','));
    cursor.expectSymbol(')', '"," or ")" behind a variable of a subset');
    subsets.push({ name, of, span: cursor.spanFrom(first) });
  } while (cursor.acceptSymbol(','));
  return subsets;
}

function parseDefines(cursor: Cursor): PatternClause['defines'] {
  const defines: PatternClause['defines'] = [];
  if (!cursor.acceptWord('DEFINE')) return defines;
  do {
    cursor.room(defines.length, mostVariables, 'variables in DEFINE');
    const first = cursor.token;
    const name = cursor.expectName('a variable of the pattern');
    cursor.expectWord('AS', `AS and the condition of ${name}`);
    defines.push({ name, condition: parseInMatch(cursor), span: cursor.spanFrom(first) });
  } while (cursor.acceptSymbol(','));
  return defines;
}

/**
 * Windows as they stand in GROUP BY. Counts and lengths are checked here, so that the planner meets only sound numbers.
 */
import type { Expr, TimeUnit, WindowClause } from './ast.js';
import type { Cursor } from './cursor.js';
import { windowGrammars } from './gen/windows.js';
import { isTimeUnit, timeUnitMs, windowKinds } from './keywords.js';
import { parseExpr, parseFilterAndOver } from './parse-expression.js';
import type { WindowGrammar } from './window-grammar.js';

/** Longest window, ms: a thousand years. Its begin and end are times that clocks know, wherever it lies. */
const longestMs = 365_250 * 86_400_000;
/** Most rows of a counting window, and most windows that a row may be in: each of them is sent by itself. */
const mostRows = 0xffff_ffff;
const mostWindows = 1_000_000;

/** Tells whether a window begins at the current token. */
export function atWindow(cursor: Cursor): boolean {
  if (cursor.token.kind !== 'word' || !windowKinds.has(cursor.token.upper)) return false;
  const next = cursor.peek();
  return next.kind === 'symbol' && next.text === '(';
}

/** Reads a window call with its FILTER and OVER clauses. */
export function parseWindow(cursor: Cursor): WindowClause {
  const first = cursor.advance();
  const kind = windowKinds.get(first.upper) ?? 'tumbling';
  cursor.advance();
  let unit: TimeUnit | null = null;
  let args: number[] = [];
  let conditions: Expr[] = [];
  const grammar: WindowGrammar = windowGrammars[kind];
  if (grammar.hasConditions) {
    conditions = [parseExpr(cursor)];
    if (cursor.acceptSymbol(',')) conditions.push(parseExpr(cursor));
  } else {
    if (grammar.hasUnit) unit = parseUnit(cursor, first.upper);
    args = parseNumbers(cursor, grammar, unit);
  }
  cursor.expectSymbol(')', `")" after the last argument of ${first.upper}`);
  const { filter, over } = parseFilterAndOver(cursor);
  return { kind, unit, args, conditions, filter, over, span: cursor.spanFrom(first) };
}

function parseUnit(cursor: Cursor, window: string): TimeUnit {
  const { upper } = cursor.token;
  if (!isTimeUnit(upper)) throw cursor.unexpected(`a time unit (DD, HH, MI, SS or MS) as first argument of ${window}`);
  cursor.advance();
  cursor.expectSymbol(',', '"," after the time unit');
  return upper;
}

function parseNumbers(cursor: Cursor, grammar: WindowGrammar, unit: TimeUnit | null): number[] {
  const largest = unit === null ? mostRows : longestMs / timeUnitMs[unit];
  const args: number[] = [];
  for (const argument of grammar.args) {
    if (args.length > 0) {
      if (argument.isOptional && !cursor.atSymbol(',')) break;
      cursor.expectSymbol(',', `"," and the ${argument.name}`);
    }
    const { token } = cursor;
    const least = argument.mayBeZero ? 0 : 1;
    const value = token.kind === 'integer' ? Number(token.text) : Number.NaN;
    if (!(value >= least && value <= largest)) {
      throw cursor.unexpected(`the ${argument.name}, a whole number from ${least} to ${largest}`);
    }
    const previous = args[0];
    if (argument.withinFirst !== undefined && previous !== undefined && value > previous) {
      throw cursor.unexpected(`${argument.withinFirst} ${previous}`);
    }
    if (argument.dividesFirst !== undefined && previous !== undefined && previous / value > mostWindows) {
      const smallest = Math.ceil(previous / mostWindows);
      throw cursor.unexpected(`${argument.dividesFirst} ${smallest}: a row may be in ${mostWindows} windows at most`);
    }
    cursor.advance();
    args.push(value);
  }
  return args;
}

/** Reading and printing of MATCH_RECOGNIZE: few rules have it, so its code is read with the first one. */
import type { Expr, OrderItem, PatternClause } from './ast.js';
import type { Cursor } from './cursor.js';

/** What prints the parts of other clauses. */
export interface Printers {
  name(name: string): string;
  list(items: readonly Expr[]): string;
  order(items: readonly OrderItem[]): string;
}

export interface MatchSyntax {
  parse(cursor: Cursor): PatternClause;
  print(clause: PatternClause, printers: Printers): string;
  /** The refusal of the clause where none can stand. */
  misplaced(cursor: Cursor): Error;
}

let syntax: MatchSyntax | undefined;

export function setMatchSyntax(found: MatchSyntax): void {
  syntax = found;
}

export function matchSyntax(): MatchSyntax {
  if (syntax === undefined) throw new Error('MATCH_RECOGNIZE was not made ready');
  return syntax;
}

/** Tells whether MATCH_RECOGNIZE begins here; alone it is a name. */
export function atMatch(cursor: Cursor): boolean {
  if (!cursor.atWord('MATCH_RECOGNIZE')) return false;
  const next = cursor.peek();
  if (next.kind === 'word' && /^(PARTITION|MEASURES|PATTERN)$/.test(next.upper)) throw matchSyntax().misplaced(cursor);
  return next.kind === 'symbol' && next.text === '(';
}

/** Refuses MATCH_RECOGNIZE where a statement should end: it stands behind a table. */
export function refuseMatch(cursor: Cursor): void {
  if (atMatch(cursor)) throw matchSyntax().misplaced(cursor);
}

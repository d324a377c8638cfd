/**
 * `*` and `qualifier.*` with EXCEPT and REPLACE, and the items of a SELECT or REPLACE list.
 */
import type { Expr, SelectItem } from './ast.js';
import { type Cursor, most } from './cursor.js';
import type { Token } from './lexer.js';
import { parseExpr } from './parse-expression.js';

/** Reads an expression, or a star where one may stand: a select item or an argument. */
export function parseExprOrStar(cursor: Cursor): Expr {
  const first = cursor.token;
  if (cursor.acceptSymbol('*')) return finishStar(cursor, null, first);
  const expr = parseExpr(cursor);
  if (expr.kind !== 'column' || expr.qualifier !== null || !cursor.atSymbol('.') || !atStarAfterDot(cursor))
    return expr;
  cursor.advance();
  cursor.advance();
  return finishStar(cursor, expr.name, first);
}

/** Tells whether a star follows the current token. */
export function atStarAfterDot(cursor: Cursor): boolean {
  const next = cursor.peek();
  return next.kind === 'symbol' && next.text === '*';
}

/** Reads EXCEPT and REPLACE, each at most once, in any order. */
function finishStar(cursor: Cursor, qualifier: string | null, first: Token): Expr {
  const except: string[] = [];
  const replace: SelectItem[] = [];
  for (;;) {
    if (except.length === 0 && cursor.acceptWord('EXCEPT')) {
      cursor.expectSymbol('(', '"(" after EXCEPT');
      do {
        cursor.room(except.length, most.columns, 'columns in EXCEPT');
        except.push(cursor.expectName('a column name'));
      } while (cursor.acceptSymbol(','));
      cursor.expectSymbol(')', '"," or ")" after a column of EXCEPT');
    } else if (replace.length === 0 && cursor.acceptWord('REPLACE')) {
      cursor.expectSymbol('(', '"(" after REPLACE');
      do {
        cursor.room(replace.length, most.columns, 'columns in REPLACE');
        replace.push(parseReplacement(cursor));
      } while (cursor.acceptSymbol(','));
      cursor.expectSymbol(')', '"," or ")" after an item of REPLACE');
    } else {
      const star: Expr = { kind: 'star', qualifier, except, replace, span: cursor.spanFrom(first) };
      return cursor.built(
        star,
        replace.map((item) => item.expr),
      );
    }
  }
}

function parseReplacement(cursor: Cursor): SelectItem {
  const expr = parseExpr(cursor);
  const alias = parseColumnAlias(cursor);
  if (alias === null && expr.kind !== 'column') throw cursor.unexpected('AS and the name of the column to replace');
  return { expr, alias, invisible: cursor.acceptWord('INVISIBLE') };
}

/**
 * Reads the `AS name` of a column. A bare name is refused: more often than an alias it is a column whose comma is
 * missing.
 */
export function parseColumnAlias(cursor: Cursor): string | null {
  if (cursor.acceptWord('AS')) return cursor.expectName('a name after AS');
  if (cursor.atBareAlias()) throw cursor.unexpected('",", AS or FROM');
  return null;
}

/** Reads the alias of a stream or table: `AS name`, or a bare name that is no keyword. */
export function parseAlias(cursor: Cursor): string | null {
  if (cursor.acceptWord('AS')) return cursor.expectName('a name after AS');
  return cursor.atBareAlias() ? cursor.advance().text : null;
}

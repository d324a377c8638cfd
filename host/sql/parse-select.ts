/**
 * SELECT and its clauses, in their fixed order.
 */
import type { Expr, Join, JoinKind, OrderItem, Select, SelectItem, TableRef, WindowClause } from './ast.js';
import type { Cursor } from './cursor.js';
import { parseExpr } from './parse-expression.js';
import { parseAlias, parseColumnAlias, parseExprOrStar } from './parse-star.js';
import { atWindow, parseWindow } from './parse-window.js';

const joinKinds: readonly JoinKind[] = ['INNER', 'LEFT', 'RIGHT', 'FULL', 'CROSS'];

/** Symbols that may stand inside a source name written without back-quotes, as in `factory/+/line#`. */
const TOPIC_SYMBOLS = '/#+';

/** Reads a SELECT up to the end of its last clause. */
export function parseSelectBody(cursor: Cursor): Select {
  cursor.expectWord('SELECT');
  const items = [parseSelectItem(cursor)];
  while (cursor.acceptSymbol(',')) items.push(parseSelectItem(cursor));
  cursor.expectWord('FROM', 'FROM');
  const from = parseTable(cursor);
  const joins: Join[] = [];
  for (let join = parseJoin(cursor); join !== null; join = parseJoin(cursor)) joins.push(join);
  const where = cursor.acceptWord('WHERE') ? parseExpr(cursor) : null;
  const { groupBy, window } = parseGroupBy(cursor);
  const having = cursor.acceptWord('HAVING') ? parseExpr(cursor) : null;
  const orderBy = parseOrderBy(cursor);
  const limit = parseLimit(cursor);
  return { kind: 'select', items, from, joins, where, groupBy, window, having, orderBy, limit };
}

function parseSelectItem(cursor: Cursor): SelectItem {
  refuseDistinct(cursor);
  const expr = parseExprOrStar(cursor);
  if (expr.kind === 'star') {
    if (cursor.atWord('AS')) throw cursor.unexpected('"," or FROM: a star has no alias');
    return { expr, alias: null, invisible: false };
  }
  const alias = parseColumnAlias(cursor);
  return { expr, alias, invisible: cursor.acceptWord('INVISIBLE') };
}

/** Without this, `SELECT DISTINCT a` would quietly be a column named DISTINCT with the alias a. */
function refuseDistinct(cursor: Cursor): void {
  if (!cursor.atWord('DISTINCT')) return;
  const next = cursor.peek();
  const isColumn =
    next.kind === 'end' || next.kind === 'symbol' ? next.text !== '*' : next.upper === 'AS' || next.upper === 'FROM';
  if (!isColumn) throw cursor.errorAt(cursor.token, 'SELECT DISTINCT is not supported');
}

function parseTable(cursor: Cursor): TableRef {
  const first = cursor.token;
  let name = cursor.expectName('the name of a stream or table');
  for (;;) {
    const { token } = cursor;
    const isPart =
      token.kind === 'symbol' ? TOPIC_SYMBOLS.includes(token.text) : /[/#+]$/.test(name) && cursor.atName();
    if (!isPart || token.start !== cursor.lastEnd) break;
    name += cursor.advance().text;
  }
  const span = cursor.spanFrom(first);
  return { name, alias: parseAlias(cursor), span };
}

function parseJoin(cursor: Cursor): Join | null {
  let kind: JoinKind = 'INNER';
  const written = joinKinds.find((candidate) => cursor.atWord(candidate));
  if (written !== undefined) {
    kind = written;
    cursor.advance();
    if (kind !== 'INNER' && kind !== 'CROSS') cursor.acceptWord('OUTER');
    cursor.expectWord('JOIN', `JOIN after ${kind}`);
  } else if (!cursor.acceptWord('JOIN')) {
    return null;
  }
  const table = parseTable(cursor);
  if (kind === 'CROSS' && cursor.atWord('ON')) throw cursor.unexpected('no condition: a CROSS JOIN pairs all rows');
  return { kind, table, on: cursor.acceptWord('ON') ? parseExpr(cursor) : null };
}

function parseGroupBy(cursor: Cursor): { groupBy: Expr[]; window: WindowClause | null } {
  const groupBy: Expr[] = [];
  let window: WindowClause | null = null;
  if (cursor.acceptWord('GROUP')) {
    cursor.expectWord('BY', 'BY after GROUP');
    do {
      if (!atWindow(cursor)) groupBy.push(parseExpr(cursor));
      else if (window === null) window = parseWindow(cursor);
      else throw cursor.unexpected('no second window: GROUP BY has one already');
    } while (cursor.acceptSymbol(','));
  }
  return { groupBy, window };
}

function parseOrderBy(cursor: Cursor): OrderItem[] {
  const items: OrderItem[] = [];
  if (cursor.acceptWord('ORDER')) {
    cursor.expectWord('BY', 'BY after ORDER');
    do {
      const expr = parseExpr(cursor);
      const descending = cursor.acceptWord('DESC');
      if (!descending) cursor.acceptWord('ASC');
      items.push({ expr, descending });
    } while (cursor.acceptSymbol(','));
  }
  return items;
}

function parseLimit(cursor: Cursor): number | null {
  if (!cursor.acceptWord('LIMIT')) return null;
  const { token } = cursor;
  const limit = token.kind === 'integer' ? Number(token.text) : Number.NaN;
  if (!Number.isSafeInteger(limit)) throw cursor.unexpected('a whole number of rows after LIMIT');
  cursor.advance();
  return limit;
}

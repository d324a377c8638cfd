/**
 * SELECT and its clauses, in their fixed order.
 */
import type { Expr, Join, JoinKind, PatternClause, Query, Select, SelectItem, TableRef, WindowClause } from './ast.js';
import { type Cursor, most } from './cursor.js';
import { atMatch, matchSyntax, refuseMatch } from './late-match.js';
import { parseExpr, parseOrderBy } from './parse-expression.js';
import { parseAlias, parseColumnAlias, parseExprOrStar } from './parse-star.js';
import { atWindow, parseWindow } from './parse-window.js';

const joinKinds: readonly JoinKind[] = ['INNER', 'LEFT', 'RIGHT', 'FULL', 'CROSS'];

/** Symbols that may stand inside a source name written without back-quotes, as in `factory/+/line#`. */
const TOPIC_SYMBOLS = '/#+';

/** SELECTs of one statement, each counted wherever it is used: names of WITH could multiply them without end. */
const MAX_SELECTS = 100;

/** Queries that WITH gives names to, with the number of SELECTs in them. */
type Names = ReadonlyMap<string, { query: Query; size: number }>;

/** Reads `[WITH name AS (…), …] SELECT … [UNION ALL SELECT …]`. */
export function parseQueryBody(cursor: Cursor): Query {
  return new QueryParser(cursor).parse(new Map());
}

/** Reads a SELECT up to the end of its last clause. */
export function parseSelectBody(cursor: Cursor): Select {
  return new QueryParser(cursor).select(new Map());
}

class QueryParser {
  /** Number of SELECTs read so far, of those under a name again for each use. */
  #selects = 0;

  constructor(private readonly cursor: Cursor) {}

  parse(outer: Names): Query {
    const { cursor } = this;
    const names = cursor.atWord('WITH') ? this.#with(outer) : outer;
    const first = this.select(names);
    if (!cursor.atWord('UNION')) return first;
    const selects = [first];
    refuseOrder(cursor, first);
    while (cursor.acceptWord('UNION')) {
      cursor.expectWord('ALL', 'ALL after UNION: without it all rows had to be remembered');
      selects.push(this.select(names));
      refuseOrder(cursor, selects.at(-1)!);
    }
    return { kind: 'union', selects };
  }

  select(names: Names): Select {
    const { cursor } = this;
    cursor.expectWord('SELECT');
    this.#count(1);
    const distinct = acceptDistinct(cursor);
    const items = parseSelectItems(cursor);
    cursor.expectWord('FROM', 'FROM');
    const from = this.#table(names);
    const joins: Join[] = [];
    for (let join = this.#join(names); join !== null; join = this.#join(names)) {
      cursor.room(joins.length, most.joins, 'joins in a SELECT');
      joins.push(join);
    }
    const where = cursor.acceptWord('WHERE') ? parseExpr(cursor) : null;
    const { groupBy, window } = parseGroupBy(cursor);
    const having = cursor.acceptWord('HAVING') ? parseExpr(cursor) : null;
    const qualify = cursor.acceptWord('QUALIFY') ? parseExpr(cursor) : null;
    const orderBy = parseOrderBy(cursor);
    const limit = parseLimit(cursor);
    refuseMatch(cursor);
    return { kind: 'select', distinct, items, from, joins, where, groupBy, window, having, qualify, orderBy, limit };
  }

  #count(selects: number): void {
    this.#selects += selects;
    if (this.#selects > MAX_SELECTS) {
      throw this.cursor.errorAt(this.cursor.token, `the statement has more than ${MAX_SELECTS} SELECTs`);
    }
  }

  /** Each name is known from its definition on. */
  #with(outer: Names): Names {
    const { cursor } = this;
    const names = new Map(outer);
    const own = new Set<string>();
    cursor.expectWord('WITH');
    do {
      const { token } = cursor;
      const name = cursor.expectName('a name after WITH');
      if (own.has(name)) throw cursor.errorAt(token, `WITH has two queries named ${name}`);
      own.add(name);
      cursor.expectWord('AS', `AS after ${name}`);
      const before = this.#selects;
      const query = this.#inParentheses(names);
      names.set(name, { query, size: this.#selects - before });
      // The SELECTs of the query count where its name is used.
      this.#selects = before;
    } while (cursor.acceptSymbol(','));
    return names;
  }

  #inParentheses(names: Names): Query {
    const { cursor } = this;
    cursor.expectSymbol('(', '"(" before SELECT');
    const query = cursor.nested(() => this.parse(names));
    cursor.expectSymbol(')', '")" behind the query');
    return query;
  }

  /** A table, with the matches of a pattern in its rows in their place where MATCH_RECOGNIZE follows. */
  #table(names: Names): TableRef {
    const { cursor } = this;
    const first = cursor.token;
    const table = this.#plainTable(names);
    if (!atMatch(cursor)) return table;
    this.#count(1);
    const pattern = matchSyntax().parse(cursor);
    const span = cursor.spanFrom(first);
    const alias = atMatch(cursor) ? null : parseAlias(cursor);
    const name = alias ?? table.alias ?? table.name;
    return { name, alias: null, query: matchesOf(table, pattern), span };
  }

  #plainTable(names: Names): TableRef {
    const { cursor } = this;
    const first = cursor.token;
    if (cursor.atSymbol('(')) {
      const query = this.#inParentheses(names);
      const span = cursor.spanFrom(first);
      const name = atMatch(cursor) ? 'matched' : parseAlias(cursor);
      if (name === null) throw cursor.unexpected('a name for the derived table, AS name');
      return { name, alias: null, query, span };
    }
    const table = parseTable(cursor);
    const known = names.get(table.name);
    if (known === undefined) return table;
    this.#count(known.size);
    return { ...table, name: table.alias ?? table.name, alias: null, query: known.query };
  }

  #join(names: Names): Join | null {
    const { cursor } = this;
    if (cursor.atWord('ASOF')) return this.#asofJoin(names);
    const kind = parseJoinKind(cursor);
    if (kind === null) return null;
    const table = this.#table(names);
    if (cursor.atWord('MATCH_CONDITION')) throw cursor.unexpected('ON: MATCH_CONDITION belongs to ASOF JOIN');
    if (kind === 'CROSS' && cursor.atWord('ON')) throw cursor.unexpected('no condition: a CROSS JOIN pairs all rows');
    return { kind, table, on: cursor.acceptWord('ON') ? parseExpr(cursor) : null };
  }

  /** `ASOF [INNER | LEFT [OUTER]] JOIN table [MATCH_CONDITION (condition)] [ON condition]` */
  #asofJoin(names: Names): Join {
    const { cursor } = this;
    cursor.expectWord('ASOF');
    const kind = cursor.acceptWord('LEFT') ? 'LEFT' : 'INNER';
    if (kind === 'LEFT') cursor.acceptWord('OUTER');
    else cursor.acceptWord('INNER');
    cursor.expectWord('JOIN', kind === 'LEFT' ? 'JOIN after ASOF LEFT' : 'JOIN or LEFT JOIN after ASOF');
    const table = this.#table(names);
    let match: Expr | null = null;
    if (cursor.acceptWord('MATCH_CONDITION')) {
      cursor.expectSymbol('(', '"(" after MATCH_CONDITION');
      match = parseExpr(cursor);
      cursor.expectSymbol(')', '")" behind the condition');
    }
    return { kind, table, on: cursor.acceptWord('ON') ? parseExpr(cursor) : null, asof: { match } };
  }
}

function refuseOrder(cursor: Cursor, { orderBy, limit }: Select): void {
  if (orderBy.length === 0 && limit === null) return;
  const clause = orderBy.length > 0 ? 'ORDER BY' : 'LIMIT';
  throw cursor.errorAt(
    cursor.token,
    `${clause} cannot be part of UNION ALL, whose rows come as they come: write SELECT * FROM (SELECT … ` +
      `${clause} …) AS t for those of one SELECT`,
  );
}

/** Parses the items of a SELECT list. */
export function parseSelectItems(cursor: Cursor): SelectItem[] {
  const items = [parseSelectItem(cursor)];
  while (cursor.acceptSymbol(',')) {
    cursor.room(items.length, most.columns, 'columns in SELECT');
    items.push(parseSelectItem(cursor));
  }
  return items;
}

function parseSelectItem(cursor: Cursor): SelectItem {
  // Otherwise `SELECT a, DISTINCT b` would quietly be a column named DISTINCT with the alias b.
  if (cursor.atWord('DISTINCT') && !isDistinctColumn(cursor)) {
    throw cursor.errorAt(cursor.token, 'DISTINCT stands right behind SELECT');
  }
  const expr = parseExprOrStar(cursor);
  if (expr.kind === 'star') {
    if (cursor.atWord('AS')) throw cursor.unexpected('"," or FROM: a star has no alias');
    return { expr, alias: null, invisible: false };
  }
  const alias = parseColumnAlias(cursor);
  return { expr, alias, invisible: cursor.acceptWord('INVISIBLE') };
}

/**
 * A column may be named DISTINCT, too: then AS, FROM, a comma or an operator follows with which no expression begins.
 */
function acceptDistinct(cursor: Cursor): boolean {
  if (!cursor.atWord('DISTINCT') || isDistinctColumn(cursor)) return false;
  cursor.advance();
  return true;
}

function isDistinctColumn(cursor: Cursor): boolean {
  const next = cursor.peek();
  if (next.kind === 'end') return true;
  return next.kind === 'symbol' ? !'*([-'.includes(next.text) : next.upper === 'AS' || next.upper === 'FROM';
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
  return { name, alias: atMatch(cursor) ? null : parseAlias(cursor), query: null, span };
}

/** The SELECT whose rows are the matches. */
function matchesOf(from: TableRef, pattern: PatternClause): Select {
  const all: Expr = { kind: 'star', qualifier: null, except: [], replace: [], span: pattern.span };
  return {
    ...{ kind: 'select', distinct: false, items: [{ expr: all, alias: null, invisible: false }], from, joins: [] },
    ...{ where: null, groupBy: [], window: null, having: null, qualify: null, orderBy: [], limit: null, pattern },
  };
}

function parseJoinKind(cursor: Cursor): JoinKind | null {
  const kind = joinKinds.find((candidate) => cursor.atWord(candidate));
  if (kind === undefined) return cursor.acceptWord('JOIN') ? 'INNER' : null;
  cursor.advance();
  if (kind !== 'INNER' && kind !== 'CROSS') cursor.acceptWord('OUTER');
  cursor.expectWord('JOIN', `JOIN after ${kind}`);
  return kind;
}

function parseGroupBy(cursor: Cursor): { groupBy: Expr[]; window: WindowClause | null } {
  const groupBy: Expr[] = [];
  let window: WindowClause | null = null;
  if (cursor.acceptWord('GROUP')) {
    cursor.expectWord('BY', 'BY after GROUP');
    do {
      if (!atWindow(cursor)) {
        cursor.room(groupBy.length, most.keys, 'expressions in GROUP BY');
        groupBy.push(parseExpr(cursor));
      } else if (window === null) window = parseWindow(cursor);
      else throw cursor.unexpected('no second window: GROUP BY has one already');
    } while (cursor.acceptSymbol(','));
  }
  return { groupBy, window };
}

function parseLimit(cursor: Cursor): number | null {
  if (!cursor.acceptWord('LIMIT')) return null;
  const { token } = cursor;
  const limit = token.kind === 'integer' ? Number(token.text) : Number.NaN;
  if (!Number.isSafeInteger(limit)) throw cursor.unexpected('a whole number of rows after LIMIT');
  cursor.advance();
  return limit;
}

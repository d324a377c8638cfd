/**
 * Expressions, by operator precedence. Low to high: OR; AND; NOT; comparisons, IN, BETWEEN, LIKE, IS NULL; `+ - | ^`;
 * `* / % &`; unary minus; `[]`, `->` and `.`. All binary operators associate to the left; comparisons may be chained.
 */
import type { BinaryOp, Expr, OrderItem, Over } from './ast.js';
import { type Cursor, most } from './cursor.js';
import { windowKinds } from './keywords.js';
import type { Token } from './lexer.js';
import { atInterval, parseInterval } from './parse-interval.js';
import { atStarAfterDot, parseExprOrStar } from './parse-star.js';

const OR = 1;
const AND = 2;
const NOT = 3;
const COMPARISON = 4;
const ADDITIVE = 5;
const MULTIPLICATIVE = 6;
const UNARY = 7;

const INT64_MAX = 9223372036854775807n;
const INT64_MIN = -9223372036854775808n;
/** Decimal digits of the largest 64-bit integer; longer texts need no conversion to know that they saturate. */
const INT64_DIGITS = 19;

interface Infix {
  op: BinaryOp;
  power: number;
}

const symbolInfix: ReadonlyMap<string, Infix> = new Map([
  ['=', { op: '=', power: COMPARISON }],
  ['==', { op: '=', power: COMPARISON }],
  ['!=', { op: '!=', power: COMPARISON }],
  ['<>', { op: '!=', power: COMPARISON }],
  ['<', { op: '<', power: COMPARISON }],
  ['<=', { op: '<=', power: COMPARISON }],
  ['>', { op: '>', power: COMPARISON }],
  ['>=', { op: '>=', power: COMPARISON }],
  ['+', { op: '+', power: ADDITIVE }],
  ['-', { op: '-', power: ADDITIVE }],
  ['|', { op: '|', power: ADDITIVE }],
  ['^', { op: '^', power: ADDITIVE }],
  ['*', { op: '*', power: MULTIPLICATIVE }],
  ['/', { op: '/', power: MULTIPLICATIVE }],
  ['%', { op: '%', power: MULTIPLICATIVE }],
  ['&', { op: '&', power: MULTIPLICATIVE }],
]);

const wordInfix: ReadonlyMap<string, Infix> = new Map([
  ['AND', { op: 'AND', power: AND }],
  ['OR', { op: 'OR', power: OR }],
]);

/** Reads an expression whose operators bind at least as strongly as `minPower`. */
export function parseExpr(cursor: Cursor, minPower = 0): Expr {
  return cursor.nested(() => {
    let left = parseOperand(cursor, minPower);
    for (;;) {
      const extended = parseInfix(cursor, left, minPower);
      if (extended === null) return left;
      left = extended;
    }
  });
}

/** Extends `left` by one operator, or returns null when none follows that binds strongly enough. */
function parseInfix(cursor: Cursor, left: Expr, minPower: number): Expr | null {
  const { token } = cursor;
  const infix =
    token.kind === 'symbol'
      ? symbolInfix.get(token.text)
      : token.kind === 'word'
        ? wordInfix.get(token.upper)
        : undefined;
  if (infix !== undefined) {
    if (infix.power < minPower) return null;
    cursor.advance();
    const right = parseExpr(cursor, infix.power + 1);
    return cursor.built({ kind: 'binary', op: infix.op, left, right, span: cursor.spanFrom(left.span) }, [left, right]);
  }
  return token.kind === 'word' && minPower <= COMPARISON ? parsePredicate(cursor, left) : null;
}

/** Reads `[NOT] IN`, `[NOT] BETWEEN`, `[NOT] LIKE` or `IS [NOT] NULL` after its operand. */
function parsePredicate(cursor: Cursor, operand: Expr): Expr | null {
  if (cursor.acceptWord('IS')) {
    const negated = cursor.acceptWord('NOT');
    cursor.expectWord('NULL', negated ? 'NULL' : 'NULL or NOT NULL');
    return cursor.built({ kind: 'isNull', operand, negated, span: cursor.spanFrom(operand.span) }, [operand]);
  }
  const negated = cursor.atWord('NOT');
  if (negated) {
    const next = cursor.peek().upper;
    if (next !== 'IN' && next !== 'BETWEEN' && next !== 'LIKE') return null;
    cursor.advance();
  }
  if (cursor.acceptWord('IN')) return parseIn(cursor, operand, negated);
  if (cursor.acceptWord('BETWEEN')) {
    const low = parseExpr(cursor, ADDITIVE);
    cursor.expectWord('AND', 'AND between the two bounds');
    const high = parseExpr(cursor, ADDITIVE);
    const span = cursor.spanFrom(operand.span);
    return cursor.built({ kind: 'between', operand, low, high, negated, span }, [operand, low, high]);
  }
  if (cursor.acceptWord('LIKE')) {
    const pattern = parseExpr(cursor, ADDITIVE);
    const span = cursor.spanFrom(operand.span);
    return cursor.built({ kind: 'like', operand, pattern, negated, span }, [operand, pattern]);
  }
  return null;
}

/** Reads what follows IN: a list in parentheses, or a value that is a list. */
function parseIn(cursor: Cursor, operand: Expr, negated: boolean): Expr {
  let list: Expr[] | null = null;
  let set: Expr | null = null;
  if (cursor.acceptSymbol('(')) {
    list = parseExprList(cursor, most.values, 'values in IN (…)');
    cursor.expectSymbol(')', '"," or ")" after a value of IN');
  } else {
    set = parseExpr(cursor, UNARY);
  }
  const span = cursor.spanFrom(operand.span);
  return cursor.built({ kind: 'in', operand, list, set, negated, span }, [operand, set, ...(list ?? [])]);
}

/** Reads expressions separated by commas, at least one. */
function parseExprList(cursor: Cursor, limit: number, what: string): Expr[] {
  const items = [parseExpr(cursor)];
  while (cursor.acceptSymbol(',')) {
    cursor.room(items.length, limit, what);
    items.push(parseExpr(cursor));
  }
  return items;
}

/** Reads a prefix operator with its operand, or a primary with what is attached to it. */
function parseOperand(cursor: Cursor, minPower: number): Expr {
  const first = cursor.token;
  if (minPower <= NOT && cursor.acceptWord('NOT')) {
    const operand = parseExpr(cursor, NOT);
    return cursor.built({ kind: 'unary', op: 'NOT', operand, span: cursor.spanFrom(first) }, [operand]);
  }
  if (cursor.acceptSymbol('-')) {
    const { kind } = cursor.token;
    if (kind === 'integer' || kind === 'number') return parseAttached(cursor, numberLiteral(cursor, first, true));
    const operand = parseExpr(cursor, UNARY);
    return cursor.built({ kind: 'unary', op: '-', operand, span: cursor.spanFrom(first) }, [operand]);
  }
  return parseAttached(cursor, parsePrimary(cursor));
}

/** Reads any sequence of `.name`, `->name`, `[index]` and `[from:to]` behind an expression. */
function parseAttached(cursor: Cursor, base: Expr): Expr {
  let object = base;
  for (;;) {
    if ((cursor.atSymbol('.') && !atStarAfterDot(cursor)) || cursor.atSymbol('->')) {
      const arrow = cursor.advance().text === '->';
      const name = cursor.expectMemberName();
      object = cursor.built({ kind: 'member', object, name, arrow, span: cursor.spanFrom(base.span) }, [object]);
    } else if (cursor.acceptSymbol('[')) {
      object = parseSubscript(cursor, object);
    } else {
      return object;
    }
  }
}

function parseSubscript(cursor: Cursor, object: Expr): Expr {
  const first = cursor.token;
  const from = cursor.atSymbol(':') || cursor.atSymbol(']') ? null : parseExpr(cursor);
  if (from !== null && cursor.acceptSymbol(']')) {
    const span = cursor.spanFrom(object.span);
    return cursor.built({ kind: 'index', object, index: from, span }, [object, from]);
  }
  let to: Expr | null = null;
  if (cursor.acceptSymbol(':')) {
    if (!cursor.atSymbol(']')) to = parseExpr(cursor);
    cursor.expectSymbol(']');
  } else {
    cursor.expectSymbol(']', '":" or "]"');
  }
  if (
    from?.kind === 'integer' &&
    to?.kind === 'integer' &&
    from.value >= 0n &&
    to.value >= 0n &&
    from.value >= to.value
  ) {
    throw cursor.errorAt(
      first,
      `the slice [${from.value}:${to.value}] is empty, its end must be greater than its start`,
    );
  }
  return cursor.built({ kind: 'slice', object, from, to, span: cursor.spanFrom(object.span) }, [object, from, to]);
}

function parsePrimary(cursor: Cursor): Expr {
  const { token } = cursor;
  switch (token.kind) {
    case 'integer':
    case 'number':
      return numberLiteral(cursor, token, false);
    case 'string':
      cursor.advance();
      return { kind: 'string', value: token.text, span: cursor.spanFrom(token) };
    case 'symbol':
      if (cursor.acceptSymbol('(')) {
        const inner = parseExpr(cursor);
        cursor.expectSymbol(')');
        return inner;
      }
      if (cursor.acceptSymbol('[')) return parseArray(cursor, token);
      break;
    case 'word':
      if (token.upper === 'CASE') return parseCase(cursor);
      if (atInterval(cursor)) return parseInterval(cursor);
      if (token.upper === 'TRUE' || token.upper === 'FALSE') {
        cursor.advance();
        return { kind: 'boolean', value: token.upper === 'TRUE', span: cursor.spanFrom(token) };
      }
      if (token.upper === 'NULL') {
        cursor.advance();
        return { kind: 'null', span: cursor.spanFrom(token) };
      }
      break;
    default:
      break;
  }
  if (cursor.atName()) return parseNamed(cursor);
  throw cursor.unexpected('an expression');
}

/** Reads a number token; integers beyond 64 bits saturate. */
function numberLiteral(cursor: Cursor, first: Token, isNegative: boolean): Expr {
  const { kind, text } = cursor.advance();
  const span = cursor.spanFrom(first);
  if (kind === 'integer') return { kind: 'integer', value: saturatingInteger(text, isNegative), span };
  const value = Number(text);
  if (!Number.isFinite(value)) throw cursor.errorAt(span, `the number ${text.slice(0, 40)} is out of range`);
  return { kind: 'number', value: isNegative ? -value : value, span };
}

function saturatingInteger(text: string, isNegative: boolean): bigint {
  const digits = text.replace(/^0+(?=\d)/, '');
  const magnitude = digits.length > INT64_DIGITS ? INT64_MAX + 1n : BigInt(digits);
  if (isNegative) return -magnitude < INT64_MIN ? INT64_MIN : -magnitude;
  return magnitude > INT64_MAX ? INT64_MAX : magnitude;
}

function parseArray(cursor: Cursor, first: Token): Expr {
  const items = cursor.atSymbol(']') ? [] : parseExprList(cursor, most.values, 'elements in a list');
  cursor.expectSymbol(']', '"," or "]" in the list');
  return cursor.built({ kind: 'array', items, span: cursor.spanFrom(first) }, items);
}

function parseCase(cursor: Cursor): Expr {
  const first = cursor.advance();
  const operand = cursor.atWord('WHEN') ? null : parseExpr(cursor);
  const whens: { when: Expr; then: Expr }[] = [];
  while (cursor.acceptWord('WHEN')) {
    const start = cursor.token;
    cursor.room(whens.length, most.values, 'branches of CASE');
    const when = parseExpr(cursor);
    if (operand === null && !isCondition(when)) {
      throw cursor.errorAt(start, 'WHEN of a CASE without operand needs a condition, such as a comparison');
    }
    cursor.expectWord('THEN');
    const result = parseExpr(cursor);
    // biome-ignore lint/suspicious/noThenProperty: a piece of the syntax tree, never awaited
    whens.push({ when, then: result });
  }
  if (whens.length === 0) throw cursor.unexpected('WHEN');
  const otherwise = cursor.acceptWord('ELSE') ? parseExpr(cursor) : null;
  cursor.expectWord('END', otherwise === null ? 'WHEN, ELSE or END' : 'END');
  const operands = [operand, otherwise, ...whens.flatMap(({ when, then }) => [when, then])];
  return cursor.built({ kind: 'case', operand, whens, otherwise, span: cursor.spanFrom(first) }, operands);
}

/** Tells by form alone whether an expression can be true or false; a bare column does not count. */
function isCondition(expr: Expr): boolean {
  switch (expr.kind) {
    case 'boolean':
    case 'isNull':
    case 'between':
    case 'in':
    case 'like':
    case 'call':
    case 'case':
      return true;
    case 'unary':
      return expr.op === 'NOT';
    case 'binary':
      return !'+-*/%&|^'.includes(expr.op);
    default:
      return false;
  }
}

/** Reads a call, `name`, `qualifier.name`. Longer paths go on as members. */
function parseNamed(cursor: Cursor): Expr {
  const first = cursor.advance();
  if (cursor.atSymbol('(')) return parseCall(cursor, first);
  const isOfMatch = cursor.isInMatch && (first.upper === 'RUNNING' || first.upper === 'FINAL');
  if (isOfMatch && cursor.atBareAlias()) return parseLook(cursor, first);
  if (cursor.atSymbol('.') && !atStarAfterDot(cursor)) {
    cursor.advance();
    const name = cursor.expectMemberName();
    return { kind: 'column', qualifier: first.text, name, span: cursor.spanFrom(first) };
  }
  return { kind: 'column', qualifier: null, name: first.text, span: cursor.spanFrom(first) };
}

/** Reads `RUNNING call` or `FINAL call`: as if the call were its argument. */
function parseLook(cursor: Cursor, first: Token): Expr {
  const call = parseNamed(cursor);
  if (call.kind !== 'call') throw cursor.errorAt(call.span, `${first.upper} stands before FIRST, LAST or an aggregate`);
  const span = cursor.spanFrom(first);
  return cursor.built({ kind: 'call', name: first.upper, args: [call], filter: null, over: null, span }, [call]);
}

function parseCall(cursor: Cursor, first: Token): Expr {
  if (windowKinds.has(first.upper)) {
    throw cursor.errorAt(first, `found the window ${first.upper}, which may only be an item of GROUP BY`);
  }
  cursor.expectSymbol('(');
  const args: Expr[] = [];
  if (!cursor.atSymbol(')')) {
    do {
      cursor.room(args.length, most.values, `arguments of ${first.text}`);
      args.push(parseExprOrStar(cursor));
    } while (cursor.acceptSymbol(','));
  }
  cursor.expectSymbol(')', `"," or ")" after an argument of ${first.text}`);
  const { filter, over } = parseFilterAndOver(cursor);
  const span = cursor.spanFrom(first);
  const ordered = over?.orderBy.map(({ expr }) => expr) ?? [];
  const operands = [...args, filter, ...(over?.partitionBy ?? []), ...ordered, over?.when ?? null];
  return cursor.built({ kind: 'call', name: first.text, args, filter, over, span }, operands);
}

/** Reads `FILTER (WHERE …)` and `OVER (…)`, each at most once, in any order. */
export function parseFilterAndOver(cursor: Cursor): { filter: Expr | null; over: Over | null } {
  let filter: Expr | null = null;
  let over: Over | null = null;
  for (;;) {
    if (filter === null && cursor.acceptWord('FILTER')) {
      cursor.expectSymbol('(', '"(" after FILTER');
      cursor.expectWord('WHERE', 'WHERE after FILTER (');
      filter = parseExpr(cursor);
      cursor.expectSymbol(')');
    } else if (over === null && cursor.acceptWord('OVER')) {
      cursor.expectSymbol('(', '"(" after OVER');
      over = parseOver(cursor);
      cursor.expectSymbol(')');
    } else {
      return { filter, over };
    }
  }
}

function parseOver(cursor: Cursor): Over {
  let partitionBy: Expr[] = [];
  let orderBy: OrderItem[] = [];
  let when: Expr | null = null;
  for (;;) {
    if (partitionBy.length === 0 && cursor.acceptWord('PARTITION')) {
      cursor.expectWord('BY', 'BY after PARTITION');
      partitionBy = parseExprList(cursor, most.keys, 'expressions in PARTITION BY');
    } else if (when === null && cursor.acceptWord('WHEN')) {
      when = parseExpr(cursor);
    } else if (orderBy.length === 0 && cursor.atWord('ORDER')) {
      orderBy = parseOrderBy(cursor);
    } else if (partitionBy.length === 0 && orderBy.length === 0 && when === null) {
      throw cursor.unexpected('PARTITION BY, ORDER BY or WHEN');
    } else {
      return { partitionBy, orderBy, when };
    }
  }
}

/** Reads `ORDER BY …` if it stands here. */
export function parseOrderBy(cursor: Cursor): OrderItem[] {
  const items: OrderItem[] = [];
  if (cursor.acceptWord('ORDER')) {
    cursor.expectWord('BY', 'BY after ORDER');
    do {
      cursor.room(items.length, most.keys, 'expressions in ORDER BY');
      const expr = parseExpr(cursor);
      const descending = cursor.acceptWord('DESC');
      if (!descending) cursor.acceptWord('ASC');
      items.push({ expr, descending });
    } while (cursor.acceptSymbol(','));
  }
  return items;
}

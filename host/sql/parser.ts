/**
 * The doors of the SQL front: text in, syntax tree out. Every failure is a `HaumeaError` of kind `parse` that names
 * line, column, what was found and what was expected. Time is linear in the text; nesting is bounded.
 */
import type { CreateSource, Expr, Query, Select, SelectItem, Statement } from './ast.js';
import { Cursor } from './cursor.js';
import { parseCreateBody, parseSourceStatement } from './parse-ddl.js';
import { parseExpr } from './parse-expression.js';
import { parseQueryBody, parseSelectBody, parseSelectItems } from './parse-select.js';

/** Parses any statement. */
export function parseStatement(text: string): Statement {
  return parseWhole(text, (cursor) =>
    cursor.atWord('SELECT') || cursor.atWord('WITH') ? parseQueryBody(cursor) : parseSourceStatement(cursor),
  );
}

/** Parses the statement of a rule. */
export function parseQuery(text: string): Query {
  return parseWhole(text, parseQueryBody);
}

/** Parses a single SELECT. */
export function parseSelect(text: string): Select {
  return parseWhole(text, parseSelectBody);
}

/** Parses CREATE STREAM or CREATE TABLE. */
export function parseCreate(text: string): CreateSource {
  return parseWhole(text, parseCreateBody);
}

/** Parses a lone expression, as rule graphs and options hold them. */
export function parseExpression(text: string): Expr {
  const cursor = new Cursor(text);
  const expr = parseExpr(cursor);
  cursor.expectEnd('an operator or the end of the expression');
  return expr;
}

/** Parses a SELECT list alone, as rule graphs hold it. */
export function parseItems(text: string): SelectItem[] {
  const cursor = new Cursor(text);
  const items = parseSelectItems(cursor);
  cursor.expectEnd('"," or the end of the list');
  return items;
}

function parseWhole<T>(text: string, production: (cursor: Cursor) => T): T {
  const cursor = new Cursor(text);
  const tree = production(cursor);
  cursor.expectEnd();
  return tree;
}

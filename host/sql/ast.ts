/**
 * The typed syntax tree of the SQL language: statements about streams and tables, and SELECT.
 * Pure data, produced by the parser, read by the planner, printed by the printer.
 */

import type { windowGrammars } from './gen/windows.js';

/** Where a piece of the statement stands: offsets in UTF-16 units, line and column counted from 1. */
export interface Span {
  start: number;
  end: number;
  line: number;
  column: number;
}

export type BinaryOp =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '&'
  | '|'
  | '^'
  | '='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'AND'
  | 'OR';

export type Expr =
  | { kind: 'null'; span: Span }
  | { kind: 'boolean'; value: boolean; span: Span }
  /** 64-bit integer literal; out-of-range text saturates. */
  | { kind: 'integer'; value: bigint; span: Span }
  | { kind: 'number'; value: number; span: Span }
  | { kind: 'string'; value: string; span: Span }
  /**
   * `name`, or `qualifier.name` where the qualifier may be a stream, an alias of one, or a column (decided by the
   * planner).
   */
  | { kind: 'column'; qualifier: string | null; name: string; span: Span }
  /** `*` as a call argument (count(*)) or select item; `qualifier.*` too. */
  | { kind: 'star'; qualifier: string | null; except: string[]; replace: SelectItem[]; span: Span }
  | { kind: 'unary'; op: '-' | 'NOT'; operand: Expr; span: Span }
  | { kind: 'binary'; op: BinaryOp; left: Expr; right: Expr; span: Span }
  /** `operand IS [NOT] NULL`. */
  | { kind: 'isNull'; operand: Expr; negated: boolean; span: Span }
  | { kind: 'between'; operand: Expr; low: Expr; high: Expr; negated: boolean; span: Span }
  /** `operand [NOT] IN (a, b)` has `list`; `operand IN expr` has `set`. */
  | { kind: 'in'; operand: Expr; list: Expr[] | null; set: Expr | null; negated: boolean; span: Span }
  | { kind: 'like'; operand: Expr; pattern: Expr; negated: boolean; span: Span }
  | { kind: 'case'; operand: Expr | null; whens: { when: Expr; then: Expr }[]; otherwise: Expr | null; span: Span }
  /** `object->name`, and `a.b.c` from its third part on. `arrow` keeps the spelling, which decides the output name. */
  | { kind: 'member'; object: Expr; name: string; arrow: boolean; span: Span }
  /** `object[index]`; a string index selects a member. */
  | { kind: 'index'; object: Expr; index: Expr; span: Span }
  /** `object[from:to]`, either bound may be missing. */
  | { kind: 'slice'; object: Expr; from: Expr | null; to: Expr | null; span: Span }
  | { kind: 'array'; items: Expr[]; span: Span }
  | { kind: 'call'; name: string; args: Expr[]; filter: Expr | null; over: Over | null; span: Span };

/** `OVER (PARTITION BY … ORDER BY … WHEN …)` of an analytic function or a window. */
export interface Over {
  partitionBy: Expr[];
  orderBy: OrderItem[];
  when: Expr | null;
}

export interface SelectItem {
  expr: Expr;
  alias: string | null;
  /** Computed but not emitted. */
  invisible: boolean;
}

export type TimeUnit = 'DD' | 'HH' | 'MI' | 'SS' | 'MS';

/** Kinds of windows that a clause may ask for. */
export type WindowKind = keyof typeof windowGrammars;

/** A window as written; argument kinds and ranges are checked by the parser, meaning by the planner. */
export interface WindowClause {
  kind: WindowKind;
  /** Null for count and state windows. */
  unit: TimeUnit | null;
  /** Length, hop, delay, timeout, count or interval, in the order written. */
  args: number[];
  /** Conditions of a state window: begin, and emit when given. */
  conditions: Expr[];
  /** `FILTER (WHERE …)`, evaluated before the window. */
  filter: Expr | null;
  over: Over | null;
  span: Span;
}

export interface TableRef {
  /** Name of the stream or table; for a derived table, its name in the statement. */
  name: string;
  alias: string | null;
  /** Query of `(SELECT …) AS name`, or of a name in WITH; null for a stream or table. */
  query: Query | null;
  span: Span;
}

export type JoinKind = 'INNER' | 'LEFT' | 'RIGHT' | 'FULL' | 'CROSS';

export interface Join {
  kind: JoinKind;
  table: TableRef;
  on: Expr | null;
  /** Condition in MATCH_CONDITION of an ASOF JOIN, which is INNER or LEFT; null without one. Absent in other joins. */
  asof?: { match: Expr | null };
}

export interface OrderItem {
  expr: Expr;
  descending: boolean;
}

/** A query that gives rows: one SELECT, or a UNION ALL of several. */
export type Query = Select | Union;

/** The rows of several SELECTs: `UNION ALL`. */
export interface Union {
  kind: 'union';
  selects: Select[];
}

export interface Select {
  kind: 'select';
  distinct: boolean;
  items: SelectItem[];
  from: TableRef;
  joins: Join[];
  where: Expr | null;
  /** Grouping expressions without the window. */
  groupBy: Expr[];
  window: WindowClause | null;
  having: Expr | null;
  /** A condition on numbers of rows. */
  qualify: Expr | null;
  orderBy: OrderItem[];
  limit: number | null;
  /** MATCH_RECOGNIZE behind the table in FROM: its matches are the rows of the SELECT, which has nothing else then. */
  pattern?: PatternClause;
}

/** A part of PATTERN. */
export type PatternPart =
  | { kind: 'variable'; name: string; span: Span }
  /** Parts that follow each other; none: the empty pattern. */
  | { kind: 'sequence'; parts: PatternPart[] }
  /** Alternatives, the preferred one first. */
  | { kind: 'choice'; options: PatternPart[] }
  /** `most`: null without a bound. A reluctant one prefers fewer. */
  | { kind: 'repeat'; of: PatternPart; least: number; most: number | null; isReluctant: boolean }
  /** `{- … -}`: its rows are left out of ALL ROWS PER MATCH. */
  | { kind: 'excluded'; of: PatternPart }
  | { kind: 'permute'; of: PatternPart[] }
  /** `NOT v WITHIN INTERVAL …` at the end: no row that is `v` comes for so long. */
  | { kind: 'absent'; name: string; withinMs: number; span: Span };

/** `MATCH_RECOGNIZE (…)`. */
export interface PatternClause {
  partitionBy: Expr[];
  orderBy: OrderItem[];
  measures: { expr: Expr; name: string; span: Span }[];
  /** ONE ROW PER MATCH, or ALL ROWS PER MATCH with its mode. */
  rows: 'one' | 'showEmpty' | 'omitEmpty' | 'withUnmatched';
  skip: { to: 'pastLast' | 'next' | 'first' | 'last'; variable: string | null; span: Span };
  pattern: PatternPart;
  withinMs: number | null;
  subsets: { name: string; of: { name: string; span: Span }[]; span: Span }[];
  defines: { name: string; condition: Expr; span: Span }[];
  span: Span;
}

/** Type of a declared column. */
export type FieldType =
  | { type: 'bigint' | 'float' | 'string' | 'datetime' | 'boolean' | 'bytea' }
  | { type: 'array'; element: FieldType }
  | { type: 'struct'; fields: FieldDef[] };

export interface FieldDef {
  name: string;
  fieldType: FieldType;
  default: Expr | null;
}

/** `CREATE STREAM|TABLE`. Option names are upper case; values are the text between the quotes. */
export interface CreateSource {
  kind: 'create';
  target: 'stream' | 'table';
  name: string;
  /** Null when declared without a parenthesised list; empty for `()`: both mean schemaless. */
  fields: FieldDef[] | null;
  options: Record<string, string>;
}

export type Statement =
  | Query
  | CreateSource
  | { kind: 'show'; target: 'streams' | 'tables' }
  | { kind: 'describe' | 'explain' | 'drop'; target: 'stream' | 'table'; name: string };

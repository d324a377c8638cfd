/** Which names an expression may use: the columns of the rule's streams and the aliases of its SELECT list. */

import { nearest } from '../../base/text/nearest.js';
import { findFunction } from '../../functions/registry.js';
import type { Expr, Select, SelectItem, Span } from '../../sql/ast.js';
import { expressionErrors } from '../errors/expression.js';
import { selectErrors } from '../errors/select.js';
import { firstPresent, joinedColumn, mergedObject } from '../values/joined-row.js';
import type { Relation } from '../values/source.js';
import type { Value, Values } from '../values/value.js';

/** Aliases that may be defined by each other's values before the first of them is known. */
const maxOpen = 100;

/**
 * Where an expression is evaluated: on the rows of the streams (joined, if they are several), on what the window gives
 * out, or on single rows of several streams before they are joined.
 */
export type Place = 'row' | 'window' | 'single';

export class Scope {
  private readonly aliases = new Map<string, SelectItem>();
  private readonly bound = new Map<string, Value>();
  /** Aliases whose expressions are being bound, the innermost last. */
  private readonly open: string[] = [];

  constructor(
    readonly sources: readonly Relation[],
    /** The sources in the order in which a joined row is searched for a name. */
    readonly order: readonly Relation[],
    readonly values: Values,
    select: Pick<Select, 'items'>,
    /** Node of a graph, whose input rows are seen as they come; empty in statements. */
    readonly node = '',
  ) {
    for (const item of select.items) {
      const { alias, expr } = item;
      if (alias === null || expr.kind === 'star') continue;
      if (this.aliases.has(alias)) throw selectErrors.duplicateAlias(alias, expr.span);
      // Rows are made of what the other clauses gave: there the name means the column.
      if (!isRowMaker(expr)) this.aliases.set(alias, item);
    }
  }

  /**
   * The stream that a qualifier names, or undefined when it is no stream of the rule. Throws a `plan` error when it is
   * the name of several, which only their aliases tell apart.
   */
  sourceNamed(qualifier: string): Relation | undefined {
    const own = this.sources.find(({ ownName }) => ownName === qualifier);
    if (own !== undefined) return own;
    const [named, other] = this.sources.filter(({ name }) => name === qualifier);
    if (other !== undefined) {
      throw expressionErrors.ambiguousStream(qualifier, named?.ownName, other.ownName);
    }
    return named;
  }

  /**
   * The stream that a qualifier was probably meant as which names none, no alias and no declared column; undefined
   * without one.
   */
  meantBy(qualifier: string): string | undefined {
    const isKnown = this.aliases.has(qualifier) || this.sources.some(({ declared }) => declared?.includes(qualifier));
    return isKnown
      ? undefined
      : nearest(
          qualifier,
          this.sources.map(({ ownName }) => ownName),
        );
  }

  /**
   * The value of an unqualified name. An alias wins over a column, except within its own expression.
   * @param bind binds the expression of an alias
   */
  resolve(name: string, place: Place, span: Span, bind: (item: SelectItem) => Value): Value {
    const item = this.aliases.get(name);
    if (item === undefined || this.open.at(-1) === name) {
      return place === 'single' ? this.ownColumn(name, span) : this.columnNamed(name, span, place);
    }
    if (this.open.includes(name)) {
      throw selectErrors.aliasCircle([...this.open, name].join(', '), span);
    }
    const key = `${place}:${name}`;
    let value = this.bound.get(key);
    if (value === undefined) {
      value = this.bindAlias(name, () => bind(item));
      this.bound.set(key, value);
    }
    return value;
  }

  /** Binds the expression of an alias, within which the alias's own name means the column. */
  private bindAlias(name: string, bind: () => Value): Value {
    if (this.open.length >= maxOpen) {
      throw selectErrors.aliasTooDeep(name, maxOpen);
    }
    this.open.push(name);
    try {
      return bind();
    } finally {
      this.open.pop();
    }
  }

  /** The column that a name means which is no alias. */
  protected columnNamed(name: string, span: Span, _place: Place): Value {
    const [first, ...others] = this.sources;
    if (first === undefined) throw expressionErrors.unknownField(name, span);
    if (others.length === 0) return first.column(name, span);
    const owners = this.order.filter((source) => source.has(name));
    const [owner, second] = owners;
    if (owner === undefined) throw expressionErrors.unknownField(name, span);
    if (second !== undefined && this.sources.some(({ declared }) => declared === null)) {
      // Nobody knows who has it before the rows are there: the first that does.
      return joinedColumn(this.values, this.order, name);
    }
    if (second !== undefined) {
      throw expressionErrors.ambiguousColumn(name, owner.name, second.name, span);
    }
    return owner.column(name, span);
  }

  /** The column of a single row of several streams, whichever stream it is of. */
  ownColumn(name: string, span: Span): Value {
    const sources = this.orderAt('single');
    if (!sources.some((source) => source.has(name))) throw expressionErrors.unknownField(name, span);
    return joinedColumn(this.values, sources, name);
  }

  /** Relations whose columns rows at a place may have, in search order; tables come in with the join. */
  orderAt(place: Place): readonly Relation[] {
    return place === 'single' ? this.order.filter(({ isTable }) => !isTable) : this.order;
  }

  /**
   * All members of the row as one object; of equal names the one of the last stream, unlike in the wildcard of SELECT.
   */
  wholeRow(place: Place): Value {
    const rows = this.orderAt(place).map((source) => source.row());
    return mergedObject(this.values, rows.reverse());
  }

  /** Declared columns of streams by name; of equal names that of the first stream whose row has it. */
  allColumns(sources: readonly Relation[]): Map<string, Value> {
    const columns = new Map<string, Value[]>();
    for (const source of sources) {
      for (const name of source.declared ?? []) {
        columns.set(name, [...(columns.get(name) ?? []), source.column(name)]);
      }
    }
    return new Map([...columns].map(([name, candidates]) => [name, firstPresent(this.values, candidates)]));
  }
}

/** True for a call that makes rows of one row (unnest, extract). */
export function isRowMaker(expr: Expr): boolean {
  if (expr.kind !== 'call') return false;
  const definition = findFunction(expr.name);
  return definition !== undefined && 'rows' in definition.implementation;
}

/** The clauses of one SELECT as operators, from where the rows come in up to LIMIT. */

import { findFunction } from '../../functions/registry.js';
import type { FindBrought } from '../../plugins/define.js';
import type { Expr, Select, TableRef, WindowClause } from '../../sql/ast.js';
import { some } from '../../sql/visit.js';
import type { Binder, Clause } from '../bind/bind.js';
import { isRowMaker, type Scope } from '../bind/scope.js';
import type { SelectList } from '../bind/select-list.js';
import { selectErrors } from '../errors/select.js';
import { asofRows, isAsof } from '../joins/asof.js';
import { checkNoInterval, intervalAt, intervalRows } from '../joins/interval.js';
import { bindJoins } from '../joins/join.js';
import { bindLookup, isByKey, type Lookup } from '../joins/lookup.js';
import { type Logical, levelOf, type OutputRow } from '../logical/logical.js';
import { constantNumber, type Fold } from '../rules/fold-constants.js';
import { wholeObject } from '../sinks/output.js';
import { type Relation, Source } from '../values/source.js';
import { type AggregateValue, aggregatesIn, childrenOf, type Value, type Values } from '../values/value.js';
import { messageGroups, noTime, windowTimes } from '../windows/clause.js';
import { kindOf, specOf } from '../windows/index.js';

const rowClause = (name: string): Clause => ({ name, place: 'row', hasAggregates: false, hasAnalytics: true });
export const resultClause = (name: string): Clause => ({
  name,
  place: 'window',
  hasAggregates: true,
  hasAnalytics: true,
});

/** Origin of the rows, with the time that orders them; null: there is none, or each of several streams has its own. */
export interface Input {
  readonly root: Logical;
  readonly timestamp: Value | null;
  /** The rows are those of messages: of the windows of a derived table. */
  readonly isOfMessages: boolean;
}

/** A SELECT whose names are known, and what its clauses are made with. */
export interface Bound {
  readonly relations: readonly Relation[];
  readonly input: Input;
  readonly scope: Scope;
  readonly binder: Binder;
  readonly statement: Statement;
}

/** The clauses between FROM and LIMIT, in the order in which they work. */
export class Statement {
  constructor(
    private readonly select: Select,
    private readonly sources: readonly Relation[],
    private readonly values: Values,
    private readonly binder: Binder,
    private readonly isGrouped: boolean,
    private readonly isEventTime: boolean,
    private readonly remarks: string[],
    private readonly fold: Fold,
  ) {}

  /** The rows of the result: joined, filtered and grouped. */
  rows(from: Input): Logical {
    const { select, binder } = this;
    const isOfStream = this.sources.length === 1 && this.sources[0] instanceof Source;
    if (select.where !== null && select.window !== null && isOfStream) {
      if (some(select.where, (expr) => isAggregateCall(expr)))
        return this.#comparedWithAll(from, select.where, select.window);
    }
    const where = select.where === null ? null : binder.condition(select.where, rowClause('WHERE'));
    const input = this.#interval(this.#asof(from));
    const isJoined = select.joins.some((_join, i) => !this.#isTimed(i));
    if (isJoined) return this.#joined(input, where);
    if (select.window !== null || this.isGrouped) return this.#windowed(input, where);
    if (select.having !== null) throw selectErrors.havingAggregate(select.having.span);
    return filtered(input.root, where, 'where');
  }

  /** Where conditions of as-of joins are bound. */
  asofPlace(): Parameters<typeof asofRows>[4] {
    const { binder, isEventTime } = this;
    const clause = { ...rowClause('ON'), hasAnalytics: false };
    return { binder, clause, isEventTime, constantOf: (value) => this.#constantOf(value) };
  }

  /** The rows after QUALIFY. */
  qualified(input: Logical): Logical {
    const { qualify } = this.select;
    if (qualify === null) return input;
    const condition = this.binder.condition(qualify, resultClause('QUALIFY'));
    return { kind: 'filter', input, condition, clause: 'qualify' };
  }

  /** The rows after ORDER BY. */
  ordered(input: Logical): Logical {
    const { items, orderBy } = this.select;
    if (orderBy.length === 0) return input;
    const maker = items.find(({ expr }) => isRowMaker(expr));
    const made = maker?.alias ?? null;
    const isMade = (expr: Expr) => expr.kind === 'column' && expr.qualifier === null && expr.name === made;
    const keys = orderBy.map(({ expr, descending }) => {
      const clause = resultClause('ORDER BY');
      if (made === null || !some(expr, isMade)) return { value: this.binder.bind(expr, clause), descending };
      const list = isMade(expr) && maker !== undefined ? this.binder.rowsOf(maker.expr, resultClause('SELECT')) : null;
      if (list === null) {
        throw selectErrors.orderByMade(made, expr.span);
      }
      this.remarks.push(
        `ORDER BY ${made} orders the rows that others are made of by what they are made of, which has no order: ` +
          'in a window its messages fail',
      );
      return { value: list.list, descending };
    });
    if (input.kind === 'window' && input.isDistinct === true) {
      const other = orderBy.find((_item, i) => !isMadeOf(keys[i]!.value, input.keys));
      if (other !== undefined) throw selectErrors.orderByDistinct(other.expr.span);
    }
    return { kind: 'sort', input, keys };
  }

  /** Rows made of each row. Without a window they are of one message only here, where LIMIT counts them. */
  expanded(input: Logical, { list, of }: NonNullable<SelectList['expand']>): Logical {
    const { limit, window } = this.select;
    return { kind: 'expand', input, list, of, most: window === null ? limit : null };
  }

  /** The rows after LIMIT. */
  limited(input: Logical): Logical {
    const { limit } = this.select;
    return limit === null ? input : { kind: 'limit', input, count: limit };
  }

  /** The window gathers rows of all streams, the join pairs them; pairs are grouped message by message. */
  #joined({ root, timestamp, isOfMessages }: Input, where: Value | null): Logical {
    const { select, binder, values, sources } = this;
    const single = (condition: Expr, name: string) =>
      binder.bind(condition, { name, place: 'single', hasAggregates: false, hasAnalytics: true });
    const filter = select.window?.filter ?? null;
    // Without a window of their own rows of messages are joined message by message.
    const ofBelow = isOfMessages && select.window === null;
    const gathered: Logical = {
      kind: 'window',
      input: filtered(root, filter === null ? null : single(filter, 'FILTER'), 'filter'),
      window: ofBelow ? { kind: 'message', ...noTime(values) } : specOf(select.window, single),
      timestamp,
      where: null,
      keys: [],
      isGrouped: false,
      sendEmpty: false,
    };
    const onClause = { ...rowClause('ON'), hasAnalytics: false };
    const lookups = this.#lookups(onClause);
    const joins = select.joins.filter((_join, i) => !this.#isTimed(i) && sources[i + 1]?.isLookup !== true);
    const isAlone = joins.length === 0;
    const others = sources.filter(({ isLookup }) => !isLookup);
    const steps = bindJoins(joins, others, binder, onClause);
    if (select.window === null && this.isEventTime) {
      checkNoInterval(joins, steps, others, (value) => this.#constantOf(value));
    }
    const isRowByRow = isAlone && !ofBelow && this.#isRowByRow(lookups);
    const rows: Logical = isAlone
      ? isRowByRow
        ? root
        : gathered
      : { kind: 'join', input: gathered, sources: others, steps };
    const looked = lookups.reduce((input: Logical, lookup) => ({ ...lookup, input }), rows);
    const pairs = filtered(looked, where, 'where');
    return isRowByRow ? pairs : this.#ofMessages(pairs, ofBelow ? noTime(values) : undefined);
  }

  /** The input with the partners that rows have by ASOF JOIN: one row for each of the first stream at most. */
  #asof(input: Input): Input {
    const { select, sources, values } = this;
    if (!select.joins.some(isAsof)) return input;
    return { ...input, root: asofRows(input.root, select.joins, sources, values, this.asofPlace()) };
  }

  /** The input joined by the time between rows of two streams, where the statement has such a join. */
  #interval(input: Input): Input {
    const { select, sources, binder, values } = this;
    const at = this.#intervalAt();
    const [left, join, right] = [sources[0], select.joins[at], sources[at + 1]];
    if (join === undefined || left === undefined || right === undefined) return input;
    const clause = { ...rowClause('ON'), hasAnalytics: false };
    const constantOf = (value: Value) => this.#constantOf(value);
    const root = intervalRows(input.root, join, [left, right], { binder, clause, values, constantOf });
    return { ...input, root };
  }

  #intervalAt(): number {
    return this.select.window === null ? intervalAt(this.select.joins, this.sources) : -1;
  }

  /** True for a join whose rows come by time, without a window. */
  #isTimed(i: number): boolean {
    const join = this.select.joins[i];
    return join !== undefined && (isAsof(join) || this.#intervalAt() === i);
  }

  #constantOf(value: Value): number | null {
    return constantNumber(value, this.values, this.fold);
  }

  #lookups(clause: Clause): Lookup[] {
    const { select, sources, binder, values } = this;
    return select.joins.flatMap((join, i) => {
      const source = sources[i + 1];
      if (!(source instanceof Source) || !source.isLookup) return [];
      return [bindLookup(join, source, binder, clause, values, (text) => this.remarks.push(text))];
    });
  }

  /** True where each row becomes one at most and is a message of its own from one end to the other. */
  #isRowByRow(lookups: readonly Lookup[]): boolean {
    const { window, having, orderBy } = this.select;
    return window === null && having === null && orderBy.length === 0 && !this.isGrouped && lookups.every(isByKey);
  }

  #windowed({ root, timestamp, isOfMessages }: Input, where: Value | null): Logical {
    const { select, binder, values, isGrouped } = this;
    const { window } = select;
    if (window === null && isOfMessages) {
      const keys = this.#groupKeys();
      return this.#having(messageGroups(filtered(root, where, 'where'), keys, values, noTime(values)), keys);
    }
    const filter = window?.filter ? binder.condition(window.filter, rowClause('FILTER')) : null;
    const isFirst = window === null || this.#isFilteredFirst(window);
    const input = filtered(filtered(root, filter, 'filter'), isFirst ? where : null, 'where');
    const keys = this.#groupKeys();
    const groups: Logical = {
      kind: 'window',
      input,
      window: specOf(window, (condition, name) => binder.bind(condition, rowClause(name))),
      timestamp,
      where: isFirst ? null : where,
      keys,
      isGrouped,
      shown: this.#shown(),
      sendEmpty: window !== null && (where === null || isFirst) && keys.length === 0,
    };
    return this.#having(groups, keys);
  }

  /** WHERE with aggregates: each row of the window beside what is computed of all of them; what is left is grouped. */
  #comparedWithAll({ root, timestamp }: Input, where: Expr, window: WindowClause): Logical {
    const { binder, values } = this;
    const row = (condition: Expr, name: string): Value => binder.bind(condition, rowClause(name));
    const condition = ofAllRows(binder.condition(where, { ...rowClause('WHERE'), hasAggregates: true }), values);
    const rows: Logical = {
      kind: 'window',
      input: filtered(root, window.filter === null ? null : row(window.filter, 'FILTER'), 'filter'),
      window: specOf(window, row),
      timestamp,
      where: null,
      keys: [],
      isGrouped: false,
      shown: aggregatesIn(condition),
      sendEmpty: false,
    };
    return this.#ofMessages(filtered(rows, condition, 'where'));
  }

  /** Rows of messages, with GROUP BY and HAVING. */
  #ofMessages(rows: Logical, times = windowTimes(this.values)): Logical {
    const keys = this.#groupKeys();
    const shown = this.#shown();
    if (!this.isGrouped && shown.length === 0) return this.#having(rows, keys);
    const messages = messageGroups(rows, keys, this.values, times);
    return this.#having(this.isGrouped ? messages : { ...messages, isGrouped: false, shown }, keys);
  }

  /**
   * True where WHERE decides on rows before the window takes them. Windows of rows (counting, sliding) need all of
   * them, and windows of event time are what WHERE works on. Without a window each message is grouped by itself.
   */
  #isFilteredFirst(window: WindowClause): boolean {
    return !this.isEventTime && kindOf(window).keepsRows !== true;
  }

  /** Aggregates that only HAVING and ORDER BY use: the rows of the window stay rows, and each shows them. */
  #shown(): AggregateValue[] {
    if (this.isGrouped) return [];
    const { having, orderBy } = this.select;
    const values = orderBy.map(({ expr }) => this.binder.bind(expr, resultClause('ORDER BY')));
    if (having !== null) values.push(this.binder.bind(having, resultClause('HAVING')));
    return aggregatesIn(...values);
  }

  #groupKeys(): Value[] {
    return this.select.groupBy.map((key) => this.binder.bind(key, rowClause('GROUP BY')));
  }

  #having(input: Logical, keys: readonly Value[]): Logical {
    const { having } = this.select;
    if (having === null) return input;
    const condition = this.binder.condition(having, resultClause('HAVING'));
    checkHaving(condition, keys, having);
    // Without groups, the condition has one value for all rows of a message, so it is decided once.
    return { kind: 'filter', input, condition, clause: 'having', ...(this.isGrouped ? {} : { isWhole: true }) };
  }
}

/** SELECT DISTINCT: the rows of each message, equal ones once, in the order in which they come first. */
export function distinctRows(
  input: Logical,
  row: OutputRow,
  makesRows: boolean,
  isOfMessages: boolean,
  { span }: TableRef,
  values: Values,
): Logical {
  if (!isOfMessages) {
    throw selectErrors.distinctWindow(span);
  }
  if (makesRows) {
    throw selectErrors.distinctMadeRows(span);
  }
  const keys = row.star === null ? row.entries.map(({ value }) => value) : [wholeObject(row, values)];
  const hasWindow = levelOf(input).some(({ kind }) => kind === 'window');
  const times = hasWindow ? windowTimes(values) : noTime(values);
  return { ...messageGroups(input, keys, values, times), isDistinct: true };
}

/** The condition with aggregates that are not those of the result, which see the rows that are left. */
function ofAllRows(condition: Value, values: Values): Value {
  const every = values.constant({ tag: 'bool', value: true });
  return values.rewrite(condition, (value) =>
    value.kind === 'aggregate' && value.filter === null
      ? values.aggregate(value.fn, value.args, every, value.call)
      : value,
  );
}

function filtered(input: Logical, condition: Value | null, clause: 'where' | 'filter'): Logical {
  return condition === null ? input : { kind: 'filter', input, condition, clause };
}

/** Whether the node itself, not what is below it, is a call of an aggregate; `brought` finds those of users. */
export function isAggregateCall(expr: Expr, brought?: FindBrought): boolean {
  if (expr.kind !== 'call') return false;
  const definition = findFunction(expr.name);
  if (definition === undefined) return brought?.(expr.name)?.run?.isAggregate === true;
  const { implementation } = definition;
  const special = 'special' in implementation ? implementation.special : null;
  return (
    'aggregate' in implementation || special === 'windowHitCount' || special === 'windowHitTime' || special === 'lead'
  );
}

/**
 * Whether rows of the result stand for groups. Without a window a single row is a group wherever an aggregate stands.
 */
export function makesGroups(
  { items, orderBy, having, qualify, groupBy, window }: Select,
  brought: FindBrought | undefined,
): boolean {
  const roots = items.map(({ expr }) => expr);
  if (qualify !== null) roots.push(qualify);
  if (window === null) roots.push(...orderBy.map(({ expr }) => expr), ...(having === null ? [] : [having]));
  return groupBy.length > 0 || roots.some((root) => some(root, (expr) => isAggregateCall(expr, brought)));
}

/** True for a value that can be computed of these and nothing else of a row. */
function isMadeOf(value: Value, values: readonly Value[]): boolean {
  if (value.kind === 'const' || values.includes(value)) return true;
  const children = childrenOf(value);
  return children.length > 0 && children.every((child) => isMadeOf(child, values));
}

/** A condition on results may use aggregates, grouping expressions and the window, but no columns of single rows. */
function checkHaving(condition: Value, keys: readonly Value[], having: Expr): void {
  const seen = new Set<Value>();
  const isOfRow = (value: Value): boolean => {
    if (seen.has(value) || keys.includes(value) || value.kind === 'aggregate') return false;
    seen.add(value);
    return value.kind === 'column' || childrenOf(value).some(isOfRow);
  };
  if (isOfRow(condition)) {
    throw selectErrors.havingOther(having.span);
  }
}

/** From the syntax tree of a SELECT to the logical plan: names resolved, meaning checked, nothing optimised yet. */
import { findFunction } from '../functions/registry.js';
import type { Catalog, RuleDefinition } from '../model/engine.js';
import type { Expr, Select, WindowClause } from '../sql/ast.js';
import { timeUnitMs } from '../sql/keywords.js';
import { some } from '../sql/visit.js';
import { withAnalytics } from './analytic.js';
import { Binder, type Clause } from './bind.js';
import { notSupported, refuse } from './errors.js';
import { withHits } from './hits.js';
import { bindJoins, inRowOrder, sourcesOf, streamsOf } from './join.js';
import type { Logical, OutputRow, WindowSpec } from './logical.js';
import { bindLookup, checkLookups, isByKey, type Lookup } from './lookup.js';
import { isRowMaker, Scope } from './scope.js';
import { bindSelectList, type SelectList } from './select-list.js';
import type { Source } from './source.js';
import { timeOfHits } from './specials.js';
import { type AggregateValue, aggregatesIn, childrenOf, type Value, type Values } from './value.js';

export interface Analysis {
  sources: Source[];
  root: Extract<Logical, { kind: 'project' }>;
  /** What the user should know of the statement. */
  remarks: string[];
}

/** Checks the statement of a rule and returns its logical plan. Throws `plan` errors. */
export function analyse(select: Select, rule: RuleDefinition, catalog: Catalog, values: Values): Analysis {
  const sources = sourcesOf(select, rule.options, catalog, values);
  checkLookups(select.from, select.joins, sources);
  const { isEventTime } = rule.options;
  checkWindow(select, rule);
  const isGrouped = makesGroups(select);
  const scope = new Scope(sources, inRowOrder(select.joins, sources), values, select);
  const window = select.window?.kind ?? null;
  const { functionOwner } = catalog;
  const ruleId = rule.id;
  const { timezone: zone } = rule.options;
  const binder = new Binder(values, scope, {
    values,
    scope,
    ruleId,
    zone,
    functionOwner,
    isEventTime,
    window,
    isGrouped,
  });
  const input = inputOf(streamsOf(sources), isEventTime);
  const { row, expand } = bindSelectList(select, scope, binder, resultClause('SELECT'));
  const statement = new Statement(select, sources, values, binder, isGrouped, isEventTime);
  const [first] = sources;
  const timeOfHit = (isOfWindow: boolean): Value =>
    first === undefined ? values.null() : timeOfHits(first, isEventTime, isOfWindow, values);
  const ordered = statement.ordered(statement.rows(input));
  const rows = expand === null ? ordered : statement.expanded(ordered, expand);
  const root = withAnalytics(withHits({ kind: 'project', input: statement.limited(rows), row }, timeOfHit));
  return { sources, root, remarks: statement.remarks };
}

const rowClause = (name: string): Clause => ({ name, place: 'row', hasAggregates: false, hasAnalytics: true });
const resultClause = (name: string): Clause => ({ name, place: 'window', hasAggregates: true, hasAnalytics: true });

/** Where the rows come from, with the time they are ordered by; null: none, or each of several streams has its own. */
interface Input {
  readonly root: Logical;
  readonly timestamp: Value | null;
}

function inputOf(streams: Source[], isEventTime: boolean): Input {
  const timestamps = isEventTime ? streams.map((one) => one.time()) : [];
  const [source, other] = streams;
  if (source === undefined) throw new Error('a statement without a stream');
  const isMerged = other !== undefined;
  const timestamp = isMerged ? null : (timestamps[0] ?? null);
  const root: Logical = isMerged
    ? { kind: 'merge', sources: streams, inputs: streams.map(leafOf), timestamps }
    : leafOf(source);
  return { root: isEventTime ? { kind: 'watermark', input: root, timestamp } : root, timestamp };
}

/** The clauses between FROM and LIMIT, in the order in which they work. */
class Statement {
  readonly remarks: string[] = [];

  constructor(
    private readonly select: Select,
    private readonly sources: Source[],
    private readonly values: Values,
    private readonly binder: Binder,
    private readonly isGrouped: boolean,
    private readonly isEventTime: boolean,
  ) {}

  /** The rows of the result: joined, filtered and grouped. */
  rows(input: Input): Logical {
    const { select, binder } = this;
    const where = select.where === null ? null : binder.bind(select.where, rowClause('WHERE'));
    if (this.sources.length > 1) return this.#joined(input, where);
    if (select.window !== null || this.isGrouped) return this.#windowed(input, where);
    if (select.having !== null) throw refuse('HAVING needs an aggregate', select.having.span);
    return filtered(input.root, where, 'where');
  }

  /** The rows after ORDER BY. */
  ordered(input: Logical): Logical {
    const { items, orderBy } = this.select;
    if (orderBy.length === 0) return input;
    const made = items.find(({ expr }) => isRowMaker(expr))?.alias ?? null;
    for (const { expr } of orderBy) {
      if (made !== null && some(expr, (part) => part.kind === 'column' && part.name === made))
        throw refuse(`ORDER BY cannot use ${made}: the rows are made of those that it has ordered`, expr.span);
    }
    const keys = orderBy.map(({ expr, descending }) => ({
      value: this.binder.bind(expr, resultClause('ORDER BY')),
      descending,
    }));
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
  #joined({ root, timestamp }: Input, where: Value | null): Logical {
    const { select, binder, values, sources } = this;
    const single = (condition: Expr, name: string) =>
      binder.bind(condition, { name, place: 'single', hasAggregates: false, hasAnalytics: true });
    const filter = select.window?.filter ?? null;
    const gathered: Logical = {
      kind: 'window',
      input: filtered(root, filter === null ? null : single(filter, 'FILTER'), 'filter'),
      window: specOf(select.window, values, (condition) => single(condition, 'a condition of the window')),
      timestamp,
      where: null,
      keys: [],
      isGrouped: false,
      sendEmpty: false,
    };
    const onClause = { ...rowClause('ON'), hasAnalytics: false };
    const lookups = this.#lookups(onClause);
    const isJoined = (i: number): boolean => sources[i + 1]?.isLookup !== true;
    const joins = select.joins.filter((_join, i) => isJoined(i));
    const isAlone = joins.length === 0;
    const others = sources.filter(({ isLookup }) => !isLookup);
    const steps = bindJoins(joins, others, binder, onClause);
    const isRowByRow = isAlone && this.#isRowByRow(lookups);
    const rows: Logical = isAlone
      ? isRowByRow
        ? root
        : gathered
      : { kind: 'join', input: gathered, sources: others, steps };
    const looked = lookups.reduce((input: Logical, lookup) => ({ ...lookup, input }), rows);
    const pairs = filtered(looked, where, 'where');
    if (isRowByRow) return pairs;
    const keys = this.#groupKeys();
    const shown = this.#shown();
    if (!this.isGrouped && shown.length === 0) return this.#having(pairs, keys);
    const messages = messageGroups(pairs, keys, values);
    return this.#having(this.isGrouped ? messages : { ...messages, isGrouped: false, shown }, keys);
  }

  #lookups(clause: Clause): Lookup[] {
    const { select, sources, binder, values } = this;
    return select.joins.flatMap((join, i) => {
      const source = sources[i + 1];
      if (source?.isLookup !== true) return [];
      return [bindLookup(join, source, binder, clause, values, (text) => this.remarks.push(text))];
    });
  }

  /** True where each row becomes one at most and is a message of its own from one end to the other. */
  #isRowByRow(lookups: readonly Lookup[]): boolean {
    const { window, having, orderBy } = this.select;
    return window === null && having === null && orderBy.length === 0 && !this.isGrouped && lookups.every(isByKey);
  }

  #windowed({ root, timestamp }: Input, where: Value | null): Logical {
    const { select, binder, values, isGrouped } = this;
    const { window } = select;
    const filter = window?.filter ? binder.bind(window.filter, rowClause('FILTER')) : null;
    const isFirst = window === null || this.#isFilteredFirst(window);
    const input = filtered(filtered(root, filter, 'filter'), isFirst ? where : null, 'where');
    const keys = this.#groupKeys();
    const groups: Logical = {
      kind: 'window',
      input,
      window: specOf(window, values, (condition) => binder.bind(condition, rowClause('a condition of the window'))),
      timestamp,
      where: isFirst ? null : where,
      keys,
      isGrouped,
      shown: this.#shown(),
      sendEmpty: window !== null && (where === null || isFirst) && keys.length === 0,
    };
    return this.#having(groups, keys);
  }

  /**
   * True where WHERE decides on rows before the window takes them. Windows of rows (counting, sliding) need all of them, and
   * windows of event time are what WHERE works on. Without a window each message is grouped by itself.
   */
  #isFilteredFirst({ kind }: WindowClause): boolean {
    return !this.isEventTime && kind !== 'count' && kind !== 'sliding';
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
    const condition = this.binder.bind(having, resultClause('HAVING'));
    checkHaving(condition, keys, having);
    // What is true of all rows of a message is decided on once.
    return { kind: 'filter', input, condition, clause: 'having', ...(this.isGrouped ? {} : { isWhole: true }) };
  }
}

/** Groups the rows of each message by themselves: behind a window, whose messages they are. */
export function messageGroups(input: Logical, keys: Value[], values: Values): Extract<Logical, { kind: 'window' }> {
  const [start, end, trigger] = [values.window('start'), values.window('end'), values.window('trigger')];
  return {
    kind: 'window',
    input,
    window: { kind: 'message', start, end, trigger },
    timestamp: null,
    where: null,
    keys,
    isGrouped: true,
    sendEmpty: false,
  };
}

function filtered(input: Logical, condition: Value | null, clause: 'where' | 'filter'): Logical {
  return condition === null ? input : { kind: 'filter', input, condition, clause };
}

/** Output columns in the order of the SELECT; columns that `*` brings without a schema, and members of objects, are not known. */
export function outputFieldsOf(row: OutputRow): string[] {
  const names = row.entries.map(({ name }) => name);
  const made = row.set?.name ?? null;
  return made === null ? names : [...names, made];
}

function leafOf(source: Source): Logical {
  return { kind: 'source', source };
}

/** What windows and options don't go with. */
export function checkWindow({ window, groupBy }: Pick<Select, 'window' | 'groupBy'>, rule: RuleDefinition): void {
  if (window === null) {
    const [first] = groupBy;
    if (first !== undefined) throw refuse('GROUP BY needs a window', first.span);
    if (rule.options.sendMetaToSink) throw notSupported('option sendMetaToSink');
    return;
  }
  if (rule.options.sendMetaToSink) throw refuse('option sendMetaToSink cannot be used with a window');
  if (window.kind === 'count' && rule.options.isEventTime) {
    throw refuse('COUNTWINDOW cannot be used with event time', window.span);
  }
  if (window.over === null) return;
  const { partitionBy, when } = window.over;
  if (when !== null && window.kind !== 'sliding')
    throw refuse('OVER (WHEN) belongs to SLIDINGWINDOW only', window.span);
  if (partitionBy.length > 0 && window.kind !== 'state') {
    throw refuse('PARTITION BY of a window belongs to STATEWINDOW only', window.span);
  }
}

/** Without a window every row is one. */
export function specOf(clause: WindowClause | null, values: Values, bind: (expr: Expr) => Value): WindowSpec {
  if (clause === null) return { kind: 'row' };
  const { kind, unit, args, conditions, over, span } = clause;
  const unitMs = unit === null ? 1 : timeUnitMs[unit];
  const [first = 0, second] = args;
  switch (kind) {
    case 'tumbling':
      return { kind, unitMs, lengthMs: first * unitMs };
    case 'hopping':
      return { kind, unitMs, lengthMs: first * unitMs, hopMs: (second ?? first) * unitMs };
    case 'sliding':
      return {
        kind,
        lengthMs: first * unitMs,
        delayMs: (second ?? 0) * unitMs,
        trigger: over?.when ? bind(over.when) : null,
      };
    case 'session':
      return { kind, unitMs, maxMs: first * unitMs, timeoutMs: (second ?? 0) * unitMs };
    case 'count':
      return { kind, length: first, step: second ?? first };
    case 'state': {
      const [begin, emit] = conditions.map(bind);
      if (begin === undefined) throw refuse('STATEWINDOW needs a condition', span);
      const parts = over?.partitionBy.map(bind) ?? [];
      const partition = parts.length > 1 ? values.op('nested.arrayOf', [], parts) : (parts[0] ?? null);
      return { kind, begin, emit: emit ?? null, partition };
    }
    default:
      return kind satisfies never;
  }
}

/** Whether the node itself, not what is below it, is a call of an aggregate. */
export function isAggregateCall(expr: Expr): boolean {
  if (expr.kind !== 'call') return false;
  const definition = findFunction(expr.name);
  if (definition === undefined) return false;
  const { implementation } = definition;
  const special = 'special' in implementation ? implementation.special : null;
  return 'aggregate' in implementation || special === 'windowHitCount' || special === 'windowHitTime';
}

/** Whether rows of the result stand for groups. Without a window a single row is a group wherever an aggregate stands. */
function makesGroups({ items, orderBy, having, groupBy, window }: Select): boolean {
  const roots = items.map(({ expr }) => expr);
  if (window === null) roots.push(...orderBy.map(({ expr }) => expr), ...(having === null ? [] : [having]));
  return groupBy.length > 0 || roots.some((root) => some(root, isAggregateCall));
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
    throw refuse('HAVING may only use aggregates, grouping expressions and the window', having.span);
  }
}

/** From the syntax tree of a statement to the logical plan: names resolved, meaning checked, nothing optimised yet. */
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import type { Expr, PatternClause, Query, Select, TableRef } from '../../sql/ast.js';
import { streamsIn } from '../../sql/visit.js';
import { Binder } from '../bind/bind.js';
import { Scope } from '../bind/scope.js';
import { bindSelectList } from '../bind/select-list.js';
import { timeOfHits } from '../bind/specials.js';
import { windowErrors } from '../errors/window.js';
import { checkAsof, isAsof } from '../joins/asof.js';
import {
  checkEventTimes,
  checkJoined,
  definitionOf,
  inRowOrder,
  mistypedJoins,
  remarkOfJoins,
  SourceNumbers,
} from '../joins/join.js';
import { checkLookups } from '../joins/lookup.js';
import type { Logical, OutputRow } from '../logical/logical.js';
import { constantNumber, type Fold } from '../rules/fold-constants.js';
import { type Relation, Source } from '../values/source.js';
import type { Value, Values } from '../values/value.js';
import { checkWindow } from '../windows/clause.js';
import { withAnalytics } from './analytic.js';
import { withRanges } from './dedup.js';
import { checkColumns, type DerivedTable } from './derived.js';
import { withHits } from './hits.js';
import { asOneTable, type Derived, derivedTable, inputOf, type Selected } from './inputs.js';
import { dividingOf } from './late-divided.js';
import { matchingOf } from './late-pattern.js';
import { joinedTime, timesOf } from './result-times.js';
import { type Bound, distinctRows, makesGroups, resultClause, Statement } from './statement.js';

type Project = Extract<Logical, { kind: 'project' }>;

export interface Analysis {
  sources: Source[];
  /** The SELECTs of the statement, several where UNION ALL stands between them. */
  roots: Project[];
  /** Remarks for the user about the statement. */
  remarks: string[];
}

/** Checks the statement of a rule and returns its logical plan. Throws `plan` errors. */
export function analyse(query: Query, rule: RuleDefinition, catalog: Catalog, values: Values, fold: Fold): Analysis {
  const numbers = new SourceNumbers(streamsIn(query).map((table) => definitionOf(table, catalog)));
  const analyser = new Analyser(rule, catalog, values, numbers, fold);
  const roots =
    rule.divides === undefined
      ? analyser.results(rule.options.sendMetaToSink ? withMeta(query) : query).map(({ root }) => root)
      : dividingOf()(query as Select, analyser.bound(query as Select), rule.divides);
  for (const table of analyser.tables) table.complete();
  return { sources: analyser.sources, roots, remarks: analyser.remarks };
}

/** Name of the column with all metadata of the message (option sendMetaToSink). */
const metaColumn = '__meta';

/** Adds the metadata to the columns that are sent, in place of a column of that name. */
function withMeta(query: Query): Query {
  if (query.kind === 'union') return { ...query, selects: query.selects.map(selectWithMeta) };
  return selectWithMeta(query);
}

function selectWithMeta(select: Select): Select {
  if (select.joins.length > 0) throw windowErrors.sendMeta('a join');
  const span = { start: 0, end: 0, line: 1, column: 1 };
  const all: Expr = { kind: 'star', qualifier: null, except: [], replace: [], span };
  const expr: Expr = { kind: 'call', name: 'meta', args: [all], filter: null, over: null, span };
  const others = select.items.filter(({ alias }) => alias !== metaColumn);
  return { ...select, items: [...others, { expr, alias: metaColumn, invisible: false }] };
}

/** Plans the SELECTs of one statement, the inner ones first. */
class Analyser {
  readonly sources: Source[] = [];
  readonly tables: DerivedTable[] = [];
  readonly remarks: string[] = [];
  /** Derived tables so far have the numbers down to here. */
  #numbered = 0;
  readonly #derived = new Map<Relation, Derived>();

  constructor(
    private readonly rule: RuleDefinition,
    private readonly catalog: Catalog,
    private readonly values: Values,
    private readonly numbers: SourceNumbers,
    private readonly fold: Fold,
  ) {}

  results(query: Query): Selected[] {
    const results = (query.kind === 'union' ? query.selects : [query]).map((select) => this.#select(select));
    if (results.length > 1) checkColumns(results.map(({ row }) => row));
    return results;
  }

  /** The matches of MATCH_RECOGNIZE, as the rows of a SELECT. */
  #matches(select: Select, clause: PatternClause): Selected {
    const { rule, values } = this;
    const { isEventTime } = rule.options;
    const [relation] = this.#relations(select);
    if (relation === undefined) throw new Error('MATCH_RECOGNIZE without a table');
    const input = inputOf([relation], this.#derived, isEventTime, true);
    const { brought } = this.catalog;
    const context = {
      ...{ ruleId: rule.id, zone: rule.options.timezone, brought, isEventTime, window: null, isGrouped: false },
      remark: (text: string) => this.remarks.push(text),
    };
    return matchingOf()(clause, {
      relation,
      input,
      values,
      isEventTime,
      brought,
      next: () => --this.#numbered,
      context,
    });
  }

  /** What the names of a statement mean, and its clauses. */
  bound(select: Select): Bound {
    const { rule, values, catalog } = this;
    const { isEventTime } = rule.options;
    const { joins } = select;
    const relations = this.#relations(select);
    const input = inputOf(relations, this.#derived, isEventTime, select.window !== null);
    checkWindow(select, rule, input.isOfMessages);
    const isGrouped = makesGroups(select, catalog.brought);
    const scope = new Scope(relations, inRowOrder(joins, relations), values, select);
    const window = select.window?.kind ?? null;
    const { brought } = catalog;
    const ruleId = rule.id;
    const { timezone: zone } = rule.options;
    const ofJoined = joinedTime(select, relations, isEventTime);
    const binder = new Binder(values, scope, {
      values,
      scope,
      ruleId,
      zone,
      brought,
      isEventTime,
      window,
      isGrouped,
      ...(ofJoined === undefined ? {} : { joinedTime: ofJoined }),
      remark: (text) => this.remarks.push(text),
    });
    const statement = new Statement(select, relations, values, binder, isGrouped, isEventTime, this.remarks, this.fold);
    return { relations, input, scope, binder, statement };
  }

  #select(select: Select): Selected {
    if (select.pattern !== undefined) return this.#matches(select, select.pattern);
    const { values } = this;
    const { isEventTime } = this.rule.options;
    const { from } = select;
    const { relations, input, scope, binder, statement } = this.bound(select);
    const { row, expand } = bindSelectList(select, scope, binder, resultClause('SELECT'));
    const found = statement.qualified(statement.rows(input));
    const isOfMessages = input.isOfMessages || select.window !== null;
    const distinct = select.distinct ? distinctRows(found, row, expand !== null, isOfMessages, from, values) : found;
    const ordered = statement.ordered(distinct);
    const rows = expand === null ? ordered : statement.expanded(ordered, expand);
    const timeOfHit = (isOfWindow: boolean): Value => timeOfHits(relations, isEventTime, isOfWindow, values);
    const project: Project = { kind: 'project', input: statement.limited(rows), row };
    const root = withRanges(withAnalytics(withHits(project, timeOfHit)), isOfMessages);
    return {
      root,
      row,
      isOfMessages,
      ...timesOf(select, relations, isEventTime, values, (value) => this.#constantOf(value)),
    };
  }

  /** Relations that FROM and the joins name. */
  #relations(select: Select): Relation[] {
    const { from, joins } = select;
    const { rule, catalog, values } = this;
    const tables = [from, ...joins.map(({ table }) => table)];
    const definitions = tables.map((table) => (table.query === null ? definitionOf(table, catalog) : null));
    if (rule.divides === undefined) checkJoined(select, definitions, rule.options);
    // In event time such rows are joined by their times, or refused.
    const remark = rule.options.isEventTime ? null : remarkOfJoins(select, definitions);
    if (remark !== null) this.remarks.push(remark);
    this.remarks.push(...mistypedJoins(select));
    const relations = tables.map((table, i): Relation => {
      const definition = definitions[i];
      if (definition == null) return this.#derivedBy(table, joins.length > 0);
      const source = new Source(this.numbers.next(definition), definition, table, values);
      this.sources.push(source);
      return source;
    });
    if (rule.options.isEventTime) checkEventTimes(relations);
    checkLookups(from, joins, relations);
    if (joins.some(isAsof)) checkAsof(joins, relations);
    return relations;
  }

  /** The rows of the SELECTs in parentheses. */
  #derivedBy({ name, query }: TableRef, isJoined: boolean): Relation {
    const { values } = this;
    if (query === null) throw new Error(`${name} is no derived table`);
    const next = () => --this.#numbered;
    const found = derivedTable(name, this.results(query), next, this.rule.options.sendNilField, values);
    const derived = isJoined ? asOneTable(found, this.rule.options.isEventTime, next, values) : found;
    this.tables.push(...derived.tables);
    this.#derived.set(derived.relation, derived);
    return derived.relation;
  }

  #constantOf(value: Value): number | null {
    return constantNumber(value, this.values, this.fold);
  }
}

/**
 * Output columns in the order of the SELECT; columns that `*` brings without a schema, and members of objects, are not
 * known.
 */
export function outputFieldsOf(row: OutputRow): string[] {
  const names = row.entries.map(({ name }) => name);
  const made = row.set?.name ?? null;
  return made === null ? names : [...names, made];
}

/** From the syntax tree of a statement to the logical plan: names resolved, meaning checked, nothing optimised yet. */
import type { Catalog, RuleDefinition } from '../model/engine.js';
import type { Query, Select, TableRef } from '../sql/ast.js';
import { streamsIn } from '../sql/visit.js';
import { withAnalytics } from './analytic.js';
import { checkAsof, isAsof } from './asof-join.js';
import { Binder } from './bind.js';
import { withRanges } from './dedup.js';
import { checkColumns, DerivedTable, type Result, UnionTable } from './derived.js';
import { notSupported } from './errors.js';
import { withHits } from './hits.js';
import { definitionOf, inRowOrder, SourceNumbers, sourcesOf, streamsOf } from './join.js';
import type { Logical, OutputRow } from './logical.js';
import { checkLookups } from './lookup.js';
import { timesOf } from './result-times.js';
import { constantNumber, type Fold } from './rules/fold-constants.js';
import { Scope } from './scope.js';
import { bindSelectList } from './select-list.js';
import { type Relation, Source } from './source.js';
import { timeOfHits } from './specials.js';
import { distinctRows, type Input, makesGroups, resultClause, Statement } from './statement.js';
import type { Value, Values } from './value.js';
import { checkWindow } from './windows.js';

type Project = Extract<Logical, { kind: 'project' }>;

export interface Analysis {
  sources: Source[];
  /** The SELECTs of the statement, several where UNION ALL stands between them. */
  roots: Project[];
  /** What the user should know of the statement. */
  remarks: string[];
}

/** Checks the statement of a rule and returns its logical plan. Throws `plan` errors. */
export function analyse(query: Query, rule: RuleDefinition, catalog: Catalog, values: Values, fold: Fold): Analysis {
  const numbers = new SourceNumbers(streamsIn(query).map((table) => definitionOf(table, catalog)));
  const analyser = new Analyser(rule, catalog, values, numbers, fold);
  const results = analyser.results(query);
  for (const table of analyser.tables) table.complete();
  return { sources: analyser.sources, roots: results.map(({ root }) => root), remarks: analyser.remarks };
}

/** A SELECT that is planned. */
interface Selected extends Result {
  readonly root: Project;
  readonly isOfMessages: boolean;
}

/** Plans the SELECTs of one statement, the inner ones first. */
class Analyser {
  readonly sources: Source[] = [];
  readonly tables: DerivedTable[] = [];
  readonly remarks: string[] = [];
  /** Derived tables so far, unions included. */
  #derived = 0;

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

  #select(select: Select): Selected {
    const { rule, values, catalog } = this;
    const { isEventTime } = rule.options;
    const { from, joins } = select;
    const relations = this.#relations(select);
    const input = this.#inputOf(relations, select);
    checkWindow(select, rule, input.isOfMessages);
    const isGrouped = makesGroups(select);
    const scope = new Scope(relations, inRowOrder(joins, relations), values, select);
    const window = select.window?.kind ?? null;
    const { brought } = catalog;
    const ruleId = rule.id;
    const { timezone: zone } = rule.options;
    const binder = new Binder(values, scope, {
      values,
      scope,
      ruleId,
      zone,
      brought,
      isEventTime,
      window,
      isGrouped,
    });
    const { row, expand } = bindSelectList(select, scope, binder, resultClause('SELECT'));
    const sources = relations.filter((one) => one instanceof Source);
    const statement = new Statement(select, sources, values, binder, isGrouped, isEventTime, this.remarks, this.fold);
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

  /** What FROM and the joins name. */
  #relations(select: Select): Relation[] {
    const { from, joins } = select;
    const { rule, catalog, values } = this;
    const isDerived = [from, ...joins.map(({ table }) => table)].find(({ query }) => query !== null);
    if (isDerived === undefined) {
      const sources = sourcesOf(select, rule.options, catalog, values, this.numbers);
      checkLookups(from, joins, sources);
      if (joins.some(isAsof)) checkAsof(joins, sources);
      this.sources.push(...sources);
      return sources;
    }
    if (from.query === null || joins.length > 0) {
      throw notSupported(`the derived table ${isDerived.name} in a join`, isDerived.span);
    }
    const results = this.results(from.query);
    const tables = results.map((result) => new DerivedTable(--this.#derived, from.name, result, values));
    this.tables.push(...tables);
    this.#inner.set(from, results);
    const [only] = tables;
    return only !== undefined && tables.length === 1
      ? [only]
      : [new UnionTable(--this.#derived, from.name, tables, values)];
  }

  #constantOf(value: Value): number | null {
    return constantNumber(value, this.values, this.fold);
  }

  /** Results of derived tables, by where they stand. */
  readonly #inner = new Map<TableRef, Selected[]>();

  #inputOf(relations: readonly Relation[], { from, window }: Select): Input {
    const { isEventTime } = this.rule.options;
    const inner = this.#inner.get(from);
    const [relation] = relations;
    if (inner === undefined || relation === undefined) {
      const streams = streamsOf(relations.filter((one) => one instanceof Source));
      return { ...inputOf(streams, isEventTime), isOfMessages: false };
    }
    const isOfMessages = inner.some((one) => one.isOfMessages);
    const derive = (table: DerivedTable, { root: { input } }: Selected): Logical => ({
      kind: 'derive',
      input,
      table,
      columns: table.columns,
    });
    if (relation instanceof DerivedTable) {
      const timestamp = isEventTime && window !== null ? relation.rowTime() : null;
      return { root: derive(relation, inner[0]!), timestamp, isOfMessages };
    }
    if (!(relation instanceof UnionTable)) throw new Error('a derived table is of one of two kinds');
    const { branches } = relation;
    // Windows need the rows of all in one order; without one they go on as they come.
    const isOrdered = isEventTime && window !== null;
    const root: Logical = {
      kind: 'merge',
      sources: [...branches],
      inputs: branches.map((table, i) => derive(table, inner[i]!)),
      timestamps: isOrdered ? branches.map((table) => table.rowTime()) : [],
    };
    return {
      root: isOrdered ? { kind: 'watermark', input: root, timestamp: null, isOrdered } : root,
      timestamp: null,
      isOfMessages,
    };
  }
}

function inputOf(streams: Source[], isEventTime: boolean): Omit<Input, 'isOfMessages'> {
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

/** Output columns in the order of the SELECT; columns that `*` brings without a schema, and members of objects, are not known. */
export function outputFieldsOf(row: OutputRow): string[] {
  const names = row.entries.map(({ name }) => name);
  const made = row.set?.name ?? null;
  return made === null ? names : [...names, made];
}

function leafOf(source: Source): Logical {
  return { kind: 'source', source };
}

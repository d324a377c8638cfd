/** The matches of MATCH_RECOGNIZE as the rows of a SELECT. */
import type { FindBrought } from '../../plugins/define.js';
import type { Expr, PatternClause } from '../../sql/ast.js';
import { Binder } from '../bind/bind.js';
import type { SpecialContext } from '../bind/specials.js';
import { patternErrors } from '../errors/pattern.js';
import type { Logical, OutputEntry, OutputRow } from '../logical/logical.js';
import { automatonOf } from '../patterns/automaton.js';
import { LookScope, MatchExpressions } from '../patterns/expressions.js';
import { Looks } from '../patterns/looks.js';
import { refuseVariables } from '../patterns/names.js';
import { Variables } from '../patterns/variables.js';
import type { Relation } from '../values/source.js';
import { type ColumnValue, childrenOf, type Value, type Values } from '../values/value.js';
import type { Selected } from './inputs.js';
import { patternWork } from './pattern-work.js';
import { type Input, isAggregateCall } from './statement.js';

/** What stands around the clause. */
export interface Around {
  readonly relation: Relation;
  readonly input: Input;
  readonly values: Values;
  readonly isEventTime: boolean;
  readonly brought: FindBrought | undefined;
  /** Gives each table a number of its own. */
  next(): number;
  /** What special functions know of the rule. */
  readonly context: Omit<SpecialContext, 'place' | 'clause' | 'scope' | 'values'>;
}

export function matches(clause: PatternClause, around: Around): Selected {
  const { relation, input, values, isEventTime, brought } = around;
  const rowScope = new LookScope([relation], [relation], values, { items: [] });
  rowScope.isOfRows = true;
  const ofRow = new Binder(values, rowScope, { ...around.context, values, scope: rowScope });
  const variables = new Variables(clause);
  for (const key of clause.partitionBy) refuseVariables(key, 'PARTITION BY', variables, rowScope);
  for (const { expr } of clause.orderBy) refuseVariables(expr, 'ORDER BY', variables, rowScope);
  checkOrder(clause, relation, ofRow, isEventTime);
  const automaton = automatonOf(clause.pattern, variables, clause.span);
  const looks = new Looks(around.next(), values);
  const scope = new LookScope([relation], [relation], values, { items: [] });
  const ofMatch = new Binder(values, scope, { ...around.context, values, scope });
  const isAggregate = (call: Expr) => isAggregateCall(call, brought);
  const expressions = new MatchExpressions({ values, variables, looks, ofRow, scope, rowScope, ofMatch, isAggregate });
  const partition = clause.partitionBy.map((key) => ofRow.bind(key, rowClause('PARTITION BY')));
  const conditions = conditionsOf(clause, variables, expressions, looks, values);
  checkRows(clause);
  const result = new ResultRow(around.next(), values);
  if (clause.rows === 'one') {
    clause.partitionBy.forEach((key, i) => {
      const isTwice = clause.partitionBy.some(
        (other, at) => at < i && other.kind === 'column' && key.kind === 'column' && other.name === key.name,
      );
      if (key.kind === 'column' && isTwice) throw patternErrors.keyTwice(key.name, key.span);
      if (key.kind === 'column') result.add(key.name, current(partition[i]!, looks, values), true, key);
    });
  } else if (relation.declared !== null) {
    for (const name of relation.declared) result.add(name, current(relation.column(name), looks, values), true);
  } else result.addRow(current(relation.row(), looks, values));
  const measuresFrom = result.outputs.length;
  for (const { expr, name, span } of clause.measures) {
    const value = expressions.bind(expr, { name: 'MEASURES', isDefine: false });
    result.add(name, value, false, { span });
  }
  const time = result.output('time', looks.column({ kind: 'time' }, null), 'bigint');
  const root: Logical = {
    kind: 'pattern',
    input: input.root,
    timestamp: input.timestamp,
    ...{ partition, kept: looks.kept, looks, variables: variables.names, automaton, conditions },
    outputs: result.outputs,
    measuresFrom,
    rows: clause.rows,
    skip: skipOf(clause, variables, automaton.first),
    withinMs: clause.withinMs ?? 0,
    pattern: clause.pattern,
    work: patternWork,
  };
  const { row } = result;
  return {
    root: { kind: 'project', input: root, row },
    row,
    isOfMessages: clause.rows !== 'one',
    time: isEventTime ? time : null,
    arrival: time,
    timeOffset: (value) => (value === time ? 0 : null),
    notFound: (name, span) => {
      if (variables.named(name) !== undefined) return patternErrors.variableOutside(name, span);
      const isLeftOut = clause.rows === 'one' && relation.has(name);
      return isLeftOut ? patternErrors.notMeasured(name, relation.ownName, span) : undefined;
    },
  };
}

/** What the operator gives, and the row that is made of it. */
class ResultRow {
  readonly outputs: { column: ColumnValue; value: Value }[] = [];
  readonly row: OutputRow = { entries: [], star: null };
  private readonly names = new Set<string>();

  constructor(
    private readonly index: number,
    private readonly values: Values,
  ) {}

  add(name: string, value: Value, isPlain: boolean, { span }: Partial<Pick<Expr, 'span'>> = {}): void {
    if (this.names.has(name)) throw patternErrors.sameName(name, span);
    this.names.add(name);
    const entry: OutputEntry = { name, value: this.output(name, value), isPlain, isBrought: isPlain, isUnnamed: false };
    this.row.entries.push(entry);
  }

  /** All columns of a row without schema, as one object. */
  addRow(value: Value): void {
    this.row.star = { sources: [], row: this.output('row', value), except: [] };
  }

  output(name: string, value: Value, type: 'any' | 'bigint' = 'any'): ColumnValue {
    const at = this.outputs.length;
    const column = this.values.column(this.index, { kind: 'field', name: `${at} ${name}`, type: { type } });
    this.outputs.push({ column, value });
    return column;
  }
}

function rowClause(name: string) {
  return { name, place: 'row', hasAggregates: false, hasAnalytics: false } as const;
}

/** What is kept of the row that is given out. */
function current(value: Value, looks: Looks, values: Values): Value {
  const kept = value.kind === 'const' ? values.op('logic.coalesce', [], [value]) : value;
  return looks.column({ kind: 'current', column: looks.keep(kept) }, kept);
}

function checkOrder({ orderBy }: PatternClause, relation: Relation, ofRow: Binder, isEventTime: boolean): void {
  const [first, second] = orderBy;
  if (first === undefined) return;
  if (!isEventTime) throw patternErrors.orderByArrival(first.expr.span);
  const value = ofRow.bind(first.expr, rowClause('ORDER BY'));
  const isTime = relation.timeOffset(value) === 0;
  if (!isTime || first.descending || second !== undefined) {
    throw patternErrors.orderBy(relation.timeColumn ?? 'event_time()', (second ?? first).expr.span);
  }
}

function checkRows({ rows, pattern, span }: PatternClause): void {
  if (rows !== 'withUnmatched') return;
  const hasExcluded = (part: PatternClause['pattern']): boolean => {
    if (part.kind === 'excluded') return true;
    if (part.kind === 'repeat') return hasExcluded(part.of);
    const parts = part.kind === 'sequence' ? part.parts : part.kind === 'choice' ? part.options : [];
    return (part.kind === 'permute' ? part.of : parts).some(hasExcluded);
  };
  if (hasExcluded(pattern)) throw patternErrors.excludedUnmatched(span);
}

function conditionsOf(
  clause: PatternClause,
  variables: Variables,
  expressions: MatchExpressions,
  looks: Looks,
  values: Values,
) {
  const seen = new Set<string>();
  return clause.defines.map(({ name, condition, span }) => {
    if (seen.has(name)) throw patternErrors.definedTwice(name, span);
    seen.add(name);
    const variable = variables.indexOf(name, 'DEFINE', span);
    const whole = expressions.condition(condition, { name: `DEFINE ${name}`, isDefine: true });
    const parts = conjuncts(whole);
    const isOfRow = (part: Value) => looksOf(part).every((column) => isRowLook(column, variable, looks));
    const match = parts.filter((part) => !isOfRow(part));
    const joined = (some: readonly Value[]) =>
      some.length === 0 ? null : some.reduce((all, one) => values.op('logic.and', [all, one]));
    return { variable, row: joined(parts.filter(isOfRow)), match: joined(match) };
  });
}

/** Conditions all of which must be true. */
function conjuncts(value: Value): Value[] {
  if (value.kind !== 'op' || value.op !== 'logic.and') return [value];
  return value.operands.flatMap((operand) => (operand === null ? [] : conjuncts(operand)));
}

function looksOf(value: Value): ColumnValue[] {
  const found: ColumnValue[] = [];
  const seen = new Set<Value>();
  const visit = (one: Value): void => {
    if (seen.has(one)) return;
    seen.add(one);
    if (one.kind === 'column') found.push(one);
    childrenOf(one).forEach(visit);
  };
  visit(value);
  return found;
}

/** True for what is known of the row that would be the variable, or of one beside it, without the match. */
function isRowLook(column: ColumnValue, variable: number, looks: Looks): boolean {
  const plan = looks.planOf(column);
  return (
    plan?.kind === 'row' && plan.isFirst !== true && plan.offset === 0 && plan.variables?.includes(variable) === true
  );
}

function skipOf({ skip }: PatternClause, variables: Variables, first: readonly number[] | null) {
  if (skip.variable === null) return { to: skip.to, variables: [] };
  const word = skip.variable.toUpperCase();
  if (variables.named(skip.variable) === undefined && /^(NEXT|FIRST|LAST)$/.test(word)) {
    throw patternErrors.skipUnfinished(word, word === 'NEXT' ? 'ROW' : 'a variable of the pattern', skip.span);
  }
  const set = variables.setOf(skip.variable, 'AFTER MATCH SKIP', skip.span);
  if (skip.to === 'first' && first?.every((one) => set.includes(one)) === true) {
    throw patternErrors.skipToFirst(skip.variable, skip.span);
  }
  return { to: skip.to, variables: set };
}

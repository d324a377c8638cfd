/** MATCH_RECOGNIZE: finds matches of a pattern in the rows of each key. */

import type { LookPlan, MatchAggregatePlan } from '../../../kernels/nodes/pattern.js';
import type { NodePlan, Operand } from '../../../kernels/plan/ir.js';
import type { PatternClause } from '../../sql/ast.js';
import { printPart } from '../../sql/printer.js';
import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import type { Automaton } from '../patterns/automaton.js';
import type { Looks } from '../patterns/looks.js';
import { ProgramBuilder } from '../program/program.js';
import { isNone, windowNeeds } from '../program/window-needs.js';
import type { ColumnValue, Value } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /** Gives a row, or a message of rows, for each match of a pattern in the rows of a key. */
    pattern: {
      input: Logical;
      /** Time of the rows, null in processing time. */
      timestamp: Value | null;
      partition: Value[];
      /** Values that are kept of each row: what `looks` looks at. */
      kept: Value[];
      looks: Looks;
      variables: readonly string[];
      automaton: Automaton;
      /** Conditions of the variables: on the row alone, and on the match so far. */
      conditions: { variable: number; row: Value | null; match: Value | null }[];
      /** Columns of the result and what they are, over `looks`; the last one is the time of the row. */
      outputs: { column: ColumnValue; value: Value }[];
      rows: PatternClause['rows'];
      skip: { to: PatternClause['skip']['to']; variables: readonly number[] };
      withinMs: number;
      pattern: PatternClause['pattern'];
    };
  }
}

export const pattern: OperatorKind<'pattern'> = {
  values: ({ partition, kept, timestamp }) => [...partition, ...kept, ...(timestamp === null ? [] : [timestamp])],
  map: (node, map) => ({ ...node, partition: node.partition.map(map), kept: node.kept.map(map) }),
  lower(node, at) {
    const { path, next: index } = at;
    const { looks } = node;
    const builder = new ProgramBuilder(path);
    const operand = (value: Value): Operand => builder.operand(value);
    const keys = node.partition.map(operand);
    const columns = node.kept.map(operand);
    const timestamp = node.timestamp === null ? undefined : operand(node.timestamp);
    const program = builder.finishOrNull();
    let inner = path.afterNew(index, looks.columns);
    const built = <T>(make: (of: ProgramBuilder) => T) => {
      const of = new ProgramBuilder(inner);
      const made = make(of);
      inner = inner.afterNew(index, looks.columns);
      return { program: of.finish(), made };
    };
    const rowConditions = built((of) =>
      node.conditions.flatMap(({ variable, row }) => (row === null ? [] : [{ variable, operand: of.operand(row) }])),
    );
    const conditions = node.conditions.flatMap(({ variable, match }) => {
      if (match === null) return [];
      const { program: own, made } = built((of) => of.operand(match));
      return [{ variable, program: own, operand: made }];
    });
    const { keep } = windowNeeds(at.valuesAbove(node), isNone, (value) => at.isHeld(value));
    const needed = new Set<Value>(keep);
    const outputs = node.outputs.filter(({ column }, i) => i === node.outputs.length - 1 || needed.has(column));
    const measures = built((of) => outputs.map(({ value }) => of.operand(value)));
    const plan: Extract<NodePlan, { kind: 'pattern' }> = {
      kind: 'pattern',
      input: path.input,
      program,
      isEventTime: node.timestamp !== null,
      ...(timestamp === undefined ? {} : { timestamp }),
      ...{ keys, columns, steps: [...node.automaton.steps], variables: [...node.variables] },
      looks: looks.plans,
      aggregates: looks.aggregates.map(({ value, args, filter }): MatchAggregatePlan => {
        const empty =
          value.fn === 'count' || value.fn === 'countAll' ? 'zero' : value.fn === 'collect' ? 'list' : 'null';
        return { fn: value.fn, args, filter, call: value.call, empty };
      }),
      rowConditions: { program: rowConditions.program, of: rowConditions.made },
      conditions,
      measures: { program: measures.program, outputs: measures.made },
      ...{ rows: node.rows, skip: node.skip, first: node.automaton.first },
      ...{ withinMs: node.withinMs, absentMs: node.automaton.absentMs },
      ...{ mostPartial: 100_000, dropsOldest: false },
      name: 'pattern',
    };
    at.record(plan, 'pattern');
    for (const { column } of outputs) at.held.add(column);
    at.path = inner.afterNew(
      index,
      outputs.map(({ column }) => column),
    );
  },
  explain(node, { all, show }) {
    const { automaton, variables, conditions, withinMs, skip, partition } = node;
    const steps = automaton.steps.map(({ op, a = 0, b = 0 }, i) => {
      const what =
        op === 'row' || op === 'absent' ? variables[a] : op === 'split' ? `${a} or ${b}` : op === 'jump' ? a : '';
      return `${i}:${op}${what === '' ? '' : ` ${what}`}`;
    });
    const defined = conditions.map(({ variable, row, match }) => {
      const parts = [...(row === null ? [] : ['by the row']), ...(match === null ? [] : ['by the match so far'])];
      return `${variables[variable]} ${parts.join(' and ')}`;
    });
    const info = [
      `Pattern:${printPart(node.pattern)}`,
      ...(partition.length > 0 ? [`Partition:[ ${all(partition)} ]`] : []),
      `Skip:${skip.to}`,
      ...(withinMs > 0 ? [`Within:${withinMs} ms`] : []),
      `Conditions:[ ${defined.join(', ')} ]`,
      `Keeps:[ ${node.kept.map(show).join(', ')} ]`,
      `Automaton:[ ${steps.join(', ')} ]`,
    ];
    return [['PatternPlan', info.join(', ')]];
  },
  keeps: ({ withinMs, partition }) => {
    const of = partition.length > 0 ? ' of each partition' : '';
    return withinMs > 0
      ? `the rows${of} that a match may have, of the last ${withinMs} ms`
      : `the rows${of} from the first of a match that is under way on: grows as long as it goes on (WITHIN bounds it)`;
  },
  waits: () => 'for the row with which a match becomes final',
};

export const patternNode: NodeKind<'pattern'> = {
  gives({ measures }, { own, listed, index }) {
    return listed(measures.outputs.map((_operand, i) => () => own(`#measure ${index}.${i}`)));
  },
  rows(plan, at) {
    return at.added(plan.input, at.together('pattern', meaningOf(plan, at)), 'MATCH_RECOGNIZE', plan.rows !== 'one');
  },
  keeps(plan, at) {
    const { words } = at.rowsOf(plan.input);
    const lists = [at.list('values', at.valuesOf(plan.columns))];
    return { key: at.together('kept', meaningOf(plan, at)), what: 'the rows of MATCH_RECOGNIZE', rows: words, lists };
  },
};

/** What the node makes of its rows; another pattern, or another condition, is another meaning. */
function meaningOf(
  plan: Extract<NodePlan, { kind: 'pattern' }>,
  at: Parameters<NonNullable<typeof patternNode.keeps>>[1],
): bigint {
  const { input, keys, columns, steps, variables, looks, conditions, rowConditions, rows, skip, withinMs, absentMs } =
    plan;
  const parts = { steps, variables, looks, conditions, rowConditions, rows, skip, withinMs, absentMs };
  const text = JSON.stringify(parts, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
  return at.together('pattern', at.rowsOf(input).key, at.valuesOf(keys), at.valuesOf(columns), text);
}

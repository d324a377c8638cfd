/** MATCH_RECOGNIZE: finds matches of a pattern in the rows of each key. */

import type { NodePlan, Operand } from '../../../kernels/plan/ir.js';
import type { PatternClause } from '../../sql/ast.js';
import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import type { Automaton } from '../patterns/automaton.js';
import type { Looks } from '../patterns/looks.js';
import type { ColumnValue, Value } from '../values/value.js';
import type { Explained, ExplainLine, Lowering, OperatorKind } from './operator.js';

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
      /** First of them that is a measure. */
      measuresFrom: number;
      rows: PatternClause['rows'];
      skip: { to: PatternClause['skip']['to']; variables: readonly number[] };
      withinMs: number;
      pattern: PatternClause['pattern'];
      work: PatternWork;
    };
  }
}

type Pattern = Extract<Logical, { kind: 'pattern' }>;

/** The work of the planner for patterns, whose code is read with the first one. */
export interface PatternWork {
  lower(node: Pattern, at: Lowering): void;
  explain(node: Pattern, of: Explained): readonly ExplainLine[];
}

export const pattern: OperatorKind<'pattern'> = {
  values: ({ partition, kept, timestamp }) => [...partition, ...kept, ...(timestamp === null ? [] : [timestamp])],
  map: (node, map) => ({ ...node, partition: node.partition.map(map), kept: node.kept.map(map) }),
  lower: (node, at) => node.work.lower(node, at),
  explain: (node, of) => node.work.explain(node, of),
  keeps: ({ withinMs, partition }) => {
    const of = partition.length > 0 ? ' of each partition' : '';
    const since = `the rows${of} from the first of a match that is under way on`;
    const rows =
      withinMs > 0
        ? `the rows${of} that a match may have, of the last ${withinMs} ms`
        : `${since}: grows as long as it goes on (WITHIN bounds it)`;
    return `${rows}; partial matches, up to maxPartialMatches${partition.length > 0 ? ' a key' : ''}`;
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
  const { input, keys, columns, steps, variables, looks, conditions, rowConditions, aheadConditions, aggregates } =
    plan;
  const { rows, skip, withinMs, absentMs } = plan;
  const ofRows = { rowConditions, aheadConditions };
  const parts = { steps, variables, looks, conditions, ...ofRows, aggregates, rows, skip, withinMs, absentMs };
  const text = JSON.stringify(parts, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
  return at.together('pattern', at.rowsOf(input).key, at.valuesOf(keys), at.valuesOf(columns), text);
}

/** Counts the rows that get past a condition, which may depend on that count; count and time are in registers. */

import { NONE, reg } from '../../../kernels/plan/ir.js';
import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import { ProgramBuilder } from '../program/program.js';
import type { HitValue, Value } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /**
     * Counts the rows, or messages, that get past a condition which may depend on that; null: all of them. `time`: of a
     * row. Of OVER (WHEN …) all rows go on, with what the condition gives.
     */
    hits: {
      input: Logical;
      condition: Value | null;
      clause: 'where' | 'filter' | 'having' | 'over' | null;
      hits: HitValue[];
      time: Value;
    };
  }
}

/** Step of the operator in the topology, by clause; the one before a window is no step of its own. */
const steps = { where: 'filter', filter: 'windowFilter', having: 'having', over: null } as const;

export const hits: OperatorKind<'hits'> = {
  values: ({ condition, time }) => (condition === null ? [time] : [condition, time]),
  map: (node, map) => ({
    ...node,
    condition: node.condition === null ? null : map(node.condition),
    time: map(node.time),
  }),
  lower({ hits: counted, condition, clause, time }, at) {
    const { path } = at;
    for (const hit of counted) at.held.add(hit);
    if (clause === 'over' && condition !== null) at.held.add(condition);
    const registers = { count: path.takeRegister(), time: path.takeRegister() };
    for (const hit of counted) path.keep(hit, reg(registers[hit.part]));
    const builder = new ProgramBuilder(path);
    const when = time.kind === 'const' ? NONE : builder.operand(time);
    const operand = condition === null ? NONE : builder.operand(condition);
    const program = builder.finishOrNull();
    const judged = condition !== null && clause === 'over' ? path.takeRegister() : null;
    if (condition !== null && judged !== null) path.keep(condition, reg(judged));
    const step = clause === null ? null : steps[clause];
    const { input } = path;
    const name = step ?? 'hits';
    at.push({ kind: 'hits', input, program, condition: operand, ...registers, when, judged, name }, step);
  },
  explain({ condition, clause, hits: counted }, { show, all }) {
    if (condition === null || clause === 'over') return [];
    const op = clause === 'having' ? 'HavingPlan' : 'FilterPlan';
    return [[op, `Condition:{ ${show(condition)} }, StateFuncs:[ ${all(counted)} ]`]];
  },
};

export const hitsNode: NodeKind<'hits'> = {
  gives({ judged, condition }, { input, value }) {
    if (judged !== null) input.set(judged, value(condition));
    return input;
  },
  rows({ input, judged, condition: operand }, at) {
    const above = at.rowsOf(input);
    if (judged !== null) return above;
    const condition = at.value(operand);
    const key = at.together('filter', above.key, condition, false);
    return at.added(input, key, `${above.isOfMessages ? 'HAVING' : 'WHERE'} ${at.text(condition)}`);
  },
  keeps({ input, condition }, at) {
    const rows = at.rowsOf(input);
    const key = at.together('hits', rows.key, at.value(condition));
    const what = rows.isOfMessages ? 'last_agg_hit_count()' : 'last_hit_count()';
    return { key, what, rows: rows.words, lists: [] };
  },
};

/** Keeps the rows, or messages, for which a condition is true; named after the clause that it does the work of. */

import type { NodePlan } from '../../../kernels/plan/ir.js';
import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import { ProgramBuilder } from '../program/program.js';
import { conjuncts } from '../values/joined-row.js';
import type { Value } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /**
     * `case`: an output of a switch; `isWhole`: the first row of a message decides on all of it; `meetsEmpty`: one that
     * has none meets the condition.
     */
    filter: {
      input: Logical;
      condition: Value;
      clause: 'where' | 'filter' | 'having' | 'qualify' | 'case';
      isWhole?: boolean;
      meetsEmpty?: boolean;
    };
  }
}

/** Name of the filters of the outputs of a switch. */
export const caseName = 'case';

const steps = { where: 'filter', filter: 'windowFilter', having: 'having', qualify: 'having', case: 'filter' } as const;

const explained: Readonly<Record<string, string>> = { having: 'HavingPlan', qualify: 'QualifyPlan' };

export const filter: OperatorKind<'filter'> = {
  isStateless: true,
  values: ({ condition }) => [condition],
  map: (node, map) => ({ ...node, condition: map(node.condition) }),
  lower({ condition, clause, isWhole, meetsEmpty }, at) {
    const builder = new ProgramBuilder(at.path);
    const operand = builder.operand(condition);
    const step = steps[clause];
    const plan: NodePlan = {
      kind: 'filter',
      input: at.path.input,
      program: builder.finish(),
      condition: operand,
      name: clause === 'case' ? caseName : step,
    };
    const whole = { ...plan, isWhole: true, ...(meetsEmpty === true ? { meetsEmpty: true } : {}) };
    at.push(isWhole === true ? whole : plan, step);
  },
  explain: ({ clause, condition }, { show }) => [
    [explained[clause] ?? 'FilterPlan', `Condition:{ ${show(condition)} }`],
  ],
};

export const filterNode: NodeKind<'filter'> = {
  rows({ input, condition: operand, isWhole }, at) {
    const condition = at.value(operand);
    const above = at.rowsOf(input);
    // A filter that is always true only computes values for other operators.
    if (condition.kind === 'const' && condition.value.tag === 'bool' && condition.value.value) return above;
    // However its comparisons are divided among nodes, rows that passed them all have one history.
    const parts = isWhole === true ? [condition] : conjuncts(condition);
    const key = parts.reduce((before, part) => at.together('filter', before, part, isWhole === true), above.key);
    return at.added(input, key, `${above.isOfMessages ? 'HAVING' : 'WHERE'} ${at.text(condition)}`);
  },
};

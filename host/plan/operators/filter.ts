/** Keeps the rows, or messages, for which a condition is true; named after the clause that it does the work of. */
import type { NodePlan } from '../../../kernels/plan/ir.js';
import { ProgramBuilder } from '../program/program.js';
import type { OperatorKind } from './operator.js';

/** Name of the filters behind the outputs of a switch. */
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

/** The node of a filter, under the name of the clause that it does the work of. */
import type { NodePlan } from '../../kernels/ir.js';
import type { Logical } from './logical.js';
import type { Step } from './physical-plan.js';
import { type Path, ProgramBuilder } from './program.js';

/** Name of the filters behind the outputs of a switch. */
export const caseName = 'case';

/** Plans the node, with its step of the topology. */
export function filterNode(
  node: Extract<Logical, { kind: 'filter' }>,
  path: Path,
): [plan: NodePlan, step: Step['kind']] {
  const builder = new ProgramBuilder(path);
  const condition = builder.operand(node.condition);
  const isOfResult = node.clause === 'having' || node.clause === 'qualify';
  const step = node.clause === 'filter' ? 'windowFilter' : isOfResult ? 'having' : 'filter';
  const name = node.clause === 'case' ? caseName : step;
  const plan: NodePlan = { kind: 'filter', input: path.input, program: builder.finish(), condition, name };
  const whole = { ...plan, isWhole: true, ...(node.meetsEmpty === true ? { meetsEmpty: true } : {}) };
  return [node.isWhole === true ? whole : plan, step];
}

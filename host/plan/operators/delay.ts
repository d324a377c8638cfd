/** delay(): rows wait until a time, which is not known for those that don't; they stay in their order. */

import type { NodePlan } from '../../../kernels/plan/ir.js';
import type { Logical } from '../logical/logical.js';
import { ProgramBuilder } from '../program/program.js';
import { carriedBy } from '../program/window-needs.js';
import type { Value } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /**
     * Rows wait until the time `until` (epoch ms), which is not known for those that don't; they stay in their order.
     */
    delay: { input: Logical; until: Value };
  }
}

/** Batches that wait before the sources of the rule pause. */
const maxBatches = 1024;

export const delay: OperatorKind<'delay'> = {
  values: ({ until }) => [until],
  map: (node, map) => ({ ...node, until: map(node.until) }),
  lower(node, at) {
    const { path } = at;
    const carried = carriedBy(at.valuesAbove(node), path, (value) => at.isHeld(value));
    const builder = new ProgramBuilder(path);
    const keys = [{ name: 'until', operand: builder.operand(node.until) }];
    const columns = carried.map((value) => builder.operand(value));
    const plan: NodePlan = {
      kind: 'ask',
      lookup: null,
      input: path.input,
      type: 'left',
      program: builder.finishOrNull(),
      columns,
      fields: [],
      keys,
      condition: null,
      isSingle: true,
      waiting: { timeoutMs: 0, batches: maxBatches, cache: null },
      name: 'delay',
    };
    at.pushNew(plan, 'delay', carried);
  },
  explain: ({ until }, { show }) => [['DelayPlan', `Until:{ ${show(until)} }`]],
  waits: () => 'until their time has come',
};

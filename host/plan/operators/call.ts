/** Rows wait for the answer of a function that answers later; the call is known above. */

import type { NodePlan } from '../../../kernels/plan/ir.js';
import { callKey, resultName, usualWaiting } from '../logical/call.js';
import type { Logical } from '../logical/logical.js';
import { ProgramBuilder } from '../program/program.js';
import { carriedBy } from '../program/window-needs.js';
import type { OpValue } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /** Rows wait for the answer of a function that answers later; `call` is known above. */
    call: { input: Logical; call: OpValue };
  }
}

export const call: OperatorKind<'call'> = {
  values: (node) => [node.call],
  map(node, map) {
    const mapped = map(node.call);
    return mapped.kind === 'op' ? { ...node, call: mapped } : node;
  },
  lower(node, at) {
    const { path } = at;
    const own = node.call;
    const asked = at.askedOf(own.imm);
    const carried = carriedBy(at.valuesAbove(node), path, (value) => value === own || at.isHeld(value));
    const builder = new ProgramBuilder(path);
    const keys = own.args.map((arg) => ({ name: callKey, operand: builder.operand(arg) }));
    const columns = carried.map((value) => builder.operand(value));
    const plan: NodePlan = {
      kind: 'ask',
      lookup: asked,
      input: path.input,
      type: 'left',
      program: builder.finishOrNull(),
      columns,
      fields: [{ kind: 'field', name: resultName, type: { type: 'any' } }],
      keys,
      condition: null,
      isSingle: true,
      ...(own.isVolatile ? { isEach: true } : {}),
      waiting: usualWaiting,
      name: 'call',
    };
    at.held.add(own);
    at.pushNew(plan, 'call', [...carried, own]);
  },
  explain: (node, { show }) => [['CallPlan', `Call:{ ${show(node.call)} }: rows wait for its answers`]],
  waits: () => 'for answers of a function',
};

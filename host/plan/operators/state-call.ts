/** Rows wait for what a function that looks back and answers later makes of them; its result is known above. */

import type { NodePlan } from '../../../kernels/plan/ir.js';
import { callKey, resultName, usualWaiting } from '../logical/call.js';
import type { Logical } from '../logical/logical.js';
import { ProgramBuilder } from '../program/program.js';
import { carriedBy } from '../program/window-needs.js';
import type { AnalyticValue } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /** Rows wait for the answer of a function that looks back; its states go there with them and come back. */
    stateCall: { input: Logical; value: AnalyticValue };
  }
}

export const stateCall: OperatorKind<'stateCall'> = {
  values: ({ value }) => [value],
  map(node, map) {
    const mapped = map(node.value);
    return mapped.kind === 'analytic' ? { ...node, value: mapped } : node;
  },
  lower(node, at) {
    const { path } = at;
    const { value: own } = node;
    const { args, partition, when, size } = own;
    const asked = at.askedOf(size);
    const carried = carriedBy(at.valuesAbove(node), path, (value) => value === own || at.isHeld(value));
    const builder = new ProgramBuilder(path);
    const keys = [
      ...partition.map((value) => ({ name: 'partition', operand: builder.operand(value) })),
      ...args.map((value) => ({ name: callKey, operand: builder.operand(value) })),
      ...(when === null ? [] : [{ name: 'when', operand: builder.operand(when) }]),
    ];
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
      isEach: true,
      states: {
        partitions: partition.length,
        args: args.length,
        ttlMs: partition.length > 0 ? at.options.stateTtlMs : 0,
      },
      waiting: usualWaiting,
      name: 'call',
    };
    at.held.add(own);
    at.pushNew(plan, 'call', [...carried, own]);
  },
  explain: ({ value }, { show }) => [['CallPlan', `Call:{ ${show(value)} }: rows wait for its answers`]],
  keeps: () => 'a state of each partition: grows with the number of partitions, not of rows',
  waits: () => 'for answers of a function',
};

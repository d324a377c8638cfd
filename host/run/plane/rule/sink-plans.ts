/** What the plan of a rule says of its sinks. */
import type { OutputPlan } from '../../../../kernels/plan/ir.js';
import type { RuleStart } from '../../link/protocol.js';
import { letterParts } from '../output/sink-parts.js';
import type { SinkRun } from '../output/sink-run.js';

/** Joins sinks with those that get their dead letters. */
export function linkLetters({ id, plan, sinks }: RuleStart, running: readonly SinkRun[]): void {
  sinks.forEach(({ type, deadLetters }, i) => {
    if (deadLetters === undefined) return;
    const name =
      plan.operators.find(({ part, action }) => part === 'sink' && action === i)?.name ?? `sink_${type}_${i}`;
    const isOfRows = running[i]!.letterForm.takes === 'rows';
    const { DeadLetters } = letterParts();
    running[i]!.deadLetters = new DeadLetters(id, name, running[deadLetters]!, isOfRows);
  });
}

/** Output plan of an action; undefined when none of its rows goes anywhere. */
export function outputOf({ nodes }: RuleStart['plan'], action: number): OutputPlan | undefined {
  for (const node of nodes) if (node.kind === 'encode' && node.actions.includes(action)) return node.output;
  return undefined;
}

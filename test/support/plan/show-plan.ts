/** A rule's plan as compact readable text. */

import { showUse } from '../../../host/plan/values/show.js';
import type { NodeInput, RulePlan } from '../../../kernels/plan/ir.js';
import { showNode } from './show-nodes.js';

/** Prints sources with their columns, then each node: `#1 filter < #0`, its operations and what it gives out. */
export function showPlan(plan: RulePlan): string {
  const lines = plan.sources.map(
    ({ stream, columns }, i) => `source ${i} ${stream}: ${columns.map((use, c) => `c${c}=${showUse(use)}`).join(' ')}`,
  );
  plan.nodes.forEach((node, i) => {
    lines.push(`#${i} ${node.kind} < ${showInput(node.input)}`);
    for (const line of showNode(node)) lines.push(`  ${line}`);
  });
  return lines.join('\n');
}

function showInput(input: NodeInput | null): string {
  if (input === null) return 'ports';
  return 'source' in input ? `source ${input.source}` : `#${input.node}`;
}

/**
 * Moves WHERE below the window, where rows are dropped before they cost anything. That keeps the meaning only if the window
 * does not depend on the dropped rows: in processing time tumbling and hopping windows follow the clock. Everywhere else
 * rows count, trigger, extend sessions or move the watermark, so that the window itself has to look at the condition.
 */
import type { Logical } from '../logical.js';

/** The plan with each WHERE as low as it may be. */
export function pushFilters(node: Logical): Logical {
  if (node.kind === 'source' || node.kind === 'merge') return node;
  if (node.kind === 'window' && node.where !== null && followsClock(node)) {
    const input: Logical = { kind: 'filter', input: pushFilters(node.input), condition: node.where, clause: 'where' };
    return { ...node, input, where: null };
  }
  return { ...node, input: pushFilters(node.input) };
}

function followsClock({ window, timestamp }: Extract<Logical, { kind: 'window' }>): boolean {
  return timestamp === null && (window.kind === 'tumbling' || window.kind === 'hopping');
}

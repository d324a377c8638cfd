/** The nodes in which rows wait for a time. */
import type { NodePlan } from '../../kernels/ir.js';
import { dedupNode } from './dedup.js';
import { delayNode } from './delay.js';
import type { Logical } from './logical.js';
import type { Path } from './program.js';
import type { Value } from './value.js';

/**
 * The node, its columns and what the topology calls it.
 * @param above values that are computed above
 * @param held values that operators have computed, also elsewhere
 */
export function waitingNode(
  node: Extract<Logical, { kind: 'delay' | 'dedup' }>,
  path: Path,
  above: readonly Value[],
  held: ReadonlySet<Value>,
): { plan: NodePlan; columns: readonly Value[]; step: 'delay' | 'dedup_trigger' } {
  const isHeld = (value: Value): boolean => held.has(value) && path.find(value) !== undefined;
  if (node.kind === 'delay') {
    const { plan, carried } = delayNode(node.until, path, above, isHeld);
    return { plan, columns: carried, step: 'delay' };
  }
  const { plan, carried } = dedupNode(node.ranges, path, above, isHeld);
  return { plan, columns: [...carried, node.ranges], step: 'dedup_trigger' };
}

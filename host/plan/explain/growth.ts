/** Statements whose work or output grows with the square of their input: fine for a few rows, a standstill for many. */
import { chainOf, type Logical } from '../logical/logical.js';
import { growthOf, valuesOf } from '../operators/index.js';

/** Returns a sentence for each part of the plan that grows so. */
export function growthWarnings(root: Logical): string[] {
  const chain = chainOf(root);
  const level = { chain, values: chain.flatMap(valuesOf), row: root.kind === 'project' ? root.row : null };
  return [...new Set(chain.flatMap((node) => growthOf(node, level)))];
}

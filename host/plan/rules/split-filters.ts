/**
 * Splits `a AND b` of a filter into a filter b above a filter a: each is a node of its own that other rules with the
 * same condition on the stream share, and b is computed only for rows that passed a. Conditions that are always true go
 * away.
 */
import { type Logical, mapOperators, type Root } from '../logical/logical.js';
import type { Value } from '../values/value.js';

/** The plan with one condition a filter, and no condition that is always true. */
export function splitFilters(roots: readonly Root[]): Root[] {
  return mapOperators(roots, (node) => (node.kind === 'filter' && node.isWhole !== true ? split(node) : node));
}

function split(node: Extract<Logical, { kind: 'filter' }>): Logical {
  let result = node.input;
  for (const condition of conjuncts(node.condition)) {
    const isTrue = condition.kind === 'const' && condition.value.tag === 'bool' && condition.value.value;
    if (isTrue && node.labels === undefined) continue;
    result = { ...node, input: result, condition };
  }
  return result;
}

/** The parts of a chain of ANDs, from left to right. */
function conjuncts(condition: Value): Value[] {
  const parts: Value[] = [];
  const pending = [condition];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.kind !== 'op' || next.op !== 'logic.and') {
      parts.push(next);
      continue;
    }
    const [left, right] = next.operands;
    if (right) pending.push(right);
    if (left) pending.push(left);
  }
  return parts;
}

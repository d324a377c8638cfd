/**
 * The count of nothing is 0: a window in which nothing came sends a row without what it would have shown of its rows,
 * as the recorded engine does, but conditions and expressions count 0 there, and null is what other aggregates are.
 * HAVING decides on such a window as on any other.
 */
import { type Logical, levelOf, mapOperators, type Root, type WindowNode } from '../logical/logical.js';
import { mapOwnValues } from '../operators/index.js';
import type { Value, Values } from '../values/value.js';
import { constantOf, type Fold } from './fold-constants.js';

/** The plan with 0 in the place of counts that have nothing to count. */
export function countOfNothing(roots: readonly Root[], values: Values, fold: Fold): Root[] {
  const done = new Map<WindowNode, Map<Value, Value>>();
  const zero = values.constant({ tag: 'i64', value: 0n });
  return mapOperators(roots, (node) => {
    const window = emptyBelow(node);
    if (window === undefined) return node;
    if (node.kind === 'filter') {
      const holds = holdsOfNothing(node.condition, zero, values, fold);
      if (node.isWhole === true) return holds ? { ...node, meetsEmpty: true } : node;
      if (holds === holdsOfNothing(node.condition, values.null(), values, fold)) return node;
    }
    // There is one row, whatever its order.
    if (node.kind === 'sort' || node.kind === 'window') return node;
    const counted = done.get(window) ?? new Map<Value, Value>();
    done.set(window, counted);
    const change = (value: Value): Value => (isCount(value) ? values.op('logic.coalesce', [], [value, zero]) : value);
    return mapOwnValues(node, (value) => (isShown(value) ? value : values.rewrite(value, change, counted)));
  });
}

/** The window below whose messages the operator gets, if it sends one of nothing. */
function emptyBelow(node: Logical): WindowNode | undefined {
  const below = levelOf(node)
    .slice(0, -1)
    .findLast((one) => one.kind === 'window');
  return below?.kind === 'window' && below.sendEmpty ? below : undefined;
}

function isCount(value: Value): boolean {
  return value.kind === 'aggregate' && (value.fn === 'count' || value.fn === 'countAll');
}

/**
 * True for a count that is shown as it is: where there is nothing it is left out, or null as nodes of graphs have it.
 */
function isShown(value: Value): boolean {
  if (value.kind !== 'op') return isCount(value);
  const [first] = value.operands;
  if (value.op === 'logic.ifNotNull') return first != null && isCount(first);
  const [condition, , shown] = value.args;
  if (value.op !== 'logic.case' || shown === undefined || !isCount(shown)) return false;
  return condition?.kind === 'op' && condition.op === 'logic.isNull' && condition.operands[0] === shown;
}

/** Whether the condition is true of a window without rows; not where it asks for more than is known of that. */
function holdsOfNothing(condition: Value, count: Value, values: Values, fold: Fold): boolean {
  const ofNothing = values.rewrite(condition, (value) =>
    isCount(value) ? count : value.kind === 'aggregate' ? values.null() : value,
  );
  const result = constantOf(ofNothing, values, fold);
  return result?.tag === 'bool' && result.value;
}

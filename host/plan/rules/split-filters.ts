/**
 * Splits `a AND b` of a filter into a filter b above a filter a: each is a node of its own that other rules with the
 * same condition on the stream share, and b is computed only for rows that passed a. Conditions that are always true go
 * away.
 *
 * Bounds of a column stay together with the other bound of it, and with an equality behind them, for the kernel finds
 * filters by both bounds, or by the comparison that fewest rows meet (assembly/emit/terms.ts).
 */
import { type Logical, mapOperators, type Root } from '../logical/logical.js';
import { conjuncts } from '../values/joined-row.js';
import type { OpValue, Value, Values } from '../values/value.js';

/** The plan with one condition a filter, and no condition that is always true. */
export function splitFilters(roots: readonly Root[], values: Values): Root[] {
  return mapOperators(roots, (node) => (node.kind === 'filter' && node.isWhole !== true ? split(node, values) : node));
}

function split(node: Extract<Logical, { kind: 'filter' }>, values: Values): Logical {
  let result = node.input;
  for (const condition of together(conjuncts(node.condition), values)) {
    const isTrue = condition.kind === 'const' && condition.value.tag === 'bool' && condition.value.value;
    if (isTrue && node.labels === undefined) continue;
    result = { ...node, input: result, condition };
  }
  return result;
}

/** Most comparisons that stay together; the kernel looks at as many (MAX_LEAVES in assembly/emit/terms.ts). */
const mostTogether = 8;

/** The conditions, some of them joined again. */
function together(parts: readonly Value[], values: Values): Value[] {
  const joined: Value[] = [];
  for (let from = 0; from < parts.length; ) {
    const until = endOf(parts, from);
    joined.push(parts.slice(from, until).reduce((left, right) => values.op('logic.and', [left, right])));
    from = until;
  }
  return joined;
}

/** Place behind the conditions that stay together with the one at `from`. */
function endOf(parts: readonly Value[], from: number): number {
  if (boundOf(parts[from]) === undefined) return from + 1;
  let until = from + 1;
  for (let i = from + 1; i < parts.length && i < from + mostTogether; i++) {
    const bound = boundOf(parts[i]);
    if (bound === undefined) return isPoint(parts[i]) ? i + 1 : until;
    const isOther = parts.slice(from, i).some((part) => boundOf(part) === bound);
    if (isOther) until = i + 1;
  }
  return until;
}

const bounds = ['compare.lt', 'compare.le', 'compare.gt', 'compare.ge'];

/** The column that the condition bounds by a constant. */
function boundOf(value: Value | undefined): Value | undefined {
  return value?.kind === 'op' && bounds.includes(value.op) ? columnOf(value) : undefined;
}

/** The condition is met by few of the values that its column may have. */
function isPoint(value: Value | undefined): boolean {
  if (value?.kind !== 'op') return false;
  if (value.op === 'compare.in') {
    return value.operands[0]?.kind === 'column' && value.args.every(({ kind }) => kind === 'const');
  }
  return (value.op === 'compare.eq' || value.op === 'string.startsWith') && columnOf(value) !== undefined;
}

/** The column that an operation compares with a constant. */
function columnOf({ operands: [a, b] }: OpValue): Value | undefined {
  if (a?.kind === 'column' && b?.kind === 'const') return a;
  return a?.kind === 'const' && b?.kind === 'column' ? b : undefined;
}

/** Statements whose work or output grows with the square of their input: fine for a few rows, a standstill for many. */
import { aggregates } from '../../kernels/gen/ops.js';
import {
  chainOf,
  inputsOf,
  type JoinSpec,
  type Logical,
  type OutputRow,
  valuesOf,
  type WindowNode,
} from './logical.js';
import type { Relation } from './source.js';
import { aggregatesIn, childrenOf, type Value } from './value.js';

/** A row in so many windows is still an ordinary hopping window. */
const usualOverlap = 10;

/** Returns a sentence for each part of the plan that grows so. */
export function growthWarnings(root: Logical): string[] {
  const chain = chainOf(root);
  const row = root.kind === 'project' ? root.row : null;
  const found = chain.flatMap((node) => {
    if (node.kind === 'window') return windowWarnings(node, chain, row);
    if (node.kind === 'interval') return intervalWarnings(node);
    return node.kind === 'join' ? node.steps.flatMap((step) => joinWarnings(step, node.sources)) : [];
  });
  return [...new Set(found)];
}

function windowWarnings(node: WindowNode, chain: readonly Logical[], row: OutputRow | null): string[] {
  const overlap = overlapOf(node);
  if (overlap === null) return [];
  const called = aggregatesIn(...chain.flatMap(valuesOf)).map(({ fn }) => aggregates[fn]);
  const fns = called.flatMap(({ isLong, sql }) => (isLong ? sql : []));
  const isJoined = chain.some((other) => other.kind === 'join' && inputsOf(other).includes(node));
  const sends = isJoined
    ? 'joins all its rows'
    : !node.isGrouped && row !== null
      ? 'sends all its rows'
      : fns.length > 0
        ? `sends all that ${[...new Set(fns)].join(' and ')} ${fns.length > 1 ? 'gather' : 'gathers'}`
        : undefined;
  if (sends === undefined) {
    const walking = called.flatMap(({ keepsValues, isFixed, sql }) =>
      !keepsValues && (isFixed || node.window.kind === 'hopping') ? [] : sql,
    );
    if (!node.isGrouped || walking.length === 0) return [];
    return [
      `the ${node.window.kind} window goes through all its rows ${overlap} for ${[...new Set(walking)].join(' and ')}: its ` +
        'work grows with the square of its input; aggregates of fixed size alone, a shorter window or a condition for its ' +
        'trigger bound it',
    ];
  }
  return [
    `the ${node.window.kind} window ${sends} ${overlap}: its output grows with the square of its input; ` +
      'an aggregate of fixed size, a shorter window or a condition for its trigger bounds it',
  ];
}

/** How often a row goes out with the window; null when that is no matter. */
function overlapOf({ window }: WindowNode): string | null {
  switch (window.kind) {
    case 'sliding':
      return window.trigger === null ? 'with each row' : null;
    case 'hopping':
      return window.lengthMs / window.hopMs >= usualOverlap
        ? `${Math.ceil(window.lengthMs / window.hopMs)} times`
        : null;
    case 'count':
      return window.length / window.step >= usualOverlap ? `${Math.ceil(window.length / window.step)} times` : null;
    default:
      return null;
  }
}

function intervalWarnings({ keys, source }: Extract<Logical, { kind: 'interval' }>): string[] {
  if (keys.length > 0) return [];
  return [
    `the join by time with ${source.ownName} has no equality: each row meets all within the interval, so that its work grows with the square of their number`,
  ];
}

function joinWarnings({ type, source, condition }: JoinSpec, sources: readonly Relation[]): string[] {
  if (condition !== null && hasEquality(condition)) return [];
  const name = sources.find(({ index }) => index === source)?.ownName ?? 'a stream';
  return [
    condition === null
      ? `the ${type} join with ${name} makes a row of each pair of rows: its output grows with the square of its input`
      : `the ${type} join with ${name} has no equality of its columns: it compares each pair of rows, so that its work ` +
        'grows with the square of its input',
  ];
}

/** One of the parts that must all hold is an equality between columns of two sources. */
function hasEquality(condition: Value): boolean {
  if (condition.kind !== 'op') return false;
  const [left, right] = condition.operands;
  if (left == null || right == null) return false;
  if (condition.op === 'logic.and') return hasEquality(left) || hasEquality(right);
  if (condition.op !== 'compare.eq') return false;
  const [a, b] = [readBy(left), readBy(right)];
  return a.size > 0 && b.size > 0 && [...a].every((source) => !b.has(source));
}

/** Sources whose columns the value reads. */
function readBy(value: Value, found = new Set<number>()): Set<number> {
  if (value.kind === 'column') found.add(value.source);
  for (const child of childrenOf(value)) readBy(child, found);
  return found;
}

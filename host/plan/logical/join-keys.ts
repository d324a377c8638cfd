/** Equalities that joins look rows up by. */
import type { Relation } from '../values/source.js';
import { sourcesIn, type Value } from '../values/value.js';

/** Values of a row of each side; rows are joined where they are equal. */
export interface JoinKey {
  left: Value;
  right: Value;
}

/**
 * The key that an equality demands of rows of `right` and of those `before`; undefined where the term is something
 * else.
 */
export function keyOf(term: Value, right: Relation, before: readonly Relation[]): JoinKey | undefined {
  if (term.kind !== 'op' || term.op !== 'compare.eq') return undefined;
  const [a, b] = term.operands;
  if (a == null || b == null) return undefined;
  const isRight = (value: Value): boolean => {
    const used = sourcesIn(value);
    return used.length === 1 && used[0] === right.index;
  };
  const isLeft = (value: Value): boolean => {
    const used = sourcesIn(value);
    return used.length > 0 && used.every((source) => before.some(({ index }) => index === source));
  };
  if (isLeft(a) && isRight(b)) return { left: a, right: b };
  return isLeft(b) && isRight(a) ? { left: b, right: a } : undefined;
}

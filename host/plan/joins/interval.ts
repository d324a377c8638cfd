/**
 * Interval joins: two streams without a window, where ON bounds how far the times of two rows lie apart. A pair goes on
 * when its later row has come; what is kept is freed as the watermark leaves it behind. What ON says of the times, and
 * its equalities, is the operator's own work; the rest of it decides on each pair.
 */

import type { Join } from '../../sql/ast.js';
import type { Binder, Clause } from '../bind/bind.js';
import { joinErrors } from '../errors/join.js';
import { keyOf } from '../logical/join-keys.js';
import type { JoinSpec, Logical } from '../logical/logical.js';
import { conjuncts } from '../values/joined-row.js';
import type { Relation } from '../values/source.js';
import { sourcesIn, type Value, type Values } from '../values/value.js';
import { type Bound, boundsOf, type ConstantOf, rangeOf, type Sides, saysAll, timeName } from './time-bounds.js';

const types = { INNER: 'inner', LEFT: 'left', RIGHT: 'right', FULL: 'full', CROSS: null } as const;

interface Place {
  readonly binder: Binder;
  readonly clause: Clause;
  readonly values: Values;
  readonly constantOf: ConstantOf;
}

/**
 * The rows of two streams, which come by the input, joined by the time between them. Throws a `plan` error unless it is
 * bounded.
 */
export function intervalRows(input: Logical, { kind, on, table }: Join, sides: Sides, place: Place): Logical {
  const { binder, clause, values, constantOf } = place;
  const [left, right] = sides;
  const type = types[kind];
  if (type === null || on === null) throw needsInterval(sides, table.span);
  const bounds: Bound[] = [];
  const keys: { left: Value; right: Value }[] = [];
  const rest: Value[] = [];
  for (const term of conjuncts(binder.bind(on, clause))) {
    const found = boundsOf(term, sides, constantOf);
    bounds.push(...found);
    if (saysAll(term, found)) continue;
    const other = sourcesIn(term).find((source) => source !== left.index && source !== right.index);
    if (other !== undefined) throw joinErrors.tableJoinedLater(table.span);
    const key = keyOf(term, right, [left]);
    if (key === undefined) rest.push(term);
    else keys.push(key);
  }
  const { least, most } = rangeOf(bounds);
  const isOpenLeft = !Number.isFinite(least);
  const isOpenRight = !Number.isFinite(most);
  if (isOpenLeft && isOpenRight) throw needsInterval(sides, on.span);
  if (isOpenLeft || isOpenRight) throw needsOtherBound(sides, isOpenLeft, on.span);
  if (least > most) throw joinErrors.onNever(on.span);
  const [first, ...others] = rest;
  const condition =
    first === undefined ? null : others.reduce((all, term) => values.op('logic.and', [all, term]), first);
  return { kind: 'interval', input, left, source: right, type, keys, leastMs: least, mostMs: most, condition };
}

/** The refusal of a join that is none. */
function needsInterval([left, right]: Sides, span: Join['table']['span']): Error {
  const [a, b] = [timeName(left), timeName(right)];
  return joinErrors.needsWindowOrBounds(b, a, span);
}

/** The refusal of a join whose interval is open: `isOpenLeft` where rows of the right may be ever so much older. */
function needsOtherBound([left, right]: Sides, isOpenLeft: boolean, span: Join['table']['span']): Error {
  const [a, b] = [timeName(left), timeName(right)];
  const kept = isOpenLeft ? right.ownName : left.ownName;
  const bound = isOpenLeft ? `${b} >= ${a} - INTERVAL '1' HOUR` : `${b} <= ${a} + INTERVAL '1' HOUR`;
  return joinErrors.oneBound(kept, bound, span);
}

/**
 * Which of the joins of a statement without a window is one of two streams by time: the only one beside those with
 * lookup tables; -1 none is. `relations`: FROM first, then those of the joins.
 */
export function intervalAt(joins: readonly Join[], relations: readonly Relation[]): number {
  const own = joins.flatMap((_join, i) => (relations[i + 1]?.isLookup === true ? [] : [i]));
  const [at, other] = own;
  if (at === undefined || other !== undefined || joins[at]?.asof !== undefined) return -1;
  return relations[0]?.isTable === false && relations[at + 1]?.isTable === false ? at : -1;
}

/**
 * Throws a `plan` error for a join of two streams by time beside a table that is kept row by row: without a window such
 * a table meets the rows of one stream at a time. `steps`: those of the join, on its `relations`.
 */
export function checkNoInterval(
  joins: readonly Join[],
  steps: readonly JoinSpec[],
  relations: readonly Relation[],
  constantOf: ConstantOf,
): void {
  const table = relations.find(({ isTable }) => isTable);
  if (table === undefined) return;
  steps.forEach(({ condition, source }, i) => {
    const at = relations.findIndex(({ index }) => index === source);
    const right = relations[at];
    if (condition === null || right === undefined || right.isTable) return;
    const isTimed = relations
      .slice(0, at)
      .some(
        (left) =>
          !left.isTable && conjuncts(condition).some((term) => boundsOf(term, [left, right], constantOf).length > 0),
      );
    if (!isTimed) return;
    throw joinErrors.intervalBeside(right.ownName, table.ownName, joins[i]?.table.span);
  });
}

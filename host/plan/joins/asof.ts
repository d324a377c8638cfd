/**
 * As-of joins: each row of a stream with the newest row of another one that is no later. Rows of both come in the order
 * of their times, so what MATCH_CONDITION says is a matter of when the right one counts: with the distance that it asks
 * for, rows of the right stream are later than they are.
 */

import type { Join, Span } from '../../sql/ast.js';
import type { Binder, Clause } from '../bind/bind.js';
import { joinErrors } from '../errors/join.js';
import { keyOf } from '../logical/join-keys.js';
import type { Logical } from '../logical/logical.js';
import { conjuncts } from '../values/joined-row.js';
import type { Relation } from '../values/source.js';
import { sourcesIn, type Values } from '../values/value.js';
import { type Bound, boundsOf, type ConstantOf, rangeOf, saysAll, timeName } from './time-bounds.js';

type Asof = Omit<Extract<Logical, { kind: 'asof' }>, 'input'>;

/** Least and greatest distance, in ms, of a row of the right stream behind that of the left one; null: no bound. */
interface Distance {
  readonly leastMs: number;
  readonly mostMs: number | null;
}

interface Place {
  readonly binder: Binder;
  readonly clause: Clause;
  readonly isEventTime: boolean;
  readonly constantOf: ConstantOf;
}

/** True for joins that take the newest row. */
export function isAsof({ asof }: Join): boolean {
  return asof !== undefined;
}

/** Rows of the statement with their partners, on those of the input; `sources`: FROM first, then those of the joins. */
export function asofRows(
  input: Logical,
  joins: readonly Join[],
  sources: readonly Relation[],
  values: Values,
  place: Place,
): Logical {
  const [left] = sources;
  if (left === undefined) throw new Error('a join of no sources');
  let root = input;
  const steps = joins.flatMap((join, i) => {
    const right = sources[i + 1];
    if (right === undefined || !isAsof(join)) return [];
    const { step, distance } = bindAsof(join, left, right, sources.slice(0, i + 1), place);
    root = laterBy(root, right, distance.leastMs, values);
    return [step];
  });
  return steps.reduce((rows: Logical, step): Logical => ({ ...step, input: rows }), root);
}

/** The rows in the order in which as-of joins would have them. */
export function inAsofOrder(
  input: Logical,
  joins: readonly Join[],
  sources: readonly Relation[],
  values: Values,
  place: Place,
): Logical {
  const [left] = sources;
  if (left === undefined) throw new Error('a join of no sources');
  return joins.reduce((rows, join, i) => {
    const right = sources[i + 1];
    if (right === undefined || !isAsof(join)) return rows;
    const { distance } = bindAsof(join, left, right, sources.slice(0, i + 1), place);
    return laterBy(rows, right, distance.leastMs, values);
  }, input);
}

/** Throws a `plan` error for joins that cannot stand beside an as-of join, and for tables in one. */
export function checkAsof(joins: readonly Join[], sources: readonly Relation[]): void {
  const [from] = sources;
  joins.forEach((join, i) => {
    const source = sources[i + 1];
    if (source === undefined) return;
    const { span } = join.table;
    if (!isAsof(join)) {
      if (source.isLookup) return;
      throw joinErrors.asofBeside(source.ownName, span);
    }
    const table = [from, source].find((one) => one?.isTable === true);
    if (table !== undefined) {
      throw joinErrors.asofTable(table.ownName, span);
    }
  });
}

function bindAsof(
  join: Join,
  left: Relation,
  right: Relation,
  before: readonly Relation[],
  { binder, clause, isEventTime, constantOf }: Place,
): { step: Asof; distance: Distance } {
  const { kind, on, asof, table } = join;
  const match = asof?.match ?? null;
  if (match !== null && !isEventTime) {
    throw joinErrors.matchNeedsEventTime(match.span);
  }
  const bounds: Bound[] = [];
  const times = [left, right] as const;
  for (const term of match === null ? [] : conjuncts(binder.bind(match, { ...clause, name: 'MATCH_CONDITION' }))) {
    const found = boundsOf(term, times, constantOf);
    if (!saysAll(term, found)) throw needsTimes(left, right, match?.span ?? table.span);
    bounds.push(...found);
  }
  const keys: Asof['keys'] = [];
  for (const term of on === null ? [] : conjuncts(binder.bind(on, clause))) {
    const later = before.find(({ index, isLookup }) => isLookup && sourcesIn(term).includes(index));
    if (later !== undefined) {
      throw joinErrors.asofLookupLater(right.ownName, later.ownName, on?.span);
    }
    const key = keyOf(term, right, before);
    if (key === undefined) {
      throw joinErrors.asofOn(left.ownName, right.ownName, on?.span ?? table.span);
    }
    keys.push(key);
  }
  const distance = distanceOf(bounds, left, right, match?.span ?? table.span);
  const toleranceMs = distance.mostMs === null ? null : distance.mostMs - distance.leastMs;
  return {
    step: { kind: 'asof', type: kind === 'LEFT' ? 'left' : 'inner', left, source: right, keys, toleranceMs },
    distance,
  };
}

/** Distance of the times that all bounds of the right time minus the left one allow together. */
function distanceOf(bounds: readonly Bound[], left: Relation, right: Relation, span: Span): Distance {
  const { least, most } = rangeOf(bounds);
  if (bounds.length === 0) return { leastMs: 0, mostMs: null };
  if (!(most <= 0)) throw needsTimes(left, right, span);
  if (least > most) throw joinErrors.matchNever(span);
  return { leastMs: -most, mostMs: least === -Infinity ? null : -least };
}

function needsTimes(left: Relation, right: Relation, span: Span): Error {
  const [a, b] = [timeName(left), timeName(right)];
  return joinErrors.matchForm(right.ownName, left.ownName, a, b, span);
}

/** The rows with those of one stream as if they were so much later. */
function laterBy(root: Logical, source: Relation, ms: number, values: Values): Logical {
  if (ms === 0) return root;
  if (root.kind !== 'watermark' || root.input.kind !== 'merge') throw new Error('rows of streams come by a merge');
  const merge = root.input;
  const later = values.op('arith.add', [source.rowTime(true), values.constant({ tag: 'i64', value: BigInt(ms) })]);
  const timestamps = merge.timestamps.map((time, i) => (merge.sources[i] === source ? later : time));
  return { ...root, input: { ...merge, timestamps } };
}

/** A row of several streams as one: which stream's value a name means, all members as one object. */
import type { Relation } from './source.js';
import type { OpValue, Value, Values } from './value.js';

/**
 * The first of the values that the row has, in the order given: a null that was sent counts, a missing value does not.
 * Missing when the row has none of them.
 */
export function firstPresent(values: Values, candidates: readonly Value[]): Value {
  const [first, ...others] = candidates;
  if (first === undefined) return values.null();
  if (others.length === 0) return first;
  if (!candidates.some((one) => isOfPresent(one, values))) return values.op('logic.present', [], candidates);
  const rest = firstPresent(values, others);
  if (!isOfPresent(first, values)) return values.op('logic.present', [], [first, rest]);
  return values.op('logic.case', [], [...first.args.slice(0, 2), rest]);
}

/** A value that rows have only where they have a row of the source, unlike what is computed of missing columns. */
export function ofPresent(values: Values, source: Relation, value: Value): Value {
  const isThere = values.op('logic.isNotNull', [source.arrival()]);
  return values.op('logic.case', [], [isThere, value, missing(values)]);
}

/** The column, null in rows of the source that have none, and missing where there is no row of the source. */
export function nullOfPresent(values: Values, source: Relation, column: Value): Value {
  return values.op('logic.nullBeside', [column, source.arrival()]);
}

/** The missing value, of a column that a row does not have. */
export function missing(values: Values): Value {
  return values.constant({ tag: 'missing' });
}

/** True for values of `ofPresent`; statements have no constant that is missing. */
function isOfPresent(value: Value, values: Values): value is OpValue {
  return value.kind === 'op' && value.op === 'logic.case' && value.args[2] === missing(values);
}

/** One object with the members of all objects, the first of equal names wins; missing objects have no members. */
export function mergedObject(values: Values, objects: readonly Value[]): Value {
  const [first, ...others] = objects;
  if (first === undefined) return values.op('nested.objectOf', []);
  if (others.length === 0) return first;
  // The operation lets the last of equal names win.
  return values.op('nested.concat', [], [...objects].reverse());
}

/** True for a column of a row, also of a joined one. */
export function isColumn(value: Value): boolean {
  return value.kind === 'column' || (value.kind === 'op' && value.op === 'logic.present' && value.args.every(isColumn));
}

/** The column of this name that a joined row has first. */
export function joinedColumn(values: Values, sources: readonly Relation[], name: string): Value {
  return firstPresent(
    values,
    sources.filter((source) => source.has(name)).map((source) => source.column(name)),
  );
}

/** The parts of a chain of ANDs, from left to right. */
export function conjuncts(condition: Value): Value[] {
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

/** A row of several streams as one: which stream's value a name means, all members as one object. */
import type { Source } from './source.js';
import type { Value, Values } from './value.js';

/**
 * The first of the values that the row has, in the order given: a null that was sent counts, a missing value does not. Null
 * when the row has none of them.
 */
export function firstPresent(values: Values, candidates: readonly Value[]): Value {
  const [first, ...others] = candidates;
  if (first === undefined) return values.null();
  return others.length === 0 ? first : values.op('logic.present', [], candidates);
}

/** One object with the members of all objects, the first of equal names wins; missing objects have no members. */
export function mergedObject(values: Values, objects: readonly Value[]): Value {
  const [first, ...others] = objects;
  if (first === undefined) return values.op('nested.objectOf', []);
  if (others.length === 0) return first;
  // The operation lets the last of equal names win.
  return values.op('nested.concat', [], [...objects].reverse());
}

/** The column of this name that a joined row has first. */
export function joinedColumn(values: Values, sources: readonly Source[], name: string): Value {
  return firstPresent(
    values,
    sources.filter((source) => source.has(name)).map((source) => source.column(name)),
  );
}

/** Figures of the rules that a divided rule consists of, as those of one rule. */
import { addLatencies, emptyHistogram, type Histogram } from '../../../kernels/values/histogram.js';
import type { IoFigures, RuleLatencies } from '../../model/figures.js';

/** Figures of rules, with those of one owner as one. */
export function summed<F extends { readonly id: string }>(
  figures: readonly F[],
  ownerOf: (id: string) => string,
  add: (one: F, other: F) => F,
): F[] {
  const found = new Map<string, F>();
  for (const figure of figures) {
    const id = ownerOf(figure.id);
    const known = found.get(id);
    found.set(id, known === undefined ? { ...figure, id } : add(known, figure));
  }
  return [...found.values()];
}

/** Times and exchanges of two rules; those of operators with one name are added. */
export function addedLatencies<F extends RuleLatencies>(one: F, other: F): F {
  const caches = byKey(
    [...(one.caches ?? []), ...(other.caches ?? [])],
    ([name, work]) => `${work} ${name}`,
    ([name, work, times], [, , more]): NonNullable<RuleLatencies['caches']>[number] => [name, work, sum(times, more)],
  );
  return {
    ...one,
    operators: byKey(
      [...one.operators, ...other.operators],
      ([name]) => name,
      ([name, times], [, more]): RuleLatencies['operators'][number] => [name, sum(times, more)],
    ),
    io: byKey(
      [...one.io, ...other.io],
      ({ io, operator }) => `${io} ${operator}`,
      (first, next): IoFigures => ({ ...first, done: first.done + next.done, failed: first.failed + next.failed }),
    ),
    ...(caches.length === 0 ? {} : { caches }),
  };
}

function byKey<T>(all: readonly T[], keyOf: (one: T) => string, add: (one: T, other: T) => T): T[] {
  const found = new Map<string, T>();
  for (const one of all) {
    const key = keyOf(one);
    const known = found.get(key);
    found.set(key, known === undefined ? one : add(known, one));
  }
  return [...found.values()];
}

function sum(one: Histogram, other: Histogram): Histogram {
  const times = emptyHistogram();
  addLatencies(times, one, null);
  addLatencies(times, other, null);
  return times;
}

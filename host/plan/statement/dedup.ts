/**
 * dedup_trigger: an operator below the SELECT, in which rows wait for the end of the range of time that they ask for.
 */
import { functionErrors } from '../errors/function.js';
import type { Logical } from '../logical/logical.js';
import { valuesOf } from '../operators/index.js';
import { childrenOf, type RangesValue, type Value } from '../values/value.js';

type Project = Extract<Logical, { kind: 'project' }>;

/** The SELECT with operators for the ranges in it, those named first below. */
export function withRanges(root: Project, isOfMessages: boolean): Project {
  const found = rangesIn(valuesOf(root));
  if (found.length === 0) return root;
  if (isOfMessages) throw functionErrors.dedupAboveWindow();
  const input = found.reduce<Logical>((below, ranges) => ({ kind: 'dedup', input: below, ranges }), root.input);
  return { ...root, input };
}

function rangesIn(values: readonly Value[]): RangesValue[] {
  const found = new Set<RangesValue>();
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    childrenOf(value).forEach(visit);
    if (value.kind === 'ranges') found.add(value);
  };
  values.forEach(visit);
  return [...found];
}

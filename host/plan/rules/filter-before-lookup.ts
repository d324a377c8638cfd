/**
 * Moves conditions that look at no column of a lookup table below its join: rows that are not wanted are not looked up.
 * A row that goes is gone on either side, whether it makes one row, several or none.
 */

import { type Logical, mapOperators, type Root, soleInputsOf } from '../logical/logical.js';
import { sourcesIn } from '../values/value.js';

type Filter = Extract<Logical, { kind: 'filter' }>;

/**
 * The plan with conditions on rows below the lookups that they do not need; each condition must be a filter of its own.
 */
export function filterBeforeLookup(roots: readonly Root[]): Root[] {
  const sole = soleInputsOf(roots);
  return mapOperators(roots, (node, before) => {
    if (node.kind !== 'filter' || node.clause !== 'where' || node.isWhole === true || node.labels !== undefined)
      return node;
    return before.kind === 'filter' && sole.has(before.input) ? lowered(node, node.input) : node;
  });
}

/** The filter over the input, as low as it may be. */
function lowered(filter: Filter, input: Logical): Logical {
  const { condition } = filter;
  const stays = input.kind !== 'lookup' || condition.isAfterWindow || sourcesIn(condition).includes(input.source.index);
  return stays ? { ...filter, input } : { ...input, input: lowered(filter, input.input) };
}

/**
 * Moves conditions that look at one stream alone below the window whose rows are joined, so that rows that are not
 * wanted neither wait nor meet others. Only where the window follows the clock (see push-filters.ts), and where joined
 * rows always have a row of that stream. Later conditions of an AND stay above one that cannot move, which may be what
 * keeps errors from them.
 */
import { isInAllRows } from '../joins/join.js';
import { type Logical, mapOperators, type Root, soleInputsOf } from '../logical/logical.js';
import { isVolatile, sourcesIn } from '../values/value.js';
import { followsClock } from './push-filters.js';

/**
 * The plan with conditions on rows of one of several streams below their window; each condition must be a filter of its
 * own.
 */
export function filterBeforeWindowJoin(roots: readonly Root[]): Root[] {
  const sole = soleInputsOf(roots);
  /** Down to the merge; a filter that stood between has moved, after the same question. */
  const isSole = (node: Logical): boolean =>
    sole.has(node) && (node.kind === 'join' || node.kind === 'window' ? isSole(node.input) : true);
  return mapOperators(roots, (node, before) => {
    if (node.kind !== 'filter' || node.clause !== 'where' || node.isWhole === true || node.labels !== undefined)
      return node;
    const { input: join, condition } = node;
    if (join.kind !== 'join' || before.kind !== 'filter' || !isSole(before.input)) return node;
    const { input: window } = join;
    if (window.kind !== 'window' || window.isGrouped || !followsClock(window)) return node;
    const { input: merge } = window;
    if (merge.kind !== 'merge') return node;
    const [source, other] = sourcesIn(condition);
    const place = merge.sources.findIndex(({ index }) => index === source);
    const input = merge.inputs[place];
    if (source === undefined || other !== undefined || input === undefined) return node;
    if (condition.isAfterWindow || isVolatile(condition) || !isInAllRows(join, source)) return node;
    const inputs = merge.inputs.with(place, { ...node, input });
    return { ...join, input: { ...window, input: { ...merge, inputs }, sendEmpty: false } };
  });
}

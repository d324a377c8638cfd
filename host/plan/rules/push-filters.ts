/**
 * Moves conditions on the rows of a window below it, where rows are dropped before they cost anything. That keeps the
 * meaning only if the window does not depend on the dropped rows: in processing time tumbling and hopping windows
 * follow the clock. Everywhere else rows count, trigger, extend sessions or move the watermark, so that the filter
 * stays above it.
 */
import { chainOf, mapOperators, type Root, soleInputsOf, type WindowNode } from '../logical/logical.js';
import { kindOf } from '../windows/index.js';

/** The plan with each condition on rows as low as it may be. */
export function pushFilters(roots: readonly Root[]): Root[] {
  const sole = soleInputsOf(roots);
  return mapOperators(roots, (node, before) => {
    if (node.kind !== 'filter' || node.isWhole === true || node.condition.isAfterWindow) return node;
    const { input: window } = node;
    const isOwn = before.kind === 'filter' && sole.has(before.input);
    if (window.kind !== 'window' || window.isGrouped || !isOwn || !followsClock(window)) return node;
    // A message that loses all its rows is not sent, nor is a window that never had them.
    return { ...window, input: { ...node, input: window.input }, sendEmpty: false };
  });
}

/** True when rows that are dropped below the window change neither its ends nor its other output. */
export function followsClock(node: WindowNode): boolean {
  return kindOf(node.window).isAligned === true && !chainOf(node).some(({ kind }) => kind === 'watermark');
}

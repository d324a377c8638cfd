/**
 * Makes a window and the grouping of its rows one operator, which keeps the states of aggregates instead of rows. Only
 * where nothing else reads the window.
 */
import { mapOperators, type Root, soleInputsOf } from '../logical/logical.js';

/** The plan with groups made by windows where they can be. */
export function groupInWindows(roots: readonly Root[]): Root[] {
  const sole = soleInputsOf(roots);
  return mapOperators(roots, (node, before) => {
    if (node.kind !== 'window' || node.window.kind !== 'message' || !node.isGrouped) return node;
    const { input } = node;
    const isOwn = before.kind === 'window' && sole.has(before.input);
    if (input.kind !== 'window' || input.isGrouped || input.window.kind === 'message' || !isOwn) return node;
    // A value that is known only when the window ends can be no key of its rows.
    if ((input.shown?.length ?? 0) > 0 || node.keys.some(({ isAfterWindow }) => isAfterWindow)) return node;
    const labels = [...(input.labels ?? []), ...(node.labels ?? [])];
    return { ...input, labels, keys: node.keys, isGrouped: true, sendEmpty: input.sendEmpty && node.keys.length === 0 };
  });
}

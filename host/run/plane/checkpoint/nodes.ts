/** What of a rule is saved. */
import type { NodeHandle } from '../../../../kernels/api.js';
import type { RunningRule } from '../running.js';

/**
 * The nodes of the rule in the order of their making. Lookup tables are no rule's; joins with tables that are read from files are
 * left out: the table is read again at each start.
 */
export function nodesOf(rule: RunningRule): NodeHandle[] {
  const readAgain = new Set(rule.tables.filter(({ source }) => source.endsSoon).map(({ join }) => join));
  return rule.nodes.flatMap(({ kind, handle }) => (kind === 'keyedTable' || readAgain.has(handle) ? [] : [handle]));
}

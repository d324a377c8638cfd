/** Rules that work together in the kernel: they share operators, or have one of a rule that does. */
import type { NodeHandle } from '../../../../kernels/api.js';
import type { RunningBranch, RunningRule, RunningSource } from './running.js';

export interface RuleGroup {
  readonly rules: readonly RunningRule[];
  /** Sources of the rule without its tables. */
  readonly sources: ReadonlySet<RunningSource>;
  /** Places at which the sources work for the rule: the sources themselves, or branches of them. */
  readonly places: ReadonlySet<RunningSource | RunningBranch>;
  readonly nodes: ReadonlySet<NodeHandle>;
}

/** Place at which rows of a source enter the rule: the source, or a branch of it. */
export function placeOf(rule: RunningRule, source: RunningSource): RunningSource | RunningBranch {
  return rule.lag?.branchOf(source) ?? source;
}

interface Members {
  readonly rules: RunningRule[];
  readonly nodes: Set<NodeHandle>;
}

/** Lists the groups of rules with sources, in the order in which these have come. */
export function ruleGroupsOf(rules: Iterable<RunningRule>): RuleGroup[] {
  const ofNode = new Map<NodeHandle, Members>();
  const found = new Set<Members>();
  for (const rule of rules) {
    if (rule.isEnding) continue;
    let own: Members = { rules: [rule], nodes: new Set() };
    for (const { kind, handle } of rule.nodes) {
      // Rows of a table are kept for all that look up in it.
      if (kind === 'keyedTable') continue;
      const others = ofNode.get(handle);
      if (others !== undefined && others !== own) own = joined(others, own, ofNode, found);
      own.nodes.add(handle);
      ofNode.set(handle, own);
    }
    found.add(own);
  }
  return [...found].flatMap((members) => {
    const sources = new Set<RunningSource>();
    const places = new Set<RunningSource | RunningBranch>();
    for (const rule of members.rules) {
      for (const source of rule.sources) {
        if (rule.isTable(source)) continue;
        sources.add(source);
        places.add(placeOf(rule, source));
      }
    }
    return sources.size === 0 ? [] : [{ rules: members.rules, sources, places, nodes: members.nodes }];
  });
}

function joined(to: Members, from: Members, ofNode: Map<NodeHandle, Members>, found: Set<Members>): Members {
  for (const rule of from.rules) to.rules.push(rule);
  for (const node of from.nodes) {
    to.nodes.add(node);
    ofNode.set(node, to);
  }
  found.delete(from);
  return to;
}

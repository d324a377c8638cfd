/** The planner: from a rule to what the data plane runs. */
import type { RulePlan } from '../../kernels/ir.js';
import type { Catalog, RuleDefinition } from '../run/api.js';
import type { Select } from '../sql/ast.js';
import { parseSelect } from '../sql/parser.js';
import { type Analysis, analyse, outputFieldsOf } from './analyse.js';
import { explainLines } from './explain.js';
import { type Branch, branchesOf } from './graph/branches.js';
import { checkGraph } from './graph/check.js';
import { mergePlans } from './graph/merge.js';
import { selectOf } from './graph/translate.js';
import { lower, type Physical } from './physical.js';
import { type Fold, foldConstants } from './rules/fold-constants.js';
import { pushFilters } from './rules/push-filters.js';
import { splitFilters } from './rules/split-filters.js';
import { topologyOf } from './topology.js';
import { Values } from './value.js';

export type { Fold } from './rules/fold-constants.js';

interface Planned {
  analysis: Analysis;
  physical: Physical;
}

/**
 * Plans a rule. Throws HaumeaError of kind `parse` for the text of the statement and `plan` for its meaning, for sink
 * properties and for everything that cannot run yet.
 * @param fold evaluates constant expressions; see Kernel.evaluate
 */
export function planRule(rule: RuleDefinition, catalog: Catalog, fold: Fold): RulePlan {
  const { graph } = rule;
  if (graph === undefined) return planSelect(parseSelect(rule.sql), rule, catalog, fold);
  checkGraph(graph, catalog);
  const plans = branchesOf(graph).map((branch) => ({
    plan: planSelect(selectOf(branch), partOf(rule, branch), catalog, fold),
    actions: branch.actions,
  }));
  return mergePlans(
    plans,
    graph.nodes.flatMap(({ name, type }) => (type === 'sink' ? [name] : [])),
  );
}

function planSelect(select: Select, rule: RuleDefinition, catalog: Catalog, fold: Fold): RulePlan {
  const { analysis, physical } = plan(select, rule, catalog, fold);
  return {
    sources: analysis.sources.map(({ name, index }) => ({
      stream: name,
      columns: (physical.columns[index] ?? []).map(({ use }) => use),
    })),
    nodes: physical.nodes,
    ...topologyOf(analysis.sources, rule, physical),
    outputFields: outputFieldsOf(analysis.root.row),
  };
}

/** The plan as text, a line for each operator from the sink down to the streams. */
export function explainRule(rule: RuleDefinition, catalog: Catalog, fold: Fold): string {
  const { graph } = rule;
  const parts =
    graph === undefined
      ? [{ select: parseSelect(rule.sql), part: rule }]
      : branchesOf(graph).map((branch) => ({ select: selectOf(branch), part: partOf(rule, branch) }));
  return parts
    .map(({ select, part }) => {
      const { analysis, physical } = plan(select, part, catalog, fold);
      return explainLines(analysis.root, physical.columns);
    })
    .join('\n');
}

/** Names of the streams and tables that the statement reads, joins included. */
export function sourcesOf(sql: string): string[] {
  const select = parseSelect(sql);
  return [...new Set([select.from.name, ...select.joins.map(({ table }) => table.name)])];
}

/** The rule as one branch of its graph knows it: with its own sinks only. */
function partOf(rule: RuleDefinition, branch: Branch): RuleDefinition {
  return { ...rule, actions: branch.actions.flatMap((action) => rule.actions[action] ?? []) };
}

function plan(select: Select, rule: RuleDefinition, catalog: Catalog, fold: Fold): Planned {
  const values = new Values();
  const analysis = analyse(select, rule, catalog, values);
  let root = foldConstants(analysis.root, values, fold);
  root = splitFilters(pushFilters(root));
  if (root.kind !== 'project') throw new Error('the root of a plan is not its output');
  return { analysis: { ...analysis, root }, physical: lower(root, rule, values, analysis.sources.length) };
}

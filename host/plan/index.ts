/** The planner: makes the plan of a rule, which the data plane runs. */
import type { RulePlan, Tap } from '../../kernels/plan/ir.js';
import { rowActions } from '../model/actions.js';
import type { Catalog, RuleDefinition } from '../model/engine.js';
import { parseQuery } from '../sql/parser.js';
import type { StreamDefinition } from '../sql/source-def.js';
import { streamsIn } from '../sql/visit.js';
import { growthWarnings } from './explain/growth.js';
import { planGraph } from './graph/plan.js';
import { graphTopology } from './graph/topology.js';
import { planTable } from './joins/lookup.js';
import { withLateRows } from './late-rows.js';
import type { Root } from './logical/logical.js';
import { lower } from './lower/physical.js';
import { tapsOf } from './lower/taps.js';
import { topologyOf } from './lower/topology.js';
import type { Physical } from './program/physical-plan.js';
import { countOfNothing } from './rules/count-of-nothing.js';
import { filterBeforeJoin } from './rules/filter-before-join.js';
import { filterBeforeLookup } from './rules/filter-before-lookup.js';
import { filterBeforeWindowJoin } from './rules/filter-before-window-join.js';
import { type Fold, foldConstants } from './rules/fold-constants.js';
import { groupInWindows } from './rules/group-in-windows.js';
import { pushFilters } from './rules/push-filters.js';
import { splitFilters } from './rules/split-filters.js';
import { streamFirst } from './rules/stream-first.js';
import { checkLetterSink } from './sinks/sinks.js';
import { analyse, outputFieldsOf } from './statement/analyse.js';
import { withDelays } from './statement/delay.js';
import { Source } from './values/source.js';
import { Values } from './values/value.js';

export type { Fold } from './rules/fold-constants.js';

interface Planned {
  sources: Source[];
  roots: Root[];
  outputFields: readonly string[];
  remarks: readonly string[];
  physical: Physical;
  brought: ReadonlyMap<number, string>;
}

/**
 * Plans a rule. Throws HaumeaError of kind `parse` for the text of the statement and `plan` for its meaning, for sink
 * properties and for everything that cannot run yet.
 * @param fold evaluates constant expressions; see Kernel.evaluate
 */
export function planRule(rule: RuleDefinition, catalog: Catalog, fold: Fold): RulePlan {
  const { sources, roots, outputFields, remarks, physical, brought } = plan(rule, catalog, fold);
  const { graph } = rule;
  const growth = warningsOf(roots);
  return {
    sources: sources
      .filter(({ isAsked }) => !isAsked)
      .sort((one, other) => one.index - other.index)
      .map(({ name, index }) => ({
        stream: name,
        columns: physical.read[index] ?? [],
      })),
    ...(physical.asked.length === 0 ? {} : { lookups: physical.asked.map((one) => askedName(one, brought)) }),
    nodes: physical.nodes,
    ...(graph === undefined
      ? topologyOf(sources, rule, physical)
      : graphTopology(graph, rule.actions, sources, physical)),
    outputFields: [...outputFields],
    ...(brought.size === 0 ? {} : { brought: [...brought] }),
    warnings: [...new Set(remarks), ...growth],
    ...(growth.length === 0 ? {} : { growth }),
  };
}

function askedName(one: Physical['asked'][number], brought: Planned['brought']): { table: string; call?: number } {
  return 'call' in one ? { table: brought.get(one.call) ?? '', call: one.call } : { table: one.name };
}

/** Plans the node that keeps the rows of a lookup table, which all rules on the table share. Throws as `planRule`. */
export function planKeptTable(definition: StreamDefinition): RulePlan {
  const { name } = definition;
  const table = { name, alias: null, query: null, span: { start: 0, end: 0, line: 1, column: 1 } };
  const { columns, node } = planTable(new Source(0, definition, table, new Values()));
  return {
    sources: [{ stream: name, columns: columns.map(({ use }) => use) }],
    nodes: [node],
    topology: { sources: [], edges: {} },
    operators: [],
    outputFields: [],
  };
}

/** Taps that show the rows between the operators of a rule while it is traced. */
export function ruleTaps(rule: RuleDefinition, catalog: Catalog, fold: Fold): Tap[] {
  return tapsOf(plan(rule, catalog, fold).physical, rule.options.sendError);
}

/** Warnings for the user about the operators of a rule. */
export function warningsOf(roots: readonly Root[]): string[] {
  return [...new Set(roots.flatMap(({ node }) => growthWarnings(node)))];
}

/** Names of the streams and tables that the statement reads, joins included. */
export function sourcesOf(sql: string): string[] {
  return [...new Set(streamsIn(parseQuery(sql)).map(({ name }) => name))];
}

/** All that is made of a rule on the way to its plan. */
export function plan(rule: RuleDefinition, catalog: Catalog, fold: Fold): Planned {
  const values = new Values();
  const { graph } = rule;
  for (const action of rule.actions) if (action.deadLettersOf !== undefined) checkLetterSink(action, rule.options);
  const { sources, roots, remarks } =
    graph === undefined
      ? planStatement(rule, catalog, values, fold)
      : { ...planGraph(graph, rule, catalog, values), remarks: [] };
  const all = withDelays(withLateRows(roots, rule, values), values);
  const single = splitFilters(groupInWindows(pushFilters(foldConstants(all, values, fold))), values);
  const joined = filterBeforeWindowJoin(filterBeforeJoin(filterBeforeLookup(streamFirst(single))));
  const better = countOfNothing(joined, values, fold);
  const outputFields = [...new Set(roots.flatMap(({ node }) => outputFieldsOf(node.row)))];
  return {
    sources,
    roots: better,
    outputFields,
    remarks,
    physical: lower(better, rule, values, sources),
    brought: values.brought,
  };
}

/** Each SELECT is a root for all of the actions, unless each action has rows of its own. */
function planStatement(
  rule: RuleDefinition,
  catalog: Catalog,
  values: Values,
  fold: Fold,
): Pick<Planned, 'sources' | 'roots' | 'remarks'> {
  const { sources, roots, remarks } = analyse(parseQuery(rule.sql), rule, catalog, values, fold);
  const actions = rowActions(rule.actions);
  return {
    sources,
    remarks,
    roots: roots.map((node, i) => ({ node, actions: rule.divides === undefined ? actions : [i] })),
  };
}

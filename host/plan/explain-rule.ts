/** EXPLAIN; loaded when somebody asks. */
import type { Catalog, RuleDefinition } from '../model/engine.js';
import { explainLines } from './explain/explain.js';
import { type Fold, plan, warningsOf } from './index.js';

/** The plan as text, a line for each operator from the sinks down to the streams, then one for each warning. */
export function explainRule(rule: RuleDefinition, catalog: Catalog, fold: Fold): string {
  const { roots, remarks, physical } = plan(rule, catalog, fold);
  const warnings = [...new Set(remarks), ...warningsOf(roots)].map((info) => JSON.stringify({ op: 'Warning', info }));
  return [...roots.map(({ node }) => explainLines(node, physical)), ...warnings].join('\n');
}

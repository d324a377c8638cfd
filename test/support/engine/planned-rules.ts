/** What the planner tests share: streams, rules, and a fold that computes nothing. */

import '../../../host/plan/statement/pattern-ready.js';
import type { Catalog, RuleDefinition, RuleOptions } from '../../../host/model/engine.js';
import { type Fold, planRule } from '../../../host/plan/index.js';
import { parseCreate } from '../../../host/sql/parser.js';
import { defineSource } from '../../../host/sql/source-def.js';
import { showPlan } from '../plan/show-plan.js';
import { defaultOptions } from './rule-options.js';

export const noFold: Fold = () => ({ error: 'nothing is folded here' });

/** A catalogue of the streams that the statements create. */
export function catalogOf(...statements: string[]): Catalog {
  const sources = new Map(statements.map((text) => defineSource(parseCreate(text))).map((one) => [one.name, one]));
  return { source: (name) => sources.get(name), confKey: () => undefined, connection: () => undefined };
}

/** `demo` has no schema, `typed` declares columns, `raw` delivers bytes, `timed` has event time. */
export const streams = catalogOf(
  'CREATE STREAM demo () WITH (DATASOURCE="demo", FORMAT="json", TYPE="memory")',
  'CREATE STREAM typed (a BIGINT, b STRING, st STRUCT(x BIGINT), arr ARRAY(FLOAT)) WITH (DATASOURCE="t", TYPE="mqtt")',
  'CREATE STREAM raw () WITH (DATASOURCE="raw", FORMAT="binary")',
  'CREATE STREAM timed () WITH (DATASOURCE="timed", TIMESTAMP="ts", TYPE="memory")',
);

export function ruleOf(
  sql: string,
  options: Partial<RuleOptions> = {},
  actions: RuleDefinition['actions'] = [{ type: 'file', props: {} }],
): RuleDefinition {
  return { id: 'r1', name: 'r1', sql, actions, options: { ...defaultOptions, ...options }, triggered: true };
}

/** Text of the plan of a statement. */
export function shown(sql: string, options: Partial<RuleOptions> = {}, actions?: RuleDefinition['actions']): string {
  return showPlan(planRule(ruleOf(sql, options, actions), streams, noFold));
}

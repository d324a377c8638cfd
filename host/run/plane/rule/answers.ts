/** Answers about one rule of a data plane; `undefined` is a rule that does not run. */
import type { PackedFigures, RunStatus, TableRow } from '../../../model/figures.js';
import { blockMessage } from '../observe/blocks.js';
import type { ErrorLog } from '../observe/error-log.js';
import { metricsOf } from '../observe/metrics.js';
import { packedFigures } from '../observe/packed-figures.js';
import { troublesOf } from '../observe/trouble.js';
import type { RuleRun } from './rule-run.js';

export function statusOf(rule: RuleRun | undefined, errors: ErrorLog): RunStatus | undefined {
  if (rule === undefined || rule.isEnding) return undefined;
  return { metrics: metricsOf(rule), message: blockMessage(rule), troubles: troublesOf(rule, errors) };
}

/** Figures of no run. */
export const nothing: PackedFigures = { names: [], runs: [] };

export function figuresOf(runs: readonly number[], rules: ReadonlyMap<number, RuleRun>): PackedFigures {
  const there = runs.flatMap((run) => rules.get(run) ?? []);
  return packedFigures(there.filter(({ isEnding }) => !isEnding));
}

export function tableRowsOf(rule: RuleRun | undefined): TableRow[] {
  return rule === undefined || rule.isEnding ? [] : rule.tableRows();
}

export function resetSource(rule: RuleRun | undefined, stream: string, position: unknown): string | undefined {
  const source = rule?.sources.find(({ name }) => name === stream);
  return source === undefined ? 'the rule does not run' : source.seek(position);
}

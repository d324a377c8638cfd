/** Answers about one rule of a data plane; `undefined` is a rule that does not run. */
import type { PackedFigures, RunStatus, TableRow } from '../../../model/figures.js';
import { blockMessage } from '../observe/blocks.js';
import type { ErrorLog } from '../observe/error-log.js';
import { metricsOf } from '../observe/metrics.js';
import { packedFigures } from '../observe/packed-figures.js';
import { troublesOf } from '../observe/trouble.js';
import type { RuleRun } from './rule-run.js';

type Rules = ReadonlyMap<number, RuleRun>;

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

/** See `Questions`. */
export async function holdStream(rules: Rules, run: number, sharers: readonly number[]): Promise<boolean> {
  const source = rules.get(run)?.sources[0];
  const handed = source?.handed?.get(run);
  if (source === undefined || handed === undefined || source.isEnded) return false;
  const others = sharers.flatMap((one) => rules.get(one)?.sources ?? []).filter(({ name }) => name === source.name);
  if (others.some((other) => other !== source)) return false;
  await handed.hold();
  return true;
}

export function releaseStream(rules: Rules, run: number, planes: readonly number[]): void {
  void rules.get(run)?.sources[0]?.handed?.get(run)?.release(planes);
}

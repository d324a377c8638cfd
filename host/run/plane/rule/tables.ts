/** Scan tables of running rules: the joins that keep their rows, and the rows. */
import type { Kernel, NodeHandle } from '../../../../kernels/api.js';
import type { RulePlan } from '../../../../kernels/plan/ir.js';
import type { TableRow } from '../../../model/figures.js';
import type { JoinedTable, RunningSource } from '../running/running.js';

/** Finds the scan tables of a rule: the sources that ports connect to joins. */
export function joinedTables(
  { nodes, sources }: RulePlan,
  running: readonly RunningSource[],
  handleOf: (node: number) => NodeHandle,
): JoinedTable[] {
  return nodes.flatMap((node) => {
    if (node.kind !== 'port' || nodes[node.into]?.kind !== 'join' || !('source' in node.input)) return [];
    const { stream: name, columns } = sources[node.input.source]!;
    const source = running[node.input.source]!;
    return [{ name, source, columns, join: handleOf(node.into), branch: node.branch }];
  });
}

/** Whether the rule joins with tables that are about to be read from files. */
export function readsTables({ nodes }: RulePlan, running: readonly RunningSource[]): boolean {
  return nodes.some(
    ({ kind, input }) => kind === 'port' && 'source' in input && running[input.source]?.endsSoon === true,
  );
}

/** Empty set of most rules, which have no lookup tables: a set of its own for each would be a tenth of a rule. */
export const noSources: ReadonlySet<RunningSource> = new Set();

/** Sources of the lookup tables of a rule. */
export function keptSources({ nodes }: RulePlan, running: readonly RunningSource[]): ReadonlySet<RunningSource> {
  const kept: RunningSource[] = [];
  for (const { kind, input } of nodes) {
    if (kind === 'keyedTable' && input !== null && 'source' in input) kept.push(running[input.source]!);
  }
  return kept.length === 0 ? noSources : new Set(kept);
}

/** Reads the rows that a table holds now, oldest first. */
export function rowsOf({ name, columns, join, branch }: JoinedTable, kernel: Kernel): TableRow[] {
  const whole = columns.findIndex(({ kind }) => kind === 'row');
  return kernel.tableRows(join, branch, columns.length).map((values) => {
    const members = columns.flatMap((use, i) => {
      const value = values[i] ?? null;
      return use.kind === 'field' && value !== null ? [`${JSON.stringify(use.name)}:${value}`] : [];
    });
    return { emitter: name, content: values[whole] ?? `{${members.join(',')}}` };
  });
}

/** The node of a lookup: what its rows bring, what they are looked up by, what of them goes on. */
import type { NodePlan, WaitingPlan } from '../../kernels/ir.js';
import type { Logical } from './logical.js';
import { isByKey } from './lookup.js';
import { type Path, ProgramBuilder } from './program.js';
import type { ColumnValue, Value } from './value.js';
import { windowNeeds } from './window-needs.js';

interface Place {
  /** Node of the table, or that of one that is asked among the lookups of the rule. */
  readonly table: number;
  /** Number of the node that is made. */
  readonly index: number;
  readonly path: Path;
  /** Columns of the table that the rule needs. */
  readonly own: readonly ColumnValue[];
  /** Values that are computed above. */
  readonly above: readonly Value[];
  /** True for values that operators below have computed. */
  readonly isHeld: (value: Value) => boolean;
}

/** What holds until the table's own properties are known, at the start of the rule. */
const usualWaiting: WaitingPlan = { timeoutMs: 10_000, batches: 16, cache: null };

/** Plans the node: its columns are what those above need of the rows so far, then what they need of the table. */
export function lookupNode(
  { source, type, keys, condition }: Extract<Logical, { kind: 'lookup' }>,
  { table, index, path, own, above, isHeld }: Place,
): { plan: NodePlan; path: Path } {
  const values = condition === null ? above : [...above, condition];
  const { keep, start, end, trigger } = windowNeeds(values, () => false, isHeld);
  const needed = [...keep, start, end, trigger].filter((value) => value !== null);
  const carried = needed.filter((value) => path.find(value) !== undefined);
  const builder = new ProgramBuilder(path);
  const plan: Extract<NodePlan, { kind: 'lookup' | 'ask' }> = {
    ...(source.isAsked
      ? { kind: 'ask', lookup: table, isSingle: isByKey({ source, keys }), waiting: usualWaiting }
      : { kind: 'lookup', table }),
    input: path.input,
    type,
    keys: keys.map(({ name, value }) => ({ name, operand: builder.operand(value) })),
    columns: carried.map((value) => builder.operand(value)),
    fields: own.map(({ use }) => use),
    program: builder.finishOrNull(),
    condition: null,
    name: 'lookup',
  };
  const after = path.afterNew(index, [...carried, ...own]);
  if (condition === null) return { plan, path: after };
  // What the condition computes nobody below sees: it belongs to pairs, not all of which go on.
  const pair = new ProgramBuilder(after);
  const operand = pair.operand(condition);
  plan.condition = { program: pair.finish(), operand };
  return { plan, path: after.afterNew(index, [...carried, ...own]) };
}

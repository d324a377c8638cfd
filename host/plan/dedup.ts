/** dedup_trigger: an operator below the SELECT, in which rows wait for the end of the range of time that they ask for. */
import type { NodePlan } from '../../kernels/ir.js';
import { refuse } from './errors.js';
import { type Logical, valuesOf } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';
import { childrenOf, type RangesValue, type Value } from './value.js';
import { windowNeeds } from './window-needs.js';

type Project = Extract<Logical, { kind: 'project' }>;

/** The SELECT with operators for the ranges in it, those named first below. */
export function withRanges(root: Project, isOfMessages: boolean): Project {
  const found = rangesIn(valuesOf(root));
  if (found.length === 0) return root;
  if (isOfMessages) throw refuse('dedup_trigger works on the rows of a stream: it cannot stand above a window');
  const input = found.reduce<Logical>((below, ranges) => ({ kind: 'dedup', input: below, ranges }), root.input);
  return { ...root, input };
}

function rangesIn(values: readonly Value[]): RangesValue[] {
  const found = new Set<RangesValue>();
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    childrenOf(value).forEach(visit);
    if (value.kind === 'ranges') found.add(value);
  };
  values.forEach(visit);
  return [...found];
}

/**
 * The node, and the columns that go on before the ranges.
 * @param above values that are computed above
 * @param isHeld true for values that operators below have computed
 */
export function dedupNode(
  { begin, end, now, expireMs }: RangesValue,
  path: Path,
  above: readonly Value[],
  isHeld: (value: Value) => boolean,
): { plan: NodePlan; carried: readonly Value[] } {
  const carried = windowNeeds(above, () => false, isHeld).keep.filter((value) => path.find(value) !== undefined);
  const builder = new ProgramBuilder(path);
  const [from, to, at] = [begin, end, now].map((value) => builder.operand(value));
  const columns = carried.map((value) => builder.operand(value));
  const program = builder.finishOrNull();
  const times = { begin: from!, end: to!, now: at! };
  return {
    plan: { kind: 'dedup', input: path.input, program, columns, ...times, expireMs, name: 'dedup_trigger' },
    carried,
  };
}

/** Common parts of the joins by time (as-of, interval): their place, the values they carry, their keys. */
import type { Operand } from '../../../../kernels/plan/ir.js';
import { levelOf } from '../../logical/logical.js';
import type { ProgramBuilder } from '../../program/program.js';
import { isNone, windowNeeds } from '../../program/window-needs.js';
import type { Value } from '../../values/value.js';
import type { Lowering, Of } from '../operator.js';

type TimedJoin = Of<'asof' | 'interval'>;

/** A value that is needed above, by the operand of the batch that has it. */
export interface Kept {
  readonly value: Value;
  readonly operand: Operand;
}

/** Values of the join's rows that operators above and the condition of the join need. */
export function keptBy(node: TimedJoin, at: Lowering): readonly Kept[] {
  // Keys are computed of rows as they come; nothing else needs the values that they are made of.
  const condition = node.kind === 'interval' ? node.condition : null;
  const above = [...at.valuesAbove(node), ...(condition === null ? [] : [condition])];
  const ofStreams = at.ownedByStreams(above);
  const { keep } = windowNeeds(above, isNone, (value) => ofStreams.has(value) || at.isHeld(value));
  return keep.flatMap((value) => {
    const operand = at.path.find(ofStreams.get(value) ?? value);
    return operand === undefined ? [] : [{ value, operand }];
  });
}

export function keysOf({ keys }: TimedJoin, builder: ProgramBuilder): { left: Operand; right: Operand }[] {
  return keys.map(({ left, right }) => ({ left: builder.operand(left), right: builder.operand(right) }));
}

/** Values of the keys. */
export function keyValues({ keys }: TimedJoin): Value[] {
  return keys.flatMap(({ left, right }) => [left, right]);
}

/** The keys with their values replaced. */
export function mapKeys<N extends TimedJoin>({ keys }: N, map: (value: Value) => Value): N['keys'] {
  return keys.map(({ left, right }) => ({ left: map(left), right: map(right) }));
}

/** The branch of a source in the merge by which the rows come. */
export function branchOf(node: TimedJoin, source: number): number {
  const [bottom] = levelOf(node);
  if (bottom?.kind !== 'merge') throw new Error('a join by time of rows that come by no merge');
  return bottom.sources.findIndex(({ index }) => index === source);
}

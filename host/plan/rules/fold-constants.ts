/**
 * Computes what does not depend on rows, through the kernel itself, so that a folded expression has exactly the value
 * it would have had at run time. What fails stays as it is: the error belongs to the rows.
 */
import type { ConstValue, Op, Program } from '../../../kernels/plan/ir.js';
import { mapOperators, type Root } from '../logical/logical.js';
import { mapOwnValues } from '../operators/index.js';
import { Path, ProgramBuilder } from '../program/program.js';
import type { OpValue, Value, Values } from '../values/value.js';

/** Evaluates a program without columns on one row; see Kernel.evaluate. */
export type Fold = (program: Program, result: number) => { value: ConstValue } | { error: string };

/** Operations that give values for which there is no constant, or that depend on more than their operands. */
const unfoldable: ReadonlySet<Op['op']> = new Set<Op['op']>([
  'call.host',
  'list.map',
  // A few letters can make a value of megabytes, which rows should ask for.
  'list.repeat',
  'list.sequence',
  'cast.toDatetime',
  'cast.toBytea',
  'convert.decode',
]);

/** The plan with constants in the place of values that `fold` could compute. */
export function foldConstants(roots: readonly Root[], values: Values, fold: Fold): Root[] {
  const done = new Map<Value, Value>();
  const change = (value: Value): Value => (isFoldable(value) ? folded(value, values, fold) : value);
  return mapOperators(roots, (node) => mapOwnValues(node, (value) => values.rewrite(value, change, done)));
}

/** The constant that a value without columns is; null where it is none. */
export function constantOf(value: Value, values: Values, fold: Fold): ConstValue | null {
  const result = values.rewrite(value, (one) => (isFoldable(one) ? folded(one, values, fold) : one));
  return result.kind === 'const' ? result.value : null;
}

/** As `constantOf` for numbers. */
export function constantNumber(value: Value, values: Values, fold: Fold): number | null {
  const result = constantOf(value, values, fold);
  return result?.tag === 'i64' || result?.tag === 'f64' ? Number(result.value) : null;
}

function isFoldable(value: Value): value is OpValue {
  if (value.kind !== 'op' || value.isVolatile || unfoldable.has(value.op)) return false;
  const operands = [...value.operands.filter((operand) => operand !== null), ...value.args];
  return operands.length > 0 && operands.every(({ kind }) => kind === 'const');
}

function folded(value: OpValue, values: Values, fold: Fold): Value {
  const builder = new ProgramBuilder(Path.ofSource(0, []));
  const result = builder.operand(value);
  const outcome = fold(builder.finish(), result);
  return 'value' in outcome ? values.constant(outcome.value) : value;
}

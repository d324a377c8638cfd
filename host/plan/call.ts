/** Calls of functions that answer later: the operator in which rows wait for the answer. */
import type { NodePlan } from '../../kernels/ir.js';
import type { UserFunction } from '../plugins/define.js';
import { refuse } from './errors.js';
import type { Logical } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';
import type { OpValue, Value, Values } from './value.js';
import { windowNeeds } from './window-needs.js';

/** What holds for all such functions: how long a batch may wait, how many batches before the sources of the rule pause. */
export const callWaiting = { timeoutMs: 60_000, batches: 16, cache: null } as const;

/** What a call is looked up by, and the member of its answer. */
const callKey = 'call';
const resultName = 'value';

/** Member with the number of arguments; their places are the names of the others. */
const callCount = 'n';

/**
 * The answer of a function that answers later. Its arguments go as one text, so that it gets lists, objects and nulls as well;
 * equal calls are one: nobody is asked twice for a row. Those of a module on a thread of its own go as they are, each by itself.
 */
export function askedCall({ number, code }: UserFunction, args: readonly Value[], values: Values): Value {
  // Nobody knows what a module keeps from one call to the next.
  if (code.kind === 'wasm') return values.op('call.host', [], args, number, true);
  const count = values.constant({ tag: 'i64', value: BigInt(args.length) });
  const members = args.flatMap((arg, i) => [values.text(String(i)), arg]);
  const object = values.op('nested.objectOf', [], [values.text(callCount), count, ...members]);
  return values.op('call.host', [], [values.op('convert.toJson', [object])], number);
}

/** True for the answer of a function that answers later. */
export function isAnswered(value: Value, waiting: ReadonlySet<number>): boolean {
  return value.kind === 'op' && value.op === 'call.host' && waiting.has(value.imm);
}

/** Refuses answers where rows can't wait for them: pairs of a join are made and dropped at once. */
export function checkPlace({ kind }: Logical, read: Iterable<Value>, { brought, waiting }: Values): void {
  if (kind !== 'join' && kind !== 'asof' && kind !== 'interval' && kind !== 'lookup') return;
  for (const value of read) {
    if (value.kind !== 'op' || !isAnswered(value, waiting)) continue;
    throw refuse(`function ${brought.get(value.imm)} answers later: it can't be called in ON`);
  }
}

/**
 * The node in which rows wait, and the columns that go on before the answer.
 * @param lookup its place among what the rule asks
 * @param above values that are computed above
 * @param isHeld true for values that operators below have computed
 */
export function callNode(
  call: OpValue,
  lookup: number,
  path: Path,
  above: readonly Value[],
  isHeld: (value: Value) => boolean,
): { plan: NodePlan; carried: readonly Value[] } {
  const { keep, start, end, trigger } = windowNeeds(
    above,
    () => false,
    (value) => value === call || isHeld(value),
  );
  const kept = [...keep, start, end, trigger].filter((value) => value !== null);
  const carried = kept.filter((value) => path.find(value) !== undefined);
  const builder = new ProgramBuilder(path);
  const keys = call.args.map((arg) => ({ name: callKey, operand: builder.operand(arg) }));
  const columns = carried.map((value) => builder.operand(value));
  const plan: NodePlan = {
    kind: 'ask',
    lookup,
    input: path.input,
    type: 'left',
    program: builder.finishOrNull(),
    columns,
    fields: [{ kind: 'field', name: resultName, type: { type: 'any' } }],
    keys,
    condition: null,
    isSingle: true,
    ...(call.isVolatile ? { isEach: true } : {}),
    waiting: callWaiting,
    name: 'call',
  };
  return { plan, carried };
}

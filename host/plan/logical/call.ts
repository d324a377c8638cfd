/** Calls of functions that answer later: what is asked, and where rows can wait for the answer. */

import type { WaitingPlan } from '../../../kernels/plan/ir.js';
import type { UserFunction } from '../../plugins/define.js';
import { functionErrors } from '../errors/function.js';
import type { Value, Values } from '../values/value.js';
import type { Logical } from './logical.js';

/**
 * Limits of functions that answer later: their time, and the batches that wait before the sources of the rule pause.
 */
export const usualWaiting: WaitingPlan = { timeoutMs: 60_000, batches: 16, cache: null };

/** Time beyond that of a batch: its service ends it by itself, with the answers that have come. */
const lateMs = 5000;

/** Limits of the waiting for answers of a function; services have their own. */
export function callWaiting(code: UserFunction['code']): WaitingPlan {
  if (code.kind !== 'service') return usualWaiting;
  return { ...usualWaiting, timeoutMs: code.batchMs + lateMs, batches: code.waitingBatches };
}

/** Column by which a call is looked up; `resultName` is the member with its answer. */
export const callKey = 'call';
export const resultName = 'value';

/** Member with the number of arguments; their places are the names of the others. */
const callCount = 'n';

/**
 * The answer of a function that answers later. Its arguments go as one text, so that it gets lists, objects and nulls
 * as well; equal calls are one: nobody is asked twice for a row. Those of a module on a thread of its own, or of a
 * library, go as they are, each by itself.
 */
export function askedCall({ number, code }: UserFunction, args: readonly Value[], values: Values): Value {
  // A plugin takes the text of its arguments, call by call: nobody knows what it keeps from one to the next.
  if (code.kind === 'portable') {
    const list = values.op('convert.toJson', [values.op('nested.arrayOf', [], args)]);
    return values.op('call.host', [], [list], number, true);
  }
  // The same is true of a module.
  if (code.kind !== 'service') return values.op('call.host', [], args, number, true);
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
    throw functionErrors.answersInOn(brought.get(value.imm));
  }
}

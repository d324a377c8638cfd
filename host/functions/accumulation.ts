/** Arguments of accumulations. */
import type { ArgKind, ArgSpec, LiteralArg } from './define.js';

/** Arguments of accumulating functions: the value, and the conditions that begin and reset. */
export const accumulatedArgs: ArgSpec[] = [
  { name: 'value', type: 'any', takes: ['number'] },
  { name: 'begin', type: 'boolean', optional: true },
  { name: 'reset', type: 'boolean', optional: true },
];

/** Kinds of values by which rows can be ordered. */
export const orderedKinds: readonly ArgKind[] = ['number', 'string', 'datetime'];

/** Refuses a condition for the beginning without one for the end. */
export function bothConditions(args: readonly LiteralArg[]): string | undefined {
  return args.length === 2 ? 'it takes 1 or 3 arguments, not 2' : undefined;
}

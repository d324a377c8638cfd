/** Arguments of accumulations. */
import type { LiteralArg } from './define.js';

/** Refuses a condition for the beginning without one for the end. */
export function bothConditions(args: readonly LiteralArg[]): string | undefined {
  return args.length === 2 ? 'it takes 1 or 3 arguments, not 2' : undefined;
}

/** What the start of a rule fixes for its run. Rules of a form share it: for each it would be a hundred bytes. */
import type { UserFunction } from '../../../plugins/define.js';
import type { PortableCode } from '../../../plugins/portable/code.js';
import type { RuleStart } from '../../link/protocol.js';

type Operators = RuleStart['plan']['operators'];

export interface Terms {
  readonly operators: Operators;
  /** See `RuleStart`. */
  readonly flushTimeoutMs: number | undefined;
  readonly isDebug: boolean;
  /** See `RuleStart`. */
  readonly isTable: boolean;
  /** See `RuleStart`. */
  readonly stopsWhenFull: boolean;
  /** See `RunningRule`. */
  readonly dropsInput: boolean;
  /** See `RunningRule`. */
  readonly inputLimitBytes: number;
  /** See `RunningRule`. */
  readonly maxStateBytes: number;
  /** See `RuleStart`. */
  readonly functions: readonly UserFunction[];
  /** See `RuleStart`. */
  readonly portables: readonly PortableCode[];
}

/** Bound of waiting input, as a multiple of the sinks' bound and in bytes. */
const sinkLimits = 16;
const maxInputBytes = 256 * 1024 * 1024;
const noFunctions: readonly UserFunction[] = [];
const noPortables: readonly PortableCode[] = [];

/** The terms of the last rule that had these operators. */
const lastOf = new WeakMap<Operators, Terms>();

/** @param operators those of the rule, or an equal list of others */
export function termsOf(start: RuleStart, operators: Operators): Terms {
  const terms: Terms = {
    operators,
    flushTimeoutMs: start.flushTimeoutMs,
    isDebug: start.isDebug === true,
    isTable: start.isTable === true,
    stopsWhenFull: start.stopsWhenFull === true,
    dropsInput: start.dropsInput === true,
    inputLimitBytes: Math.min(start.sinkLimitBytes * sinkLimits, maxInputBytes),
    maxStateBytes: start.maxStateBytes ?? Number.POSITIVE_INFINITY,
    functions: start.functions ?? noFunctions,
    portables: start.portables ?? noPortables,
  };
  const last = lastOf.get(operators);
  if (last !== undefined && isEqual(last, terms)) return last;
  lastOf.set(operators, terms);
  return terms;
}

function isEqual(one: Terms, other: Terms): boolean {
  return (Object.keys(one) as (keyof Terms)[]).every((name) => one[name] === other[name]);
}

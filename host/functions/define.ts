/**
 * The form in which SQL functions are declared. Each function is a file of its own,
 * `host/functions/<category>/<name>.ts`, with a default export made by `defineFunction`, or `defineAggregate`; `npm run
 * gen` lists the files in `gen/index.ts`.
 */
import type { HostColumns } from '../../kernels/api.js';
import { type AggregateName, aggregates, type OpName } from '../../kernels/gen/ops.js';
import type { AnalyticName } from '../../kernels/plan/ir.js';
import { Instant, ValueError } from '../../kernels/values/value.js';
import type { UserFunction } from '../plugins/define.js';

/** Type that a literal argument must have; other arguments are checked when rows arrive. */
export type ArgType = 'any' | 'number' | 'int' | 'string' | 'boolean' | 'datetime';

/**
 * Kinds of values as functions tell them apart: a number is whole or not, `datetime` stands for all that is read as a
 * time.
 */
export type ArgKind = 'any' | 'number' | 'string' | 'boolean' | 'datetime' | 'bytea' | 'array' | 'struct';

export interface ArgSpec {
  name: string;
  type: ArgType;
  /**
   * Kinds that the argument takes, when its type does not say it. Values of other kinds are errors of their rows, and
   * are refused when the statement shows them. An argument of type `string` takes all kinds, as text, unless this is
   * set.
   */
  takes?: readonly ArgKind[];
  /** May be left out; only the last arguments can be optional. */
  optional?: boolean;
  /** Any number of further arguments of this kind (one at least, unless optional as well); only the last argument. */
  variadic?: boolean;
}

/** Value of a literal argument; undefined when the argument is any other expression. */
export type LiteralArg = null | boolean | bigint | number | string | undefined;

/** Functions that the planner itself replaces; host/plan/bind/specials.ts has an entry for each. */
export type Special =
  | 'cast'
  | 'meta'
  | 'tstamp'
  | 'eventTime'
  | 'windowStart'
  | 'windowEnd'
  | 'windowTrigger'
  | 'ruleId'
  | 'hitCount'
  | 'hitTime'
  | 'windowHitCount'
  | 'windowHitTime'
  | 'ruleStart'
  | 'arrayMap'
  | 'delay'
  | 'lead'
  | 'dedupTrigger'
  | 'incLastValue'
  | 'wasmRun';

/** How the function gets its value: exactly one of these. */
export type Implementation =
  /** An operation of the kernel: the arguments become its operands in order, the rest its `args`. */
  | { op: OpName; imm?: number }
  /** A host function over whole columns, for what needs a host library. */
  | { call: (columns: HostColumns) => void }
  /** Makes rows of one row: one for each element of the list, or one with the members of the object. */
  | { rows: 'elements' | 'members' }
  /** A function that looks back at the rows before; of `present` the result is null in rows without a value. */
  | { analytic: AnalyticName; present?: true }
  /** The planner replaces the call. */
  | { special: Special }
  /** Code that a user brought. */
  | { user: UserFunction };

export interface FunctionDetails {
  name: string;
  /** Further names with the same meaning. */
  aliases?: string[];
  category: string;
  args: ArgSpec[];
  /** Type of the result as shown to users. */
  returns: string;
  /** `propagate`: null when any argument is null; `handles`: the implementation decides. */
  nulls: 'propagate' | 'handles';
  doc: string;
  example: string;
  /** Gives another value each time: never folded, never shared between expressions. */
  isVolatile?: boolean;
  /** Reads times, or gives them: the zone of the rule follows the arguments, unless that is UTC. */
  isZoned?: boolean;
  /** A function that a user brings under the name takes the place of this one. */
  givesWay?: boolean;
  /** Checks literal arguments; returns the reason for a refusal. */
  check?: (args: readonly LiteralArg[]) => string | undefined;
}

/** An aggregate of the window kernels. */
type Aggregate = { aggregate: AggregateName };

export type FunctionDefinition = FunctionDetails & { implementation: Implementation | Aggregate };

/** Declares an aggregate: what it is called in SQL and what the kernel does stand in `assembly/agg/aggregates.json`. */
export function defineAggregate(
  aggregate: AggregateName,
  details: Pick<FunctionDetails, 'args' | 'returns' | 'doc' | 'example'>,
): FunctionDefinition {
  const { sql } = aggregates[aggregate];
  return { name: sql, category: 'aggregate', nulls: 'handles', ...details, implementation: { aggregate } };
}

/** Declares a function that is no aggregate; the kinds of implementation are mutually exclusive. */
export function defineFunction(details: FunctionDetails & Implementation): FunctionDefinition {
  const { name, aliases, category, args, returns, nulls, doc, example, ...more } = details;
  const { isVolatile, isZoned, givesWay, check } = more;
  const shared = { name, aliases, category, args, returns, nulls, doc, example, isVolatile, isZoned, givesWay, check };
  if ('op' in details) return { ...shared, implementation: { op: details.op, imm: details.imm } };
  if ('call' in details) return { ...shared, implementation: { call: details.call } };
  if ('user' in details) return { ...shared, implementation: { user: details.user } };
  if ('rows' in details) return { ...shared, implementation: { rows: details.rows } };
  if ('analytic' in details) {
    return { ...shared, implementation: { analytic: details.analytic, present: details.present } };
  }
  return { ...shared, implementation: { special: details.special } };
}

/** Smallest and largest number of arguments; null: any number. */
export function arity(args: readonly ArgSpec[]): { min: number; max: number | null } {
  const last = args.at(-1);
  return {
    min: args.filter((arg) => !arg.optional).length,
    max: last?.variadic ? null : args.length,
  };
}

/**
 * Makes a host function out of one that works on the values of a row. With `propagate`, rows with a null, missing or
 * empty (list or object) argument give null without a call. An argument that failed, or what it throws, is the row's
 * error.
 */
export function perRow(
  nulls: 'propagate' | 'handles',
  compute: (...args: unknown[]) => unknown,
): (columns: HostColumns) => void {
  return (columns) => {
    const args = new Array<unknown>(columns.argCount);
    for (let k = 0; k < columns.count; k++) {
      if (readArgs(columns, k, nulls, args)) setResult(columns, k, () => compute(...args));
    }
  };
}

/** Reads the arguments of row k; false when they decide the result by themselves, which is set then. See `perRow`. */
function readArgs(columns: HostColumns, k: number, nulls: 'propagate' | 'handles', args: unknown[]): boolean {
  let hasNull = false;
  let failed: ValueError | null = null;
  for (let i = 0; i < args.length; i++) {
    const value = columns.get(i, k);
    args[i] = value;
    if (value instanceof ValueError) failed ??= value;
    else hasNull ||= isAbsent(value);
  }
  if (failed !== null) columns.fail(k, failed.message);
  else if (hasNull && nulls === 'propagate') columns.set(k, null);
  else return true;
  return false;
}

/** Sets the result of row k to what the call returns or to the error that it throws. */
function setResult(columns: HostColumns, k: number, compute: () => unknown): void {
  try {
    columns.set(k, compute());
  } catch (error) {
    columns.fail(k, error instanceof Error ? error.message : String(error));
  }
}

/** Null, missing, or a list or object without content. */
export function isAbsent(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value !== 'object' || value instanceof Uint8Array || value instanceof Instant) return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

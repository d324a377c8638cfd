/** What a wrapper (wrapper.ts) is made for, what it exports, and how it marks arguments that do not fit. */
import type { PureFunction } from './pure.js';
import { numberTypes, type Signature } from './types.js';

/** What a wrapper exports; globals are `WebAssembly.Global`s. */
export interface WrapperExports {
  /**
   * Calls the function for the rows `from` to `count` (exclusive) of the selection; the other arguments are those of
   * the kernel's host call. Returns how many rows got a mark instead of a result, because an argument does not fit
   * (`markOf`).
   */
  run(from: number, count: number, sel: number, table: number, vals: number, tags: number): number;
  /** Place in the selection of the row under way. */
  readonly at: { readonly value: number };
  /** Fuel that one call may use. */
  readonly callFuel: { value: bigint };
  /** Fuel left for the batch. A call that traps has used all that it was given. */
  readonly batchFuel: { value: bigint };
  /** With less fuel than that it comes back before the next row, whose place `at` is then. */
  readonly pauseAt: { value: bigint };
  /** Not 0: eight rows are under way, of which `at` is the first. */
  readonly inEight: { readonly value: number };
}

/** What is known of a function. */
export interface CallShape {
  /** It only computes, and stands in the wrapper itself: a row needs neither a call nor fuel. */
  readonly pure?: PureFunction | undefined;
  /** It charges nothing, and has the fuel of a call for all rows. */
  readonly isFree?: boolean;
  /** Its module has a sister that takes eight rows (eights.ts): `guest.eight`, results in `guest.result0` and so on. */
  readonly hasEight?: boolean;
}

/** Why an argument does not fit its parameter. */
export const Misfit = { type: 1, fraction: 2, range: 3 } as const;

/** Most arguments of a host call. */
const maxParams = 64;
export const bitsOfArgument = 8;

/** What a mark says: the low half of a payload; undefined when it is no mark. */
export function markOf(payload: number): { readonly argument: number; readonly misfit: number } | undefined {
  const misfit = payload & ((1 << bitsOfArgument) - 1);
  return misfit === 0 ? undefined : { argument: payload >>> bitsOfArgument, misfit };
}

/** Why a function can't be called by a wrapper, or undefined when it can. */
export function reasonAgainst(signature: Signature): string | undefined {
  const { params, results } = signature;
  const odd = [...params, ...results].find((type) => !numberTypes.has(type));
  if (odd !== undefined) return `${odd} is no number`;
  if (results.length !== 1) return `it gives ${results.length === 0 ? 'no result' : `${results.length} results`}`;
  if (params.length > maxParams) return `it has ${params.length} parameters, at most ${maxParams} are allowed`;
  return undefined;
}

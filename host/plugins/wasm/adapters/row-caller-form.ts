/** Form of a row caller (row-caller.ts): its inputs, its exports, and its marks for arguments that do not fit. */

import { numberTypes, type Signature } from '../binary/types.js';
import type { InlineFunction } from '../passes/pass.js';

/** Exports of a row caller; globals are `WebAssembly.Global`s. */
export interface RowCallerExports {
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
  /** Fuel below which `run` returns before the next row, whose place is then in `at`. */
  readonly pauseAt: { value: bigint };
  /** Not 0 while one call works on the eight rows from `at` on. */
  readonly inUnrolled: { readonly value: number };
}

/** Findings of the passes about the function; each of them makes its calls faster (passes/list.ts). */
export interface RowCallerShape {
  /** Code that stands in the caller itself: a row needs neither a call nor fuel. */
  readonly inlined?: InlineFunction | undefined;
  /** The function charges nothing, and has the fuel of one call for all rows. */
  readonly isUncharged?: boolean;
  /** Rows without gaps have a loop of their own (dense-rows.ts). */
  readonly hasDenseLoop?: boolean;
  /** The import `guest.unrolled` takes eight rows, with results in `guest.result0` to `guest.result7`. */
  readonly isUnrolled?: boolean;
}

/** Why an argument does not fit its parameter. */
export const Misfit = { type: 1, fraction: 2, range: 3 } as const;

/** Most arguments of a host call. */
const maxParams = 64;
export const bitsOfArgument = 8;

/** Decodes a mark from the low half of a payload; undefined when it is no mark. */
export function markOf(payload: number): { readonly argument: number; readonly misfit: number } | undefined {
  const misfit = payload & ((1 << bitsOfArgument) - 1);
  return misfit === 0 ? undefined : { argument: payload >>> bitsOfArgument, misfit };
}

/** Why a function can't be called row by row, or undefined when it can. */
export function reasonAgainst(signature: Signature): string | undefined {
  const { params, results } = signature;
  const odd = [...params, ...results].find((type) => !numberTypes.has(type));
  if (odd !== undefined) return `${odd} is no number`;
  if (results.length !== 1) return `it gives ${results.length === 0 ? 'no result' : `${results.length} results`}`;
  if (params.length > maxParams) return `it has ${params.length} parameters, at most ${maxParams} are allowed`;
  return undefined;
}

// The condition of a lookup over pairs: rows of the input with their records.
import * as ctx from '../batch/context';
import { fail, failNotBoolean } from '../batch/failure';
import { Tag, lenOf, offOf } from '../mem/layout';
import { strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { LookupSpec } from '../gen/lookup-layouts';
import { Look } from './spec';

/** Verdict of the condition on a pair. */
export namespace Verdict {
  export const NO: u32 = 0;
  export const YES: u32 = 1;
  /** The condition failed; the reason stands in batch/failure.ts. */
  export const FAILED: u32 = 2;
}

let tags: usize = 0;
let vals: usize = 0;
let stride: u32 = 0;

/** Runs the condition over the selected rows that have a record (0: none), and lists these rows in `pairs`. */
export function conditionRun(spec: LookupSpec, state: Look, records: usize, sel: usize, n: u32, pairs: usize): void {
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    store<u32>(pairs + ((<usize>count) << 2), row);
    count += <u32>(load<u32>(records + ((<usize>row) << 2)) != 0);
  }
  ctx.setSelection(pairs, count);
  const program = state.program;
  if (count && program) vmRun(program);
  const condition = spec.condition;
  tags = tagsOf(program, condition);
  vals = valsOf(program, condition);
  stride = strideOf(condition);
}

/** Verdict of the condition on a row. */
// @ts-ignore: decorator
@inline export function verdictOf(row: u32): u32 {
  const tag = load<u8>(tags + row * stride);
  const val = load<u64>(vals + ((<usize>(row * stride)) << 3));
  if (tag <= Tag.NULL) return Verdict.NO;
  if (tag == Tag.BOOL) return val ? Verdict.YES : Verdict.NO;
  if (tag == Tag.ERROR) fail(offOf(val), lenOf(val));
  else failNotBoolean();
  return Verdict.FAILED;
}

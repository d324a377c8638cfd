// Programs over batches in which rows failed already.
import * as ctx from '../batch/context';
import { selectionPop, selectionPush, withoutErrors } from '../batch/selection';
import { vmRun } from './vm';
import { Program } from '../gen/ops-layouts';

/** Runs the program over the selected rows that did not fail; false when memory is exhausted. */
export function runClean(program: Program): bool {
  if (!ctx.rowErrors) {
    vmRun(program);
    return true;
  }
  const clean = selectionPush();
  if (!clean) return false;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const n = withoutErrors(sel, selLen, ctx.rowErrors, clean);
  ctx.setSelection(clean, n);
  if (n) vmRun(program);
  ctx.setSelection(sel, selLen);
  selectionPop();
  return true;
}

// Rows that a window keeps (W_ROWS of its state): their times, and the values of all inputs that are not constants.
import { bindOf, inputOperand, setBind } from '../../agg/group/spec';
import { isConst, tagsOf, valsOf } from '../../ops/operand';
import { RowsFlag } from '../../rows/layout';
import { Page, pageUniforms } from '../../rows/page';
import { rowsAppend, rowsInit } from '../../rows/store';
import { rowTimes } from './frame';
import { Program } from '../../gen/ops-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from './state';

/** Prepares the store of a window. */
export function keptInit(spec: WindowSpec, state: WindowState, acct: usize): void {
  rowsInit(state.kept, keptColumns(spec), RowsFlag.TIMES, acct);
}

/** Number of columns of the store: inputs that are not constants. */
export function keptColumns(spec: WindowSpec): u32 {
  const inputs = spec.inputs;
  let columns: u32 = 0;
  for (let i: u32 = 0; i < inputs; i++) columns += <u32>!isConst(inputOperand(spec, i));
  return columns;
}

/** Keeps the bound rows `sel[0 … n)`; false when memory is exhausted. */
export function keep(spec: WindowSpec, state: WindowState, sel: usize, n: u32): bool {
  return rowsAppend(state.kept, changetype<usize>(bindOf(0)), spec.inputs, sel, n, rowTimes());
}

/** Binds the inputs to the page: its rows are numbered from 0. Constants stand in `program`. */
export function bindPage(page: Page, spec: WindowSpec, program: Program): void {
  const inputs = spec.inputs;
  const capacity = page.capacity;
  let vals = page.vals;
  let tags = page.tags;
  let uniforms = pageUniforms(page, keptColumns(spec));
  for (let i: u32 = 0; i < inputs; i++) {
    const operand = inputOperand(spec, i);
    if (isConst(operand)) {
      const tag = tagsOf(program, operand);
      setBind(i, valsOf(program, operand), tag, 0, load<u8>(tag));
      continue;
    }
    setBind(i, vals, tags, 1, load<u8>(uniforms++));
    vals += (<usize>capacity) << 3;
    tags += capacity;
  }
}

/** Binds the constants, such as parameters of aggregates, which need no batch. */
export function bindConstants(spec: WindowSpec, program: Program): void {
  const inputs = spec.inputs;
  for (let i: u32 = 0; i < inputs; i++) {
    const operand = inputOperand(spec, i);
    if (!isConst(operand)) continue;
    const tag = tagsOf(program, operand);
    setBind(i, valsOf(program, operand), tag, 0, load<u8>(tag));
  }
}

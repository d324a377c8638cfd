// Rows that a window keeps (W_ROWS of its state): the values of its inputs, of which constants are left out, and their
// times.
import { WINDOW_INPUTS, bindOf, inputOperand, setBind } from '../../agg/group/spec';
import { isConst, tagsOf, valsOf } from '../../ops/operand';
import { RowsFlag } from '../../rows/layout';
import { PAGE_CAPACITY, PAGE_TAGS, PAGE_VALS, pageUniforms } from '../../rows/page';
import { rowsAppend, rowsInit } from '../../rows/store';
import { rowTimes } from './frame';
import { W_ROWS } from './state';

/** Prepares the store of a window. */
export function keptInit(spec: usize, state: usize, acct: usize): void {
  rowsInit(state + W_ROWS, keptColumns(spec), RowsFlag.TIMES, acct);
}

/** Columns that the store has: inputs that are no constants. */
export function keptColumns(spec: usize): u32 {
  const inputs = load<u32>(spec, WINDOW_INPUTS);
  let columns: u32 = 0;
  for (let i: u32 = 0; i < inputs; i++) columns += <u32>!isConst(inputOperand(spec, i));
  return columns;
}

/** Keeps the bound rows `sel[0 … n)`; false when memory is exhausted. */
export function keep(spec: usize, state: usize, sel: usize, n: u32): bool {
  return rowsAppend(state + W_ROWS, bindOf(0), load<u32>(spec, WINDOW_INPUTS), sel, n, rowTimes());
}

/** Binds the inputs to the page: its rows are numbered from 0. Constants stand in `program`. */
export function bindPage(page: usize, spec: usize, program: usize): void {
  const inputs = load<u32>(spec, WINDOW_INPUTS);
  const capacity = load<u32>(page, PAGE_CAPACITY);
  let vals = <usize>load<u32>(page, PAGE_VALS);
  let tags = <usize>load<u32>(page, PAGE_TAGS);
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

/** Parameters of aggregates are constants, which need no batch. */
export function bindConstants(spec: usize, program: usize): void {
  const inputs = load<u32>(spec, WINDOW_INPUTS);
  for (let i: u32 = 0; i < inputs; i++) {
    const operand = inputOperand(spec, i);
    if (!isConst(operand)) continue;
    const tag = tagsOf(program, operand);
    setBind(i, valsOf(program, operand), tag, 0, load<u8>(tag));
  }
}

// The batch that a window is taking in. Sending a window replaces the current batch and binds kept rows; `resume` goes
// back. One place is enough: a window below another one is a message (window/message.ts) and needs no way back.
import * as ctx from '../flow/context';
import { bindBatch } from '../agg/spec';

let cols: usize = 0;
let rows: u32 = 0;
let sel: usize = 0;
let selLen: u32 = 0;
let rowErrors: usize = 0;
let spec: usize = 0;
let program: usize = 0;

/** Notes the current batch and binds the inputs to it. */
export function hold(newSpec: usize, newProgram: usize): void {
  cols = ctx.cols;
  rows = ctx.rows;
  sel = ctx.sel;
  selLen = ctx.selLen;
  rowErrors = ctx.rowErrors;
  spec = newSpec;
  program = newProgram;
  bindBatch(spec, program);
}

/** Makes the noted batch the current one again and binds the inputs to it. */
export function resume(): void {
  ctx.setBatch(cols, rows, sel, selLen, rowErrors);
  bindBatch(spec, program);
}

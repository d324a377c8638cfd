// Operands of programs: where the values of a register, a column of the current batch or a constant stand.
//
// A program is a head, operations, constants, arguments, nested values, text and 16 zero bytes: ops/layouts.json.
//
// A register or column has one value per row, a constant one for all rows: readers multiply the row number by
// `strideOf(operand)` (1 or 0), so that one loop serves both.
import * as ctx from '../batch/context';
import { COL_SIZE, COL_TAGS, COL_VALS, OPERAND_COL, OPERAND_CONST, OPERAND_NONE } from '../mem/layout';
import { Program } from '../gen/ops-layouts';

export { OP_SIZE_OF as OP_SIZE } from '../gen/ops-layouts';

/** Program under way: ops resolve their constants in it. */
export let program: Program = changetype<Program>(0);

export function setProgram(next: Program): void {
  program = next;
}

/** The value of the operand NONE: MISSING. */
const NONE_SLOT: usize = memory.data(16, 16);

/** Column block of a register or of a column of the current batch. */
// @ts-ignore: decorator
@inline export function blockOf(operand: u32): usize {
  return operand < OPERAND_COL
    ? ctx.registers + operand * COL_SIZE
    : <usize>load<u32>(ctx.cols + ((operand - OPERAND_COL) << 2));
}

// @ts-ignore: decorator
@inline export function isConst(operand: u32): bool {
  return (operand & OPERAND_CONST) != 0;
}

/** Address of the constant's slot. */
// @ts-ignore: decorator
@inline export function constOf(program: Program, operand: u32): usize {
  if (operand == OPERAND_NONE) return NONE_SLOT;
  return program.consts + ((operand - OPERAND_CONST) << 4);
}

/** Address of the payloads: row i's is at + i * stride * 8. */
// @ts-ignore: decorator
@inline export function valsOf(program: Program, operand: u32): usize {
  return isConst(operand) ? constOf(program, operand) : blockOf(operand) + COL_VALS;
}

/** Address of the tags: row i's is at + i * stride. */
// @ts-ignore: decorator
@inline export function tagsOf(program: Program, operand: u32): usize {
  return isConst(operand) ? constOf(program, operand) + 8 : blockOf(operand) + COL_TAGS;
}

// @ts-ignore: decorator
@inline export function strideOf(operand: u32): u32 {
  return isConst(operand) ? 0 : 1;
}

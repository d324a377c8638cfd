// Operands of programs: where the values of a register, a column of the current batch or a constant stand.
//
//   program   opCount u32 | constCount u32 | ops u32 | consts u32 | args u32 | size u32 | acct u32 | argCount u32
//             … ops, consts, args, nested values, text, 16 zero bytes
//             The host writes offsets from the start of the block, `programNew` turns them into addresses.
//   op        opcode u16, dst u16, a u16, b u16, c u16, argCount u16, imm u32, argStart u32 (index into args), 0 u32
//   const     payload u64 | tag u32 | 0 u32       (16 bytes; text and nested values inside the program block)
//   args      u16 operands
//
// A register or column has one value per row, a constant one for all rows: readers multiply the row number by
// `strideOf(operand)` (1 or 0), so that one loop serves both.
import * as ctx from '../flow/context';
import { COL_SIZE, COL_TAGS, COL_VALS, OPERAND_COL, OPERAND_CONST, OPERAND_NONE } from '../mem/layout';

export const PROGRAM_HEAD: u32 = 32;
export const P_OPS: usize = 8;
export const P_CONSTS: usize = 12;
export const P_ARGS: usize = 16;
export const P_SIZE: usize = 20;
/** Byte counter that the block is charged to, 0 nobody's. */
export const P_ACCT: usize = 24;
export const P_ARG_COUNT: usize = 28;

/** An op takes 24 bytes. */
export const OP_SIZE: u32 = 24;
export const OP_DST: usize = 2;
export const OP_A: usize = 4;
export const OP_B: usize = 6;
export const OP_C: usize = 8;
export const OP_ARG_COUNT: usize = 10;
export const OP_IMM: usize = 12;
/** Index of the op's first argument in the program's args table. */
export const OP_ARGS: usize = 16;

/** Program under way: ops resolve their constants in it. */
export let program: usize = 0;

export function setProgram(next: usize): void {
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
@inline export function constOf(program: usize, operand: u32): usize {
  if (operand == OPERAND_NONE) return NONE_SLOT;
  return <usize>load<u32>(program, P_CONSTS) + ((operand - OPERAND_CONST) << 4);
}

/** Address of the payloads: row i's is at + i * stride * 8. */
// @ts-ignore: decorator
@inline export function valsOf(program: usize, operand: u32): usize {
  return isConst(operand) ? constOf(program, operand) : blockOf(operand) + COL_VALS;
}

/** Address of the tags: row i's is at + i * stride. */
// @ts-ignore: decorator
@inline export function tagsOf(program: usize, operand: u32): usize {
  return isConst(operand) ? constOf(program, operand) + 8 : blockOf(operand) + COL_TAGS;
}

// @ts-ignore: decorator
@inline export function strideOf(operand: u32): u32 {
  return isConst(operand) ? 0 : 1;
}

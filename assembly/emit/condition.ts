// Conditions decided without their program. For a single message the cost of a filter is the call of its program; with
// thousands of rules it is the cache lines that the programs touch. So a comparison of a column with a number, or with
// a text for equality, is noted in the node itself, and decided from there as long as rows are few. Of several
// comparisons joined by AND only the first is noted: where it is false, the whole condition is.
//
//   condition   the orders for which it is true | INTEGER | TEXT | register of the result << 5 | PARTIAL | LISTED
import * as ctx from '../batch/context';
import { ABOVE, BELOW, EQUAL, TEXT, mirrored, ordersOf, readTerms, termCount } from './terms';
import { Op } from '../gen/opcodes';
import {
  COL_HAS_RAW,
  COL_TAGS,
  COL_UNIFORM,
  COL_VALS,
  OPERAND_COL,
  Tag,
  isNull,
  lenOf,
  offOf,
  setAt,
} from '../mem/layout';
import { OP_SIZE, blockOf, constOf, isConst } from '../ops/operand';
import { bytesEqual } from '../value/bytes';
import { Node } from '../gen/node-layouts';
import { Program, Operation } from '../gen/ops-layouts';

/** More rows are faster in a program. */
export const FEW_ROWS: u32 = 8;
/** Result of `passing`: the program has to decide. */
export const UNDECIDED: u32 = u32.MAX_VALUE;

/** The noted constant is an integer. */
const INTEGER: u32 = 8;
const REGISTER_SHIFT: u32 = 5;
const REGISTER: u32 = 511;
/** The noted comparison is the first of several; the program decides on the rows that pass it. */
const PARTIAL: u32 = 1 << 14;
/** Nothing is noted, but lists of filters know the condition by its terms (emit/terms.ts). */
const LISTED: u32 = 1 << 15;

/** Notes the condition of a filter in its node; false when there is nothing to know of it without its program. */
export function noteCondition(node: Node, operand: u32): bool {
  const program = node.program;
  if (!program || operand > REGISTER) return false;
  if (noteComparison(node, program, operand)) return true;
  readTerms(program, operand);
  if (!termCount) return false;
  node.condition = <u16>((operand << REGISTER_SHIFT) | LISTED | (program.opCount > 1 ? PARTIAL : 0));
  return true;
}

/** Finds the terms of a noted condition, for the lists. */
export function termsOf(node: Node): void {
  readTerms(node.program, (<u32>node.condition >> REGISTER_SHIFT) & REGISTER);
}

/** Notes the comparison that decides first, if it is one that needs no program. */
function noteComparison(node: Node, program: Program, operand: u32): bool {
  const op = firstComparison(program, operand);
  if (!op) return false;
  let column = <u32>op.a;
  let constant = <u32>op.b;
  let orders = ordersOf(op.code);
  if (isConst(column)) {
    const other = column;
    column = constant;
    constant = other;
    orders = mirrored(orders);
  }
  if (!orders || column < OPERAND_COL || isConst(column) || !isConst(constant)) return false;
  const slot = constOf(program, constant);
  const tag = load<u8>(slot, 8);
  if (tag == Tag.I64) orders |= INTEGER;
  else if (tag == Tag.STR && (orders == EQUAL || orders == (BELOW | ABOVE))) orders |= TEXT;
  else if (tag != Tag.F64) return false;
  node.constant = load<u64>(slot);
  node.compared = <u16>(column - OPERAND_COL);
  node.condition = <u16>(orders | (operand << REGISTER_SHIFT) | (program.opCount > 1 ? PARTIAL : 0));
  return true;
}

/**
 * The comparison that the operand is, or the first of those that it joins by AND; 0 when the program does anything
 * else.
 */
function firstComparison(program: Program, operand: u32): Operation {
  const ops = program.ops;
  let left = program.opCount;
  for (let i: u32 = 0; i < left; i++) {
    const code = <u32>load<u16>(ops + i * OP_SIZE);
    if (code != Op.LOGIC_AND && !ordersOf(code)) return changetype<Operation>(0);
  }
  let wanted = operand;
  while (left) {
    const op = changetype<Operation>(ops + --left * OP_SIZE);
    if (op.dst != wanted) continue;
    if (<u32>op.code != Op.LOGIC_AND) return op;
    wanted = op.a;
  }
  return changetype<Operation>(0);
}

/**
 * The rows of the current batch that pass the noted condition, at most FEW_ROWS: a bit for each place in the selection.
 * UNDECIDED when the condition does not apply to all of their values.
 */
// @ts-ignore: decorator
@inline export function passing(node: Node): u32 {
  const condition = <u32>node.condition;
  if (condition & LISTED) return UNDECIDED;
  const block = <usize>load<u32>(ctx.cols + ((<usize>node.compared) << 2));
  const n = ctx.selLen;
  let passed: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(ctx.sel + ((<usize>i) << 2));
    const tag = load<u8>(block + row, COL_TAGS);
    const at = block + (row << 3);
    let order: u32;
    if (tag == Tag.F64 && !(condition & TEXT)) {
      const x = load<f64>(at, COL_VALS);
      const y =
        condition & INTEGER
          ? <f64>(<i64>node.constant)
          : load<f64>(changetype<usize>(node), offsetof<Node>('constant'));
      order = <u32>(x < y) | ((<u32>(x == y)) << 1) | ((<u32>(x > y)) << 2);
    } else if (tag == Tag.I64 && condition & INTEGER) {
      const x = load<i64>(at, COL_VALS);
      const y = <i64>node.constant;
      order = <u32>(x < y) | ((<u32>(x == y)) << 1) | ((<u32>(x > y)) << 2);
    } else if (tag == Tag.I64 && !(condition & TEXT)) {
      const x = <f64>load<i64>(at, COL_VALS);
      const y = load<f64>(changetype<usize>(node), offsetof<Node>('constant'));
      order = <u32>(x < y) | ((<u32>(x == y)) << 1) | ((<u32>(x > y)) << 2);
    } else if (tag == Tag.STR && condition & TEXT) {
      order = isText(load<u64>(at, COL_VALS), node.constant) ? EQUAL : BELOW;
    } else if (isNull(tag)) {
      // Comparing with null is false, whatever is asked.
      continue;
    } else return UNDECIDED;
    if (!order) return UNDECIDED;
    passed |= (<u32>((order & condition) != 0)) << i;
  }
  return passed && condition & PARTIAL ? UNDECIDED : passed;
}

/** True when the noted condition is all that the filter decides by. */
// @ts-ignore: decorator
@inline export function isWhole(node: Node): bool {
  const condition = <u32>node.condition;
  return condition != 0 && !(condition & PARTIAL);
}

/**
 * Writes true for all selected rows to the result register of the filter, as its program would: nodes below may read
 * it.
 */
// @ts-ignore: decorator
@inline export function writePassed(node: Node): void {
  const block = blockOf((<u32>node.condition >> REGISTER_SHIFT) & REGISTER);
  const n = ctx.selLen;
  for (let i: u32 = 0; i < n; i++) setAt(block, load<u32>(ctx.sel + ((<usize>i) << 2)), Tag.BOOL, 1);
  store<u8>(block, Tag.BOOL, COL_UNIFORM);
  store<u8>(block, 0, COL_HAS_RAW);
}

// @ts-ignore: decorator
@inline function isText(x: u64, y: u64): bool {
  return lenOf(x) == lenOf(y) && bytesEqual(offOf(x), offOf(y), lenOf(x));
}

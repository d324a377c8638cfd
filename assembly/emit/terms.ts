// What has to be true of columns for a filter to pass a row, as far as it can be looked up by value: comparisons with
// constants, of which an AND has several. They are read of the program when lists of filters are made (emit/lists.ts).
//
//   manner   the orders for which a comparison with a number is true | WHOLE; TEXT | EQUAL or all others;
//            INTERVAL | WHOLE; TEXT | PREFIX; TEXT | SORTED with orders or INTERVAL; STRICT where null fails;
//            COUNTED with orders of a bound
//
// Numbers are keys of 64 bits in the order of their values, so one order serves all tables of numbers; the next number
// is the next key. Integers that a double holds exactly stand among the doubles. A text that is compared for equality
// is its hash with its length: what has the same key is asked. One that is a bound or a prefix is the text itself.
//
// A comparison that is false makes the whole AND false only if none before it fails. Each of those before compares a
// column with constants as well; the term has these columns as guards, with the kind of value that does not fail.
import { Op } from '../gen/opcodes';
import { Term, TERM_SIZE_OF } from '../gen/emit-layouts';
import { OPS_MAX_ARGS, Operation, Program } from '../gen/ops-layouts';
import { OPERAND_COL, Tag, isNull, isNumber, lenOf, offOf, span } from '../mem/layout';
import { OP_SIZE, constOf, isConst } from '../ops/operand';
import { textHash } from '../value/bytes';

/** How a value stands to the constant. */
export const BELOW: u32 = 1;
export const EQUAL: u32 = 2;
export const ABOVE: u32 = 4;
/** The constant is an integer that no double holds exactly. */
export const WHOLE: u32 = 8;
/** The constant is a text. */
export const TEXT: u32 = 16;
/** The value lies between two bounds, or equals one of them. */
export const INTERVAL: u32 = 32;
/** The text begins with the constant. */
export const PREFIX: u32 = 64;
/** The comparison fails at null. */
export const STRICT: u32 = 128;
/** The texts of the table are in their own order: they are bounds. */
export const SORTED: u32 = 256;
/** The filters of the table only count rows: they stand at edges (node/tallies.ts). */
export const COUNTED: u32 = 512;
/** Mask of the orders. */
export const ORDERS: u32 = 7;

/** Comparisons of one AND that are looked at. */
const MAX_LEAVES: u32 = 8;
const MAX_TERMS: u32 = 8;
const MAX_GUARDS: u32 = 4;
/** Longer lists are compared one by one. */
const MAX_LIST: u32 = OPS_MAX_ARGS;
/** Columns behind have no room in a guard. */
const MAX_COLUMN: u32 = (1 << 14) - 1;
/** Steps down into ANDs within ANDs. */
const MAX_DEPTH: u32 = 64;
/** Integers below are doubles, and compare with all numbers as doubles do. */
const EXACT: i64 = 1 << 53;

/** A guard: column + 1, then two bits: the value has to be a text, not a number; and must not be null. */
const GUARD_TEXT: u64 = 1;
const GUARD_STRICT: u64 = 2;

const TERMS: usize = memory.data(32 * 8, 8);
const LEAVES: usize = memory.data(32 * 8, 8);
/** What `termOf` finds out of one comparison. */
const LEAF: usize = memory.data(32, 8);

export let termCount: u32 = 0;

let leafCount: u32 = 0;
let program: Program = changetype<Program>(0);

// @ts-ignore: decorator
@inline export function termAt(i: u32): Term {
  return changetype<Term>(TERMS + i * TERM_SIZE_OF);
}

// @ts-ignore: decorator
@inline function leafAt(i: u32): Term {
  return changetype<Term>(LEAVES + i * TERM_SIZE_OF);
}

/** Key of a double that is a number. */
// @ts-ignore: decorator
@inline export function doubleKey(x: f64): u64 {
  // Adding 0 makes -0 to 0.
  const bits = reinterpret<u64>(x + 0.0);
  return bits >> 63 ? ~bits : bits | ((<u64>1) << 63);
}

// @ts-ignore: decorator
@inline export function wholeKey(x: i64): u64 {
  return <u64>x ^ ((<u64>1) << 63);
}

// @ts-ignore: decorator
@inline export function textKey(text: u64): u64 {
  return (text & 0xffffffff00000000) | textHash(offOf(text), lenOf(text));
}

/** The orders for which a comparison is true; 0 for other operations. */
export function ordersOf(code: u32): u32 {
  switch (code) {
    case Op.COMPARE_EQ:
      return EQUAL;
    case Op.COMPARE_NE:
      return BELOW | ABOVE;
    case Op.COMPARE_LT:
      return BELOW;
    case Op.COMPARE_LE:
      return BELOW | EQUAL;
    case Op.COMPARE_GT:
      return ABOVE;
    case Op.COMPARE_GE:
      return ABOVE | EQUAL;
    default:
      return 0;
  }
}

/** The orders seen from the other side. */
// @ts-ignore: decorator
@inline export function mirrored(orders: u32): u32 {
  return (orders & EQUAL) | (orders & BELOW ? ABOVE : 0) | (orders & ABOVE ? BELOW : 0);
}

/** Finds the terms of a condition: `termCount` of them. There are none where the program does anything else. */
export function readTerms(made: Program, operand: u32): void {
  termCount = 0;
  leafCount = 0;
  program = made;
  for (let i: u32 = 0; i < made.opCount; i++) {
    const code = <u32>changetype<Operation>(made.ops + i * OP_SIZE).code;
    const isKnown = code == Op.LOGIC_AND || code == Op.STRING_STARTS_WITH || compares(code);
    if (!isKnown) return;
  }
  visit(operand, made.opCount, 0);
  for (let i: u32 = 0; i < leafCount; i++) {
    const leaf = leafAt(i);
    // What is not known may fail, so nothing behind it decides alone.
    if (!leaf.manner) break;
    const other = otherBound(i);
    if (other < i) continue;
    addTerm(leaf, i, other);
  }
}

// @ts-ignore: decorator
@inline function compares(code: u32): bool {
  return code >= Op.COMPARE_EQ && code <= Op.COMPARE_NOT_LIKE;
}

/** Notes the comparisons that the operand is made of, in the order in which they decide. */
function visit(operand: u32, end: u32, depth: u32): void {
  if (leafCount == MAX_LEAVES) return;
  for (let left = depth < MAX_DEPTH ? end : 0; left; ) {
    const op = changetype<Operation>(program.ops + --left * OP_SIZE);
    if (op.dst != operand) continue;
    if (<u32>op.code == Op.LOGIC_AND) {
      visit(op.a, left, depth + 1);
      visit(op.b, left, depth + 1);
    } else noteLeaf(op);
    return;
  }
  memory.fill(leafAsUnknown(), 0, TERM_SIZE_OF);
}

function leafAsUnknown(): usize {
  return changetype<usize>(leafAt(leafCount++));
}

function noteLeaf(op: Operation): void {
  if (leafCount == MAX_LEAVES) return;
  memory.fill(LEAF, 0, TERM_SIZE_OF);
  const leaf = changetype<Term>(LEAF);
  if (!readLeaf(leaf, op)) leaf.manner = 0;
  memory.copy(leafAsUnknown(), LEAF, TERM_SIZE_OF);
}

/** Reads a comparison of a column with constants; false when it is none, or one that is not looked up. */
function readLeaf(leaf: Term, op: Operation): bool {
  const code = <u32>op.code;
  let column = <u32>op.a;
  let constant = <u32>op.b;
  let orders = ordersOf(code);
  if (orders && isConst(column)) {
    const other = column;
    column = constant;
    constant = other;
    orders = mirrored(orders);
  }
  if (column < OPERAND_COL || column >= OPERAND_COL + MAX_COLUMN || isConst(column)) return false;
  leaf.column = <u16>(column - OPERAND_COL);
  if (code == Op.COMPARE_IN) return readList(leaf, op);
  if (!isConst(constant)) return false;
  const slot = constOf(program, constant);
  const tag = load<u8>(slot, 8);
  const value = load<u64>(slot);
  if (code == Op.COMPARE_LIKE) return tag == Tag.STR && readPattern(leaf, value);
  if (code == Op.STRING_STARTS_WITH) return tag == Tag.STR && readPrefix(leaf, value);
  if (code == Op.COMPARE_BETWEEN) {
    if (!isConst(op.c)) return false;
    const upper = constOf(program, op.c);
    const form = formOf(tag, value);
    if (form == NO_FORM || form != formOf(load<u8>(upper, 8), load<u64>(upper))) return false;
    leaf.low = boundKeyOf(form, tag, value);
    leaf.high = boundKeyOf(form, load<u8>(upper, 8), load<u64>(upper));
    leaf.manner = <u16>(INTERVAL | form | (form & TEXT ? SORTED : 0));
    return true;
  }
  const form = formOf(tag, value);
  if (!orders || form == NO_FORM) return false;
  const isSorted = form & TEXT && orders != EQUAL && orders != (BELOW | ABOVE);
  leaf.low = isSorted ? value : keyOf(form, tag, value);
  leaf.manner = <u16>(orders | form | (isSorted ? SORTED : 0));
  return true;
}

/** A form of constants that have no key. */
const NO_FORM: u32 = TEXT | WHOLE;

/** TEXT, WHOLE or 0 for constants of one order. */
function formOf(tag: u8, value: u64): u32 {
  if (tag == Tag.STR) return TEXT;
  if (tag == Tag.I64) return <i64>value > -EXACT && <i64>value < EXACT ? 0 : WHOLE;
  return tag == Tag.F64 && reinterpret<f64>(value) == reinterpret<f64>(value) ? 0 : NO_FORM;
}

function keyOf(form: u32, tag: u8, value: u64): u64 {
  if (form & TEXT) return textKey(value);
  if (form & WHOLE) return wholeKey(<i64>value);
  return doubleKey(tag == Tag.I64 ? <f64>(<i64>value) : reinterpret<f64>(value));
}

// @ts-ignore: decorator
@inline function boundKeyOf(form: u32, tag: u8, value: u64): u64 {
  return form & TEXT ? value : keyOf(form, tag, value);
}

/** A list of constants of one form. */
function readList(leaf: Term, op: Operation): bool {
  const count = <u32>op.argCount;
  if (count == 0 || count > MAX_LIST) return false;
  leaf.list = changetype<u32>(op);
  const form = formOfItem(program, op, 0);
  if (form == NO_FORM) return false;
  for (let i: u32 = 1; i < count; i++) if (formOfItem(program, op, i) != form) return false;
  leaf.manner = <u16>(EQUAL | form);
  return true;
}

// @ts-ignore: decorator
@inline function itemOf(made: Program, op: Operation, i: u32): u32 {
  return load<u16>(made.args + ((<usize>(op.args + i)) << 1));
}

function formOfItem(made: Program, op: Operation, i: u32): u32 {
  const item = itemOf(made, op, i);
  if (!isConst(item)) return NO_FORM;
  const slot = constOf(made, item);
  return formOf(load<u8>(slot, 8), load<u64>(slot));
}

/** How many constants a term has. */
// @ts-ignore: decorator
@inline export function constantsOf(term: Term): u32 {
  return term.list ? <u32>changetype<Operation>(term.list).argCount : 1;
}

/** The key of one of the constants of a term of this program. */
export function constantOf(made: Program, term: Term, i: u32): u64 {
  if (!term.list) return term.low;
  const slot = constOf(made, itemOf(made, changetype<Operation>(term.list), i));
  return keyOf(<u32>term.manner & (TEXT | WHOLE), load<u8>(slot, 8), load<u64>(slot));
}

const PERCENT: u8 = 0x25;
const UNDERSCORE: u8 = 0x5f;

/** A pattern that is `text%`, or has no wildcard. */
function readPattern(leaf: Term, pattern: u64): bool {
  const off = offOf(pattern);
  let len = lenOf(pattern);
  const isOpen = len > 0 && load<u8>(off + len - 1) == PERCENT;
  if (isOpen) len--;
  for (let i: u32 = 0; i < len; i++) {
    const c = load<u8>(off + i);
    if (c == PERCENT || c == UNDERSCORE) return false;
  }
  if (isOpen) {
    if (!readPrefix(leaf, span(off, len))) return false;
  } else {
    leaf.low = textKey(pattern);
    leaf.manner = <u16>(TEXT | EQUAL);
  }
  leaf.manner |= <u16>STRICT;
  return true;
}

function readPrefix(leaf: Term, text: u64): bool {
  if (!lenOf(text)) return false;
  leaf.low = text;
  leaf.manner = <u16>(TEXT | PREFIX);
  return true;
}

/** BELOW or ABOVE for a comparison that is a bound of numbers or texts, 0 for others. */
// @ts-ignore: decorator
@inline export function boundOf(leaf: Term): u32 {
  const manner = <u32>leaf.manner;
  if (manner & INTERVAL || (manner & TEXT && !(manner & SORTED))) return 0;
  const side = manner & (BELOW | ABOVE);
  return side == (BELOW | ABOVE) ? 0 : side;
}

/** The first comparison that bounds the column from the other side than this one; its own number when there is none. */
function otherBound(i: u32): u32 {
  const leaf = leafAt(i);
  const side = boundOf(leaf);
  if (!side || firstBound(leaf, side) != i) return i;
  const other = firstBound(leaf, side ^ (BELOW | ABOVE));
  return other < leafCount ? other : i;
}

/** The first comparison that bounds the column of `like` on that side, `leafCount` when there is none. */
function firstBound(like: Term, side: u32): u32 {
  for (let i: u32 = 0; i < leafCount; i++) {
    const leaf = leafAt(i);
    if (!leaf.manner) return leafCount;
    if (boundOf(leaf) != side || leaf.column != like.column) continue;
    if ((leaf.manner & (WHOLE | TEXT)) == (like.manner & (WHOLE | TEXT))) return i;
  }
  return leafCount;
}

/** Adds the term of a comparison, or of two bounds of a column; `last` is the later one of them. */
function addTerm(leaf: Term, i: u32, last: u32): void {
  if (termCount == MAX_TERMS) return;
  const term = termAt(termCount);
  memory.copy(changetype<usize>(term), changetype<usize>(leaf), TERM_SIZE_OF);
  if (last != i) {
    const other = leafAt(last);
    const isLower = boundOf(leaf) == ABOVE;
    const lower = isLower ? leaf : other;
    const upper = isLower ? other : leaf;
    term.low = lower.low;
    term.high = upper.low;
    if (!(leaf.manner & SORTED)) {
      // The next number in either direction is the next key. A text has no next one: its filter is asked.
      term.low += lower.manner & EQUAL ? 0 : 1;
      term.high -= upper.manner & EQUAL ? 0 : 1;
    }
    term.manner = <u16>(INTERVAL | (leaf.manner & (WHOLE | TEXT | SORTED)));
  }
  const own = guardOf(leaf);
  let guards: u64 = 0;
  let count: u32 = 0;
  for (let k: u32 = 0; k < last; k++) {
    const guard = guardOf(leafAt(k));
    if (guard == own || has(guards, guard)) continue;
    if (count == MAX_GUARDS) return;
    guards |= guard << (16 * count++);
  }
  term.guards = guards;
  termCount++;
}

/** Column + 1, and the values at which a comparison does not fail. */
// @ts-ignore: decorator
@inline function guardOf(leaf: Term): u64 {
  const manner = <u32>leaf.manner;
  return ((<u64>leaf.column + 1) << 2) | (manner & TEXT ? GUARD_TEXT : 0) | (manner & STRICT ? GUARD_STRICT : 0);
}

function has(guards: u64, guard: u64): bool {
  for (; guards; guards >>= 16) if ((guards & 0xffff) == guard) return true;
  return false;
}

/** True when the comparison of a guard does not fail at a value with this tag. */
// @ts-ignore: decorator
@inline export function isFit(guard: u32, tag: u8): bool {
  if (isNull(tag)) return !(guard & <u32>GUARD_STRICT);
  return guard & <u32>GUARD_TEXT ? tag == Tag.STR : isNumber(tag);
}

// @ts-ignore: decorator
@inline export function columnOfGuard(guard: u32): u32 {
  return (guard >> 2) - 1;
}

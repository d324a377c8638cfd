// BETWEEN and IN.
import { SLOT_SIZE, SLOT_TAG, Tag, isNull, lenOf, offOf } from '../../mem/layout';
import { Cmp, compareValues } from '../../value/compare';
import { operandError, putKind, wrapError } from '../../value/error';
import { textBegin, textLiteral, textTake } from '../../value/text';
import { argCount, argTag, argVal, give, giveBool, map2Raw, map3, mapA } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

// ---- BETWEEN -------------------------------------------------------------------------------------------------

/** 1 or 0 for `order` against a bound, -1 when the kinds do not compare. */
function within(tagA: u8, a: u64, tagB: u8, b: u64, upper: bool): i32 {
  const order = tagA == Tag.BOOL ? Cmp.MISMATCH : compareValues(tagA, a, tagB, b);
  if (order == Cmp.MISMATCH) return -1;
  if (order == Cmp.UNORDERED) return 0;
  return <i32>(upper ? order <= 0 : order >= 0);
}

function boundError(tagA: u8, a: u64, tagB: u8, b: u64): u64 {
  if (tagA >= Tag.ARRAY) return operandError(tagA, a, 'BETWEEN', tagB, b);
  textBegin();
  textLiteral('between operator cannot compare ');
  putKind(tagA, a);
  textLiteral(' and ');
  putKind(tagB, b);
  return textTake();
}

// A null, left or as a bound, makes both BETWEEN and NOT BETWEEN false, whatever the other bound is.
function giveBetween(tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64, wanted: bool): void {
  if (isNull(tagA)) {
    giveBool(false);
    return;
  }
  if (tagA >= Tag.ARRAY) {
    give(Tag.ERROR, boundError(tagA, a, tagB, b));
    return;
  }
  if (isNull(tagB) || isNull(tagC)) {
    giveBool(false);
    return;
  }
  if (tagB == Tag.ERROR || tagC == Tag.ERROR) {
    give(Tag.ERROR, tagB == Tag.ERROR ? b : c);
    return;
  }
  const lower = within(tagA, a, tagB, b, false);
  if (lower < 0) {
    give(Tag.ERROR, boundError(tagA, a, tagB, b));
    return;
  }
  const upper = within(tagA, a, tagC, c, true);
  if (upper < 0) {
    give(Tag.ERROR, boundError(tagA, a, tagC, c));
    return;
  }
  giveBool(((lower & upper) != 0) == wanted);
}

export function compareBetween(op: Operation): void {
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void =>
    giveBetween(tagA, a, tagB, b, tagC, c, true),
  );
}

export function compareNotBetween(op: Operation): void {
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void =>
    giveBetween(tagA, a, tagB, b, tagC, c, false),
  );
}

// ---- IN ------------------------------------------------------------------------------------------------------

/** 1 when the element equals `a`, 0 when not (or null), -1 when the result was set to an error. */
function matches(tagA: u8, a: u64, tag: u8, val: u64): i32 {
  if (isNull(tag)) return 0;
  if (tag == Tag.ERROR) {
    give(Tag.ERROR, val);
    return -1;
  }
  const order = compareValues(tagA, a, tag, val);
  if (order == Cmp.MISMATCH) {
    give(Tag.ERROR, wrapError('evaluate in expression error: ', operandError(tagA, a, '=', tag, val)));
    return -1;
  }
  return <i32>(order == 0);
}

// Elements are tried in order: one behind the match that does not compare is never reached.
function giveIn(tagA: u8, a: u64, wanted: bool): void {
  if (isNull(tagA)) {
    giveBool(false);
    return;
  }
  if (tagA >= Tag.ARRAY) {
    give(Tag.ERROR, operandError(tagA, a, 'IN', Tag.NULL, 0));
    return;
  }
  for (let i: u32 = 0; i < argCount; i++) {
    const hit = matches(tagA, a, argTag(i), argVal(i));
    if (hit < 0) return;
    if (hit) {
      giveBool(wanted);
      return;
    }
  }
  giveBool(!wanted);
}

export function compareIn(op: Operation): void {
  mapA(op, (tag: u8, val: u64): void => giveIn(tag, val, true));
}

export function compareNotIn(op: Operation): void {
  mapA(op, (tag: u8, val: u64): void => giveIn(tag, val, false));
}

// A value that is no array counts as a set without elements. A null on the left is in no set and in no set's
// complement, unless there is no value on the right at all.
function giveInArray(tagA: u8, a: u64, tagB: u8, b: u64, wanted: bool): void {
  if (tagA == Tag.ERROR || tagB == Tag.ERROR) {
    give(Tag.ERROR, tagA == Tag.ERROR ? a : b);
    return;
  }
  if (tagA >= Tag.ARRAY) {
    give(Tag.ERROR, operandError(tagA, a, 'IN', tagB, b));
    return;
  }
  if (isNull(tagA) && !isNull(tagB)) {
    giveBool(false);
    return;
  }
  if (tagB != Tag.ARRAY) {
    giveBool(!wanted);
    return;
  }
  const off = offOf(b);
  const n = lenOf(b);
  for (let i: u32 = 0; i < n; i++) {
    const slot = off + i * SLOT_SIZE;
    const hit = matches(tagA, a, load<u8>(slot, SLOT_TAG), load<u64>(slot));
    if (hit < 0) return;
    if (hit) {
      giveBool(wanted);
      return;
    }
  }
  giveBool(!wanted);
}

export function compareInArray(op: Operation): void {
  map2Raw(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveInArray(tagA, a, tagB, b, true));
}

export function compareNotInArray(op: Operation): void {
  map2Raw(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveInArray(tagA, a, tagB, b, false));
}

// Elements of lists, and lists as results.
import { SLOT_SIZE, SLOT_TAG, Tag, offOf, span } from '../../mem/layout';
import { putShort } from '../../value/error';
import { sameValues } from '../../value/same';
import { textBegin, textI64, textLiteral, textTakeError } from '../../value/text';
import { charge, resultRoom, valueLength, valueLimit } from '../result';
import { give } from '../row-loops';

// @ts-ignore: decorator
@inline export function itemAt(list: u64, i: u32): usize {
  return offOf(list) + <usize>i * SLOT_SIZE;
}

// @ts-ignore: decorator
@inline export function itemTag(slot: usize): u8 {
  return load<u8>(slot, SLOT_TAG);
}

// @ts-ignore: decorator
@inline export function putItem(slot: usize, tag: u8, val: u64): void {
  store<u64>(slot, val);
  store<u64>(slot, <u64>max(tag, Tag.NULL), SLOT_TAG);
}

/** Gives the error of an argument (counted from 1) that the function can't use. */
export function giveWrong(position: i64, what: string, tag: u8, val: u64): void {
  textBegin();
  textLiteral('argument ');
  textI64(position);
  textLiteral(' must be ');
  textLiteral(what);
  textLiteral(', not ');
  putShort(tag, val);
  give(Tag.ERROR, textTakeError());
}

/** False, and the error given, when the argument is no list. */
export function isList(position: i64, tag: u8, val: u64): bool {
  if (tag == Tag.ARRAY) return true;
  if (tag == Tag.ERROR) give(tag, val);
  else giveWrong(position, 'a list', tag, val);
  return false;
}

/** Equal in kind and value: numbers as `=` has it, nulls are, lists and objects equal nothing. */
export function sameItem(tagA: u8, a: u64, tagB: u8, b: u64): bool {
  return tagA < Tag.ARRAY && sameValues(tagA, a, tagB, b);
}

/**
 * Gives the `n` elements at `at` as a list. Elements of several lists (`isGrown`) count with all bytes that they refer
 * to: lists that double from column to column must end.
 */
export function giveList(name: string, at: usize, n: u32, isGrown: bool): void {
  const list = span(at, n);
  if (isGrown) {
    const len = valueLength(Tag.ARRAY, list, valueLimit());
    const own = <u64>n * SLOT_SIZE;
    if (len > own && !charge(name, len - own)) return;
  }
  give(Tag.ARRAY, list);
}

/** Memory for `n` elements; 0, and the error given, when there is none. */
// @ts-ignore: decorator
@inline export function listRoom(name: string, n: u64): usize {
  return resultRoom(name, n * SLOT_SIZE);
}

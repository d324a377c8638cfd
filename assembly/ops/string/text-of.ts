// Arguments of text functions: any value is taken as the text it prints.
import { Tag, lenOf, offOf } from '../../mem/layout';
import { printValue } from '../../value/print';
import { truncateF64 } from '../../value/number';
import { textBegin, textTake } from '../../value/text';
import { giveRefusal, isAbsent } from '../numeric';
import { isConst } from '../operand';
import { give, giveNull, map1, mapUniform, uniformOf } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

/** The value as text: payload of a STR. */
export function textOf(tag: u8, val: u64): u64 {
  if (tag == Tag.STR) return val;
  textBegin();
  printValue(tag, val);
  return textTake();
}

let f: (text: u64) => void = (text: u64): void => give(Tag.STR, text);

/** dst := g(text of a); null and empty collections give null. */
export function text1(op: Operation, g: (text: u64) => void): void {
  const a = op.a;
  if (!isConst(a) && uniformOf(a) == Tag.STR) {
    mapUniform(op, g);
    return;
  }
  f = g;
  map1(op, (tag: u8, val: u64): void => {
    if (tag == Tag.STR) f(val);
    else if (isAbsent(tag, val)) giveNull();
    else f(textOf(tag, val));
  });
}

export let count: i64 = 0;

/** The value is a whole number, which is in `count` then. */
export function isCount(tag: u8, val: u64): bool {
  if (tag == Tag.I64) {
    count = <i64>val;
    return true;
  }
  if (tag != Tag.F64) return false;
  const x = reinterpret<f64>(val);
  // The smallest integer is the mark of a value that does not fit, but is a value itself, too.
  count = truncateF64(x);
  return <f64>count == x;
}

/** Reads a whole number into `count`; false (and null or an error given) for anything else. */
export function readCount(tag: u8, val: u64): bool {
  if (isCount(tag, val)) return true;
  if (tag == Tag.ERROR) give(tag, val);
  else if (isAbsent(tag, val)) giveNull();
  else giveRefusal(tag, val, 'int');
  return false;
}

/** Part of a text, without a copy. */
// @ts-ignore: decorator
@inline export function part(text: u64, from: u32, to: u32): u64 {
  return (<u64>(offOf(text) + from) & 0xffffffff) | ((<u64>(to - from)) << 32);
}

/** Address behind the text. */
// @ts-ignore: decorator
@inline export function endOf(text: u64): usize {
  return offOf(text) + lenOf(text);
}

// Lengths, positions and parts of texts.
import { OPERAND_NONE, Tag, isNull, lenOf, offOf } from '../../mem/layout';
import { bytesEqual, bytesFind } from '../../value/bytes';
import { plainError } from '../../value/error';
import { printValue } from '../../value/print';
import { textBegin, textFails, textI64, textLiteral, textTake } from '../../value/text';
import { runeAt, runeCount, runeLen } from '../../value/unicode';
import { isAbsent } from '../numeric';
import { OP_C } from '../operand';
import { giveText, resultBegin } from '../result';
import { argCount, argTag, argVal, give, giveBool, giveI64, giveNull, map1, map2, map3, mapArgsStrict } from '../row-loops';
import { count, isCount, part, readCount, textOf } from './text-of';

export function stringLength(op: usize): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isNull(tag)) {
      giveI64(0);
    } else if (tag == Tag.ARRAY || tag == Tag.OBJECT) {
      giveI64(lenOf(val));
    } else {
      const text = textOf(tag, val);
      giveI64(runeCount(offOf(text), lenOf(text)));
    }
  });
}

export function stringNumbytes(op: usize): void {
  map1(op, (tag: u8, val: u64): void => giveI64(isAbsent(tag, val) ? 0 : lenOf(textOf(tag, val))));
}

export function stringIndexOf(op: usize): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isAbsent(tagA, a) || isAbsent(tagB, b)) {
      giveI64(-1);
      return;
    }
    const text = textOf(tagA, a);
    const sought = textOf(tagB, b);
    giveI64(bytesFind(offOf(text), lenOf(text), offOf(sought), lenOf(sought), 0));
  });
}

export function stringStartsWith(op: usize): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isAbsent(tagA, a) || isAbsent(tagB, b)) {
      giveBool(false);
      return;
    }
    const text = textOf(tagA, a);
    const start = textOf(tagB, b);
    giveBool(lenOf(text) >= lenOf(start) && bytesEqual(offOf(text), offOf(start), lenOf(start)));
  });
}

export function stringEndsWith(op: usize): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isAbsent(tagA, a) || isAbsent(tagB, b)) {
      giveBool(false);
      return;
    }
    const text = textOf(tagA, a);
    const end = textOf(tagB, b);
    const rest = lenOf(text) - lenOf(end);
    giveBool(lenOf(text) >= lenOf(end) && bytesEqual(offOf(text) + rest, offOf(end), lenOf(end)));
  });
}

let hasEnd: bool = false;

// Positions count bytes, as the language has it; a cut character is replaced when the row is written.
export function stringSubstring(op: usize): void {
  hasEnd = load<u16>(op, OP_C) != OPERAND_NONE;
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void => {
    // A null wins over an argument of the wrong kind.
    const isAnyAbsent = isAbsent(tagA, a) || isAbsent(tagB, b) || (hasEnd && isAbsent(tagC, c));
    if (isAnyAbsent && tagB != Tag.ERROR && tagC != Tag.ERROR) {
      giveNull();
      return;
    }
    if (!readCount(tagB, b)) return;
    const start = count;
    if (start < 0) {
      give(Tag.ERROR, plainError('start index must be a positive number'));
      return;
    }
    const text = textOf(tagA, a);
    const len = <i64>lenOf(text);
    let end = len;
    if (hasEnd) {
      if (!readCount(tagC, c)) return;
      if (count < 0 || count < start) {
        give(Tag.ERROR, plainError(count < 0 ? 'end index must be a positive number' : 'start index must be smaller than end index'));
        return;
      }
      end = min(count, len);
    }
    give(Tag.STR, start >= end ? part(text, 0, 0) : part(text, <u32>start, <u32>end));
  });
}

export function stringConcat(op: usize): void {
  mapArgsStrict(op, (): void => {
    resultBegin();
    for (let i: u32 = 0; i < argCount && !textFails; i++) {
      if (!isNull(argTag(i))) printValue(argTag(i), argVal(i));
    }
    giveText('concat');
  });
}

// ---- split_value ---------------------------------------------------------------------------------------------

/** Length of the part that starts at `from`: up to the separator, or one character when the separator is empty. */
function partLen(text: u64, separator: u64, from: u32): u32 {
  const off = offOf(text);
  const len = lenOf(text);
  if (lenOf(separator) == 0) {
    runeAt(off + from, off + len);
    return runeLen;
  }
  const at = bytesFind(off, len, offOf(separator), lenOf(separator), from);
  return at < 0 ? len - from : <u32>at - from;
}

function partCount(text: u64, separator: u64): i64 {
  if (lenOf(separator) == 0) return runeCount(offOf(text), lenOf(text));
  let n: i64 = 1;
  let at = bytesFind(offOf(text), lenOf(text), offOf(separator), lenOf(separator), 0);
  while (at >= 0) {
    n++;
    at = bytesFind(offOf(text), lenOf(text), offOf(separator), lenOf(separator), at + lenOf(separator));
  }
  return n;
}

export function stringSplitValue(op: usize): void {
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void => {
    if (isAbsent(tagA, a) || isAbsent(tagB, b)) {
      giveNull();
      return;
    }
    if (tagB == Tag.ERROR) {
      give(tagB, b);
      return;
    }
    if (tagC == Tag.ERROR || isAbsent(tagC, c)) {
      give(tagC == Tag.ERROR ? tagC : Tag.NULL, c);
      return;
    }
    // What is no position selects the first part.
    const at = isCount(tagC, c) ? count : 0;
    const text = textOf(tagA, a);
    const separator = textOf(tagB, b);
    const n = partCount(text, separator);
    let wanted = at < 0 ? at + n : at;
    if (wanted < 0 || wanted >= n) {
      textBegin();
      textI64(at);
      textLiteral(' out of index array (size = ');
      textI64(n);
      textLiteral(')');
      give(Tag.ERROR, textTake());
      return;
    }
    let from: u32 = 0;
    while (wanted-- > 0) from += partLen(text, separator, from) + lenOf(separator);
    give(Tag.STR, part(text, from, from + partLen(text, separator, from)));
  });
}

// Lengths, positions and parts of texts.
import * as ctx from '../../batch/context';
import { copyBytes } from '../../mem/copy';
import { COL_VALS, OPERAND_NONE, Tag, isNull, lenOf, offOf, span } from '../../mem/layout';
import { bytesEqual, bytesFind } from '../../value/bytes';
import { plainError } from '../../value/error';
import { printValue } from '../../value/print';
import { textBegin, textFails, textI64, textLiteral, textTake } from '../../value/text';
import { runeAt, runeCount, runeLen } from '../../value/unicode';
import { isAbsent } from '../numeric';
import { constOf, isConst, program, strideOf, valsOf } from '../operand';
import { giveText, resultBegin, shortRoom } from '../result';
import {
  argCount,
  argTag,
  argVal,
  dstOf,
  give,
  giveBool,
  giveI64,
  giveNull,
  map1,
  map2,
  map3,
  mapArgsStrict,
  setUniform,
  uniformOf,
} from '../row-loops';
import { isByte, isTextColumn, lengthsOfColumn, partsOfColumn, placesOfByte } from './columns';
import { count, isCount, part, readCount, textOf } from './text-of';
import { Operation } from '../../gen/ops-layouts';

export function stringLength(op: Operation): void {
  if (isTextColumn(op.a)) {
    lengthsOfColumn(op, runeCount);
    return;
  }
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

export function stringNumbytes(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => giveI64(isAbsent(tag, val) ? 0 : lenOf(textOf(tag, val))));
}

export function stringIndexOf(op: Operation): void {
  if (isTextColumn(op.a) && isByte(op.b)) {
    placesOfByte(op, bytesFind);
    return;
  }
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNull(tagA) || isNull(tagB)) {
      giveI64(-1);
      return;
    }
    const text = textOf(tagA, a);
    const sought = textOf(tagB, b);
    giveI64(bytesFind(offOf(text), lenOf(text), offOf(sought), lenOf(sought), 0));
  });
}

/**
 * Whether all rows have texts in the column, and the other operand is one text; the texts of the rows begin or end with
 * it.
 */
function meetsText(op: Operation, atEnd: bool): bool {
  const a = op.a;
  const b = op.b;
  if (isConst(a) || !isConst(b) || uniformOf(a) != Tag.STR || uniformOf(b) != Tag.STR) return false;
  const text = load<u64>(constOf(program, b));
  const len = lenOf(text);
  if (len > 16) return false;
  const sought = v128.load(offOf(text));
  const mask: u32 = (1 << len) - 1;
  const vals = valsOf(program, a);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let k: u32 = 0; k < n; k++) {
    const at = (<usize>load<u32>(sel + (k << 2))) << 3;
    const val = load<u64>(vals + at);
    const rest = lenOf(val) - len;
    const isLong = lenOf(val) >= len;
    const from = offOf(val) + (atEnd && isLong ? <usize>rest : 0);
    const same = <u32>i8x16.bitmask(i8x16.eq(v128.load(from), sought)) & mask;
    store<u64>(dst + at, <u64>(<u32>isLong & <u32>(same == mask)), COL_VALS);
  }
  setUniform(dst, Tag.BOOL);
  return true;
}

export function stringStartsWith(op: Operation): void {
  if (meetsText(op, false)) return;
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

export function stringEndsWith(op: Operation): void {
  if (meetsText(op, true)) return;
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
export function stringSubstring(op: Operation): void {
  if (partsOfColumn(op)) return;
  hasEnd = op.c != OPERAND_NONE;
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
        give(
          Tag.ERROR,
          plainError(count < 0 ? 'end index must be a positive number' : 'start index must be smaller than end index'),
        );
        return;
      }
      end = min(count, len);
    }
    give(Tag.STR, start >= end ? part(text, 0, 0) : part(text, <u32>start, <u32>end));
  });
}

const MAX_JOINED: u32 = 16;
/** Each argument: payloads u32 | bytes from one row to the next u32. */
const JOINED: usize = memory.data(16 * 8, 16);

/** Joins columns of texts, and constants; false where one is anything else, or a result is long. */
function joinTexts(op: Operation): bool {
  const count = <u32>op.argCount;
  if (count > MAX_JOINED) return false;
  const args = program.args + ((<usize>op.args) << 1);
  for (let i: u32 = 0; i < count; i++) {
    const operand = load<u16>(args + ((<usize>i) << 1));
    if (operand == OPERAND_NONE || uniformOf(operand) != Tag.STR) return false;
    store<u32>(JOINED + ((<usize>i) << 3), <u32>valsOf(program, operand));
    store<u32>(JOINED + ((<usize>i) << 3), strideOf(operand) << 3, 4);
  }
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let k: u32 = 0; k < n; k++) {
    const row = load<u32>(sel + (k << 2));
    let len: u64 = 0;
    for (let i: u32 = 0; i < count; i++) len += lenOf(joinedText(i, row));
    const to = shortRoom(len);
    if (!to) return false;
    let at = to;
    for (let i: u32 = 0; i < count; i++) {
      const text = joinedText(i, row);
      copyBytes(at, offOf(text), lenOf(text));
      at += lenOf(text);
    }
    store<u64>(dst + ((<usize>row) << 3), span(to, <u32>len), COL_VALS);
  }
  setUniform(dst, Tag.STR);
  return true;
}

// @ts-ignore: decorator
@inline function joinedText(i: u32, row: u32): u64 {
  const arg = JOINED + ((<usize>i) << 3);
  return load<u64>(<usize>load<u32>(arg) + <usize>(row * load<u32>(arg, 4)));
}

export function stringConcat(op: Operation): void {
  if (joinTexts(op)) return;
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

export function stringSplitValue(op: Operation): void {
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
    // A value that is no position selects the first part.
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

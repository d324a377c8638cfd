// Texts of errors of values. They name the operation and the kinds of the operands, with the values cut to a length
// that keeps a flood of errors cheap.
import { Tag } from '../mem/layout';
import { textBegin, textByte, textBytes, textCut, textLen, textLiteral, textTakeError } from './text';
import { printValue } from './print';

const MAX_VALUE_TEXT: u32 = 96;

/** Name of the kind of value, as messages use it. */
export function kindName(tag: u8): string {
  switch (tag) {
    case Tag.BOOL:
      return 'bool';
    case Tag.I64:
      return 'int64';
    case Tag.F64:
      return 'float64';
    case Tag.STR:
      return 'string';
    case Tag.BYTES:
      return '[]byte';
    case Tag.TIME:
      return 'time.Time';
    case Tag.ARRAY:
      return '[]interface {}';
    case Tag.OBJECT:
      return 'map[string]interface {}';
    case Tag.ERROR:
      return 'error';
    default:
      return '<nil>';
  }
}

/** Appends the value, cut to MAX_VALUE_TEXT bytes. */
export function putShort(tag: u8, val: u64): void {
  const from = textLen;
  printValue(tag, val);
  if (textLen - from > MAX_VALUE_TEXT) {
    textCut(from + MAX_VALUE_TEXT);
    textLiteral('...');
  }
}

/** Appends kind and value: `float64(1.5)`. */
export function putKind(tag: u8, val: u64): void {
  textLiteral(kindName(tag));
  textByte(0x28);
  putShort(tag, val);
  textByte(0x29);
}

/** Error of an operation between two values that it is not made for. */
export function operandError(tagA: u8, a: u64, name: string, tagB: u8, b: u64): u64 {
  textBegin();
  if (tagA >= Tag.ARRAY) {
    textLiteral(name);
    textLiteral(' is an invalid operation for ');
    textLiteral(kindName(tagA));
    return textTakeError();
  }
  textLiteral('invalid operation ');
  putKind(tagA, a);
  textByte(0x20);
  textLiteral(name);
  textByte(0x20);
  putKind(tagB, b);
  return textTakeError();
}

/** A fixed text. */
export function plainError(text: string): u64 {
  textBegin();
  textLiteral(text);
  return textTakeError();
}

/** A fixed text followed by a value. */
export function valueError(text: string, tag: u8, val: u64): u64 {
  textBegin();
  textLiteral(text);
  putShort(tag, val);
  return textTakeError();
}

/** An error inside another: `text` before the message of `inner`. */
export function wrapError(text: string, inner: u64): u64 {
  textBegin();
  textLiteral(text);
  textBytes(<usize>(<u32>inner), <u32>(inner >> 32));
  return textTakeError();
}

// Values of rows as those of fields. Numbers become each other, with fractions cut off; bytes and texts do.
import { lenOf, offOf, Tag } from '../mem/layout';
import { isUtf8 } from '../text/utf8';
import { bytesEqual } from '../value/bytes';
import { fitsI64, intValue, readInteger } from '../value/number';
import { FieldKind, MessageField } from '../gen/protobuf-layouts';
import { failValue } from './unfit';

/** The value as the wire has it: bits of numbers, place of bytes. */
export let converted: u64 = 0;

const TRUE: usize = memory.data<u8>([0x74, 0x72, 0x75, 0x65]);
const FALSE: usize = memory.data<u8>([0x66, 0x61, 0x6c, 0x73, 0x65]);

/** Converts a value for a field that is no message; false: the reason is in batch/failure.ts. */
export function convert(types: usize, field: MessageField, tag: u8, val: u64): bool {
  return isConverted(types, field, tag, val) || failValue(types, field, tag, val);
}

function isConverted(types: usize, field: MessageField, tag: u8, val: u64): bool {
  const kind = field.kind;
  switch (<i32>kind) {
    case FieldKind.DOUBLE:
    case FieldKind.FLOAT: {
      if (tag != Tag.F64 && tag != Tag.I64) return false;
      const number = tag == Tag.F64 ? reinterpret<f64>(val) : <f64>(<i64>val);
      converted = kind == FieldKind.DOUBLE ? reinterpret<u64>(number) : <u64>reinterpret<u32>(<f32>number);
      return true;
    }
    case FieldKind.BOOL:
      converted = val;
      return tag == Tag.BOOL;
    case FieldKind.STRING:
      converted = val;
      return tag == Tag.STR || (tag == Tag.BYTES && isUtf8(offOf(val), offOf(val) + lenOf(val)));
    case FieldKind.BYTES:
      converted = val;
      return tag == Tag.STR || tag == Tag.BYTES;
    default:
      if (tag == Tag.STR && kind == FieldKind.ENUM) return isNamed(types + field.texts, val);
      if (tag == Tag.I64) return isInteger(kind, <i64>val);
      if (tag != Tag.F64) return false;
      return fitsI64(reinterpret<f64>(val)) && isInteger(kind, <i64>reinterpret<f64>(val));
  }
}

function isInteger(kind: u8, number: i64): bool {
  converted = <u64>number;
  switch (<i32>kind) {
    case FieldKind.INT32:
    case FieldKind.ENUM:
      return number == <i64>(<i32>number);
    case FieldKind.SFIXED32:
      converted = <u64>(<u32>number);
      return number == <i64>(<i32>number);
    case FieldKind.SINT32:
    case FieldKind.SINT64:
      converted = <u64>((number << 1) ^ (number >> 63));
      return kind == FieldKind.SINT64 || number == <i64>(<i32>number);
    case FieldKind.UINT32:
    case FieldKind.FIXED32:
      return number >= 0 && number <= <i64>u32.MAX_VALUE;
    case FieldKind.UINT64:
    case FieldKind.FIXED64:
      return number >= 0;
    default:
      return true;
  }
}

/** Finds the number of a name of an enum. */
function isNamed(texts: usize, name: u64): bool {
  let at = texts + 4;
  for (let n = load<u32>(texts); n > 0; n--) {
    const len = load<u32>(at, 4);
    if (len == lenOf(name) && bytesEqual(at + 8, offOf(name), len)) {
      converted = <u64>(<i64>load<i32>(at));
      return true;
    }
    at += 8 + len;
  }
  return false;
}

/** Reads the name of a member as the key of a map; false when it is none. */
export function keyOf(field: MessageField, name: u64): bool {
  const kind = field.kind;
  converted = name;
  if (kind == FieldKind.STRING) return true;
  if (kind == FieldKind.BOOL) {
    const isTrue = lenOf(name) == 4 && bytesEqual(offOf(name), TRUE, 4);
    converted = <u64>isTrue;
    return isTrue || (lenOf(name) == 5 && bytesEqual(offOf(name), FALSE, 5));
  }
  if (kind == FieldKind.UINT64 || kind == FieldKind.FIXED64) return isUnsigned(name);
  return readInteger(offOf(name), lenOf(name)) && isInteger(kind, intValue);
}

function isUnsigned(name: u64): bool {
  const len = lenOf(name);
  let number: u64 = 0;
  for (let i: u32 = 0; i < len; i++) {
    const digit = <u64>load<u8>(offOf(name) + i) - 48;
    if (digit > 9 || number > (u64.MAX_VALUE - digit) / 10) return false;
    number = number * 10 + digit;
  }
  converted = number;
  return len > 0;
}

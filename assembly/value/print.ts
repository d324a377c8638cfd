// Text of any value as text functions, errors and casts show it: `1.5`, `1e+06`, `[1 a]`, `map[k:v]`, `<nil>`.
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
  lenOf,
  offOf,
} from '../mem/layout';
import { timeInstant } from '../text/time';
import { textByte, textBytes, textI64, textLiteral } from './text';
import { putFloat, putFloatShort } from './float';
import { putTime } from './time';

/** Appends the value to the text under way (value/text.ts). */
export function printValue(tag: u8, val: u64): void {
  switch (tag) {
    case Tag.BOOL:
      textLiteral(val ? 'true' : 'false');
      return;
    case Tag.I64:
      textI64(<i64>val);
      return;
    case Tag.F64:
      putFloat(reinterpret<f64>(val));
      return;
    case Tag.STR:
    case Tag.ERROR:
      textBytes(offOf(val), lenOf(val));
      return;
    case Tag.TIME:
      putTime(<i64>val);
      return;
    case Tag.BYTES: {
      const off = offOf(val);
      const n = lenOf(val);
      textByte(0x5b);
      for (let i: u32 = 0; i < n; i++) {
        if (i) textByte(0x20);
        textI64(load<u8>(off + i));
      }
      textByte(0x5d);
      return;
    }
    case Tag.ARRAY: {
      const off = offOf(val);
      const n = lenOf(val);
      textByte(0x5b);
      for (let i: u32 = 0; i < n; i++) {
        if (i) textByte(0x20);
        const slot = off + i * SLOT_SIZE;
        printValue(load<u8>(slot, SLOT_TAG), load<u64>(slot));
      }
      textByte(0x5d);
      return;
    }
    case Tag.OBJECT: {
      const off = offOf(val);
      const n = lenOf(val);
      textLiteral('map[');
      for (let i: u32 = 0; i < n; i++) {
        if (i) textByte(0x20);
        const member = off + i * MEMBER_SIZE;
        textBytes(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
        textByte(0x3a);
        printValue(load<u8>(member, MEMBER_TAG), load<u64>(member));
      }
      textByte(0x5d);
      return;
    }
    default:
      textLiteral('<nil>');
  }
}

/**
 * Appends the value as key of a group, where 1000000, 1000000.0 and "1000000" are alike, and one instant at all
 * offsets; bytes are a text.
 */
export function printKey(tag: u8, val: u64): void {
  if (tag == Tag.F64) putFloatShort(reinterpret<f64>(val));
  else if (tag == Tag.BYTES) textBytes(offOf(val), lenOf(val));
  else if (tag == Tag.TIME) putTime(timeInstant(<i64>val));
  else printValue(tag, val);
}

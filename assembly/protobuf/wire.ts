// The wire form: numbers of seven bits a byte, fixed numbers, lengths with bytes behind them, groups.
//
// Readers get `p <= end` and return the position behind what they read, 0 after noting a fault.
import { span } from '../mem/layout';
import { isUtf8 } from '../text/utf8';
import { FieldKind } from '../gen/protobuf-layouts';
import { fault } from './fault';

export namespace Wire {
  export const VARINT: u32 = 0;
  export const FIXED64: u32 = 1;
  export const LENGTH: u32 = 2;
  export const GROUP: u32 = 3;
  export const GROUP_END: u32 = 4;
  export const FIXED32: u32 = 5;
}

const CUT_NUMBER = 'the message ends within a number';
const LARGE_NUMBER = 'a number has more than 32 bits';

/** The number that was read last. */
export let varint: u64 = 0;

// @ts-ignore: decorator
@inline export function readVarint(p: usize, end: usize): usize {
  if (p < end) {
    const c = <u64>load<u8>(p);
    if (c < 0x80) {
      varint = c;
      return p + 1;
    }
  }
  return readLong(p, end);
}

/** Reads up to eight bytes at once; there are so many readable ones behind a message. */
function readLong(p: usize, end: usize): usize {
  const word = load<u64>(p);
  const stop = ~word & 0x8080808080808080;
  const q = p + (<usize>ctz(stop) >> 3) + 1;
  if (!stop || q > end) return readLongest(p, end);
  // The bits up to the one that ends the number, without the highest of each byte.
  let x = word & (stop ^ (stop - 1)) & 0x7f7f7f7f7f7f7f7f;
  x = (x & 0x007f007f007f007f) | ((x & 0x7f007f007f007f00) >> 1);
  x = (x & 0x00003fff00003fff) | ((x & 0x3fff00003fff0000) >> 2);
  varint = (x & 0x0fffffff) | ((x & 0x0fffffff00000000) >> 4);
  return q;
}

function readLongest(p: usize, end: usize): usize {
  let number: u64 = 0;
  let shift: u64 = 0;
  for (let q = p; q < end; q++) {
    const c = <u64>load<u8>(q);
    if (shift == 63 && c > 1) return fault('a number has more than 64 bits', p);
    number |= (c & 0x7f) << shift;
    if (c < 0x80) {
      varint = number;
      return q + 1;
    }
    shift += 7;
  }
  return fault(CUT_NUMBER, end);
}

/** Reads a length; as many bytes are there behind it. */
// @ts-ignore: decorator
@inline export function readLength(p: usize, end: usize): usize {
  const q = readVarint(p, end);
  if (q && varint > <u64>(end - q)) return fault('a length goes beyond the end of the message', p);
  return q;
}

/** Payload of the value that `readScalar` read last. */
export let scalar: u64 = 0;

/** As `readScalar`, within the loop over the fields of a message. */
// @ts-ignore: decorator
@inline export function readOne(kind: u8, p: usize, end: usize): usize {
  switch (<i32>kind) {
    case FieldKind.STRING:
    case FieldKind.BYTES: {
      const q = readLength(p, end);
      if (!q) return 0;
      const len = <u32>varint;
      if (kind == FieldKind.STRING && !isText(q, len)) return fault('the text is not UTF-8', q);
      scalar = span(q, len);
      return q + len;
    }
    case FieldKind.DOUBLE:
    case FieldKind.FIXED64:
    case FieldKind.SFIXED64:
      if (end - p < 8) return fault(CUT_NUMBER, end);
      scalar = load<u64>(p);
      return p + 8;
    case FieldKind.FLOAT:
      if (end - p < 4) return fault(CUT_NUMBER, end);
      scalar = reinterpret<u64>(<f64>load<f32>(p));
      return p + 4;
    case FieldKind.FIXED32:
      if (end - p < 4) return fault(CUT_NUMBER, end);
      scalar = <u64>load<u32>(p);
      return p + 4;
    case FieldKind.SFIXED32:
      if (end - p < 4) return fault(CUT_NUMBER, end);
      scalar = <u64>(<i64>load<i32>(p));
      return p + 4;
    default:
      break;
  }
  const q = readVarint(p, end);
  if (!q) return 0;
  const number = varint;
  switch (<i32>kind) {
    case FieldKind.INT32:
    case FieldKind.ENUM:
      if (<i64>number != <i64>(<i32>number)) return fault(LARGE_NUMBER, p);
      scalar = number;
      break;
    case FieldKind.UINT32:
      if (number > <u64>u32.MAX_VALUE) return fault(LARGE_NUMBER, p);
      scalar = number;
      break;
    case FieldKind.SINT32:
      if (number > <u64>u32.MAX_VALUE) return fault(LARGE_NUMBER, p);
      scalar = (number >> 1) ^ (0 - (number & 1));
      break;
    case FieldKind.SINT64:
      scalar = (number >> 1) ^ (0 - (number & 1));
      break;
    case FieldKind.BOOL:
      scalar = <u64>(number != 0);
      break;
    default:
      scalar = number;
  }
  return q;
}

/** Reads a value of a field that is no message. */
export function readScalar(kind: u8, p: usize, end: usize): usize {
  return readOne(kind, p, end);
}

/** Whether bytes are UTF-8; most texts are short and ASCII. */
// @ts-ignore: decorator
@inline function isText(at: usize, len: u32): bool {
  if (len <= 16) {
    const high = <u32>i8x16.bitmask(v128.load(at));
    if (!(high & ((1 << len) - 1))) return true;
  }
  return isUtf8(at, at + len);
}

/** Walks over the value of a field that nobody reads. `depth` bounds groups within groups. */
export function skipValue(wire: u32, number: u32, p: usize, end: usize, depth: i32): usize {
  switch (wire) {
    case Wire.VARINT:
      return readVarint(p, end);
    case Wire.FIXED64:
      return end - p < 8 ? fault(CUT_NUMBER, end) : p + 8;
    case Wire.FIXED32:
      return end - p < 4 ? fault(CUT_NUMBER, end) : p + 4;
    case Wire.LENGTH: {
      const q = readLength(p, end);
      return q ? q + <usize>varint : 0;
    }
    case Wire.GROUP:
      return skipGroup(number, p, end, depth);
    default:
      return fault(wire == Wire.GROUP_END ? 'a group ends that did not begin' : 'there is no such wire type', p);
  }
}

function skipGroup(group: u32, from: usize, end: usize, depth: i32): usize {
  if (depth <= 0) return fault('nested too deeply', from);
  let p = from;
  while (p < end) {
    p = readTag(p, end);
    if (!p) return 0;
    const wire = tag & 7;
    const number = tag >> 3;
    if (wire == Wire.GROUP_END) {
      if (number == group) return p;
      return fault('a group ends that did not begin', p);
    }
    p = skipValue(wire, number, p, end, depth - 1);
    if (!p) return 0;
  }
  return fault('the message ends within a group', end);
}

/** The tag that was read last: number of the field and wire type. */
export let tag: u32 = 0;

// @ts-ignore: decorator
@inline export function readTag(p: usize, end: usize): usize {
  const q = readVarint(p, end);
  if (!q) return 0;
  if (varint > <u64>u32.MAX_VALUE || varint < 8) return fault('there is no such field number', p);
  tag = <u32>varint;
  return q;
}

// JSON text to values. Strings without escapes refer to the text itself; everything else is put into a pool.
//
// With a type (json/type.ts) the value is converted and checked while it is read: see `typed*` below. Syntax errors and
// type errors both end the parse with 0; faultMessage (json/fault.ts) tells which.
import { Tag, span } from '../mem/layout';
import { Pool, poolAlloc } from '../mem/pool';
import { bytesOf } from '../text/base64';
import { parseF64, f64End, f64Whole } from '../text/f64-parse';
import { printF64General, MAX_F64_TEXT } from '../text/f64-print';
import { i64Value, I64Text, parseI64 } from '../text/i64';
import { messageBegin, messageBytes, messageText } from '../text/message';
import { MAX_TIME_MS, timeAt, timeParse, timeValue } from '../text/time';
import { fault, faultComplete } from './fault';
import {
  afterKey,
  isPadded,
  scanNumber,
  scanString,
  scanValue,
  scanWord,
  skipSpace,
  stringEscaped,
  unescape,
} from './scan';
import { push, stacked, takeArray, taken, takeObject, unstack } from './tree';
import {
  elementOf,
  fieldCount,
  fieldName,
  fieldNameLen,
  fieldType,
  findField,
  firstField,
  kindOf,
  nextField,
  TypeKind,
} from './type';

/** The value read last. */
export let valueTag: u8 = 0;
export let valuePayload: u64 = 0;

export namespace ParseFlag {
  /** Whole numbers without type are I64. */
  export const INTS: u32 = 1;
  /** STRICT_VALIDATION: members of structs must be there, scalars not null, DATETIME is converted. */
  export const STRICT: u32 = 2;
}

let pool: Pool = changetype<Pool>(0);
let end: usize = 0;
let flags: u32 = 0;

/** Settings of the following calls of `parseAt`. */
export function parseInto(toPool: Pool, withFlags: u32): void {
  pool = toPool;
  flags = withFlags;
}

/**
 * Reads the value at `p` (no space before it) and returns the position after it, 0 on failure. `type`: 0 any;
 * `name`: how errors of type call the value.
 */
export function parseAt(p: usize, textEnd: usize, depth: i32, type: usize, name: usize, nameLen: u32): usize {
  end = textEnd;
  const height = stacked;
  const q = parseValue(p, depth, type, name, nameLen);
  if (!q) unstack(height);
  return q;
}

/** Parses a text that holds one value and space around it. */
export function parseDocument(off: usize, len: u32, toPool: Pool, withFlags: u32, depth: i32, type: usize): bool {
  parseInto(toPool, withFlags);
  const stop = off + len;
  let p = parseAt(skipSpace(off, stop), stop, depth, type, 0, 0);
  if (!p) return false;
  p = skipSpace(p, stop);
  if (p < stop) {
    fault('text after the value', p);
    return false;
  }
  return true;
}

// @ts-ignore: decorator
@inline function give(tag: u8, payload: u64, next: usize): usize {
  valueTag = tag;
  valuePayload = payload;
  return next;
}

function parseValue(p: usize, depth: i32, type: usize, name: usize, nameLen: u32): usize {
  if (p >= end) return fault('the text ends where a value was expected', p);
  const c = <u32>load<u8>(p);
  const kind = kindOf(type);
  if (c == 0x22) {
    const q = readString(p + 1);
    if (!q || kind == TypeKind.ANY || kind == TypeKind.STRING) return q;
    return typedString(q, kind, name, nameLen) ? q : 0;
  }
  if (c == 0x2d || c - 48 < 10) return typedNumber(p, kind, name, nameLen);
  if (c == 0x7b) {
    if (kind != TypeKind.ANY && kind != TypeKind.STRUCT) return wrongType(p, depth, 'object', kind, name, nameLen);
    return parseObject(p + 1, depth, type);
  }
  if (c == 0x5b) {
    if (kind != TypeKind.ANY && kind != TypeKind.ARRAY) return wrongType(p, depth, 'array', kind, name, nameLen);
    return parseArray(p + 1, depth, type);
  }
  const q = scanWord(p, end);
  if (!q) return 0;
  if (c == 0x6e) {
    if (flags & ParseFlag.STRICT && kind != TypeKind.ANY && kind < TypeKind.ARRAY)
      return nullMismatch(kind, name, nameLen);
    return give(Tag.NULL, 0, q);
  }
  if (kind != TypeKind.ANY && kind != TypeKind.BOOLEAN) {
    return wrongType(p, depth, c == 0x74 ? 'true' : 'false', kind, name, nameLen);
  }
  return give(Tag.BOOL, <u64>(c == 0x74), q);
}

/** Reads the string at `p` (after the quote) as STR and returns the position after the closing quote. */
// @ts-ignore: decorator
@inline function readString(p: usize): usize {
  const q = scanString(p, end);
  if (!q) return 0;
  if (!stringEscaped) return give(Tag.STR, span(p, <u32>(q - p)), q + 1);
  const to = poolAlloc(pool, <u32>(q - p));
  if (!to) return fault('out of memory', p);
  return give(Tag.STR, span(to, <u32>(unescape(p, q, to) - to)), q + 1);
}

function parseObject(p0: usize, depth: i32, type: usize): usize {
  if (depth <= 0) return fault('nested too deeply', p0 - 1);
  const height = stacked;
  const isTyped = kindOf(type) == TypeKind.STRUCT;
  let p = skipSpace(p0, end);
  if (p < end && load<u8>(p) == 0x7d) p++;
  else {
    while (true) {
      if (p >= end || load<u8>(p) != 0x22) return fault('a key was expected', p);
      p = readString(p + 1);
      if (!p) return 0;
      const key = valuePayload;
      const keyOff = <usize>(<u32>key);
      const keyLen = <u32>(key >> 32);
      p = afterKey(p, end);
      if (!p) return 0;
      let field: usize = 0;
      if (isTyped) field = findField(type, keyOff, keyLen);
      if (isTyped && !field) {
        p = scanValue(p, end, depth - 1);
        if (!p) return 0;
      } else {
        p = parseValue(p, depth - 1, field ? fieldType(field) : 0, keyOff, keyLen);
        if (!p) return 0;
        if (!push(valueTag, valuePayload, keyOff, keyLen)) return fault('out of memory', p);
      }
      p = skipSpace(p, end);
      const c: u32 = p < end ? load<u8>(p) : 0;
      p++;
      if (c == 0x7d) break;
      if (c != 0x2c) return fault("',' or '}' was expected", p - 1);
      p = skipSpace(p, end);
    }
  }
  if (!takeObject(pool, height)) return fault('out of memory', p);
  give(Tag.OBJECT, taken, p);
  if (isTyped && flags & ParseFlag.STRICT && <u32>(taken >> 32) != fieldCount(type)) return missingField(type, taken);
  return p;
}

function parseArray(p0: usize, depth: i32, type: usize): usize {
  if (depth <= 0) return fault('nested too deeply', p0 - 1);
  const height = stacked;
  const element = elementOf(type);
  let p = skipSpace(p0, end);
  if (p < end && load<u8>(p) == 0x5d) p++;
  else {
    while (true) {
      p = parseValue(p, depth - 1, element, 0, 0);
      if (!p) return 0;
      if (!push(valueTag, valuePayload, 0, 0)) return fault('out of memory', p);
      p = skipSpace(p, end);
      const c: u32 = p < end ? load<u8>(p) : 0;
      p++;
      if (c == 0x5d) break;
      if (c != 0x2c) return fault("',' or ']' was expected", p - 1);
      p = skipSpace(p, end);
    }
  }
  if (!takeArray(pool, height)) return fault('out of memory', p);
  return give(Tag.ARRAY, taken, p);
}

// ---- types ----------------------------------------------------------------------------------------------------

function typedNumber(p: usize, kind: u8, name: usize, nameLen: u32): usize {
  if (kind == TypeKind.BYTEA || kind >= TypeKind.ARRAY) return wrongType(p, 0, 'number', kind, name, nameLen);
  const v = parseF64(p, end);
  const q = f64End;
  if (q == p || isPadded(p, q)) return scanNumber(p, end);
  if (kind == TypeKind.BIGINT || (kind == TypeKind.ANY && (flags & ParseFlag.INTS) != 0 && f64Whole)) {
    if (!f64Whole || parseI64(p, q) != I64Text.OK) {
      beginName(name, nameLen);
      messageText(f64Whole ? ' is out of range for bigint: ' : ' is not a whole number, expect:bigint: ');
      messageBytes(p, <u32>(q - p));
      return faultComplete();
    }
    return give(Tag.I64, <u64>i64Value, q);
  }
  if (kind == TypeKind.STRING) {
    const to = poolAlloc(pool, MAX_F64_TEXT);
    if (!to) return fault('out of memory', p);
    return give(Tag.STR, span(to, <u32>(printF64General(to, v) - to)), q);
  }
  if (kind == TypeKind.BOOLEAN) return give(Tag.BOOL, <u64>(v != 0), q);
  if (kind == TypeKind.DATETIME && flags & ParseFlag.STRICT) {
    if (!(abs(v) <= <f64>MAX_TIME_MS)) {
      beginName(name, nameLen);
      messageText(' is out of range for datetime');
      return faultComplete();
    }
    return give(Tag.TIME, <u64>timeAt(<i64>v * 1000, 0), q);
  }
  return give(Tag.F64, reinterpret<u64>(v), q);
}

/** Converts the string just read; false after noting the fault. */
function typedString(next: usize, kind: u8, name: usize, nameLen: u32): bool {
  const off = <usize>(<u32>valuePayload);
  const len = <u32>(valuePayload >> 32);
  if (kind == TypeKind.BYTEA) {
    give(Tag.BYTES, bytesOf(off, len, pool), next);
    return true;
  }
  if (kind == TypeKind.DATETIME) {
    if (!(flags & ParseFlag.STRICT)) return true;
    if (timeParse(off, len)) {
      give(Tag.TIME, <u64>timeValue, next);
      return true;
    }
    messageBegin();
    messageText('field ');
    messageBytes(name, nameLen);
    messageText(" type mismatch: Can't parse string as time: ");
    messageBytes(off, len);
    faultComplete();
    return false;
  }
  if (kind == TypeKind.BOOLEAN) {
    const truth = parseBool(off, len);
    if (truth >= 0) {
      give(Tag.BOOL, <u64>truth, next);
      return true;
    }
  }
  wrongTypeMessage('string', kind, name, nameLen);
  return false;
}

/** Reads the spellings of true and false (1 t T true TRUE True, 0 f F false FALSE False); -1 for others. */
export function parseBool(off: usize, len: u32): i32 {
  const c = len ? <u32>load<u8>(off) : 0;
  if (len == 1) return c == 0x31 || (c | 32) == 0x74 ? 1 : c == 0x30 || (c | 32) == 0x66 ? 0 : -1;
  if (len == 4) {
    const w = load<u32>(off);
    return w == 0x65757274 || w == 0x45555254 || w == 0x65757254 ? 1 : -1;
  }
  if (len != 5) return -1;
  const w = load<u32>(off, 1);
  if (w == 0x65736c61 && (c | 32) == 0x66) return 0;
  return w == 0x45534c41 && c == 0x46 ? 0 : -1;
}

function beginName(name: usize, nameLen: u32): void {
  messageBegin();
  if (name) messageBytes(name, nameLen);
  else messageText('array');
}

export function wrongTypeMessage(found: string, kind: u8, name: usize, nameLen: u32): usize {
  beginName(name, nameLen);
  messageText(' has wrong type:');
  messageText(found);
  messageText(', expect:');
  messageText(kindName(kind));
  return faultComplete();
}

/** Broken text is reported before wrong types: the rest of the value is looked at first. */
function wrongType(p: usize, depth: i32, found: string, kind: u8, name: usize, nameLen: u32): usize {
  if (!scanValue(p, end, depth)) return 0;
  return wrongTypeMessage(found, kind, name, nameLen);
}

function kindName(kind: u8): string {
  switch (kind) {
    case TypeKind.BIGINT:
      return 'bigint';
    case TypeKind.FLOAT:
      return 'float';
    case TypeKind.STRING:
      return 'string';
    case TypeKind.DATETIME:
      return 'datetime';
    case TypeKind.BOOLEAN:
      return 'boolean';
    case TypeKind.BYTEA:
      return 'bytea';
    case TypeKind.ARRAY:
      return 'array';
    case TypeKind.STRUCT:
      return 'struct';
    default:
      return 'any';
  }
}

/** Strict validation met a null. */
function nullMismatch(kind: u8, name: usize, nameLen: u32): usize {
  messageBegin();
  messageText('field ');
  if (name) messageBytes(name, nameLen);
  else messageText('array element');
  messageText(' type mismatch: cannot convert null to ');
  messageText(kindName(kind));
  return faultComplete();
}

/** Names the first field of a struct type that the object does not have; strict validation. */
function missingField(type: usize, object: u64): usize {
  let field = firstField(type);
  for (let n = fieldCount(type); n > 0; n--) {
    if (!hasMember(object, fieldName(field), fieldNameLen(field)))
      return missingMessage(fieldName(field), fieldNameLen(field));
    field = nextField(field);
  }
  return faultComplete();
}

function hasMember(object: u64, name: usize, nameLen: u32): bool {
  let member = <usize>(<u32>object);
  for (let n = <u32>(object >> 32); n > 0; n--) {
    if (load<u32>(member, 12) == nameLen && memory.compare(<usize>load<u32>(member, 16), name, nameLen) == 0)
      return true;
    member += 24;
  }
  return false;
}

/** Strict validation: a declared field is not in the payload. */
export function missingMessage(name: usize, nameLen: u32): usize {
  messageBegin();
  messageText('field ');
  messageBytes(name, nameLen);
  messageText(' is not found');
  return faultComplete();
}

// Writes one row of the current batch as JSON or in the engine's own binary form.
//
// `rowsPrepare` looks once per batch at what the columns hold and keeps the result in a table; `rowBound` and
// `rowWrite` then work from the table alone.
import * as ctx from '../batch/context';
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { COL_HAS_RAW, COL_RAW, COL_UNIFORM, OPERAND_NONE, Tag, lenOf, offOf } from '../mem/layout';
import { blockOf, isConst, strideOf, tagsOf, valsOf } from '../ops/operand';
import {
  jsonSizeBound,
  jsonWriteBytes,
  jsonWriteF64,
  jsonWriteI64,
  jsonWriteString,
  jsonWriteValue,
} from '../json/write';
import { fail, failNotFinite, failNotObject } from '../batch/failure';
import { rowsSize, rowsWrite } from '../json/binary-form';
import { isTextFormat, textBound, textIsEmpty, textPrepare, textWrite } from './text';
import {
  EncodeSpec,
  EncodeField,
  ENCODE_FIELD_SIZE_OF,
  ENCODE_SIZE_OF,
  NullRule,
  OutputFormat,
  OutputShape,
} from '../gen/encode-layouts';
import { Program } from '../gen/ops-layouts';

export { EncodeFlag, OutputFormat } from '../gen/encode-layouts';

/** Bytes before the members of an object or the items of an array in the binary form: tag u8, count u32. */
export const ROWS_HEAD: usize = 5;

/** How a field is written in this batch. */
namespace Mode {
  /** Anything: the tag of each row decides. */
  export const ANY: u32 = 0;
  /** Numbers, most of them with their source text. */
  export const RAW: u32 = 1;
  export const F64: u32 = 2;
  export const I64: u32 = 3;
  export const STR: u32 = 4;
  /** As F64, but neighbours mostly have the same number, as rows that a join makes of one row. */
  export const RUNS: u32 = 5;
  export const BOOL: u32 = 6;
  /** Bytes of at most SHORT_TEXT, as JSON. */
  export const BYTES: u32 = 7;
}

//   table entry (88 bytes)
//   0 mode u32 | 4 nameOff u32 | 8 nameLen u32 | 12 rule u32 | 16 vals u32 | 20 tags u32 | 24 raw u32 | 28 stride u32
//   32 tag u32 (of all rows, when the mode is not ANY) | 36 next u32 (entry whose room is computed for each row, 0
//   none)
//   40 number f64 | 48 its text 32 | 80 length u32 (0: none yet) | 84 0 u32         of the last row, in the mode RUNS
/** A field of the rows under way. */
// @ts-ignore: decorator
@unmanaged
class FieldEntry {
  mode: u32;
  name: usize;
  nameLen: u32;
  rule: u32;
  vals: usize;
  tags: usize;
  raw: usize;
  stride: u32;
  tag: u32;
  next: FieldEntry;
  number: u64;
  private gap48: u64;
  private gap56: u64;
  private gap64: u64;
  private gap72: u64;
  textLen: u32;
}

const ENTRY_TEXT: usize = 48;
const ENTRY: u32 = 88;
/** Rows that are looked at to tell whether neighbours have one number. */
const SAMPLE: u32 = 16;
/** Longest text of a number, with room for a wide store behind it. */
const NUMBER_BOUND: u32 = 32;
/** Bytes that one byte of a text becomes at most: \u00xx. */
const ESCAPED: u32 = 6;
/** Texts up to this length get room for the longest of the batch; the room for longer ones is computed for each row. */
const SHORT_TEXT: u32 = 256;

let table: FieldEntry = changetype<FieldEntry>(0);
let tableSize: u32 = 0;
let tableEnd: usize = 0;
let isObject: bool = false;
let isJson: bool = true;
/** True for formats of encode/text.ts, which puts rows together by itself. */
export let isText: bool = false;
let fixedBound: u32 = 0;
/** Operand of the value that says which rows are left out, OPERAND_NONE without one. */
let emptyOperand: u32 = OPERAND_NONE;
let emptyProgram: Program = changetype<Program>(0);
/** First entry whose room is computed for each row, 0 none. */
let variable: FieldEntry = changetype<FieldEntry>(0);

/** Reads the columns of the current batch; false when memory is exhausted. */
export function rowsPrepare(spec: EncodeSpec, program: Program): bool {
  const n = spec.fields;
  isObject = spec.shape == OutputShape.OBJECT;
  isJson = spec.format == OutputFormat.JSON;
  isText = isTextFormat(spec.format);
  emptyOperand = spec.empty;
  emptyProgram = program;
  if (isText) {
    isObject = true;
    variable = changetype<FieldEntry>(1);
    return textPrepare(spec, program);
  }
  const count: u32 = isObject ? 1 : n;
  if (count * ENTRY > tableSize) {
    const bigger = changetype<FieldEntry>(alloc(count * ENTRY, WORKSPACE));
    if (!bigger) return false;
    free(changetype<usize>(table), tableSize, WORKSPACE);
    table = bigger;
    tableSize = count * ENTRY;
  }
  tableEnd = changetype<usize>(table) + count * ENTRY;
  variable = changetype<FieldEntry>(0);
  // Braces, and 16 bytes that wide stores write behind the end.
  fixedBound = spec.literals + 32 + (isJson ? 0 : 9 * count);
  if (isObject) {
    entry(table, program, spec.operand);
    table.mode = Mode.ANY;
    return true;
  }
  let field = changetype<usize>(spec) + ENCODE_SIZE_OF;
  for (let at = changetype<usize>(table); at < tableEnd; at += ENTRY) {
    entry(changetype<FieldEntry>(at), program, load<u16>(field, offsetof<EncodeField>('operand')));
    store<u32>(
      at,
      changetype<u32>(spec) + load<u32>(field, offsetof<EncodeField>('nameOff')),
      offsetof<FieldEntry>('name'),
    );
    store<u32>(at, load<u32>(field, offsetof<EncodeField>('nameLen')), offsetof<FieldEntry>('nameLen'));
    store<u32>(at, load<u8>(field, offsetof<EncodeField>('rule')), offsetof<FieldEntry>('rule'));
    field += ENCODE_FIELD_SIZE_OF;
  }
  return true;
}

function entry(at: FieldEntry, program: Program, operand: u32): void {
  let mode = Mode.ANY;
  let raw: usize = 0;
  let uniform: u8 = Tag.MIXED;
  if (!isConst(operand)) {
    const block = blockOf(operand);
    uniform = load<u8>(block, COL_UNIFORM);
    const hasRaw = load<u8>(block, COL_HAS_RAW) != 0;
    if (hasRaw) raw = block + COL_RAW;
    // Selected rows may all be of one of several streams, so the tags of other rows do not count.
    if (uniform == Tag.MIXED) uniform = tagOfAll(tagsOf(program, operand));
    if (uniform == Tag.F64) mode = hasRaw ? Mode.RAW : hasRuns(valsOf(program, operand)) ? Mode.RUNS : Mode.F64;
    else if (uniform == Tag.I64) mode = hasRaw ? Mode.RAW : Mode.I64;
    else if (uniform == Tag.BOOL) mode = Mode.BOOL;
    else if (uniform == Tag.STR) mode = Mode.STR;
    else if (uniform == Tag.BYTES && isJson) mode = Mode.BYTES;
  }
  const hasText = mode == Mode.STR || mode == Mode.BYTES;
  const longest = hasText ? longestText(valsOf(program, operand)) : 0;
  if (mode == Mode.BYTES && longest > SHORT_TEXT) mode = Mode.ANY;
  at.mode = mode;
  if (mode == Mode.RUNS) at.textLen = 0;
  at.vals = valsOf(program, operand);
  at.tags = tagsOf(program, operand);
  at.raw = raw;
  at.stride = strideOf(operand);
  at.tag = uniform;
  fixedBound += NUMBER_BOUND;
  if (mode != Mode.ANY && longest <= SHORT_TEXT) {
    fixedBound += longest * ESCAPED;
    return;
  }
  at.next = variable;
  variable = at;
}

/** The tag that all rows of the batch have in a column, MIXED when they differ. */
function tagOfAll(tags: usize): u8 {
  const sel = ctx.sel;
  const end = sel + ((<usize>ctx.selLen) << 2);
  const tag = load<u8>(tags + load<u32>(sel));
  for (let at = sel + 4; at < end; at += 4) if (load<u8>(tags + load<u32>(at)) != tag) return Tag.MIXED;
  return tag;
}

/** Whether most of the first rows have the number of the row before. */
function hasRuns(vals: usize): bool {
  const sel = ctx.sel;
  if (ctx.selLen < SAMPLE) return false;
  let same: u32 = 0;
  let last = load<u64>(vals + ((<usize>load<u32>(sel)) << 3));
  for (let i: u32 = 1; i < SAMPLE; i++) {
    const number = load<u64>(vals + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3));
    same += <u32>(number == last);
    last = number;
  }
  return same > SAMPLE >> 1;
}

/** Length of the longest text of the batch. */
function longestText(vals: usize): u32 {
  const sel = ctx.sel;
  const end = sel + ((<usize>ctx.selLen) << 2);
  let longest: u32 = 0;
  for (let at = sel; at < end; at += 4) longest = max(longest, load<u32>(vals + ((<usize>load<u32>(at)) << 3), 4));
  return longest;
}

/** Says whether a value of the row failed; the reason then stands in batch/failure.ts. For rows that nobody writes. */
export function rowFails(row: u32): bool {
  for (let at = changetype<usize>(table); at < tableEnd; at += ENTRY) {
    if (load<u32>(at, offsetof<FieldEntry>('mode')) != Mode.ANY) continue;
    const i = row * load<u32>(at, offsetof<FieldEntry>('stride'));
    if (load<u8>(<usize>load<u32>(at, offsetof<FieldEntry>('tags')) + i) != Tag.ERROR) continue;
    const text = load<u64>(<usize>load<u32>(at, offsetof<FieldEntry>('vals')) + ((<usize>i) << 3));
    fail(offOf(text), lenOf(text));
    return true;
  }
  return false;
}

/** Bytes that `rowWrite` writes at most, wide stores included. */
// @ts-ignore: decorator
@inline export function rowBound(row: u32): u64 {
  return variable ? variableBound(row) : fixedBound;
}

function variableBound(row: u32): u64 {
  if (isText) return textBound(row);
  let bound: u64 = fixedBound;
  for (let at = variable; at; at = at.next) {
    if (at.mode == Mode.STR) {
      bound += <u64>lenOf(load<u64>(at.vals + ((<usize>row) << 3))) * ESCAPED;
    } else {
      const i = row * at.stride;
      const tag = load<u8>(at.tags + i);
      if (tag >= Tag.STR) {
        const val = load<u64>(at.vals + ((<usize>i) << 3));
        bound += isJson ? jsonSizeBound(tag, val) : rowsSize(tag, val);
      }
    }
  }
  return bound;
}

/** Bytes that `rowWrite` writes at most for any row of the batch; 0 when rows differ. */
// @ts-ignore: decorator
@inline export function boundOfAll(): u32 {
  return variable ? 0 : fixedBound;
}

/** Writes the row at `to` and returns its end; 0 when it fails, the reason then stands in batch/failure.ts. */
// @ts-ignore: decorator
@inline export function rowWrite(to: usize, row: u32): usize {
  if (isObject) return writeObject(to, row);
  return isJson ? writeFields(to, row) : writeFieldsBinary(to, row);
}

function writeFields(to: usize, row: u32): usize {
  let p = to;
  const end = tableEnd;
  for (let at = changetype<usize>(table); at < end; at += ENTRY) {
    const mode = load<u32>(at, offsetof<FieldEntry>('mode'));
    const val = <usize>load<u32>(at, offsetof<FieldEntry>('vals')) + ((<usize>row) << 3);
    if (mode == Mode.RAW) {
      p = copyName(p, changetype<FieldEntry>(at));
      const text = load<u64>(<usize>load<u32>(at, offsetof<FieldEntry>('raw')) + ((<usize>row) << 3));
      p = lenOf(text)
        ? copyNumber(p, text)
        : writeValue(p, <u8>load<u32>(at, offsetof<FieldEntry>('tag')), load<u64>(val));
    } else if (mode == Mode.STR) {
      p = copyName(p, changetype<FieldEntry>(at));
      const text = load<u64>(val);
      p = jsonWriteString(p, offOf(text), lenOf(text));
      continue;
    } else if (mode == Mode.F64) {
      p = copyName(p, changetype<FieldEntry>(at));
      const number = load<u64>(val);
      p = isFinite64(number) ? jsonWriteF64(p, reinterpret<f64>(number)) : writeValue(p, Tag.F64, number);
    } else if (mode == Mode.I64) {
      p = jsonWriteI64(copyName(p, changetype<FieldEntry>(at)), load<i64>(val));
      continue;
    } else if (mode == Mode.BOOL) {
      p = writeBool(copyName(p, changetype<FieldEntry>(at)), load<u64>(val) != 0);
      continue;
    } else if (mode == Mode.BYTES) {
      const bytes = load<u64>(val);
      p = jsonWriteBytes(copyName(p, changetype<FieldEntry>(at)), offOf(bytes), lenOf(bytes));
      continue;
    } else if (mode == Mode.RUNS) {
      p = writeRun(copyName(p, changetype<FieldEntry>(at)), changetype<FieldEntry>(at), load<u64>(val));
    } else {
      p = writeAny(p, changetype<FieldEntry>(at), row);
    }
    if (!p) return 0;
  }
  return close(to, p);
}

/** Writes a number, or copies the text of the one before. */
// @ts-ignore: decorator
@inline function writeRun(to: usize, at: FieldEntry, number: u64): usize {
  const text = changetype<usize>(at) + ENTRY_TEXT;
  const len = at.textLen;
  if (len && at.number == number) {
    v128.store(to, v128.load(text));
    if (len > 16) v128.store(to, v128.load(text, 16), 16);
    return to + len;
  }
  const end = writeValue(to, Tag.F64, number);
  if (end) {
    v128.store(text, v128.load(to));
    v128.store(text, v128.load(to, 16), 16);
    at.number = number;
    at.textLen = <u32>(end - to);
  }
  return end;
}

/** Writes a field by the tag of the row, or leaves it out; returns 0 when the row fails. */
function writeAny(to: usize, at: FieldEntry, row: u32): usize {
  const i = row * at.stride;
  const tag = load<u8>(at.tags + i);
  const val = load<u64>(at.vals + ((<usize>i) << 3));
  if (tag <= Tag.NULL) {
    const rule = <u8>at.rule;
    if (rule == NullRule.OMIT || (rule == NullRule.KEEP_NULL && tag == Tag.MISSING)) return to;
  } else if (tag == Tag.ERROR) {
    fail(offOf(val), lenOf(val));
    return 0;
  }
  const p = copyName(to, at);
  const raw = at.raw;
  if (raw && (tag == Tag.F64 || tag == Tag.I64)) {
    const text = load<u64>(raw + ((<usize>i) << 3));
    if (lenOf(text)) return copyNumber(p, text);
  }
  return writeValue(p, tag, val);
}

/** Copies the source text of a number. */
// @ts-ignore: decorator
@inline function copyNumber(to: usize, text: u64): usize {
  const len = lenOf(text);
  v128.store(to, v128.load(offOf(text)));
  if (len > 16) v128.store(to, v128.load(offOf(text), 16), 16);
  return to + len;
}

// @ts-ignore: decorator
@inline function copyName(to: usize, at: FieldEntry): usize {
  const from = at.name;
  const len = at.nameLen;
  v128.store(to, v128.load(from));
  for (let i: u32 = 16; i < len; i += 16) v128.store(to + i, v128.load(from + i));
  return to + len;
}

/** Turns the comma before the first member into the opening brace and closes the object. */
// @ts-ignore: decorator
@inline function close(to: usize, p: usize): usize {
  if (p == to) p++;
  store<u8>(to, 0x7b);
  store<u8>(p, 0x7d);
  return p + 1;
}

/** Whether the bits of a double are those of a number. */
// @ts-ignore: decorator
@inline function isFinite64(bits: u64): bool {
  return (bits & 0x7ff0000000000000) != 0x7ff0000000000000;
}

// @ts-ignore: decorator
@inline function writeBool(p: usize, isTrue: bool): usize {
  store<u64>(p, isTrue ? 0x65757274 : 0x65736c6166); // true, false
  return p + 5 - <usize>isTrue;
}

function writeValue(p: usize, tag: u8, val: u64): usize {
  switch (tag) {
    case Tag.F64: {
      if (!isFinite64(val)) {
        failNotFinite(reinterpret<f64>(val));
        return 0;
      }
      return jsonWriteF64(p, reinterpret<f64>(val));
    }
    case Tag.I64:
      return jsonWriteI64(p, <i64>val);
    case Tag.STR:
      return jsonWriteString(p, offOf(val), lenOf(val));
    case Tag.BOOL:
      return writeBool(p, val != 0);
    case Tag.MISSING:
    case Tag.NULL: {
      store<u32>(p, 0x6c6c756e); // null
      return p + 4;
    }
    default:
      return jsonWriteValue(p, tag, val);
  }
}

/** The row is one value: an object, or (dataField) an array of objects. */
function writeObject(to: usize, row: u32): usize {
  if (isText) return textWrite(to);
  const i = row * table.stride;
  const tag = load<u8>(table.tags + i);
  const val = load<u64>(table.vals + ((<usize>i) << 3));
  if (tag == Tag.ERROR) {
    fail(offOf(val), lenOf(val));
    return 0;
  }
  if (tag != Tag.OBJECT && tag != Tag.ARRAY) {
    failNotObject();
    return 0;
  }
  return isJson ? jsonWriteValue(to, tag, val) : rowsWrite(to, tag, val);
}

function writeFieldsBinary(to: usize, row: u32): usize {
  let p = to + ROWS_HEAD;
  let count: u32 = 0;
  for (let at = changetype<usize>(table); at < tableEnd; at += ENTRY) {
    const i = row * load<u32>(at, offsetof<FieldEntry>('stride'));
    let tag = load<u8>(<usize>load<u32>(at, offsetof<FieldEntry>('tags')) + i);
    const val = load<u64>(<usize>load<u32>(at, offsetof<FieldEntry>('vals')) + ((<usize>i) << 3));
    if (tag <= Tag.NULL) {
      const rule = <u8>load<u32>(at, offsetof<FieldEntry>('rule'));
      if (rule == NullRule.OMIT || (rule == NullRule.KEEP_NULL && tag == Tag.MISSING)) continue;
      tag = Tag.NULL;
    } else if (tag == Tag.ERROR) {
      fail(offOf(val), lenOf(val));
      return 0;
    }
    const nameLen = load<u32>(at, offsetof<FieldEntry>('nameLen'));
    store<u32>(p, nameLen);
    memory.copy(p + 4, <usize>load<u32>(at, offsetof<FieldEntry>('name')), nameLen);
    p = rowsWrite(p + 4 + nameLen, tag, val);
    count++;
  }
  rowWriteHead(to, Tag.OBJECT, count);
  return p;
}

/** Writes tag and count of an array or object in the binary form (json/binary-form.ts). */
// @ts-ignore: decorator
@inline export function rowWriteHead(to: usize, tag: u8, count: u32): void {
  store<u8>(to, tag);
  store<u32>(to, count, 1);
}

/** True when the operand that the spec names for it says that the row is left out. */
// @ts-ignore: decorator
@inline export function rowIsEmpty(row: u32): bool {
  return emptyOperand != OPERAND_NONE && isEmptyOf(row);
}

function isEmptyOf(row: u32): bool {
  const i = row * strideOf(emptyOperand);
  const tag = load<u8>(tagsOf(emptyProgram, emptyOperand) + i);
  if (tag <= Tag.NULL) return true;
  return tag == Tag.OBJECT && lenOf(load<u64>(valsOf(emptyProgram, emptyOperand) + ((<usize>i) << 3))) == 0;
}

/**
 * True when `omitIfEmpty` leaves out a row that is sent by itself and that `rowIsEmpty` says nothing of: it has no
 * members as it stands at `from` … `end`.
 */
export function rowIsOmitted(row: u32, from: usize, end: usize): bool {
  if (emptyOperand != OPERAND_NONE) {
    if (load<u8>(tagsOf(emptyProgram, emptyOperand) + row * strideOf(emptyOperand)) == Tag.OBJECT) return false;
  }
  if (isText) return textIsEmpty();
  return isJson ? end - from == 2 : end - from == ROWS_HEAD && load<u32>(from, 1) == 0;
}

/** True when the row is a list (dataField). */
export function rowIsList(row: u32): bool {
  return isObject && load<u8>(table.tags + row * table.stride) == Tag.ARRAY;
}

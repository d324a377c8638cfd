// Rows as text of other formats than JSON: values between delimiters, forms (application/x-www-form-urlencoded), a
// value as it is. A row is put together in the text buffer (value/text.ts) when its size is asked for, and copied when
// it is written.
//
// Columns of delimited rows that are objects are those of the first row: of the message, or with a message for each row
// of all rows that the node has written (`names`).
//
//   names    size u32 (bytes of the block) | count u32 | for each: len u32, bytes
import { fail, failNoMemory } from '../batch/failure';
import {
  EncodeSpec,
  EncodeField,
  ENCODE_FIELD_SIZE_OF,
  ENCODE_SIZE_OF,
  EncodeFlag,
  NullRule,
  OutputFormat,
  OutputShape,
} from '../gen/encode-layouts';
import { alloc, free, WORKSPACE } from '../mem/alloc';
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
import { typeAt } from '../protobuf/types';
import { findPlaces, writeBegin, writeMessage } from '../protobuf/write';
import { strideOf, tagsOf, valsOf } from '../ops/operand';
import { bytesCompare } from '../value/bytes';
import { plainError, valueError } from '../value/error';
import { putFloatPlain } from '../value/float';
import { printValue } from '../value/print';
import { textAt, textBegin, textByte, textBytes, textFails, textLen } from '../value/text';
import { Program } from '../gen/ops-layouts';

const NAMES_COUNT: usize = 4;
const NAMES_HEAD: u32 = 8;

let spec: EncodeSpec = changetype<EncodeSpec>(0);
let program: Program = changetype<Program>(0);
let format: u32 = 0;
/** Block of names, 0 none. */
let names: usize = 0;
/** True when the next row is the first of its message. */
let isFirst: bool = true;
/** Bytes of the header before the row. */
let headerLen: u32 = 0;
let isComplete: bool = false;
/** protobuf: the types of messages. */
let messageTypes: usize = 0;
/** protobuf: members of the row, from its fields, then the places of the fields of the message. */
let members: usize = 0;
let membersSize: u32 = 0;
/** protobuf: number of members of the row. */
let memberCount: u32 = 0;

/** True for the formats that this file writes. */
// @ts-ignore: decorator
@inline export function isTextFormat(format: u32): bool {
  return format >= OutputFormat.DELIMITED;
}

/** True when each row is a message by itself; otherwise the rows of a message, or of a batch, are written as one. */
// @ts-ignore: decorator
@inline export function isApart(flags: u32): bool {
  return (flags & (EncodeFlag.SINGLE | EncodeFlag.BATCH)) == EncodeFlag.SINGLE;
}

/** True for nodes that write all rows with the columns of their first row. */
export function keepsNames(spec: EncodeSpec): bool {
  return spec.format == OutputFormat.DELIMITED && spec.shape == OutputShape.OBJECT;
}

/** Sets the spec of the rows that follow; false when memory is exhausted. */
export function textPrepare(ofSpec: EncodeSpec, ofProgram: Program): bool {
  spec = ofSpec;
  program = ofProgram;
  format = spec.format;
  names = 0;
  isFirst = true;
  if (format != OutputFormat.PROTOBUF) return true;
  messageTypes = changetype<usize>(spec) + spec.delimiter + 4;
  writeBegin(messageTypes);
  return spec.shape == OutputShape.OBJECT || prepareMembers();
}

/** Sets the names of the columns for the rows that follow (0: their own names), and whether they begin a message. */
export function textPlace(ofNames: usize, begins: bool): void {
  names = ofNames;
  isFirst = begins;
}

/** Puts the row together and returns how many bytes it has; one that fails is told by `textWrite`. */
export function textBound(row: u32): u32 {
  textBegin();
  headerLen = 0;
  isComplete = putRow(row);
  if (isComplete && textFails) {
    failNoMemory();
    isComplete = false;
  }
  return textLen;
}

/** True when the row that `textBound` was asked of has no text. */
export function textIsEmpty(): bool {
  if (format == OutputFormat.PROTOBUF) return memberCount == 0;
  return textLen == headerLen;
}

/** Writes the row that `textBound` was asked of; returns its end or 0, the reason then stands in batch/failure.ts. */
export function textWrite(to: usize): usize {
  if (!isComplete) return 0;
  memory.copy(to, textAt(), textLen);
  return to + textLen;
}

function failWith(error: u64): bool {
  fail(offOf(error), lenOf(error));
  return false;
}

function putRow(row: u32): bool {
  const isSingle = isApart(spec.flags);
  if (spec.shape != OutputShape.OBJECT) {
    if (format == OutputFormat.PROTOBUF) return isSingle ? putMessageFields(row) : failList();
    if (format == OutputFormat.FORM) return isSingle ? putFormFields(row) : failList();
    if (hasHeader(isSingle)) putHeaderFields();
    return putFields(row);
  }
  const operand = spec.operand;
  const at = row * strideOf(operand);
  const tag = load<u8>(tagsOf(program, operand) + at);
  const val = load<u64>(valsOf(program, operand) + ((<usize>at) << 3));
  if (tag == Tag.ERROR) return failWith(val);
  if (format == OutputFormat.RAW) return putRaw(tag, val);
  if (tag != Tag.OBJECT) return failWith(valueError('a row is needed, but found ', tag, val));
  if (format == OutputFormat.FORM) return isSingle ? putForm(val) : failList();
  if (format == OutputFormat.PROTOBUF) return isSingle ? putMessage(offOf(val), lenOf(val), 0) : failList();
  if (hasHeader(isSingle)) {
    if (names) putHeaderNames();
    else putHeader(val);
  }
  return names ? putNamed(val) : putMembers(val);
}

function failList(): bool {
  return failWith(
    plainError(
      format == OutputFormat.FORM
        ? 'format urlencoded: a list of rows cannot be sent, use sendSingle'
        : 'format protobuf: a list of rows cannot be sent, use sendSingle',
    ),
  );
}

function putRaw(tag: u8, val: u64): bool {
  if (tag != Tag.BYTES && tag != Tag.STR)
    return failWith(valueError('format binary: bytes are needed, but found ', tag, val));
  textBytes(offOf(val), lenOf(val));
  return true;
}

/** Appends a value: nothing for null, bytes as they are. */
function putValue(tag: u8, val: u64): void {
  if (tag <= Tag.NULL) return;
  if (tag == Tag.F64) putFloatPlain(reinterpret<f64>(val));
  else if (tag == Tag.BYTES) textBytes(offOf(val), lenOf(val));
  else printValue(tag, val);
}

// ---- delimited -----------------------------------------------------------------------------------------------

/** True when the names of the columns are written before the row. */
function hasHeader(isSingle: bool): bool {
  const flags = spec.flags;
  return isSingle ? (flags & EncodeFlag.EACH_HEADER) != 0 : isFirst && (flags & EncodeFlag.HEADER) != 0;
}

function endHeader(): void {
  textByte(0x0a);
  headerLen = textLen;
}

function putDelimiter(): void {
  const at = changetype<usize>(spec) + spec.delimiter;
  textBytes(at + 4, load<u32>(at));
}

function putFields(row: u32): bool {
  const n = spec.fields;
  let field = changetype<usize>(spec) + ENCODE_SIZE_OF;
  for (let i: u32 = 0; i < n; i++) {
    const operand = <u32>load<u16>(field, offsetof<EncodeField>('operand'));
    const at = row * strideOf(operand);
    const tag = load<u8>(tagsOf(program, operand) + at);
    const val = load<u64>(valsOf(program, operand) + ((<usize>at) << 3));
    if (tag == Tag.ERROR) return failWith(val);
    if (i) putDelimiter();
    putValue(tag, val);
    field += ENCODE_FIELD_SIZE_OF;
  }
  return true;
}

function putHeaderFields(): void {
  const n = spec.fields;
  let field = changetype<usize>(spec) + ENCODE_SIZE_OF;
  for (let i: u32 = 0; i < n; i++) {
    if (i) putDelimiter();
    textBytes(
      changetype<usize>(spec) + load<u32>(field, offsetof<EncodeField>('nameOff')),
      load<u32>(field, offsetof<EncodeField>('nameLen')),
    );
    field += ENCODE_FIELD_SIZE_OF;
  }
  endHeader();
}

function putMembers(object: u64): bool {
  const n = lenOf(object);
  for (let i: u32 = 0; i < n; i++) {
    const member = offOf(object) + i * MEMBER_SIZE;
    if (i) putDelimiter();
    putValue(load<u8>(member, MEMBER_TAG), load<u64>(member));
  }
  return true;
}

/** Members and names ascend, so that one walk finds all. */
function putNamed(object: u64): bool {
  let member = offOf(object);
  const end = member + lenOf(object) * MEMBER_SIZE;
  let name = names + NAMES_HEAD;
  for (let i: u32 = 0; i < load<u32>(names, NAMES_COUNT); i++) {
    if (i) putDelimiter();
    const len = load<u32>(name);
    let order: i32 = -1;
    while (member < end) {
      order = bytesCompare(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN), name + 4, len);
      if (order >= 0) break;
      member += MEMBER_SIZE;
    }
    if (member < end && order == 0) putValue(load<u8>(member, MEMBER_TAG), load<u64>(member));
    name += 4 + len;
  }
  return true;
}

function putHeader(object: u64): void {
  const n = lenOf(object);
  for (let i: u32 = 0; i < n; i++) {
    const member = offOf(object) + i * MEMBER_SIZE;
    if (i) putDelimiter();
    textBytes(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
  }
  endHeader();
}

function putHeaderNames(): void {
  let name = names + NAMES_HEAD;
  for (let i: u32 = 0; i < load<u32>(names, NAMES_COUNT); i++) {
    if (i) putDelimiter();
    const len = load<u32>(name);
    textBytes(name + 4, len);
    name += 4 + len;
  }
  endHeader();
}

/**
 * The names of the row's members as a block that is charged to the account; 0 when the row has none or memory is
 * exhausted.
 */
export function namesOfRow(row: u32, account: usize): usize {
  const operand = spec.operand;
  const at = row * strideOf(operand);
  const object = load<u64>(valsOf(program, operand) + ((<usize>at) << 3));
  if (load<u8>(tagsOf(program, operand) + at) != Tag.OBJECT) return 0;
  const n = lenOf(object);
  let size: u64 = NAMES_HEAD;
  for (let i: u32 = 0; i < n; i++) size += 4 + <u64>load<u32>(offOf(object) + i * MEMBER_SIZE, MEMBER_KEY_LEN);
  const block = namesNew(size, n, account);
  if (!block) return 0;
  let to = block + NAMES_HEAD;
  for (let i: u32 = 0; i < n; i++) {
    const member = offOf(object) + i * MEMBER_SIZE;
    const len = load<u32>(member, MEMBER_KEY_LEN);
    store<u32>(to, len);
    memory.copy(to + 4, <usize>load<u32>(member, MEMBER_KEY_OFF), len);
    to += 4 + len;
  }
  return block;
}

/** A block for `count` names, which follow its head; 0 when memory is exhausted. */
export function namesNew(size: u64, count: u32, account: usize): usize {
  if (size < NAMES_HEAD || size > 0x7fffffff) return 0;
  const block = alloc(<u32>size, account);
  if (!block) return 0;
  store<u32>(block, <u32>size);
  store<u32>(block, count, NAMES_COUNT);
  return block;
}

/** True for bytes that are a block of names. */
export function areNames(block: usize, size: u32): bool {
  if (size < NAMES_HEAD || load<u32>(block) != size) return false;
  let at: u64 = NAMES_HEAD;
  for (let i: u32 = 0; i < load<u32>(block, NAMES_COUNT); i++) {
    if (at + 4 > size) return false;
    at += 4 + <u64>load<u32>(block + <usize>at);
    if (at > size) return false;
  }
  return at == size;
}

export function namesFree(block: usize, account: usize): void {
  if (block) free(block, load<u32>(block), account);
}

// ---- protobuf ------------------------------------------------------------------------------------------------

function putMessage(at: usize, count: u32, places: usize): bool {
  memberCount = count;
  return writeMessage(typeAt(messageTypes, 0), at, count, places);
}

/** Makes members of the fields of the spec, whose names ascend, with the places of the fields of the message. */
function prepareMembers(): bool {
  const n = spec.fields;
  const places = typeAt(messageTypes, 0).count;
  const size = n * MEMBER_SIZE + places * 2;
  if (size > membersSize) {
    free(members, membersSize, WORKSPACE);
    members = alloc(size, WORKSPACE);
    membersSize = members ? size : 0;
    if (!members) return false;
  }
  let field = changetype<usize>(spec) + ENCODE_SIZE_OF;
  for (let i: u32 = 0; i < n; i++) {
    const member = members + <usize>i * MEMBER_SIZE;
    store<u32>(member, load<u32>(field, offsetof<EncodeField>('nameLen')), MEMBER_KEY_LEN);
    store<u32>(member, changetype<u32>(spec) + load<u32>(field, offsetof<EncodeField>('nameOff')), MEMBER_KEY_OFF);
    field += ENCODE_FIELD_SIZE_OF;
  }
  findPlaces(members + <usize>n * MEMBER_SIZE, members, n);
  return true;
}

/** Writes the values of the fields as a message. */
function putMessageFields(row: u32): bool {
  const n = spec.fields;
  let field = changetype<usize>(spec) + ENCODE_SIZE_OF;
  let values: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const operand = <u32>load<u16>(field, offsetof<EncodeField>('operand'));
    const at = row * strideOf(operand);
    const tag = load<u8>(tagsOf(program, operand) + at);
    const val = load<u64>(valsOf(program, operand) + ((<usize>at) << 3));
    if (tag == Tag.ERROR) return failWith(val);
    const member = members + <usize>i * MEMBER_SIZE;
    store<u64>(member, val);
    store<u32>(member, <u32>tag, MEMBER_TAG);
    values += <u32>(tag > Tag.NULL);
    field += ENCODE_FIELD_SIZE_OF;
  }
  const isWritten = putMessage(members, n, members + <usize>n * MEMBER_SIZE);
  memberCount = values;
  return isWritten;
}

// ---- forms ---------------------------------------------------------------------------------------------------

/** Number of pairs of the row that are written. */
let pairs: u32 = 0;

function putFormFields(row: u32): bool {
  const n = spec.fields;
  let field = changetype<usize>(spec) + ENCODE_SIZE_OF;
  pairs = 0;
  for (let i: u32 = 0; i < n; i++) {
    const operand = <u32>load<u16>(field, offsetof<EncodeField>('operand'));
    const at = row * strideOf(operand);
    const tag = load<u8>(tagsOf(program, operand) + at);
    const val = load<u64>(valsOf(program, operand) + ((<usize>at) << 3));
    if (tag == Tag.ERROR) return failWith(val);
    const rule = load<u8>(field, offsetof<EncodeField>('rule'));
    const isLeftOut = tag <= Tag.NULL && (rule == NullRule.OMIT || (rule == NullRule.KEEP_NULL && tag == Tag.MISSING));
    if (!isLeftOut) {
      putPairs(
        changetype<usize>(spec) + load<u32>(field, offsetof<EncodeField>('nameOff')),
        load<u32>(field, offsetof<EncodeField>('nameLen')),
        tag,
        val,
      );
    }
    field += ENCODE_FIELD_SIZE_OF;
  }
  return true;
}

function putForm(object: u64): bool {
  const n = lenOf(object);
  pairs = 0;
  for (let i: u32 = 0; i < n; i++) {
    const member = offOf(object) + i * MEMBER_SIZE;
    putPairs(
      <usize>load<u32>(member, MEMBER_KEY_OFF),
      load<u32>(member, MEMBER_KEY_LEN),
      load<u8>(member, MEMBER_TAG),
      load<u64>(member),
    );
  }
  return true;
}

/** Writes a pair, or for a list a pair for each of its elements. */
function putPairs(name: usize, nameLen: u32, tag: u8, val: u64): void {
  if (tag != Tag.ARRAY) {
    putPair(name, nameLen, tag, val);
    return;
  }
  for (let i: u32 = 0; i < lenOf(val); i++) {
    const slot = offOf(val) + i * SLOT_SIZE;
    putPair(name, nameLen, load<u8>(slot, SLOT_TAG), load<u64>(slot));
  }
}

function putPair(name: usize, nameLen: u32, tag: u8, val: u64): void {
  if (pairs++) textByte(0x26);
  putEscaped(name, nameLen);
  textByte(0x3d);
  const from = textLen;
  putValue(tag, val);
  escapeFrom(from);
}

function putEscaped(at: usize, len: u32): void {
  const from = textLen;
  textBytes(at, len);
  escapeFrom(from);
}

/** Letters, digits and `-_.~` stay as they are. */
// @ts-ignore: decorator
@inline function isPlain(c: u32): bool {
  return (c | 0x20) - 0x61 < 26 || c - 0x30 < 10 || c == 0x2d || c == 0x5f || c == 0x2e || c == 0x7e;
}

// @ts-ignore: decorator
@inline function hex(digit: u32): u32 {
  return digit + (digit < 10 ? 0x30 : 0x37);
}

/** Escapes the text from `from` on: `+` for a space, `%XX` for bytes that have a meaning in a form. */
function escapeFrom(from: u32): void {
  if (textFails) return;
  let more: u32 = 0;
  for (let i = from; i < textLen; i++) {
    const c = <u32>load<u8>(textAt() + i);
    if (!isPlain(c) && c != 0x20) more += 2;
  }
  let i = textLen;
  for (let k: u32 = 0; k < more; k++) textByte(0);
  if (textFails) return;
  let to = textLen;
  while (i > from) {
    const c = <u32>load<u8>(textAt() + --i);
    if (isPlain(c) || c == 0x20) store<u8>(textAt() + --to, <u8>(c == 0x20 ? 0x2b : c));
    else {
      to -= 3;
      store<u8>(textAt() + to, 0x25);
      store<u8>(textAt() + to, <u8>hex(c >> 4), 1);
      store<u8>(textAt() + to, <u8>hex(c & 15), 2);
    }
  }
}

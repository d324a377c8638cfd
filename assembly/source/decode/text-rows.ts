// Payloads whose values are texts: fields between delimiters, forms (application/x-www-form-urlencoded), and named
// fields as a source has cut them. A value of a declared column is converted to its type; an empty one is null unless
// the column is a text.
//
// Fields without names are col0, col1 …; with a schema they are its columns in their order, and more fields are not
// read.
import * as ctx from '../../batch/context';
import { parseAt, parseBool, valuePayload, valueTag, wrongTypeMessage } from '../../json/parse';
import { push, stacked, takeGroups, taken, takeObject, unstack } from '../../json/tree';
import { fieldCount, fieldName, fieldNameLen, firstField, nextField } from '../../json/type';
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, Tag, lenOf, offOf, span } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { printI64 } from '../../text/i64';
import { messageBegin, messageText } from '../../text/message';
import { isUtf8 } from '../../text/utf8';
import { floatValue, intValue, readFloat, readInteger } from '../../value/number';
import { clearRow, filledRows, nextRow, put } from '../columns/batch';
import { addMessageError } from './message-error';
import { blockAt } from '../columns/blocks';
import { completeRow, failMessage } from './decode';
import * as message from '../framing/message';
import { Use, findUse, useAt, UseKind } from '../columns/use';
import { TypeKind } from '../../gen/source-layouts';
import { Node } from '../../gen/node-layouts';
import { Source } from '../columns/state';

/** Longest name of a field that has none of its own: `col` and ten digits, readable in blocks of 16. */
const NAME_ROOM: u32 = 32;

/** Decodes fields between delimiters as one row. */
export function decodeDelimited(node: Node, state: Source): bool {
  if (!beginRow(node, state)) return true;
  const spec = state.spec;
  const delimiterLen = spec.delimiter;
  const delimiter = changetype<usize>(spec) + state.specSize - delimiterLen;
  const schema = state.schema;
  const needsRow = (state.kinds & (1 << UseKind.ROW)) != 0;
  const height = stacked;
  const end = message.payloadEnd;
  let field = schema ? firstField(schema) : 0;
  let left = schema ? fieldCount(schema) : u32.MAX_VALUE;
  let from = message.payload;
  for (let i: u32 = 0; left > 0; i++, left--) {
    const to = nextDelimiter(from, end, delimiter, delimiterLen);
    let name: usize;
    let nameLen: u32;
    if (schema) {
      name = fieldName(field);
      nameLen = fieldNameLen(field);
      field = nextField(field);
    } else {
      name = poolAlloc(ctx.scratch, NAME_ROOM);
      if (!name) return failMemory(node, height);
      store<u32>(name, 0x6c6f63); // col
      nameLen = <u32>(printI64(name + 3, i) - name);
    }
    const text = span(from, <u32>(to - from));
    if (!putField(state, name, nameLen, Tag.STR, text)) return failRow(node, height);
    if (needsRow && !push(Tag.STR, text, name, nameLen)) return failMemory(node, height);
    if (to == end) break;
    from = to + delimiterLen;
  }
  return endRow(node, state, height, needsRow);
}

/**
 * Decodes named fields as one row. Each is the length of its name u32, the name, the length of its text u32, the text;
 * both are little-endian. Of equal names the last counts.
 */
export function decodeFields(node: Node, state: Source): bool {
  clearRow(state, filledRows);
  const needsRow = (state.kinds & (1 << UseKind.ROW)) != 0;
  const height = stacked;
  const end = message.payloadEnd;
  let p = message.payload;
  while (p < end) {
    if (end - p < 8) return failText(node, height, 'a field is cut off');
    const nameLen = load<u32>(p);
    if (<usize>nameLen > end - p - 8) return failText(node, height, 'a field is cut off');
    const name = p + 4;
    const at = name + nameLen + 4;
    const len = load<u32>(at - 4);
    if (<usize>len > end - at) return failText(node, height, 'a field is cut off');
    if (!isUtf8(at, at + len)) return failText(node, height, 'the text is not UTF-8');
    const text = span(at, len);
    if (!putField(state, name, nameLen, Tag.STR, text)) return failRow(node, height);
    if (needsRow && !push(Tag.STR, text, name, nameLen)) return failMemory(node, height);
    p = at + len;
  }
  if (needsRow) {
    if (!takeObject(ctx.scratch, height)) return failMemory(node, height);
    putRow(state, taken);
  }
  return complete(node, state);
}

/** Decodes a form as one row; a name that is there several times gets a list of its values. */
export function decodeForm(node: Node, state: Source): bool {
  if (!beginRow(node, state)) return true;
  const height = stacked;
  const end = message.payloadEnd;
  let from = message.payload;
  while (from < end) {
    let to = from;
    let sign: usize = 0;
    for (; to < end && load<u8>(to) != 0x26; to++) if (!sign && load<u8>(to) == 0x3d) sign = to;
    if (to > from) {
      const name = unescaped(from, sign ? sign : to);
      const value = sign ? unescaped(sign + 1, to) : span(to, 0);
      if (unescapeFault) {
        messageBegin();
        messageText(
          unescapeFault == NO_MEMORY
            ? 'memory is exhausted'
            : 'the form has an escape that is none, or text that is not UTF-8',
        );
        unstack(height);
        addMessageError(node);
        return true;
      }
      if (!push(Tag.STR, value, offOf(name), lenOf(name))) return failMemory(node, height);
    }
    from = to + 1;
  }
  if (!takeGroups(ctx.scratch, height)) return failMemory(node, height);
  const object = taken;
  for (let i: u32 = 0; i < lenOf(object); i++) {
    const member = offOf(object) + i * MEMBER_SIZE;
    const name = <usize>load<u32>(member, MEMBER_KEY_OFF);
    if (!putField(state, name, load<u32>(member, MEMBER_KEY_LEN), load<u8>(member, MEMBER_TAG), load<u64>(member))) {
      return failRow(node, height);
    }
  }
  putRow(state, object);
  return complete(node, state);
}

/** Checks the text; false: it is an error row. */
function beginRow(node: Node, state: Source): bool {
  clearRow(state, filledRows);
  if (isUtf8(message.payload, message.payloadEnd)) return true;
  messageBegin();
  messageText('the text is not UTF-8');
  addMessageError(node);
  return false;
}

function endRow(node: Node, state: Source, height: u32, needsRow: bool): bool {
  if (needsRow) {
    if (!takeGroups(ctx.scratch, height)) return failMemory(node, height);
    putRow(state, taken);
  }
  return complete(node, state);
}

function complete(node: Node, state: Source): bool {
  if (completeRow(state, filledRows)) nextRow();
  else failMessage(node);
  return true;
}

/** The message of the failure stands in text/message.ts, or is noted in json/fault.ts. */
function failRow(node: Node, height: u32): bool {
  unstack(height);
  failMessage(node);
  return true;
}

function failMemory(node: Node, height: u32): bool {
  return failText(node, height, 'memory is exhausted');
}

function failText(node: Node, height: u32, reason: string): bool {
  unstack(height);
  messageBegin();
  messageText(reason);
  addMessageError(node);
  return true;
}

function nextDelimiter(from: usize, end: usize, delimiter: usize, len: u32): usize {
  if (!len) return end;
  const first = i8x16.splat(load<u8>(delimiter));
  for (let p = from; p < end; p += 16) {
    let hits = <u32>i8x16.bitmask(i8x16.eq(v128.load(p), first));
    while (hits) {
      const at = p + ctz(hits);
      if (at + len > end) return end;
      if (len == 1 || memory.compare(at, delimiter, len) == 0) return at;
      hits &= hits - 1;
    }
  }
  return end;
}

/** Stores the object in the columns that take the whole row. */
function putRow(state: Source, object: u64): void {
  if (!(state.kinds & (1 << UseKind.ROW))) return;
  const count = state.useCount;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    if (use.refs && use.kind == UseKind.ROW) put(blockAt(i), filledRows, Tag.OBJECT, object);
  }
}

/** Stores the value in the columns of that name; false when it is not of their type. */
function putField(state: Source, name: usize, nameLen: u32, tag: u8, val: u64): bool {
  let use = findUse(state, name, nameLen);
  while (use) {
    const at = useAt(state, use - 1);
    if (!convert(state, at, tag, val, name, nameLen)) return false;
    put(blockAt(use - 1), filledRows, convertedTag, converted);
    use = at.next;
  }
  return true;
}

let convertedTag: u8 = 0;
let converted: u64 = 0;

function convert(state: Source, use: Use, tag: u8, val: u64, name: usize, nameLen: u32): bool {
  const kind = use.typeKind;
  convertedTag = tag;
  converted = val;
  if (kind == TypeKind.ANY || (kind == TypeKind.STRING && tag == Tag.STR)) return true;
  if (tag != Tag.STR) {
    if (kind == TypeKind.ARRAY) return true;
    wrongTypeMessage('list', kind, name, nameLen);
    return false;
  }
  const at = offOf(val);
  const len = lenOf(val);
  if (!len) {
    convertedTag = Tag.NULL;
    converted = 0;
    return true;
  }
  switch (kind) {
    case TypeKind.BIGINT:
      convertedTag = Tag.I64;
      if (readInteger(at, len)) {
        converted = <u64>intValue;
        return true;
      }
      break;
    case TypeKind.FLOAT:
      convertedTag = Tag.F64;
      if (readFloat(at, len)) {
        converted = reinterpret<u64>(floatValue);
        return true;
      }
      break;
    case TypeKind.BOOLEAN: {
      const truth = parseBool(at, len);
      convertedTag = Tag.BOOL;
      converted = <u64>(truth > 0);
      if (truth >= 0) return true;
      break;
    }
    case TypeKind.DATETIME:
      return true;
    case TypeKind.BYTEA:
      convertedTag = Tag.BYTES;
      return true;
    default: {
      const stop = parseAt(at, at + len, <i32>state.maxDepth, use.type, name, nameLen);
      if (!stop) return false;
      convertedTag = valueTag;
      converted = valuePayload;
      if (stop == at + len) return true;
    }
  }
  wrongTypeMessage('string', kind, name, nameLen);
  return false;
}

// ---- escapes of forms ----------------------------------------------------------------------------------------

const NO_MEMORY: u32 = 2;
/** Fault of the last text: 1 a wrong escape, NO_MEMORY, 0 none. */
let unescapeFault: u32 = 0;

// @ts-ignore: decorator
@inline function hexOf(c: u32): u32 {
  if (c - 0x30 < 10) return c - 0x30;
  const letter = (c | 0x20) - 0x61;
  return letter < 6 ? letter + 10 : 16;
}

/** The text with `+` as space and `%XX` as the byte. */
function unescaped(from: usize, end: usize): u64 {
  unescapeFault = 0;
  // Names are read in blocks of 16.
  const to = poolAlloc(ctx.scratch, <u32>(end - from) + 16);
  if (!to) {
    unescapeFault = NO_MEMORY;
    return 0;
  }
  let out = to;
  for (let p = from; p < end; p++) {
    const c = <u32>load<u8>(p);
    if (c != 0x25) {
      store<u8>(out++, <u8>(c == 0x2b ? 0x20 : c));
      continue;
    }
    const isThere = p + 2 < end;
    const high = isThere ? hexOf(load<u8>(p, 1)) : 16;
    const low = isThere ? hexOf(load<u8>(p, 2)) : 16;
    if (high > 15 || low > 15) {
      unescapeFault = 1;
      return 0;
    }
    store<u8>(out++, <u8>((high << 4) | low));
    p += 2;
  }
  if (!isUtf8(to, out)) unescapeFault = 1;
  return span(to, <u32>(out - to));
}

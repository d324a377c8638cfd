// Payloads that are not JSON: raw bytes, and rows in the engine's own binary form.
import * as ctx from '../../batch/context';
import {
  BATCH_ROWS,
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  SLOT_TAG,
  span,
  Tag,
} from '../../mem/layout';
import { messageBegin, messageText } from '../../text/message';
import { rowsRead, rowsPayload, rowsTag } from '../../json/binary-form';
import { push, stacked, takeObject, taken } from '../../json/tree';
import { findField } from '../../json/type';
import { addErrorRow, filledRows, nextRow, put } from '../columns/batch';
import { hasSpecial, putSpecial } from './meta';
import * as message from '../framing/message';
import { blockAt } from '../columns/blocks';
import {
  SOURCE_KINDS,
  STREAM_MAX_DEPTH,
  SOURCE_RESUME,
  SOURCE_SCHEMA,
  SOURCE_USE_COUNT,
  stateOf,
} from '../columns/state';
import { findUse, USE_KIND, USE_NAME, USE_NAME_LEN, USE_NEXT, USE_REFS, useAt, UseKind } from '../columns/use';

const SELF: usize = memory.data<u8>([0x73, 0x65, 0x6c, 0x66]);

/** The payload is the value of the field `self` or, with a schema, of the declared field. */
export function decodeBinary(node: usize): bool {
  const state = stateOf(node);
  const row = filledRows;
  const bytes = span(message.payload, <u32>(message.payloadEnd - message.payload));
  const schema = <usize>load<u32>(state, SOURCE_SCHEMA);
  const count = load<u32>(state, SOURCE_USE_COUNT);
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    if (!load<u32>(use, USE_REFS)) continue;
    const kind = load<u8>(use, USE_KIND);
    if (kind == UseKind.ROW) {
      const height = stacked;
      push(Tag.BYTES, bytes, SELF, 4);
      if (takeObject(ctx.scratch, height)) put(blockAt(i), row, Tag.OBJECT, taken);
    } else if (kind == UseKind.FIELD) {
      const name = <usize>load<u32>(use, USE_NAME);
      const len = load<u32>(use, USE_NAME_LEN);
      const isSelf = len == 4 && load<u32>(name) == load<u32>(SELF);
      if (isSelf || (schema && findField(schema, name, len))) put(blockAt(i), row, Tag.BYTES, bytes);
    }
  }
  if (hasSpecial(state)) putSpecial(state, row);
  nextRow();
  return true;
}

/**
 * An object is a row, a list of objects as many; what does not fit in the batch follows in the next (SOURCE_RESUME).
 */
export function decodeRows(node: usize): bool {
  const state = stateOf(node);
  const end = message.payloadEnd;
  const read = rowsRead(message.payload, end, ctx.scratch, load<i32>(state, STREAM_MAX_DEPTH));
  if (read != end || !isRows(rowsTag, rowsPayload)) {
    messageBegin();
    messageText(read != end ? 'invalid row data' : 'the payload is neither an object nor a list of objects');
    addErrorRow(node);
    return true;
  }
  if (rowsTag == Tag.OBJECT) {
    putObject(state, rowsPayload);
    return true;
  }
  const n = <u32>(rowsPayload >> 32);
  const slots = <usize>(<u32>rowsPayload);
  for (let i = load<u32>(state, SOURCE_RESUME); i < n; i++) {
    if (filledRows == BATCH_ROWS) {
      store<u32>(state, i, SOURCE_RESUME);
      return false;
    }
    putObject(state, load<u64>(slots + i * SLOT_SIZE));
  }
  store<u32>(state, 0, SOURCE_RESUME);
  return true;
}

function isRows(tag: u8, payload: u64): bool {
  if (tag == Tag.OBJECT) return true;
  if (tag != Tag.ARRAY) return false;
  const slots = <usize>(<u32>payload);
  for (let i: u32 = 0; i < <u32>(payload >> 32); i++) {
    if (load<u8>(slots + i * SLOT_SIZE, SLOT_TAG) != Tag.OBJECT) return false;
  }
  return true;
}

function putObject(state: usize, object: u64): void {
  const row = filledRows;
  let member = <usize>(<u32>object);
  for (let n = <u32>(object >> 32); n > 0; n--, member += MEMBER_SIZE) {
    let use = findUse(state, <usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
    while (use) {
      put(blockAt(use - 1), row, load<u8>(member, MEMBER_TAG), load<u64>(member));
      use = load<u32>(useAt(state, use - 1), USE_NEXT);
    }
  }
  if (load<u32>(state, SOURCE_KINDS) & (1 << UseKind.ROW)) {
    const count = load<u32>(state, SOURCE_USE_COUNT);
    for (let i: u32 = 0; i < count; i++) {
      const use = useAt(state, i);
      if (load<u32>(use, USE_REFS) && load<u8>(use, USE_KIND) == UseKind.ROW) put(blockAt(i), row, Tag.OBJECT, object);
    }
  }
  if (hasSpecial(state)) putSpecial(state, row);
  nextRow();
}

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
import { Source, stateOf } from '../columns/state';
import { findUse, useAt, UseKind } from '../columns/use';
import { Node } from '../../gen/node-layouts';

const SELF: usize = memory.data<u8>([0x73, 0x65, 0x6c, 0x66]);

/** Stores the payload as the value of the field `self` or, with a schema, of the declared field. */
export function decodeBinary(node: Node): bool {
  const state = stateOf(node);
  const row = filledRows;
  const bytes = span(message.payload, <u32>(message.payloadEnd - message.payload));
  const schema = state.schema;
  const count = state.useCount;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    if (!use.refs) continue;
    const kind = use.kind;
    if (kind == UseKind.ROW) {
      const height = stacked;
      push(Tag.BYTES, bytes, SELF, 4);
      if (takeObject(ctx.scratch, height)) put(blockAt(i), row, Tag.OBJECT, taken);
    } else if (kind == UseKind.FIELD) {
      const name = use.name;
      const len = use.nameLen;
      const isSelf = len == 4 && load<u32>(name) == load<u32>(SELF);
      if (isSelf || (schema && findField(schema, name, len))) put(blockAt(i), row, Tag.BYTES, bytes);
    }
  }
  if (hasSpecial(state)) putSpecial(state, row);
  nextRow();
  return true;
}

/**
 * Decodes rows in the binary form: an object is a row, a list of objects several rows. Rows that do not fit in the
 * batch follow in the next one (`resume`).
 */
export function decodeRows(node: Node): bool {
  const state = stateOf(node);
  const end = message.payloadEnd;
  const read = rowsRead(message.payload, end, ctx.scratch, <i32>state.maxDepth);
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
  for (let i = state.resume; i < n; i++) {
    if (filledRows == BATCH_ROWS) {
      state.resume = i;
      return false;
    }
    putObject(state, load<u64>(slots + i * SLOT_SIZE));
  }
  state.resume = 0;
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

function putObject(state: Source, object: u64): void {
  const row = filledRows;
  let member = <usize>(<u32>object);
  for (let n = <u32>(object >> 32); n > 0; n--, member += MEMBER_SIZE) {
    let use = findUse(state, <usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
    while (use) {
      put(blockAt(use - 1), row, load<u8>(member, MEMBER_TAG), load<u64>(member));
      use = useAt(state, use - 1).next;
    }
  }
  if (state.kinds & (1 << UseKind.ROW)) {
    const count = state.useCount;
    for (let i: u32 = 0; i < count; i++) {
      const use = useAt(state, i);
      if (use.refs && use.kind == UseKind.ROW) put(blockAt(i), row, Tag.OBJECT, object);
    }
  }
  if (hasSpecial(state)) putSpecial(state, row);
  nextRow();
}

// Payloads that are raw bytes.
import * as ctx from '../../batch/context';
import { span, Tag } from '../../mem/layout';
import { push, stacked, takeObject, taken } from '../../json/tree';
import { findField } from '../../json/type';
import { filledRows, nextRow, put } from '../columns/batch';
import { hasSpecial, putSpecial } from './meta';
import * as message from '../framing/message';
import { blockAt } from '../columns/blocks';
import { stateOf } from '../columns/state';
import { useAt, UseKind } from '../columns/use';
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

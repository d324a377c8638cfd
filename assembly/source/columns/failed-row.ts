// The row or message at which something failed, kept with its failure (node/failures.ts): the columns that rules read
// of it, by their names. Values for which there is no room are cut out.
import { failLen, failOff } from '../../batch/failure';
import * as ctx from '../../batch/context';
import { FAILED_ROW_BYTES, Node } from '../../gen/node-layouts';
import { rowsSize, rowsWrite } from '../../json/binary-form';
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  Tag,
  lenOf,
  offOf,
  span,
  tagAt,
  valAt,
} from '../../mem/layout';
import { ROW, setFailedRow, takesFailure } from '../../node/failures';
import { addException, failuresOf } from '../../node/node';
import { Trait, hasTrait } from '../../node/operator';
import { isUtf8 } from '../../text/utf8';
import { stateOf } from './state';
import { UseKind, useAt } from './use';

/** Tag and number of members. */
const HEAD: u32 = 5;
/** Takes the place of values for which there is no room: an ellipsis. */
const CUT: usize = memory.data<u8>([0xe2, 0x80, 0xa6]);
const CUT_LEN: u32 = 3;
/** Names of what has none. */
const SELF: usize = memory.data<u8>([0x73, 0x65, 0x6c, 0x66]);
const MESSAGE: usize = memory.data<u8>([0x6d, 0x65, 0x73, 0x73, 0x61, 0x67, 0x65]);

let end: usize = 0;
let members: u32 = 0;

/** Counts the failure in batch/failure.ts, of a row of the current batch, and keeps the row. */
export function addFailedRow(node: Node, row: u32): void {
  keepRow(node, row);
  addException(node, failOff, failLen, 1);
}

/**
 * Keeps the row for the failure that is counted next. False: its columns are not those of a stream, or no more failures
 * are kept now.
 */
export function keepRow(node: Node, row: u32): bool {
  if (!takesFailure(failuresOf(node))) return false;
  let above = node.parent;
  while (above && hasTrait(above, Trait.KEEPS_COLUMNS)) above = above.parent;
  if (!above || above.parent || hasTrait(above, Trait.JOINS_STREAMS)) return false;
  const state = stateOf(above);
  failedRowBegin();
  for (let i: u32 = 0; i < state.useCount; i++) {
    const use = useAt(state, i);
    if (!use.refs) continue;
    const block = <usize>load<u32>(ctx.cols + ((<usize>i) << 2));
    const tag = tagAt(block, row);
    if (use.kind == UseKind.ROW) failedRowObject(tag, valAt(block, row));
    else if (use.kind == UseKind.FIELD) failedRowMember(use.name, use.nameLen, tag, valAt(block, row));
    else if (use.kind == UseKind.SELF) failedRowMember(SELF, 4, tag, valAt(block, row));
  }
  failedRowEnd();
  return true;
}

/** Keeps a message that could not be decoded, which is a row with the one column `message`. */
export function keepMessage(node: Node, from: usize, to: usize): void {
  if (!takesFailure(failuresOf(node))) return;
  const most = <usize>(FAILED_ROW_BYTES - HEAD - 4 - 7 - HEAD);
  let last = min(to, from + most);
  // No character is cut in two.
  if (last < to) while (last > from && (load<u8>(last) & 0xc0) == 0x80) last--;
  failedRowBegin();
  failedRowMember(MESSAGE, 7, isUtf8(from, last) ? Tag.STR : Tag.BYTES, span(from, <u32>(last - from)));
  failedRowEnd();
}

export function failedRowBegin(): void {
  end = ROW + HEAD;
  members = 0;
}

/** Adds the members of an object; what is no object has none. */
export function failedRowObject(tag: u8, payload: u64): void {
  if (tag != Tag.OBJECT) return;
  let at = offOf(payload);
  for (let n = lenOf(payload); n > 0; n--, at += MEMBER_SIZE) {
    const name = <usize>load<u32>(at, MEMBER_KEY_OFF);
    failedRowMember(name, load<u32>(at, MEMBER_KEY_LEN), load<u8>(at, MEMBER_TAG), load<u64>(at));
  }
}

/** Adds a value that the row has. */
export function failedRowMember(name: usize, len: u32, tag: u8, payload: u64): void {
  if (tag == Tag.MISSING) return;
  const limit = ROW + FAILED_ROW_BYTES;
  const head: u64 = 4 + <u64>len;
  if (<u64>end + head + rowsSize(tag, payload) > limit) {
    tag = Tag.STR;
    payload = span(CUT, CUT_LEN);
    if (<u64>end + head + rowsSize(tag, payload) > limit) return;
  }
  store<u32>(end, len);
  memory.copy(end + 4, name, len);
  end = rowsWrite(end + 4 + len, tag, payload);
  members++;
}

export function failedRowEnd(): void {
  store<u8>(ROW, Tag.OBJECT);
  store<u32>(ROW + 1, members);
  setFailedRow(<u32>(end - ROW));
}

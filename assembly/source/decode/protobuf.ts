// Protobuf messages to rows. Fields of columns in use are decoded, others are skipped by their wire type; where a rule
// reads whole messages, all are.
import * as ctx from '../../batch/context';
import { push, stacked, unstack } from '../../json/tree';
import { faultComplete } from '../../json/fault';
import {
  COL_TAGS,
  COL_VALS,
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  offOf,
  lenOf,
  span,
  Tag,
} from '../../mem/layout';
import { poolAlloc, poolChunk, poolFilled, poolReturn } from '../../mem/pool';
import { accountOf } from '../../node/node';
import { fault, faultText } from '../../protobuf/fault';
import { finishBegin, finishCells, finished, finishObject } from '../../protobuf/finish';
import { readBegin, readMessage } from '../../protobuf/read';
import { copyMembers, firstField, typeAt } from '../../protobuf/types';
import { filledRows, nextRow, put } from '../columns/batch';
import { blockAt } from '../columns/blocks';
import { Source } from '../columns/state';
import { findUse, useAt, UseKind } from '../columns/use';
import * as message from '../framing/message';
import { Node } from '../../gen/node-layouts';
import { completeRow, failMessage } from './decode';
import { FILL, MessagePlan, messagePlanMake } from './message-plan';

/** Decodes the message under way as one row. */
export function decodeProtobuf(node: Node, state: Source): bool {
  const row = filledRows;
  const height = stacked;
  const chunk = poolChunk(ctx.scratch);
  const filled = chunk ? poolFilled(ctx.scratch) : 0;
  readBegin(state.messageTypes, ctx.scratch);
  const isRead = state.kinds & (1 << UseKind.ROW) ? readRow(state, row) : readColumns(state, row, accountOf(node));
  if (!isRead) {
    unstack(height);
    poolReturn(ctx.scratch, chunk, filled);
    faultText(message.payload);
    faultComplete();
  }
  if (isRead && completeRow(state, row)) nextRow();
  else failMessage(node);
  return true;
}

/** Reads the fields of the columns in use; false after noting a fault. */
function readColumns(state: Source, row: u32, account: usize): bool {
  let plan = changetype<MessagePlan>(state.messagePlan);
  if (!plan) plan = messagePlanMake(state, account);
  if (!plan) return noMemory();
  const type = typeAt(state.messageTypes, 0);
  const cells = plan.cells;
  const end = message.payloadEnd;
  copyMembers(cells, plan.template, plan.cellsSize);
  if (!readMessage(type, plan.fields, cells, message.payload, end, <i32>state.maxDepth - 1, 0)) return false;
  if (plan.finishes) {
    finishBegin(state.messageTypes, ctx.scratch, end);
    if (!finishCells(plan.fields, plan.count, cells)) return false;
  }
  const stop = plan.fillsEnd;
  for (let fill = plan.fills; fill < stop; fill += FILL) {
    const cell = cells + <usize>load<u32>(fill);
    const block = <usize>load<u32>(fill, 4);
    store<u8>(block + row, load<u8>(cell, MEMBER_TAG), COL_TAGS);
    store<u64>(block + ((<usize>row) << 3), load<u64>(cell), COL_VALS);
  }
  return true;
}

/** Reads the whole message as an object, and the columns in use of it; false after noting a fault. */
function readRow(state: Source, row: u32): bool {
  const types = state.messageTypes;
  const type = typeAt(types, 0);
  const count = type.count;
  const members = poolAlloc(ctx.scratch, count * MEMBER_SIZE);
  if (!members) return noMemory();
  copyMembers(members, type.template, count * MEMBER_SIZE);
  const end = message.payloadEnd;
  const first = firstField(types, type);
  if (!readMessage(type, first, members, message.payload, end, <i32>state.maxDepth - 1, 0)) return false;
  finishBegin(types, ctx.scratch, end);
  if (!finishObject(type, span(members, count))) return false;
  let member = members;
  for (let n = lenOf(finished); n > 0; n--, member += MEMBER_SIZE) {
    let use = findUse(state, <usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
    for (; use; use = useAt(state, use - 1).next) {
      put(blockAt(use - 1), row, load<u8>(member, MEMBER_TAG), load<u64>(member));
    }
  }
  for (let i: u32 = 0; i < state.useCount; i++) {
    const use = useAt(state, i);
    if (use.refs && use.kind == UseKind.ROW) put(blockAt(i), row, Tag.OBJECT, finished);
  }
  return true;
}

function noMemory(): bool {
  fault('memory is exhausted', 0);
  return false;
}

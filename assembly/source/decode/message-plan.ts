// How the fields of protobuf messages go into the columns in use: copies of the fields of the type, with a cell only
// for those that somebody reads, that a message must have, or that take the value of such a field away.
//
//   plan   head | fields, one of zeros at the end | template of the cells | cells | fills
//   fill   offset u32 of the cell | block u32 of the column in use
import { alloc, free } from '../../mem/alloc';
import { MEMBER_SIZE } from '../../mem/layout';
import { FieldFlag, MessageField, MessageType, MESSAGE_FIELD_SIZE_OF, NO_CELL } from '../../gen/protobuf-layouts';
import { firstField, typeAt } from '../../protobuf/types';
import { Source } from '../columns/state';
import { findUse, useAt } from '../columns/use';

export const FILL: u32 = 8;

// @ts-ignore: decorator
@unmanaged
export class MessagePlan {
  size: u32;
  fields: usize;
  count: u32;
  template: usize;
  cells: usize;
  /** Bytes of all cells. */
  cellsSize: u32;
  fills: usize;
  fillsEnd: usize;
  /** Cells are put in order when the message has ended. */
  finishes: bool;
}

const HEAD: u32 = 48;

/** Makes the plan for the columns in use; null when memory is exhausted. */
export function messagePlanMake(state: Source, account: usize): MessagePlan {
  const types = state.messageTypes;
  const type = typeAt(types, 0);
  const fills = fillsOf(state, types, type);
  const fieldsSize = (type.count + 1) * MESSAGE_FIELD_SIZE_OF;
  const size = HEAD + fieldsSize + 2 * type.count * MEMBER_SIZE + fills * FILL + 16;
  const plan = changetype<MessagePlan>(alloc(size, account));
  if (!plan) return plan;
  const at = changetype<usize>(plan);
  plan.size = size;
  plan.fields = at + HEAD;
  plan.count = type.count;
  plan.template = plan.fields + fieldsSize;
  plan.cells = plan.template + type.count * MEMBER_SIZE;
  plan.fills = plan.cells + type.count * MEMBER_SIZE;
  plan.fillsEnd = plan.fills;
  plan.finishes = false;
  memory.copy(plan.fields, firstField(types, type), fieldsSize);
  choose(state, types, plan);
  placeCells(state, types, type, plan);
  state.messagePlan = at;
  return plan;
}

/** Frees the plan: the columns in use are others now. */
export function messagePlanForget(state: Source, account: usize): void {
  const plan = changetype<MessagePlan>(state.messagePlan);
  if (plan) free(changetype<usize>(plan), plan.size, account);
  state.messagePlan = 0;
}

// @ts-ignore: decorator
@inline function fieldOf(first: usize, index: u32): MessageField {
  return changetype<MessageField>(first + <usize>index * MESSAGE_FIELD_SIZE_OF);
}

function useOf(state: Source, types: usize, field: MessageField): u32 {
  return findUse(state, types + field.nameOff, field.nameLen);
}

/** Number of columns that take fields. */
function fillsOf(state: Source, types: usize, type: MessageType): u32 {
  let fills: u32 = 0;
  for (let i: u32 = 0; i < type.count; i++) {
    let use = useOf(state, types, fieldOf(firstField(types, type), i));
    for (; use; use = useAt(state, use - 1).next) fills++;
  }
  return fills;
}

/** Leaves the fields a cell that need one. */
function choose(state: Source, types: usize, plan: MessagePlan): void {
  const fields = plan.fields;
  for (let i: u32 = 0; i < plan.count; i++) {
    const field = fieldOf(fields, i);
    if (!useOf(state, types, field) && !(field.flags & FieldFlag.REQUIRED)) field.cell = NO_CELL;
  }
  for (let i: u32 = 0; i < plan.count; i++) {
    const field = fieldOf(fields, i);
    if (!(field.flags & FieldFlag.ONEOF) || !useOf(state, types, field)) continue;
    let peer = fieldOf(fields, field.peer - 1);
    for (; peer != field; peer = fieldOf(fields, peer.peer - 1)) peer.cell = 0;
  }
}

function placeCells(state: Source, types: usize, type: MessageType, plan: MessagePlan): void {
  let cells: u32 = 0;
  for (let i: u32 = 0; i < plan.count; i++) {
    const field = fieldOf(plan.fields, i);
    if (field.cell == NO_CELL) continue;
    const member = type.template + fieldOf(firstField(types, type), i).cell * MEMBER_SIZE;
    memory.copy(plan.template + <usize>cells * MEMBER_SIZE, member, MEMBER_SIZE);
    field.cell = <u16>cells;
    if (field.flags & (FieldFlag.FINISH | FieldFlag.REQUIRED)) plan.finishes = true;
    let use = useOf(state, types, field);
    for (; use; use = useAt(state, use - 1).next) {
      store<u32>(plan.fillsEnd, cells * MEMBER_SIZE);
      store<u32>(plan.fillsEnd, <u32>useAt(state, use - 1).block, 4);
      plan.fillsEnd += FILL;
    }
    cells++;
  }
  plan.cellsSize = cells * MEMBER_SIZE;
}

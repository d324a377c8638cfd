// A keyed table: takes the rows of its stream in, the newest for each value of the key, for all rules that look them
// up.
//
//   state   table (table.ts)
import * as ctx from '../batch/context';
import { fail, failLen, failNoMemory, failOff } from '../batch/failure';
import { accountOf, addException } from '../node/node';
import { Operator } from '../node/operator';
import { selectionPop, selectionPush, withoutErrors } from '../batch/selection';
import { KeyedSpec, KEYED_SIZE_OF } from '../gen/lookup-layouts';
import { LoadFault } from '../gen/state-layouts';
import { allocZeroed, free } from '../mem/alloc';
import { MEMBER_TAG, OPERAND_NONE, Tag, isNull, lenOf, offOf } from '../mem/layout';
import { Pool, poolFree, poolInit, poolReset } from '../mem/pool';
import { findMember } from '../ops/nested/access';
import { strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { readFail, readFails, readLength, readValue, readVersion, valueRead } from '../state/reader';
import { writeU32, writeValue, writeVersion } from '../state/writer';
import { bytesEqual } from '../value/bytes';
import { textBegin, textBytes, textLiteral, textTake } from '../value/text';
import { recordNext, recordObject } from './record';
import {
  LookupTable,
  SetOutcome,
  TABLE_SIZE,
  tableCount,
  tableDelete,
  tableFirst,
  tableFree,
  tableInit,
  tableSet,
} from './table';
import { keepRow } from '../source/columns/failed-row';
import { Node } from '../gen/node-layouts';
import { Program } from '../gen/ops-layouts';

export function keyedTableOperator(operator: Operator): void {
  operator.open = keyedOpen;
  operator.push = keyedPush;
  operator.signal = keyedSignal;
  operator.save = keyedSave;
  operator.load = keyedLoad;
  operator.free = keyedFree;
}

// @ts-ignore: decorator
@inline function keyName(spec: KeyedSpec): usize {
  return changetype<usize>(spec) + KEYED_SIZE_OF;
}

/** Makes the state of a table; false when memory is exhausted. */
function keyedOpen(node: Node): bool {
  const spec = changetype<KeyedSpec>(node.spec);
  const acct = accountOf(node);
  const table = changetype<LookupTable>(allocZeroed(TABLE_SIZE, acct));
  if (!table) return false;
  node.state = changetype<usize>(table);
  node.stateSize = TABLE_SIZE;
  return tableInit(table, keyName(spec), spec.keyLen, acct);
}

function keyedFree(node: Node): void {
  const table = changetype<LookupTable>(node.state);
  if (!table) return;
  tableFree(table, accountOf(node));
  free(changetype<usize>(table), TABLE_SIZE, accountOf(node));
}

/** Drops signals, which have no meaning for the rows of a table. */
function keyedSignal(node: Node, signal: u32, value: u64): void {}

/** Takes rows into the table, except error rows, which the nodes above have counted. */
function keyedPush(node: Node): void {
  const errors = ctx.rowErrors;
  if (!errors) {
    takeRows(node);
    return;
  }
  const clean = selectionPush();
  if (!clean) {
    noMemory(node, ctx.selLen);
    return;
  }
  const n = withoutErrors(ctx.sel, ctx.selLen, errors, clean);
  ctx.setSelection(clean, n);
  if (n) takeRows(node);
  selectionPop();
}

function noMemory(node: Node, rows: u32): void {
  failNoMemory();
  addException(node, failOff, failLen, rows);
}

function takeRows(node: Node): void {
  const program = node.program;
  if (program) vmRun(program);
  const spec = changetype<KeyedSpec>(node.spec);
  const table = changetype<LookupTable>(node.state);
  const row = spec.row;
  const tags = tagsOf(program, row);
  const vals = valsOf(program, row);
  const hasKinds = spec.kindName != OPERAND_NONE;
  for (let i: u32 = 0; i < ctx.selLen; i++) {
    const at = load<u32>(ctx.sel + ((<usize>i) << 2));
    const tag = load<u8>(tags + at);
    const val = load<u64>(vals + ((<usize>at) << 3));
    if (tag == Tag.ERROR) {
      keepRow(node, at);
      addException(node, offOf(val), lenOf(val), 1);
    } else if (tag == Tag.OBJECT) takeRow(node, spec, program, table, at, val, hasKinds);
  }
}

/** Kinds of changes, by their names. */
const INSERT: usize = memory.data<u8>([0x69, 0x6e, 0x73, 0x65, 0x72, 0x74]);
const UPSERT: usize = memory.data<u8>([0x75, 0x70, 0x73, 0x65, 0x72, 0x74]);
const UPDATE: usize = memory.data<u8>([0x75, 0x70, 0x64, 0x61, 0x74, 0x65]);
const DELETE: usize = memory.data<u8>([0x64, 0x65, 0x6c, 0x65, 0x74, 0x65]);
const SETS: u32 = 0;
const DELETES: u32 = 1;
const UNKNOWN: u32 = 2;

function kindOf(tag: u8, val: u64): u32 {
  if (isNull(tag)) return SETS;
  if (tag != Tag.STR || lenOf(val) != 6) return UNKNOWN;
  const at = offOf(val);
  if (bytesEqual(at, DELETE, 6)) return DELETES;
  return bytesEqual(at, INSERT, 6) || bytesEqual(at, UPSERT, 6) || bytesEqual(at, UPDATE, 6) ? SETS : UNKNOWN;
}

function takeRow(
  node: Node,
  spec: KeyedSpec,
  program: Program,
  table: LookupTable,
  row: u32,
  object: u64,
  hasKinds: bool,
): void {
  const acct = accountOf(node);
  if (hasKinds) {
    const kindName = spec.kindName;
    if (load<u8>(tagsOf(program, kindName) + row * strideOf(kindName)) == Tag.STR) {
      const name = load<u64>(valsOf(program, kindName) + ((<usize>(row * strideOf(kindName))) << 3));
      const sent = spec.sent;
      const sentTag = load<u8>(tagsOf(program, sent) + row);
      const member: usize = sentTag == Tag.OBJECT ? findMember(valOf(program, sent, row), offOf(name), lenOf(name)) : 0;
      const kind = member ? kindOf(load<u8>(member, MEMBER_TAG), load<u64>(member)) : SETS;
      if (kind == UNKNOWN) {
        failKind(node, name);
        return;
      }
      if (kind == DELETES) {
        deleteRow(node, spec, program, table, row);
        return;
      }
    }
  }
  const outcome = tableSet(table, object, acct);
  if (outcome == SetOutcome.NO_MEMORY) noMemory(node, 1);
  else if (outcome == SetOutcome.NO_KEY) failKey(node, keyName(spec), spec.keyLen);
}

// @ts-ignore: decorator
@inline function valOf(program: Program, operand: u32, row: u32): u64 {
  return load<u64>(valsOf(program, operand) + ((<usize>row) << 3));
}

/** Deletes the row with the key that the sent object names. */
function deleteRow(node: Node, spec: KeyedSpec, program: Program, table: LookupTable, row: u32): void {
  const keyOperand = spec.keyName;
  const name: u64 = load<u8>(tagsOf(program, keyOperand) + row) == Tag.STR ? valOf(program, keyOperand, row) : 0;
  const member: usize = name ? findMember(valOf(program, spec.sent, row), offOf(name), lenOf(name)) : 0;
  if (!member || isNull(load<u8>(member, MEMBER_TAG))) failKey(node, offOf(name), lenOf(name));
  else tableDelete(table, load<u8>(member, MEMBER_TAG), load<u64>(member), accountOf(node));
}

function failKind(node: Node, name: u64): void {
  textBegin();
  textLiteral('the kind of change in ');
  textBytes(offOf(name), lenOf(name));
  textLiteral(' is none of insert, update, upsert, delete');
  failTaken(node);
}

function failKey(node: Node, name: usize, len: u32): void {
  textBegin();
  textLiteral('the row has no value for the key ');
  textBytes(name, len);
  failTaken(node);
}

function failTaken(node: Node): void {
  const text = textTake();
  fail(offOf(text), lenOf(text));
  addException(node, failOff, failLen, 1);
}

const VERSION: u32 = 1;
const POOL: Pool = changetype<Pool>(memory.data(32, 16));

/** Saves the rows in the order in which they were set. Indexes are not saved, but made again. */
function keyedSave(node: Node): void {
  const table = changetype<LookupTable>(node.state);
  writeVersion(VERSION);
  writeU32(tableCount(table));
  poolInit(POOL, 1024, accountOf(node));
  for (let record = tableFirst(table); record; record = recordNext(record)) {
    const object = recordObject(record, POOL);
    if (!object) break;
    writeValue(Tag.OBJECT, object);
    poolReset(POOL);
  }
  poolFree(POOL);
}

function keyedLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const table = changetype<LookupTable>(node.state);
  const acct = accountOf(node);
  const count = readLength();
  poolInit(POOL, 1024, acct);
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const tag = readValue(POOL);
    if (readFails()) break;
    const outcome = tag == Tag.OBJECT ? tableSet(table, valueRead, acct) : SetOutcome.NO_KEY;
    if (outcome == SetOutcome.NO_MEMORY) readFail(LoadFault.MEMORY);
    else if (outcome == SetOutcome.NO_KEY) readFail(LoadFault.DAMAGED);
    poolReset(POOL);
  }
  poolFree(POOL);
  return !readFails();
}

// A function for each element of a list: the elements of many rows are gathered into a column and the operation runs
// over that, as it runs over the rows of a batch.
import * as ctx from '../../batch/context';
import { alloc, WORKSPACE } from '../../mem/alloc';
import {
  BATCH_ROWS,
  COL_HAS_RAW,
  COL_SIZE,
  COL_TAGS,
  COL_UNIFORM,
  COL_VALS,
  OPERAND_NONE,
  Tag,
  lenOf,
  offOf,
  span,
} from '../../mem/layout';
import { isAbsent, isAbsentAs } from '../numeric';
import { valueError } from '../../value/error';
import { findMember } from '../nested/access';
import { OP_SIZE, constOf, program, setProgram, strideOf, tagsOf, valsOf } from '../operand';
import { noMemory } from '../result';
import { dstOf, give, giveNull, outTag, outVal, setHeader } from '../row-loops';
import { isList, itemAt, itemTag, listRoom, putItem } from './items';
import { Program, Operation } from '../../gen/ops-layouts';

// The operation of a function is an int64: its number u16 | takes its argument as `args` u16 | imm u32.
const IN_ARGS: u64 = 0x10000;

/** A program of one operation that reads register 0 and fills register 1. */
const INNER: Program = changetype<Program>(memory.data(64, 16));
const INNER_OP: Operation = changetype<Operation>(memory.data(32, 16));
const INNER_ARGS: usize = memory.data(16, 16);
/** Row numbers 0, 1, 2 … */
const ROWS: usize = memory.data(4096, 16);
/** Address for the result of each gathered element. */
const TARGETS: usize = memory.data(4096, 16);

/** Runs one operation; set by the loop over programs, which knows all families (ops/vm.ts). */
let run: (op: Operation) => void = (_op: Operation): void => {};

export function setRun(dispatch: (op: Operation) => void): void {
  run = dispatch;
}

/** Two column blocks: elements and results. */
let blocks: usize = 0;
let gathered: u32 = 0;
/** Operation that the gathered elements wait for. */
let operation: u64 = 0;
/** Tag of all gathered elements, or MIXED. */
let uniform: u8 = 0;

function prepare(): bool {
  if (blocks) return true;
  blocks = alloc(COL_SIZE * 2, WORKSPACE);
  for (let i: u32 = 0; i < BATCH_ROWS; i++) store<u32>(ROWS + ((<usize>i) << 2), i);
  INNER.args = INNER_ARGS;
  return blocks != 0;
}

/** Runs the operation over the gathered elements. */
function flush(): void {
  if (!gathered) return;
  const isInArgs = (operation & IN_ARGS) != 0;
  memory.fill(changetype<usize>(INNER_OP), 0, OP_SIZE);
  INNER_OP.code = <u16>operation;
  INNER_OP.dst = 1;
  INNER_OP.a = isInArgs ? <u16>OPERAND_NONE : 0;
  INNER_OP.b = <u16>OPERAND_NONE;
  INNER_OP.c = <u16>OPERAND_NONE;
  INNER_OP.argCount = <u16>isInArgs;
  INNER_OP.imm = <u32>(operation >> 32);
  store<u8>(blocks, uniform, COL_UNIFORM);
  store<u8>(blocks, 0, COL_HAS_RAW);
  const outer = program;
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const rowErrors = ctx.rowErrors;
  const registers = ctx.setRegisters(blocks);
  ctx.setBatch(cols, gathered, ROWS, gathered, 0);
  setProgram(INNER);
  run(INNER_OP);
  setProgram(outer);
  ctx.setBatch(cols, rows, sel, selLen, rowErrors);
  ctx.setRegisters(registers);
  const results = blocks + COL_SIZE;
  for (let i: u32 = 0; i < gathered; i++) {
    const slot = <usize>load<u32>(TARGETS + ((<usize>i) << 2));
    putItem(slot, load<u8>(results + i, COL_TAGS), load<u64>(results + ((<usize>i) << 3), COL_VALS));
  }
  ctx.addWork(gathered);
  gathered = 0;
}

function gather(slot: usize, target: usize): void {
  const tag = itemTag(slot);
  uniform = gathered == 0 || uniform == tag ? tag : Tag.MIXED;
  store<u8>(blocks + gathered, tag, COL_TAGS);
  store<u64>(blocks + ((<usize>gathered) << 3), load<u64>(slot), COL_VALS);
  store<u32>(TARGETS + ((<usize>gathered) << 2), <u32>target);
  if (++gathered == BATCH_ROWS) flush();
}

/** Gathers the elements of the row's list; the list of results, empty yet, is the row's result. */
function begin(nameTag: u8, name: u64, tag: u8, list: u64, known: u64): void {
  if (nameTag == Tag.ERROR || tag == Tag.ERROR) {
    give(Tag.ERROR, nameTag == Tag.ERROR ? name : list);
    return;
  }
  if (isAbsent(nameTag, name) || isAbsentAs(Tag.ARRAY, tag, list)) {
    giveNull();
    return;
  }
  const member = nameTag == Tag.STR ? findMember(known, offOf(name), lenOf(name)) : 0;
  if (!member) {
    give(Tag.ERROR, valueError('array_map: no function of one value has the name ', nameTag, name));
    return;
  }
  if (!isList(2, tag, list)) return;
  const wanted = load<u64>(member);
  if (wanted != operation) flush();
  operation = wanted;
  const n = lenOf(list);
  const to = listRoom('array_map', n);
  if (!to) return;
  for (let i: u32 = 0; i < n; i++) gather(itemAt(list, i), to + ((<usize>i) << 4));
  give(Tag.ARRAY, span(to, n));
}

/** The first error in a list of results is the result of its row. */
function failedItem(list: u64): usize {
  for (let i: u32 = 0; i < lenOf(list); i++) {
    if (itemTag(itemAt(list, i)) == Tag.ERROR) return itemAt(list, i);
  }
  return 0;
}

export function listMap(op: Operation): void {
  const a = op.a;
  const b = op.b;
  const known = load<u64>(constOf(program, op.c));
  const dst = dstOf(op);
  const isReady = prepare();
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let k: u32 = 0; k < n; k++) {
    const row = load<u32>(sel + ((<usize>k) << 2));
    const i = row * strideOf(a);
    const j = row * strideOf(b);
    if (!isReady) give(Tag.ERROR, noMemory('array_map'));
    else {
      begin(
        load<u8>(tagsOf(program, a) + i),
        load<u64>(valsOf(program, a) + ((<usize>i) << 3)),
        load<u8>(tagsOf(program, b) + j),
        load<u64>(valsOf(program, b) + ((<usize>j) << 3)),
        known,
      );
    }
    store<u8>(dst + row, outTag, COL_TAGS);
    store<u64>(dst + ((<usize>row) << 3), outVal, COL_VALS);
  }
  flush();
  for (let k: u32 = 0; k < n; k++) {
    const row = load<u32>(sel + ((<usize>k) << 2));
    if (load<u8>(dst + row, COL_TAGS) != Tag.ARRAY) continue;
    const failed = failedItem(load<u64>(dst + ((<usize>row) << 3), COL_VALS));
    if (!failed) continue;
    store<u8>(dst + row, Tag.ERROR, COL_TAGS);
    store<u64>(dst + ((<usize>row) << 3), load<u64>(failed), COL_VALS);
  }
  setHeader(dst, Tag.MIXED);
}

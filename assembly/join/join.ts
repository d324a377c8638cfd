// Joins the rows of each message: gathers them by branch, then does the steps one after the other. The results of the last
// step go out in batches while the pairs are worked on; those of the steps before are kept as tuples.
import * as ctx from '../flow/context';
import { failLen, failNoMemory, failOff } from '../flow/failure';
import { beginMessage, endMessage, signalBelow } from '../flow/emit';
import { N_FLAGS, N_PROGRAM, N_SPEC, N_STATE, N_STATE_SIZE, NodeFlag, accountOf, addException } from '../flow/node';
import { Operator, Signal } from '../flow/operator';
import { allocZeroed, free } from '../mem/alloc';
import { Tag, lenOf, offOf, tagAt, valAt } from '../mem/layout';
import { poolFree, poolInit, poolReset } from '../mem/pool';
import { blockOf } from '../ops/operand';
import { programFree, programNew, vmRun } from '../ops/vm';
import { readFails, readVersion } from '../state/reader';
import { writeVersion } from '../state/writer';
import {
  B_COLUMNS, B_COLUMNS_AT, B_COMPUTED, B_COMPUTED_AT, B_IS_TABLE, B_RETAIN, FOR_TABLE, JoinType, J_BRANCH, J_BRANCHES, J_COLUMNS,
  J_OTHERS, J_OTHERS_AT, J_STEPS, LIST_SIZE, OWNER_NONE, OWNER_OTHER, S_BEGUN, S_FAIL, S_FAIL_LEN, S_LISTS, S_OTHERS, S_OWNERS,
  S_POINTERS, S_PROGRAMS, T_MADE, T_PROGRAM, T_PROGRAM_LEN, T_TYPE, branchAt, listAt, slotsOf, stepAt,
} from './spec';
import { listAdd, listClear, recordNew, recordSet } from './rows';
import { tableAdd, tableFree, tableLoad, tableSave } from './table';
import { NO_ROW, failure, leftCount, rightCount, runBegin, runEnd, runFailMemory, runStep, step, tuplesFree } from './run';
import { addResult, outputBegin, outputFlush } from './output';
import { addPair, outerIsRight, pairsBegin, pairsEnd } from './pairs';
import { hashPairs } from './hash';

const NO_COLUMN: u32 = 0xffff;

export function joinOperator(operator: Operator): void {
  operator.open = joinOpen;
  operator.push = joinPush;
  operator.signal = joinSignal;
  operator.save = joinSave;
  operator.load = joinLoad;
  operator.free = joinFree;
}

/** Makes the state of a join; false when memory is exhausted. */
function joinOpen(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const acct = accountOf(node);
  const columns = load<u32>(spec, J_COLUMNS);
  const branches = load<u32>(spec, J_BRANCHES);
  const tables = <u32>S_LISTS + branches * LIST_SIZE;
  const size = tables + (columns << 3);
  const state = allocZeroed(size, acct);
  if (!state) return false;
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, size, N_STATE_SIZE);
  poolInit(state, 1024, acct);
  store<u32>(state, <u32>state + tables, S_POINTERS);
  const owners = state + tables + (<usize>columns << 2);
  store<u32>(state, <u32>owners, S_OWNERS);
  memory.fill(owners, 0xff, <usize>columns << 2);
  for (let b: u32 = 0; b < branches; b++) {
    const branch = branchAt(spec, b);
    own(owners, b, spec + load<u32>(branch, B_COLUMNS_AT), load<u32>(branch, B_COLUMNS));
  }
  own(owners, OWNER_OTHER, spec + load<u32>(spec, J_OTHERS_AT), load<u32>(spec, J_OTHERS));
  const steps = load<u32>(spec, J_STEPS);
  for (let i: u32 = 0; i < steps; i++) {
    const at = stepAt(spec, i);
    const len = load<u32>(at, T_PROGRAM_LEN);
    if (len) {
      const program = programNew(spec + load<u32>(at, T_PROGRAM), len, acct);
      if (!program) return false;
      store<u32>(at, <u32>program, T_MADE);
    }
    store<u32>(state, i + 1, S_PROGRAMS);
  }
  return true;
}

/** Notes that column `list[i]` is slot i of the owner. */
function own(owners: usize, owner: u32, list: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const at = owners + (<usize>load<u16>(list + (<usize>i << 1)) << 2);
    store<u16>(at, <u16>owner);
    store<u16>(at, <u16>i, 2);
  }
}

function joinSignal(node: usize, signal: u32, value: u64): void {
  // What a stream tells its tables is of no meaning for the messages that are joined with them.
  if (ctx.branch & FOR_TABLE) return;
  if (signal == Signal.BEGIN) clear(node, <usize>load<u32>(node, N_SPEC), <usize>load<u32>(node, N_STATE));
  else if (signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

/** Forgets the rows of the message. */
function clear(node: usize, spec: usize, state: usize): void {
  const branches = load<u32>(spec, J_BRANCHES);
  for (let b: u32 = 0; b < branches; b++) {
    if (!load<u32>(branchAt(spec, b), B_IS_TABLE)) listClear(listAt(state, b), accountOf(node));
  }
  poolReset(state);
  store<u32>(state, 0, S_FAIL);
  store<u32>(state, 0, S_BEGUN);
  store<u32>(state, 0, S_OTHERS);
}

function failMemory(state: usize): void {
  failNoMemory();
  store<u32>(state, <u32>failOff, S_FAIL);
  store<u32>(state, failLen, S_FAIL_LEN);
}

/** Takes rows of the message in, or of a table. */
function joinPush(node: usize): void {
  if (ctx.branch & FOR_TABLE) {
    takeTable(node, ctx.branch & ~FOR_TABLE);
    return;
  }
  const state = <usize>load<u32>(node, N_STATE);
  if (load<u32>(state, S_FAIL)) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program) vmRun(program);
  if (!load<u32>(state, S_OTHERS) && !keepOthers(spec, state, load<u32>(ctx.sel))) {
    failMemory(state);
    return;
  }
  const operand = load<u32>(spec, J_BRANCH);
  const numbers: usize = operand == NO_COLUMN ? 0 : blockOf(operand);
  const branches = load<u32>(spec, J_BRANCHES);
  const n = ctx.selLen;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(ctx.sel + (<usize>i << 2));
    const b: u32 = numbers ? <u32>valAt(numbers, row) : 0;
    if (b >= branches) continue;
    if (!keepRow(node, spec, state, b, row)) {
      failMemory(state);
      return;
    }
  }
}

/** Keeps the values of the columns of no branch: those of the first row stand for all. */
function keepOthers(spec: usize, state: usize, row: u32): bool {
  const count = load<u32>(spec, J_OTHERS);
  const record = recordNew(state, count);
  if (!record) return false;
  store<u32>(state, <u32>record, S_OTHERS);
  const list = spec + load<u32>(spec, J_OTHERS_AT);
  for (let i: u32 = 0; i < count; i++) {
    const block = columnAt(load<u16>(list + (<usize>i << 1)));
    if (!recordSet(state, record, count, i, tagAt(block, row), valAt(block, row))) return false;
  }
  return true;
}

// @ts-ignore: decorator
@inline function columnAt(column: u32): usize {
  return <usize>load<u32>(ctx.cols + (<usize>column << 2));
}

function keepRow(node: usize, spec: usize, state: usize, b: u32, row: u32): bool {
  const branch = branchAt(spec, b);
  const slots = slotsOf(branch);
  const record = recordNew(state, slots);
  if (!record) return false;
  const columns = load<u32>(branch, B_COLUMNS);
  const list = spec + load<u32>(branch, B_COLUMNS_AT);
  for (let i: u32 = 0; i < columns; i++) {
    const block = columnAt(load<u16>(list + (<usize>i << 1)));
    if (!recordSet(state, record, slots, i, tagAt(block, row), valAt(block, row))) return false;
  }
  const computed = load<u32>(branch, B_COMPUTED);
  const operands = spec + load<u32>(branch, B_COMPUTED_AT);
  for (let i: u32 = 0; i < computed; i++) {
    const block = blockOf(load<u16>(operands + (<usize>i << 1)));
    if (!recordSet(state, record, slots, columns + i, tagAt(block, row), valAt(block, row))) return false;
  }
  return listAdd(listAt(state, b), record, accountOf(node));
}

/** Takes rows of a table in. Those that failed above, where they are counted, are messages of their own, at once. */
function takeTable(node: usize, b: u32): void {
  // Nodes below are told nothing of where the rows came from.
  ctx.setBranch(0);
  const spec = <usize>load<u32>(node, N_SPEC);
  const list = listAt(<usize>load<u32>(node, N_STATE), b);
  const branch = branchAt(spec, b);
  const columns = load<u32>(branch, B_COLUMNS);
  const blocks = ctx.cols;
  const errors = ctx.rowErrors;
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + (<usize>i << 2));
    if (errors && tagAt(errors, row) == Tag.ERROR) passFailure(node, valAt(errors, row));
    else if (!tableAdd(list, blocks, columns, row, load<u32>(branch, B_RETAIN), accountOf(node))) {
      failNoMemory();
      addException(node, failOff, failLen, 1);
    }
  }
}

function passFailure(node: usize, text: u64): void {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.SEND_ERROR)) return;
  beginMessage(node);
  endMessage(node, offOf(text), lenOf(text));
}

/** Joins the rows and sends them. */
function end(node: usize, failedOff: usize, failedLen: u32): void {
  const state = <usize>load<u32>(node, N_STATE);
  const spec = <usize>load<u32>(node, N_SPEC);
  let off = failedOff;
  let len = failedLen;
  if (!off) {
    if (!load<u32>(state, S_FAIL)) joinAll(node, spec, state);
    off = <usize>load<u32>(state, S_FAIL);
    len = load<u32>(state, S_FAIL_LEN);
    if (off) addException(node, off, len, 1);
  }
  if (off && !load<u32>(state, S_BEGUN)) {
    store<u32>(state, 1, S_BEGUN);
    beginMessage(node);
  }
  if (load<u32>(state, S_BEGUN)) endMessage(node, off, len);
  clear(node, spec, state);
}

function joinAll(node: usize, spec: usize, state: usize): void {
  runBegin(node, spec, state);
  outputBegin();
  const steps = load<u32>(spec, J_STEPS);
  for (let i: u32 = 0; i < steps && failure == 0; i++) {
    runStep(i);
    joinStep(node);
  }
  if (failure == 0) outputFlush();
  if (failure) {
    store<u32>(state, <u32>offOf(failure), S_FAIL);
    store<u32>(state, lenOf(failure), S_FAIL_LEN);
  }
  runEnd();
}

function joinStep(node: usize): void {
  const acct = accountOf(node);
  const isFull = load<u32>(step, T_TYPE) == JoinType.FULL;
  const rights = rightCount;
  const matched: usize = isFull && rights ? allocZeroed(rights, acct) : 0;
  if (isFull && rights && !matched) {
    runFailMemory();
    return;
  }
  pairsBegin(matched);
  if (!hashPairs()) loopPairs();
  if (failure == 0) pairsEnd();
  if (isFull && failure == 0) {
    for (let r: u32 = 0; r < rights && failure == 0; r++) if (!load<u8>(matched + r)) addResult(NO_ROW, r);
  }
  free(matched, rights, acct);
}

/** Adds all pairs, in the order of the outer rows. */
function loopPairs(): void {
  if (outerIsRight) {
    for (let r: u32 = 0; r < rightCount; r++) {
      for (let l: u32 = 0; l < leftCount; l++) if (!addPair(l, r)) return;
    }
    return;
  }
  for (let l: u32 = 0; l < leftCount; l++) {
    for (let r: u32 = 0; r < rightCount; r++) if (!addPair(l, r)) return;
  }
}

const VERSION: u32 = 1;

/** Saves the tables; of messages nothing is left between two inputs. */
export function joinSave(node: usize): bool {
  const state = <usize>load<u32>(node, N_STATE);
  const spec = <usize>load<u32>(node, N_SPEC);
  writeVersion(VERSION);
  const branches = load<u32>(spec, J_BRANCHES);
  for (let b: u32 = 0; b < branches; b++) {
    const branch = branchAt(spec, b);
    if (load<u32>(branch, B_IS_TABLE)) tableSave(listAt(state, b), load<u32>(branch, B_COLUMNS));
  }
  return true;
}

/** Fills the tables of a join that was just made. */
export function joinLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  const state = <usize>load<u32>(node, N_STATE);
  const spec = <usize>load<u32>(node, N_SPEC);
  const branches = load<u32>(spec, J_BRANCHES);
  for (let b: u32 = 0; b < branches; b++) {
    const branch = branchAt(spec, b);
    if (load<u32>(branch, B_IS_TABLE)) tableLoad(listAt(state, b), load<u32>(branch, B_COLUMNS), accountOf(node));
  }
  return !readFails();
}

/** Frees everything that the join holds. */
function joinFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const acct = accountOf(node);
  const made = load<u32>(state, S_PROGRAMS);
  for (let i: u32 = 0; i < made; i++) programFree(<usize>load<u32>(stepAt(spec, i), T_MADE));
  const branches = load<u32>(spec, J_BRANCHES);
  for (let b: u32 = 0; b < branches; b++) tableFree(listAt(state, b), acct);
  tuplesFree(state, acct);
  poolFree(state);
  free(state, load<u32>(node, N_STATE_SIZE), acct);
  store<u32>(node, 0, N_STATE);
}

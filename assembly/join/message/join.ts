// Joins the rows of each message: gathers them by branch, then does the steps one after the other. The results of the
// last step go out in batches while the pairs are worked on; those of the steps before are kept as tuples.
import * as ctx from '../../batch/context';
import { defer, finishAbove } from '../../node/deferred';
import { failLen, failNoMemory, failOff } from '../../batch/failure';
import { beginMessage, endMessage, signalBelow } from '../../emit/emit';
import {
  N_FLAGS,
  N_PARENT,
  N_PROGRAM,
  N_SPEC,
  N_STATE,
  N_STATE_SIZE,
  NodeFlag,
  accountOf,
  addException,
} from '../../node/node';
import { Operator, Signal, Trait, hasTrait } from '../../node/operator';
import { selectionPop, selectionPush } from '../../batch/selection';
import { allocZeroed, free, refusals } from '../../mem/alloc';
import { BIND_SIZE, bindBlock } from '../../mem/bind';
import { Tag, lenOf, offOf, tagAt, valAt } from '../../mem/layout';
import { poolAlloc, poolFree, poolInit, poolReset } from '../../mem/pool';
import { blockOf } from '../../ops/operand';
import { programFree, programNew, vmRun } from '../../ops/vm';
import { ROWS_COLUMNS, ROWS_COUNT, ROWS_FLAGS, RowsFlag } from '../../rows/layout';
import { PAGE_POOL, PAGE_TO, copyPayload, pageTags, pageUniforms, pageVals } from '../../rows/page';
import { rowsAdd, rowsAppend, rowsClear, rowsFree, rowsInit } from '../../rows/store';
import { NO_BRANCH } from '../../gen/join-layouts';
import { Members } from '../../state/members';
import { readFails, readVersion } from '../../state/reader';
import { writeVersion } from '../../state/writer';
import {
  JOIN_BRANCH_COLUMNS,
  JOIN_BRANCH_COLUMNS_AT,
  JOIN_BRANCH_COMPUTED,
  JOIN_BRANCH_COMPUTED_AT,
  JOIN_BRANCH_IS_TABLE,
  JOIN_BRANCH_RETAIN,
  FOR_TABLE,
  JOIN_BRANCH,
  JOIN_BRANCHES,
  JOIN_COLUMNS,
  JOIN_OTHERS,
  JOIN_OTHERS_AT,
  JOIN_STEPS,
  BRANCH_STATE_SIZE,
  OWNER_OTHER,
  JOIN_STATE_ASIDE,
  JOIN_STATE_BEGUN,
  JOIN_STATE_BRANCHES,
  JOIN_STATE_FAIL,
  JOIN_STATE_FAIL_LEN,
  JOIN_STATE_OTHERS,
  JOIN_STATE_OWNERS,
  JOIN_STATE_POINTERS,
  JOIN_STATE_PROGRAMS,
  JOIN_STEP_MADE,
  JOIN_STEP_PROGRAM,
  JOIN_STEP_PROGRAM_LEN,
  branchAt,
  branchRows,
  slotsOf,
  stepAt,
} from './spec';
import { tableAdd, tableDropIndex, tableLoad, tableSave } from './table';
import { failure, runBegin, runEnd, runIsUnderWay, tuplesFree } from './run';
import { putAside, takeBack } from './aside';
import { outputBegin } from './output';
import { stepsBegin, stepsEnd, stepsGoOn } from './steps';

export function joinOperator(operator: Operator): void {
  operator.open = joinOpen;
  operator.push = joinPush;
  operator.signal = joinSignal;
  operator.save = joinSave;
  operator.load = joinLoad;
  operator.free = joinFree;
  operator.deferred = joinGoOn;
  operator.traits = Trait.FILLS_TABLES;
}

/** Makes the state of a join; false when memory is exhausted. */
function joinOpen(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const acct = accountOf(node);
  const columns = load<u32>(spec, JOIN_COLUMNS);
  const branches = load<u32>(spec, JOIN_BRANCHES);
  const head = <u32>JOIN_STATE_BRANCHES + ((branches * BRANCH_STATE_SIZE + 15) & ~15);
  const size = head + (columns << 3);
  const state = allocZeroed(size, acct);
  if (!state) return false;
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, size, N_STATE_SIZE);
  poolInit(state, 128, acct);
  store<u32>(state, <u32>state + head, JOIN_STATE_POINTERS);
  const lasts = messageLasts(node);
  const owners = state + head + ((<usize>columns) << 2);
  store<u32>(state, <u32>owners, JOIN_STATE_OWNERS);
  memory.fill(owners, 0xff, (<usize>columns) << 2);
  for (let b: u32 = 0; b < branches; b++) {
    const branch = branchAt(spec, b);
    own(owners, b, spec + load<u32>(branch, JOIN_BRANCH_COLUMNS_AT), load<u32>(branch, JOIN_BRANCH_COLUMNS));
    rowsInit(branchRows(state, b), slotsOf(branch), flagsOf(branch, lasts), acct);
  }
  rowsInit(state + JOIN_STATE_OTHERS, load<u32>(spec, JOIN_OTHERS), 0, acct);
  own(owners, OWNER_OTHER, spec + load<u32>(spec, JOIN_OTHERS_AT), load<u32>(spec, JOIN_OTHERS));
  const steps = load<u32>(spec, JOIN_STEPS);
  for (let i: u32 = 0; i < steps; i++) {
    const at = stepAt(spec, i);
    const len = load<u32>(at, JOIN_STEP_PROGRAM_LEN);
    if (len) {
      const program = programNew(spec + load<u32>(at, JOIN_STEP_PROGRAM), len, acct);
      if (!program) return false;
      store<u32>(at, <u32>program, JOIN_STEP_MADE);
    }
    store<u32>(state, i + 1, JOIN_STATE_PROGRAMS);
  }
  return true;
}

/** How the rows of a branch are kept; `lasts`: what columns refer to is there until the message is over. */
function flagsOf(branch: usize, lasts: bool): u32 {
  if (load<u32>(branch, JOIN_BRANCH_IS_TABLE)) return RowsFlag.NUMBERED;
  // What is computed for keys is gone with its batch.
  const refers = lasts && !load<u32>(branch, JOIN_BRANCH_COMPUTED);
  return RowsFlag.NUMBERED | RowsFlag.AT_ONCE | (refers ? RowsFlag.REFERS : 0);
}

/** A window keeps what it sends until it has sent the end of the message; filters give on what they got. */
function messageLasts(node: usize): bool {
  let above = <usize>load<u32>(node, N_PARENT);
  while (above && hasTrait(above, Trait.KEEPS_COLUMNS)) above = <usize>load<u32>(above, N_PARENT);
  return above != 0 && hasTrait(above, Trait.KEEPS_MESSAGES);
}

/** Notes that column `list[i]` is slot i of the owner. */
function own(owners: usize, owner: u32, list: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const at = owners + ((<usize>load<u16>(list + ((<usize>i) << 1))) << 2);
    store<u16>(at, <u16>owner);
    store<u16>(at, <u16>i, 2);
  }
}

function joinSignal(node: usize, signal: u32, value: u64): void {
  // Signals of a table's own stream say nothing about the messages that are joined with the table.
  if (ctx.branch & FOR_TABLE) return;
  if (signal == Signal.BEGIN) begin(<usize>load<u32>(node, N_STATE));
  else if (signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

/** Begins a message: the end of the one before has cleared all that was kept of it, as debug builds check. */
// @ts-ignore: decorator
@inline function begin(state: usize): void {
  assert(
    !load<u32>(state, JOIN_STATE_FAIL) && !load<u32>(state + JOIN_STATE_OTHERS, ROWS_COUNT),
    'a join kept a message',
  );
}

/** Forgets the rows of the message. */
function clear(spec: usize, state: usize): void {
  const branches = load<u32>(spec, JOIN_BRANCHES);
  for (let b: u32 = 0; b < branches; b++) {
    if (!load<u32>(branchAt(spec, b), JOIN_BRANCH_IS_TABLE)) rowsClear(branchRows(state, b));
  }
  rowsClear(state + JOIN_STATE_OTHERS);
  poolReset(state);
  store<u32>(state, 0, JOIN_STATE_FAIL);
  store<u32>(state, 0, JOIN_STATE_BEGUN);
}

function failMemory(state: usize): void {
  failNoMemory();
  store<u32>(state, <u32>failOff, JOIN_STATE_FAIL);
  store<u32>(state, failLen, JOIN_STATE_FAIL_LEN);
}

/** Takes rows of the message in, or of a table. */
function joinPush(node: usize): void {
  if (ctx.branch & FOR_TABLE) {
    // Windows that have come to their end are joined with the table as it was then.
    finishAbove(node);
    takeTable(node, ctx.branch & ~FOR_TABLE);
    return;
  }
  const state = <usize>load<u32>(node, N_STATE);
  if (load<u32>(state, JOIN_STATE_FAIL)) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program) vmRun(program);
  if (!keepAll(spec, state)) failMemory(state);
}

/** Keeps the rows of the batch by branch; false when memory is exhausted. */
function keepAll(spec: usize, state: usize): bool {
  if (!load<u32>(state + JOIN_STATE_OTHERS, ROWS_COUNT) && !keepOthers(spec, state)) return false;
  const operand = load<u32>(spec, JOIN_BRANCH);
  if (operand == NO_BRANCH && ctx.selLen == 1) return keepRow(spec, state, load<u32>(ctx.sel));
  if (operand == NO_BRANCH) return keepRows(spec, state, 0, ctx.sel, ctx.selLen);
  const numbers = blockOf(operand);
  const own = selectionPush();
  const others = selectionPush();
  const done = own != 0 && others != 0 && keepEach(spec, state, numbers, own, others);
  if (others) selectionPop();
  if (own) selectionPop();
  return done;
}

/** Keeps the rows of one branch after the other; `own` and `others` have room for their numbers. */
function keepEach(spec: usize, state: usize, numbers: usize, own: usize, others: usize): bool {
  const branches = load<u32>(spec, JOIN_BRANCHES);
  let sel = ctx.sel;
  let n = ctx.selLen;
  while (n > 0) {
    const b = valAt(numbers, load<u32>(sel));
    let count: u32 = 0;
    let left: u32 = 0;
    for (let i: u32 = 0; i < n; i++) {
      const row = load<u32>(sel + ((<usize>i) << 2));
      const isOwn = valAt(numbers, row) == b;
      store<u32>(own + ((<usize>count) << 2), row);
      store<u32>(others + ((<usize>left) << 2), row);
      count += <u32>isOwn;
      left += <u32>!isOwn;
    }
    if (b < branches && !keepRows(spec, state, <u32>b, own, count)) return false;
    sel = others;
    n = left;
  }
  return true;
}

// @ts-ignore: decorator
@inline function columnAt(column: u32): usize {
  return <usize>load<u32>(ctx.cols + ((<usize>column) << 2));
}

/** Keeps the values of the columns of no branch: those of the first row stand for all. */
function keepOthers(spec: usize, state: usize): bool {
  const count = load<u32>(spec, JOIN_OTHERS);
  if (!count) return true;
  const binds = poolAlloc(ctx.scratch, count * BIND_SIZE);
  if (!binds) return false;
  bindColumns(binds, spec + load<u32>(spec, JOIN_OTHERS_AT), count);
  return rowsAppend(state + JOIN_STATE_OTHERS, binds, count, ctx.sel, 1, 0);
}

function bindColumns(binds: usize, list: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++)
    bindBlock(binds + <usize>(i * BIND_SIZE), columnAt(load<u16>(list + ((<usize>i) << 1))));
}

/** As `keepRows` for one row of branch 0, without the preparations that pay for many rows only. */
function keepRow(spec: usize, state: usize, row: u32): bool {
  const branch = branchAt(spec, 0);
  const before = refusals;
  const rows = branchRows(state, 0);
  const page = rowsAdd(rows, 1);
  if (!page) return false;
  const uniforms = pageUniforms(page, load<u32>(rows, ROWS_COLUMNS));
  const copies = !(load<u32>(rows, ROWS_FLAGS) & RowsFlag.REFERS);
  const columns = load<u32>(branch, JOIN_BRANCH_COLUMNS);
  const list = spec + load<u32>(branch, JOIN_BRANCH_COLUMNS_AT);
  for (let i: u32 = 0; i < columns; i++)
    keepValue(page, uniforms, i, columnAt(load<u16>(list + ((<usize>i) << 1))), row, copies);
  const slots = slotsOf(branch);
  const operands = spec + load<u32>(branch, JOIN_BRANCH_COMPUTED_AT);
  for (let i = columns; i < slots; i++)
    keepValue(page, uniforms, i, blockOf(load<u16>(operands + ((<usize>(i - columns)) << 1))), row, copies);
  return refusals == before;
}

/** Stores a value of a block in a column of the page's last row. */
// @ts-ignore: decorator
@inline function keepValue(page: usize, uniforms: usize, slot: u32, block: usize, row: u32, copies: bool): void {
  const at = <usize>(load<u32>(page, PAGE_TO) - 1);
  const tag = tagAt(block, row);
  const uniform = uniforms + slot;
  if (at == 0) store<u8>(uniform, tag);
  else if (load<u8>(uniform) != tag) store<u8>(uniform, Tag.MIXED);
  store<u8>(pageTags(page, slot) + at, tag);
  store<u64>(
    pageVals(page, slot) + (at << 3),
    copies ? copyPayload(page + PAGE_POOL, tag, valAt(block, row)) : valAt(block, row),
  );
}

/** Keeps the rows `sel[0 … n)` of a branch. */
function keepRows(spec: usize, state: usize, b: u32, sel: usize, n: u32): bool {
  const branch = branchAt(spec, b);
  const slots = slotsOf(branch);
  const binds = poolAlloc(ctx.scratch, slots * BIND_SIZE);
  if (!binds) return false;
  const columns = load<u32>(branch, JOIN_BRANCH_COLUMNS);
  bindColumns(binds, spec + load<u32>(branch, JOIN_BRANCH_COLUMNS_AT), columns);
  const operands = spec + load<u32>(branch, JOIN_BRANCH_COMPUTED_AT);
  for (let i = columns; i < slots; i++) {
    bindBlock(binds + <usize>(i * BIND_SIZE), blockOf(load<u16>(operands + ((<usize>(i - columns)) << 1))));
  }
  return rowsAppend(branchRows(state, b), binds, slots, sel, n, 0);
}

/** Takes rows of a table in. Those that failed above, where they are counted, are messages of their own, at once. */
function takeTable(node: usize, b: u32): void {
  // Nodes below are told nothing of where the rows came from.
  ctx.setBranch(0);
  const columns = load<u32>(branchAt(<usize>load<u32>(node, N_SPEC), b), JOIN_BRANCH_COLUMNS);
  const blocks = ctx.cols;
  const errors = ctx.rowErrors;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const binds = poolAlloc(ctx.scratch, columns * BIND_SIZE);
  if (binds) {
    for (let c: u32 = 0; c < columns; c++) {
      bindBlock(binds + <usize>(c * BIND_SIZE), <usize>load<u32>(blocks + ((<usize>c) << 2)));
    }
  }
  let from: u32 = 0;
  for (let i: u32 = 0; i < n && errors; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (tagAt(errors, row) != Tag.ERROR) continue;
    if (from < i) addToTable(node, b, binds, sel + ((<usize>from) << 2), i - from);
    passFailure(node, valAt(errors, row));
    from = i + 1;
  }
  if (from < n) addToTable(node, b, binds, sel + ((<usize>from) << 2), n - from);
}

/** Adds rows to a table. Where there is no room for all of them, those are counted that there is none for. */
function addToTable(node: usize, b: u32, binds: usize, sel: usize, n: u32): void {
  const branch = branchAt(<usize>load<u32>(node, N_SPEC), b);
  const table = branchRows(<usize>load<u32>(node, N_STATE), b);
  const columns = load<u32>(branch, JOIN_BRANCH_COLUMNS);
  const retain = load<u32>(branch, JOIN_BRANCH_RETAIN);
  if (binds && tableAdd(table, binds, columns, sel, n, retain, accountOf(node))) return;
  for (let i: u32 = 0; i < n; i++) {
    if (binds && n > 1 && tableAdd(table, binds, columns, sel + ((<usize>i) << 2), 1, retain, accountOf(node)))
      continue;
    failNoMemory();
    addException(node, failOff, failLen, 1);
  }
}

function passFailure(node: usize, text: u64): void {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.SEND_ERROR)) return;
  beginMessage(node);
  endMessage(node, offOf(text), lenOf(text));
}

/** Joins the rows and sends them, or begins to. */
function end(node: usize, failedOff: usize, failedLen: u32): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (failedOff || load<u32>(state, JOIN_STATE_FAIL) || joinAll(node, state))
    complete(node, state, failedOff, failedLen);
  else defer(node);
}

/** Ends the message. */
function complete(node: usize, state: usize, failedOff: usize, failedLen: u32): void {
  let off = failedOff;
  let len = failedLen;
  if (!off) {
    off = <usize>load<u32>(state, JOIN_STATE_FAIL);
    len = load<u32>(state, JOIN_STATE_FAIL_LEN);
    if (off) addException(node, off, len, 1);
  }
  if (off && !load<u32>(state, JOIN_STATE_BEGUN)) {
    store<u32>(state, 1, JOIN_STATE_BEGUN);
    beginMessage(node);
  }
  if (load<u32>(state, JOIN_STATE_BEGUN)) endMessage(node, off, len);
  clear(<usize>load<u32>(node, N_SPEC), state);
}

/** Joins the rows of the message; false when that was stopped in between. */
function joinAll(node: usize, state: usize): bool {
  const outer: usize = runIsUnderWay() ? putAside() : 0;
  if (runIsUnderWay()) {
    failMemory(state);
    return true;
  }
  runBegin(node, <usize>load<u32>(node, N_SPEC), state);
  outputBegin();
  stepsBegin();
  return goOn(state, outer);
}

/** Goes on with the join that was stopped; true when its message has ended. */
function joinGoOn(node: usize): bool {
  const state = <usize>load<u32>(node, N_STATE);
  const outer: usize = runIsUnderWay() ? putAside() : 0;
  if (runIsUnderWay()) return false;
  takeBack(<usize>load<u32>(state, JOIN_STATE_ASIDE));
  store<u32>(state, 0, JOIN_STATE_ASIDE);
  if (!goOn(state, outer)) return false;
  complete(node, state, 0, 0);
  return true;
}

/** Does what it can of the steps; the join at work before (`outer`, 0 none) is taken back. */
function goOn(state: usize, outer: usize): bool {
  let isDone = stepsGoOn();
  while (!isDone) {
    const aside = putAside();
    store<u32>(state, <u32>aside, JOIN_STATE_ASIDE);
    if (aside) break;
    isDone = stepsGoOn();
  }
  if (isDone) {
    if (failure) {
      store<u32>(state, <u32>offOf(failure), JOIN_STATE_FAIL);
      store<u32>(state, lenOf(failure), JOIN_STATE_FAIL_LEN);
    }
    runEnd();
  }
  if (outer) takeBack(outer);
  return isDone;
}

const VERSION: u32 = 1;

/** Saves the tables; of messages nothing is left between two inputs. */
function joinSave(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  const spec = <usize>load<u32>(node, N_SPEC);
  writeVersion(VERSION);
  const branches = load<u32>(spec, JOIN_BRANCHES);
  for (let b: u32 = 0; b < branches; b++) {
    if (load<u32>(branchAt(spec, b), JOIN_BRANCH_IS_TABLE)) tableSave(branchRows(state, b));
  }
}

/** Fills the tables of a join that was just made. */
function joinLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  const state = <usize>load<u32>(node, N_STATE);
  const spec = <usize>load<u32>(node, N_SPEC);
  const branches = load<u32>(spec, JOIN_BRANCHES);
  for (let b: u32 = 0, list = Members.ROWS; b < branches; b++) {
    if (load<u32>(branchAt(spec, b), JOIN_BRANCH_IS_TABLE)) tableLoad(branchRows(state, b), list++);
  }
  return !readFails();
}

/** Frees everything that the join holds. */
function joinFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const acct = accountOf(node);
  const aside = <usize>load<u32>(state, JOIN_STATE_ASIDE);
  if (aside) {
    takeBack(aside);
    stepsEnd();
    runEnd();
  }
  const made = load<u32>(state, JOIN_STATE_PROGRAMS);
  for (let i: u32 = 0; i < made; i++) programFree(<usize>load<u32>(stepAt(spec, i), JOIN_STEP_MADE));
  const branches = load<u32>(spec, JOIN_BRANCHES);
  for (let b: u32 = 0; b < branches; b++) {
    tableDropIndex(branchRows(state, b), acct);
    rowsFree(branchRows(state, b));
  }
  rowsFree(state + JOIN_STATE_OTHERS);
  tuplesFree(state, acct);
  poolFree(state);
  free(state, load<u32>(node, N_STATE_SIZE), acct);
  store<u32>(node, 0, N_STATE);
}

// Joins the rows of each message: gathers them by branch, then does the steps one after the other. The results of the
// last step go out in batches while the pairs are worked on; those of the steps before are kept as tuples.
import * as ctx from '../../batch/context';
import { defer, finishAbove } from '../../node/deferred';
import { failLen, failNoMemory, failOff } from '../../batch/failure';
import { beginMessage, endMessage, signalBelow } from '../../emit/emit';
import { NodeFlag, accountOf, addException } from '../../node/node';
import { Operator, Signal, Trait, hasTrait } from '../../node/operator';
import { selectionPop, selectionPush } from '../../batch/selection';
import { allocZeroed, free, refusals } from '../../mem/alloc';
import { Bind, BIND_SIZE, bindBlock } from '../../mem/bind';
import { Tag, lenOf, offOf, tagAt, valAt } from '../../mem/layout';
import { poolAlloc, poolFree, poolInit, poolReset } from '../../mem/pool';
import { blockOf } from '../../ops/operand';
import { programFree, programNew, vmRun } from '../../ops/vm';
import { RowsFlag } from '../../rows/layout';
import { Page, copyPayload, pageTags, pageUniforms, pageVals } from '../../rows/page';
import { rowsAdd, rowsAppend, rowsClear, rowsFree, rowsInit } from '../../rows/store';
import { JoinSpec, JoinBranch, NO_BRANCH } from '../../gen/join-layouts';
import { Members } from '../../state/members';
import { readFails, readVersion } from '../../state/reader';
import { writeVersion } from '../../state/writer';
import {
  JoinState,
  FOR_TABLE,
  BRANCH_STATE_SIZE,
  OWNER_OTHER,
  JOIN_STATE_BRANCHES,
  branchAt,
  branchRows,
  slotsOf,
  stepAt,
} from './spec';
import { tableAdd, tableDropIndex, tableLoad, tableSave } from './table';
import { failure, runBegin, runEnd, runIsUnderWay, tuplesFree } from './run';
import { suspendRun, resumeRun } from './suspended-run';
import { outputBegin } from './output';
import { stepsBegin, stepsEnd, stepsGoOn } from './steps';
import { Node } from '../../gen/node-layouts';

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
function joinOpen(node: Node): bool {
  const spec = changetype<JoinSpec>(node.spec);
  const acct = accountOf(node);
  const columns = spec.columns;
  const branches = spec.branches;
  const head = <u32>JOIN_STATE_BRANCHES + ((branches * BRANCH_STATE_SIZE + 15) & ~15);
  const size = head + (columns << 3);
  const state = changetype<JoinState>(allocZeroed(size, acct));
  if (!state) return false;
  node.state = changetype<usize>(state);
  node.stateSize = size;
  poolInit(state, 128, acct);
  state.pointers = changetype<u32>(state) + head;
  const lasts = messageLasts(node);
  const owners = changetype<usize>(state) + head + ((<usize>columns) << 2);
  state.owners = owners;
  memory.fill(owners, 0xff, (<usize>columns) << 2);
  for (let b: u32 = 0; b < branches; b++) {
    const branch = branchAt(spec, b);
    own(owners, b, changetype<usize>(spec) + branch.columnsAt, branch.columns);
    rowsInit(branchRows(state, b), slotsOf(branch), flagsOf(branch, lasts), acct);
  }
  rowsInit(state.others, spec.others, 0, acct);
  own(owners, OWNER_OTHER, changetype<usize>(spec) + spec.othersAt, spec.others);
  const steps = spec.steps;
  for (let i: u32 = 0; i < steps; i++) {
    const at = stepAt(spec, i);
    const len = at.programLen;
    if (len) {
      const program = programNew(changetype<usize>(spec) + at.program, len, acct);
      if (!program) return false;
      at.made = program;
    }
    state.programs = i + 1;
  }
  return true;
}

/** Flags for keeping the rows of a branch; `lasts`: values that columns refer to stay until the message is over. */
function flagsOf(branch: JoinBranch, lasts: bool): u32 {
  if (branch.isTable) return RowsFlag.NUMBERED;
  // Values computed for keys are freed with their batch.
  const refers = lasts && !branch.computed;
  return RowsFlag.NUMBERED | RowsFlag.AT_ONCE | (refers ? RowsFlag.REFERS : 0);
}

/** True when values last until the end of the message: a window keeps them so long, and filters pass its columns on. */
function messageLasts(node: Node): bool {
  let above = node.parent;
  while (above && hasTrait(above, Trait.KEEPS_COLUMNS)) above = above.parent;
  return above && hasTrait(above, Trait.KEEPS_MESSAGES);
}

/** Notes that column `list[i]` is slot i of the owner. */
function own(owners: usize, owner: u32, list: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const at = owners + ((<usize>load<u16>(list + ((<usize>i) << 1))) << 2);
    store<u16>(at, <u16>owner);
    store<u16>(at, <u16>i, 2);
  }
}

function joinSignal(node: Node, signal: u32, value: u64): void {
  // Signals of a table's own stream say nothing about the messages that are joined with the table.
  if (ctx.branch & FOR_TABLE) return;
  if (signal == Signal.BEGIN) begin(changetype<JoinState>(node.state));
  else if (signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

/** Begins a message: the end of the one before has cleared all that was kept of it, as debug builds check. */
// @ts-ignore: decorator
@inline function begin(state: JoinState): void {
  assert(!state.fail && !state.others.count, 'a join kept a message');
}

/** Forgets the rows of the message. */
function clear(spec: JoinSpec, state: JoinState): void {
  const branches = spec.branches;
  for (let b: u32 = 0; b < branches; b++) {
    if (!branchAt(spec, b).isTable) rowsClear(branchRows(state, b));
  }
  rowsClear(state.others);
  poolReset(state);
  state.fail = 0;
  state.begun = 0;
}

function failMemory(state: JoinState): void {
  failNoMemory();
  state.fail = <u32>failOff;
  state.failLen = failLen;
}

/** Takes rows of the message in, or of a table. */
function joinPush(node: Node): void {
  if (ctx.branch & FOR_TABLE) {
    // Windows that have come to their end are joined with the table as it was then.
    finishAbove(node);
    takeTable(node, ctx.branch & ~FOR_TABLE);
    return;
  }
  const state = changetype<JoinState>(node.state);
  if (state.fail) return;
  const spec = changetype<JoinSpec>(node.spec);
  const program = node.program;
  if (program) vmRun(program);
  if (!keepAll(spec, state)) failMemory(state);
}

/** Keeps the rows of the batch by branch; false when memory is exhausted. */
function keepAll(spec: JoinSpec, state: JoinState): bool {
  if (!state.others.count && !keepOthers(spec, state)) return false;
  const operand = spec.branch;
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
function keepEach(spec: JoinSpec, state: JoinState, numbers: usize, own: usize, others: usize): bool {
  const branches = spec.branches;
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
function keepOthers(spec: JoinSpec, state: JoinState): bool {
  const count = spec.others;
  if (!count) return true;
  const binds = poolAlloc(ctx.scratch, count * BIND_SIZE);
  if (!binds) return false;
  bindColumns(binds, changetype<usize>(spec) + spec.othersAt, count);
  return rowsAppend(state.others, binds, count, ctx.sel, 1, 0);
}

function bindColumns(binds: usize, list: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++)
    bindBlock(changetype<Bind>(binds + <usize>(i * BIND_SIZE)), columnAt(load<u16>(list + ((<usize>i) << 1))));
}

/** As `keepRows` for one row of branch 0, without the preparations that pay for many rows only. */
function keepRow(spec: JoinSpec, state: JoinState, row: u32): bool {
  const branch = branchAt(spec, 0);
  const before = refusals;
  const rows = branchRows(state, 0);
  const page = rowsAdd(rows, 1);
  if (!page) return false;
  const uniforms = pageUniforms(page, rows.columns);
  const copies = !(rows.flags & RowsFlag.REFERS);
  const columns = branch.columns;
  const list = changetype<usize>(spec) + branch.columnsAt;
  for (let i: u32 = 0; i < columns; i++)
    keepValue(page, uniforms, i, columnAt(load<u16>(list + ((<usize>i) << 1))), row, copies);
  const slots = slotsOf(branch);
  const operands = changetype<usize>(spec) + branch.computedAt;
  for (let i = columns; i < slots; i++)
    keepValue(page, uniforms, i, blockOf(load<u16>(operands + ((<usize>(i - columns)) << 1))), row, copies);
  return refusals == before;
}

/** Stores a value of a block in a column of the page's last row. */
// @ts-ignore: decorator
@inline function keepValue(page: Page, uniforms: usize, slot: u32, block: usize, row: u32, copies: bool): void {
  const at = <usize>(page.to - 1);
  const tag = tagAt(block, row);
  const uniform = uniforms + slot;
  if (at == 0) store<u8>(uniform, tag);
  else if (load<u8>(uniform) != tag) store<u8>(uniform, Tag.MIXED);
  store<u8>(pageTags(page, slot) + at, tag);
  store<u64>(
    pageVals(page, slot) + (at << 3),
    copies ? copyPayload(page.pool, tag, valAt(block, row)) : valAt(block, row),
  );
}

/** Keeps the rows `sel[0 … n)` of a branch. */
function keepRows(spec: JoinSpec, state: JoinState, b: u32, sel: usize, n: u32): bool {
  const branch = branchAt(spec, b);
  const slots = slotsOf(branch);
  const binds = poolAlloc(ctx.scratch, slots * BIND_SIZE);
  if (!binds) return false;
  const columns = branch.columns;
  bindColumns(binds, changetype<usize>(spec) + branch.columnsAt, columns);
  const operands = changetype<usize>(spec) + branch.computedAt;
  for (let i = columns; i < slots; i++) {
    bindBlock(
      changetype<Bind>(binds + <usize>(i * BIND_SIZE)),
      blockOf(load<u16>(operands + ((<usize>(i - columns)) << 1))),
    );
  }
  return rowsAppend(branchRows(state, b), binds, slots, sel, n, 0);
}

/** Takes rows of a table in. Rows that failed above, where they are counted, go on at once as messages of their own. */
function takeTable(node: Node, b: u32): void {
  // Nodes below do not learn from which branch the rows came.
  ctx.setBranch(0);
  const columns = branchAt(changetype<JoinSpec>(node.spec), b).columns;
  const blocks = ctx.cols;
  const errors = ctx.rowErrors;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const binds = poolAlloc(ctx.scratch, columns * BIND_SIZE);
  if (binds) {
    for (let c: u32 = 0; c < columns; c++) {
      bindBlock(changetype<Bind>(binds + <usize>(c * BIND_SIZE)), <usize>load<u32>(blocks + ((<usize>c) << 2)));
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

/** Adds rows to a table, and counts the rows for which there is no room. */
function addToTable(node: Node, b: u32, binds: usize, sel: usize, n: u32): void {
  const branch = branchAt(changetype<JoinSpec>(node.spec), b);
  const table = branchRows(changetype<JoinState>(node.state), b);
  const columns = branch.columns;
  const retain = branch.retain;
  if (binds && tableAdd(table, binds, columns, sel, n, retain, accountOf(node))) return;
  for (let i: u32 = 0; i < n; i++) {
    if (binds && n > 1 && tableAdd(table, binds, columns, sel + ((<usize>i) << 2), 1, retain, accountOf(node)))
      continue;
    failNoMemory();
    addException(node, failOff, failLen, 1);
  }
}

function passFailure(node: Node, text: u64): void {
  if (!(node.flags & NodeFlag.SEND_ERROR)) return;
  beginMessage(node);
  endMessage(node, offOf(text), lenOf(text));
}

/** Joins the rows and sends them, or begins to. */
function end(node: Node, failedOff: usize, failedLen: u32): void {
  const state = changetype<JoinState>(node.state);
  if (failedOff || state.fail || joinAll(node, state)) complete(node, state, failedOff, failedLen);
  else defer(node);
}

/** Ends the message. */
function complete(node: Node, state: JoinState, failedOff: usize, failedLen: u32): void {
  let off = failedOff;
  let len = failedLen;
  if (!off) {
    off = <usize>state.fail;
    len = state.failLen;
    if (off) addException(node, off, len, 1);
  }
  if (off && !state.begun) {
    state.begun = 1;
    beginMessage(node);
  }
  if (state.begun) endMessage(node, off, len);
  clear(changetype<JoinSpec>(node.spec), state);
}

/** Joins the rows of the message; false when that was stopped in between. */
function joinAll(node: Node, state: JoinState): bool {
  const outer: usize = runIsUnderWay() ? suspendRun() : 0;
  if (runIsUnderWay()) {
    failMemory(state);
    return true;
  }
  runBegin(node, changetype<JoinSpec>(node.spec), state);
  outputBegin();
  stepsBegin();
  return goOn(state, outer);
}

/** Goes on with the join that was stopped; true when its message has ended. */
function joinGoOn(node: Node): bool {
  const state = changetype<JoinState>(node.state);
  const outer: usize = runIsUnderWay() ? suspendRun() : 0;
  if (runIsUnderWay()) return false;
  resumeRun(state.suspended);
  state.suspended = 0;
  if (!goOn(state, outer)) return false;
  complete(node, state, 0, 0);
  return true;
}

/** Goes on with the steps as far as it can, then takes the join at work before (`outer`, 0 none) up again. */
function goOn(state: JoinState, outer: usize): bool {
  let isDone = stepsGoOn();
  while (!isDone) {
    const suspended = suspendRun();
    state.suspended = suspended;
    if (suspended) break;
    isDone = stepsGoOn();
  }
  if (isDone) {
    if (failure) {
      state.fail = <u32>offOf(failure);
      state.failLen = lenOf(failure);
    }
    runEnd();
  }
  if (outer) resumeRun(outer);
  return isDone;
}

const VERSION: u32 = 1;

/** Saves the tables; between two inputs there are no rows of messages. */
function joinSave(node: Node): void {
  const state = changetype<JoinState>(node.state);
  const spec = changetype<JoinSpec>(node.spec);
  writeVersion(VERSION);
  const branches = spec.branches;
  for (let b: u32 = 0; b < branches; b++) {
    if (branchAt(spec, b).isTable) tableSave(branchRows(state, b));
  }
}

/** Loads the saved tables into a new join. */
function joinLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const state = changetype<JoinState>(node.state);
  const spec = changetype<JoinSpec>(node.spec);
  const branches = spec.branches;
  for (let b: u32 = 0, list = Members.ROWS; b < branches; b++) {
    if (branchAt(spec, b).isTable) tableLoad(branchRows(state, b), list++);
  }
  return !readFails();
}

/** Frees everything that the join holds. */
function joinFree(node: Node): void {
  const state = changetype<JoinState>(node.state);
  if (!state) return;
  const spec = changetype<JoinSpec>(node.spec);
  const acct = accountOf(node);
  const suspended = state.suspended;
  if (suspended) {
    resumeRun(suspended);
    stepsEnd();
    runEnd();
  }
  const made = state.programs;
  for (let i: u32 = 0; i < made; i++) programFree(stepAt(spec, i).made);
  const branches = spec.branches;
  for (let b: u32 = 0; b < branches; b++) {
    tableDropIndex(branchRows(state, b), acct);
    rowsFree(branchRows(state, b));
  }
  rowsFree(state.others);
  tuplesFree(state, acct);
  poolFree(state);
  free(changetype<usize>(state), node.stateSize, acct);
  node.state = 0;
}

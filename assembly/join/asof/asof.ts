// As-of joins: each row of the left side meets the newest row of the right one that is no later, among those of its
// keys. Rows come by a merge, in event time in the order of their times, so that of each key only the newest row must
// be kept.
//
// In event time rows of the left wait until no row of their time can come any more: rows with the newest time are held
// back until time has gone on. In processing time a row meets the rows that came before it. Rows of other branches
// pass.
//
// Values are not copied: values of the row itself go on as they stand in the batch, values of its partner refer to the
// slots in which they are kept. Values that the batch brings are copied into the slots after it was handed on.
import * as ctx from '../../batch/context';
import { emit, leavesMessage, signalBelow } from '../../emit/emit';
import { accountOf, exhaust, isExhausted, setTimesColumn } from '../../node/node';
import { Operator, Signal, Trait } from '../../node/operator';
import { selectionPop, selectionPush } from '../../batch/selection';
import { identity, noteUniform, stageAcquire, stageRelease } from '../../batch/stage';
import { clearDeadline } from '../../node/timers';
import { allocZeroed, free } from '../../mem/alloc';
import { Bind, BIND_SIZE, bindBlock } from '../../mem/bind';
import { BATCH_ROWS, COL_UNIFORM, Tag, setAt, tagAt, valAt } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { runClean } from '../../ops/clean';
import { blockOf } from '../../ops/operand';
import { tableFree, tableInit } from '../../partitions/table';
import { copyOut } from '../../rows/copy';
import { rowsAppend, rowsDrop, rowsFirst, rowsFree, rowsInit } from '../../rows/store';
import {
  begin,
  isJoinable,
  isLeft,
  isRight,
  joinLeft,
  keptCount,
  lookUp,
  lookUpLefts,
  marks,
  passFailure,
  passOther,
  proceed,
  roomFor,
  takeRight,
} from './rows';
import {
  AsofState,
  ASOF_HELD,
  ASOF_STATE_SIZE,
  asofLoad,
  asofSave,
  asofSetBack,
  awaitIdle,
  entrySize,
  forgetOld,
  freeSlots,
  settle,
} from './state';
import { AsofSpec } from '../../gen/join-layouts';
import { Node } from '../../gen/node-layouts';
import { Rows } from '../../rows/layout';

const NO_TIMES: u32 = 0xffff;

export function asofOperator(operator: Operator): void {
  operator.open = asofOpen;
  operator.push = asofPush;
  operator.signal = asofSignal;
  operator.tick = asofTick;
  operator.save = asofSave;
  operator.load = asofLoad;
  operator.free = asofFree;
  operator.setBack = asofSetBack;
  operator.traits = Trait.ENDS_DEFERRING;
}

function asofOpen(node: Node): bool {
  const spec = changetype<AsofSpec>(node.spec);
  const acct = accountOf(node);
  const state = changetype<AsofState>(allocZeroed(ASOF_STATE_SIZE, acct));
  if (!state) return false;
  node.state = changetype<usize>(state);
  node.stateSize = ASOF_STATE_SIZE;
  tableInit(state, spec.ttl > 0 || spec.tolerance < Infinity);
  const columns = spec.columns;
  rowsInit(state.held, columns + spec.keys, 0, acct);
  state.heldTime = -Infinity;
  state.watermark = -Infinity;
  if (isTimed(spec)) setTimesColumn(node, columns + spec.fields);
  return true;
}

function asofFree(node: Node): void {
  const state = changetype<AsofState>(node.state);
  if (!state) return;
  const spec = changetype<AsofSpec>(node.spec);
  const acct = accountOf(node);
  clearDeadline(node);
  for (let entry = state.first; entry; entry = entry.next) {
    freeSlots(spec, entry, acct);
  }
  tableFree(state, entrySize(spec), acct);
  rowsFree(state.held);
  free(changetype<usize>(state), ASOF_STATE_SIZE, acct);
  node.state = 0;
}

// @ts-ignore: decorator
@inline function isTimed(spec: AsofSpec): bool {
  return spec.time != NO_TIMES;
}

// @ts-ignore: decorator
@inline function heldCount(state: AsofState): u32 {
  return state.held.count;
}

function asofTick(node: Node): void {
  const spec = changetype<AsofSpec>(node.spec);
  const state = changetype<AsofState>(node.state);
  forgetOld(node, spec, state);
  awaitIdle(node, spec, state);
}

function asofSignal(node: Node, signal: u32, value: u64): void {
  if (leavesMessage(node, signal, value)) return;
  if (signal == Signal.WATERMARK && !isExhausted(node)) {
    const ms = reinterpret<f64>(value);
    const state = changetype<AsofState>(node.state);
    state.watermark = ms;
    if (heldCount(state) && ms > state.heldTime) sendHeld(node);
    if (isExhausted(node)) return;
    forgetOld(node, changetype<AsofSpec>(node.spec), state);
  }
  signalBelow(node, signal, value);
}

// ---- rows -----------------------------------------------------------------------------------------------------

function asofPush(node: Node): void {
  const spec = changetype<AsofSpec>(node.spec);
  const state = changetype<AsofState>(node.state);
  forgetOld(node, spec, state);
  const keys = spec.keys;
  const columns = spec.columns;
  const fields = spec.fields;
  const program = node.program;
  const rows = selectionPush();
  const late = selectionPush();
  const own = stageAcquire(fields + 1);
  const blocks = poolAlloc(ctx.scratch, (columns + fields + 1) << 2);
  const binds = poolAlloc(ctx.scratch, (2 * keys + fields + 1) * BIND_SIZE);
  let done = rows != 0 && late != 0 && own != 0 && blocks != 0 && binds != 0 && (!program || runClean(program));
  if (done) {
    for (let c: u32 = 0; c < columns; c++)
      store<u32>(blocks + ((<usize>c) << 2), <u32>blockOf(operandAt(spec, offsetof<AsofSpec>('columnsAt'), c)));
    memory.copy(blocks + ((<usize>columns) << 2), own, fields << 2);
    for (let k: u32 = 0; k < 2 * keys; k++)
      bindBlock(changetype<Bind>(binds + k * BIND_SIZE), blockOf(operandAt(spec, offsetof<AsofSpec>('keysAt'), k)));
    const fieldsAt = binds + 2 * keys * BIND_SIZE;
    for (let f: u32 = 0; f < fields; f++)
      bindBlock(
        changetype<Bind>(fieldsAt + f * BIND_SIZE),
        blockOf(operandAt(spec, offsetof<AsofSpec>('fieldsAt'), f)),
      );
    const outerRows = ctx.rows;
    done = isTimed(spec) ? takeTimed(node, blocks, binds, own, rows, late) : takeAll(node, binds, own, rows);
    if (done && keptCount) {
      ctx.setBatch(blocks, outerRows, rows, keptCount, marks);
      emit(node);
    }
  }
  if (own) stageRelease(fields + 1);
  if (late) selectionPop();
  if (rows) selectionPop();
  if (!done) exhaust(node);
  else {
    settle(node, spec, state);
    awaitIdle(node, spec, state);
  }
}

// @ts-ignore: decorator
@inline function operandAt(spec: AsofSpec, list: usize, i: u32): u32 {
  return load<u16>(changetype<usize>(spec) + load<u32>(changetype<usize>(spec) + list) + ((<usize>i) << 1));
}

/** The block for marks stands behind those of the fields. */
// @ts-ignore: decorator
@inline function ofMarks(own: usize, fields: u32): usize {
  return <usize>load<u32>(own + ((<usize>fields) << 2));
}

/** Takes the rows as they come. */
function takeAll(node: Node, binds: usize, own: usize, rows: usize): bool {
  begin(node, binds, own, ofMarks(own, changetype<AsofSpec>(node.spec).fields), rows);
  const errors = ctx.rowErrors;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const known = roomFor(n);
  if (!known || !lookUp(known)) return false;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (errors && tagAt(errors, row) == Tag.ERROR) passFailure(row, valAt(errors, row));
    else if (isRight(i)) takeRight(i, row, 0);
    else if (isLeft(i)) joinLeft(i, row, 0);
    else passOther(row);
  }
  return true;
}

/**
 * Takes rows in the order of their times, and within one time rows of the right side first. Rows of the left with the
 * last time are held back; `late` has room for their numbers.
 */
function takeTimed(node: Node, blocks: usize, binds: usize, own: usize, rows: usize, late: usize): bool {
  const cols = ctx.cols;
  const count = ctx.rows;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const errors = ctx.rowErrors;
  const spec = changetype<AsofSpec>(node.spec);
  const state = changetype<AsofState>(node.state);
  const fields = spec.fields;
  const forMarks = ofMarks(own, fields);
  begin(node, binds, own, forMarks, rows);
  // Rows that failed come alone, without columns.
  let i = passFailures(errors, sel, 0, n);
  if (i == n) return true;
  const known = roomFor(n);
  if (!known || !lookUp(known)) return false;
  const times = <usize>load<u32>(cols + ((<usize>spec.time) << 2));
  const last = spec.columns + fields;
  store<u32>(blocks + ((<usize>last) << 2), <u32>times);
  while (i < n) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const ms = <f64>(<i64>valAt(times, row));
    if (heldCount(state) && ms > state.heldTime) {
      const failed = marks;
      const sent = keptCount;
      sendHeld(node);
      if (isExhausted(node)) return false;
      begin(node, binds, own, forMarks, rows);
      proceed(sent, failed, known, n);
      ctx.setBatch(cols, count, sel, n, errors);
    }
    // Most rows are the only ones of their time.
    if (!errors && i + 1 < n && valAt(times, load<u32>(sel + ((<usize>(i + 1)) << 2))) != valAt(times, row)) {
      if (isRight(i)) takeRight(i, row, ms);
      else if (isLeft(i)) joinLeft(i, row, ms);
      else passOther(row);
      i++;
      continue;
    }
    const next = endOfTime(times, errors, sel, i, n, ms);
    const isLast = next == n;
    let held: u32 = 0;
    // Two rounds: a row meets those of its own time, too.
    for (let round = 0; round < 2; round++) held = takeRound(round, errors, sel, i, next, ms, isLast ? late : 0, held);
    if (held && !hold(node, blocks, binds, late, held, ms)) return false;
    i = next;
  }
  return true;
}

/** Lets rows that failed go on, as long as one follows the other. */
function passFailures(errors: usize, sel: usize, i: u32, n: u32): u32 {
  if (!errors) return i;
  while (i < n) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (tagAt(errors, row) != Tag.ERROR) break;
    passFailure(row, valAt(errors, row));
    i++;
  }
  return i;
}

/** Index at which rows of a later time begin. */
function endOfTime(times: usize, errors: usize, sel: usize, i: u32, n: u32, ms: f64): u32 {
  while (i < n) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (!(errors && tagAt(errors, row) == Tag.ERROR) && <f64>(<i64>valAt(times, row)) != ms) break;
    i++;
  }
  return i;
}

/** Takes the rows `from … to` of one time: first those of the right side, then all others in their order. */
function takeRound(round: i32, errors: usize, sel: usize, from: u32, to: u32, ms: f64, late: usize, held: u32): u32 {
  for (let i = from; i < to; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (errors && tagAt(errors, row) == Tag.ERROR) {
      if (round) passFailure(row, valAt(errors, row));
    } else if (isRight(i)) {
      if (!round) takeRight(i, row, ms);
    } else if (round) {
      if (!isLeft(i)) passOther(row);
      else if (!late) joinLeft(i, row, ms);
      // A row whose key is an error fails before it is held back.
      else if (isJoinable(i, row)) store<u32>(late + ((held++ as usize) << 2), row);
    }
  }
  return held;
}

/** Holds rows of the left side back, the keys of which are bound at `keys`; false when memory is exhausted. */
function hold(node: Node, blocks: usize, keys: usize, rows: usize, n: u32, ms: f64): bool {
  const state = changetype<AsofState>(node.state);
  const spec = changetype<AsofSpec>(node.spec);
  const columns = spec.columns;
  const keyCount = spec.keys;
  const binds = poolAlloc(ctx.scratch, (columns + keyCount) * BIND_SIZE);
  if (!binds) return false;
  for (let c: u32 = 0; c < columns; c++)
    bindBlock(changetype<Bind>(binds + c * BIND_SIZE), <usize>load<u32>(blocks + ((<usize>c) << 2)));
  memory.copy(binds + columns * BIND_SIZE, keys, keyCount * BIND_SIZE);
  if (!rowsAppend(state.held, binds, columns + keyCount, rows, n, 0)) return false;
  state.heldTime = ms;
  return true;
}

/** Sends the rows that were held back: time has gone on. Afterwards the current batch is another one. */
function sendHeld(node: Node): void {
  const held = changetype<Rows>(node.state + ASOF_HELD);
  while (held.count && !isExhausted(node)) {
    const n = min(BATCH_ROWS, held.count);
    if (!sendSome(node, held, n)) {
      exhaust(node);
      return;
    }
    rowsDrop(held, n);
  }
}

function sendSome(node: Node, held: Rows, n: u32): bool {
  const ofSpec = changetype<AsofSpec>(node.spec);
  const columns = ofSpec.columns;
  const fields = ofSpec.fields;
  const keys = ofSpec.keys;
  const ms = changetype<AsofState>(node.state).heldTime;
  // Columns as in the output, then the keys.
  const width = columns + fields + 1 + keys;
  const rows = selectionPush();
  const own = stageAcquire(width + 1);
  const binds = poolAlloc(ctx.scratch, (keys + 1) * BIND_SIZE);
  const refs = poolAlloc(ctx.scratch, n << 3);
  const known = roomFor(n);
  let done = rows != 0 && own != 0 && binds != 0 && refs != 0 && known != 0;
  if (done) {
    nameRows(held, refs, n);
    for (let c: u32 = 0; c < columns + keys; c++) {
      const block = <usize>load<u32>(own + ((<usize>(c < columns ? c : c + fields + 1)) << 2));
      copyOut(block, c, refs, 8, n);
      noteUniform(block, n);
      if (c >= columns) bindBlock(changetype<Bind>(binds + (c - columns) * BIND_SIZE), block);
    }
    const times = <usize>load<u32>(own + ((<usize>(columns + fields)) << 2));
    for (let i: u32 = 0; i < n; i++) setAt(times, i, Tag.I64, <u64>(<i64>ms));
    store<u8>(times, Tag.I64, COL_UNIFORM);
    begin(node, binds, own + ((<usize>columns) << 2), <usize>load<u32>(own + ((<usize>width) << 2)), rows);
    done = lookUpLefts(known, identity, n);
    for (let i: u32 = 0; i < n && done; i++) joinLeft(i, i, ms);
    ctx.setBatch(own, n, rows, keptCount, marks);
    if (keptCount) emit(node);
  }
  if (own) stageRelease(width + 1);
  if (rows) selectionPop();
  return done;
}

/** Writes {page u32, row u32} of the first `n` rows of the store to `refs`. */
function nameRows(held: Rows, refs: usize, n: u32): void {
  let page = rowsFirst(held);
  let row = page.left;
  for (let i: u32 = 0; i < n; i++, refs += 8) {
    if (row == page.to) {
      page = page.next;
      row = page.left;
    }
    store<u32>(refs, changetype<u32>(page));
    store<u32>(refs, row++, 4);
  }
}

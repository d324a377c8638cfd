// As-of joins: each row of the left side meets the newest row of the right one that is no later, among those of its keys. Rows come
// by a merge, in event time in the order of their times, so that of each key only the newest row must be kept.
//
// In event time rows of the left wait until no row of their time can come any more: those of the newest time are held back
// until time has gone on. In processing time a row meets what has come before it. Rows of other branches pass.
//
// Values are not copied: those of the row itself go on as they stand in the batch, those of its partner refer to the slots in
// which they are kept; what the batch brings is made the slots' own when it was handed on.
import * as ctx from '../flow/context';
import { emit, leavesMessage, signalBelow } from '../flow/emit';
import {
  N_FLAGS, N_PROGRAM, N_SPEC, N_STATE, N_STATE_SIZE, NodeFlag, accountOf, addException, exhaust, isExhausted, setTimesColumn,
} from '../flow/node';
import { Operator, Signal } from '../flow/operator';
import { selectionPop, selectionPush } from '../flow/selection';
import { noteUniform, stageAcquire, stageRelease } from '../flow/stage';
import { clearDeadline } from '../flow/timers';
import {
  ASOF_COLUMNS, ASOF_COLUMNS_AT, ASOF_FIELDS, ASOF_FIELDS_AT, ASOF_IS_LEFT, ASOF_KEYS, ASOF_KEYS_AT, ASOF_LEFT, ASOF_RIGHT,
  ASOF_TIME, ASOF_TOLERANCE, ASOF_TTL,
} from '../gen/join-layouts';
import { allocZeroed, free } from '../mem/alloc';
import { BIND_SIZE, bindBlock, bindTag, bindVal } from '../mem/bind';
import { BATCH_ROWS, COL_TAGS, COL_UNIFORM, Tag, lenOf, offOf, setAt, tagAt, valAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { runClean } from '../ops/clean';
import { blockOf } from '../ops/operand';
import { KEPT_SIZE, keep, keptTag, keptVal } from '../partitions/slot';
import {
  ENTRY_NEXT, TABLE_FIRST, entrySee, findEntry, findNullEntry, lookEntry, noteDirty, nullEntry, tableFree, tableInit,
} from '../partitions/table';
import { copyOut } from '../rows/copy';
import { ROWS_COUNT } from '../rows/layout';
import { PAGE_LEFT, PAGE_NEXT, PAGE_TO } from '../rows/page';
import { rowsAppend, rowsDrop, rowsFirst, rowsFree, rowsInit } from '../rows/store';
import {
  ASOF_HELD, ASOF_HELD_TIME, ASOF_STATE_SIZE, ASOF_WATERMARK, ENTRY_TIME, asofLoad, asofSave, asofSetBack, awaitIdle, entrySize, forgetOld,
  freeSlots, settle, slotsOf,
} from './asof-state';
import { KeyOutcome, keyError, keyLen, keyOff, makeKey } from './key-bytes';

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
}

function asofOpen(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const acct = accountOf(node);
  const state = allocZeroed(ASOF_STATE_SIZE, acct);
  if (!state) return false;
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, ASOF_STATE_SIZE, N_STATE_SIZE);
  tableInit(state, load<f64>(spec, ASOF_TTL) > 0 || load<f64>(spec, ASOF_TOLERANCE) < Infinity);
  const columns = load<u32>(spec, ASOF_COLUMNS);
  rowsInit(state + ASOF_HELD, columns + load<u32>(spec, ASOF_KEYS), 0, acct);
  store<f64>(state, -Infinity, ASOF_HELD_TIME);
  store<f64>(state, -Infinity, ASOF_WATERMARK);
  if (isTimed(spec)) setTimesColumn(node, columns + load<u32>(spec, ASOF_FIELDS));
  return true;
}

function asofFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const acct = accountOf(node);
  clearDeadline(node);
  for (let entry = <usize>load<u32>(state, TABLE_FIRST); entry; entry = <usize>load<u32>(entry, ENTRY_NEXT)) {
    freeSlots(spec, entry, acct);
  }
  tableFree(state, entrySize(spec), acct);
  rowsFree(state + ASOF_HELD);
  free(state, ASOF_STATE_SIZE, acct);
  store<u32>(node, 0, N_STATE);
}

// @ts-ignore: decorator
@inline function isTimed(spec: usize): bool {
  return load<u32>(spec, ASOF_TIME) != NO_TIMES;
}

// @ts-ignore: decorator
@inline function heldCount(state: usize): u32 {
  return load<u32>(state + ASOF_HELD, ROWS_COUNT);
}

function asofTick(node: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  forgetOld(node, spec, state);
  awaitIdle(node, spec, state);
}

function asofSignal(node: usize, signal: u32, value: u64): void {
  if (leavesMessage(node, signal, value)) return;
  if (signal == Signal.WATERMARK && !isExhausted(node)) {
    const ms = reinterpret<f64>(value);
    const state = <usize>load<u32>(node, N_STATE);
    store<f64>(state, ms, ASOF_WATERMARK);
    if (heldCount(state) && ms > load<f64>(state, ASOF_HELD_TIME)) sendHeld(node);
    if (isExhausted(node)) return;
    forgetOld(node, <usize>load<u32>(node, N_SPEC), state);
  }
  signalBelow(node, signal, value);
}

// ---- rows -----------------------------------------------------------------------------------------------------
// The batch at work; between two of its steps others may be at work, which is why each step begins by `begin`.

let spec: usize = 0;
let state: usize = 0;
let owner: usize = 0;
/** What keys of the left are made of, and those of the right; fields of rows of the right (mem/bind.ts). */
let leftKeys: usize = 0;
let rightKeys: usize = 0;
let fieldBinds: usize = 0;
let keyCount: u32 = 0;
let fieldCount: u32 = 0;
/** Blocks of the fields of the output. */
let fieldBlocks: usize = 0;
/** Block with the rows that failed, 0 as long as none did; and the block that is there for it. */
let marks: usize = 0;
let marksBlock: usize = 0;
/** Rows that go on. */
let kept: usize = 0;
let keptCount: u32 = 0;
let isOut: bool = false;

function begin(node: usize, binds: usize, fields: usize, forMarks: usize, rows: usize): void {
  owner = node;
  spec = <usize>load<u32>(node, N_SPEC);
  state = <usize>load<u32>(node, N_STATE);
  keyCount = load<u32>(spec, ASOF_KEYS);
  fieldCount = load<u32>(spec, ASOF_FIELDS);
  leftKeys = binds;
  rightKeys = binds + keyCount * BIND_SIZE;
  fieldBinds = rightKeys + keyCount * BIND_SIZE;
  fieldBlocks = fields;
  marks = 0;
  marksBlock = forMarks;
  kept = rows;
  keptCount = 0;
  isOut = false;
}

// @ts-ignore: decorator
@inline function keepRow(row: u32): void {
  store<u32>(kept + (<usize>(keptCount++) << 2), row);
}

/** Keeps a row of the right side in the place of that before it. */
function takeRight(row: u32, ms: f64): void {
  let entry: usize;
  const acct = accountOf(owner);
  if (keyCount) {
    const outcome = makeKey(rightKeys, keyCount, row);
    if (outcome == KeyOutcome.FAILED) failRow(row, keyError);
    if (outcome != KeyOutcome.KEY) return;
    entry = findEntry(state, entrySize(spec), keyOff, keyLen, acct);
  } else entry = findNullEntry(state, entrySize(spec), acct);
  if (!entry) {
    isOut = true;
    return;
  }
  entrySee(state, entry, ctx.nowMs);
  store<f64>(entry, ms, ENTRY_TIME);
  let slot = slotsOf(entry);
  let bind = fieldBinds;
  let isBorrowed = false;
  for (let f: u32 = 0; f < fieldCount; f++, slot += KEPT_SIZE, bind += BIND_SIZE) {
    if (keep(slot, bindTag(bind, row), bindVal(bind, row))) isBorrowed = true;
  }
  if (isBorrowed) noteDirty(state, entry);
}

/** Lets a row of the left side go on with its partner. */
function joinLeft(row: u32, ms: f64): void {
  let entry: usize = 0;
  if (keyCount) {
    const outcome = makeKey(leftKeys, keyCount, row);
    if (outcome == KeyOutcome.FAILED) {
      failRow(row, keyError);
      return;
    }
    if (outcome == KeyOutcome.KEY) entry = lookEntry(state, keyOff, keyLen);
  } else entry = nullEntry(state);
  if (entry && !(ms - load<f64>(entry, ENTRY_TIME) <= load<f64>(spec, ASOF_TOLERANCE))) entry = 0;
  if (entry) {
    let slot = slotsOf(entry);
    for (let f: u32 = 0; f < fieldCount; f++, slot += KEPT_SIZE) {
      setAt(<usize>load<u32>(fieldBlocks + (<usize>f << 2)), row, keptTag(slot), keptVal(slot));
    }
  } else {
    if (!load<u32>(spec, ASOF_IS_LEFT)) return;
    leaveFields(row);
  }
  keepRow(row);
}

/** Says that the row has no partner. */
function leaveFields(row: u32): void {
  for (let f: u32 = 0; f < fieldCount; f++) setAt(<usize>load<u32>(fieldBlocks + (<usize>f << 2)), row, Tag.MISSING, 0);
}

function failRow(row: u32, payload: u64): void {
  addException(owner, offOf(payload), lenOf(payload), 1);
  if (load<u32>(owner, N_FLAGS) & NodeFlag.SEND_ERROR) passFailure(row, payload);
}

/** Lets a row go on as one that failed. */
function passFailure(row: u32, payload: u64): void {
  if (!marks) {
    marks = marksBlock;
    memory.fill(marks + COL_TAGS, Tag.NULL, BATCH_ROWS);
  }
  setAt(marks, row, Tag.ERROR, payload);
  leaveFields(row);
  keepRow(row);
}

function asofPush(node: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  forgetOld(node, spec, state);
  const keys = load<u32>(spec, ASOF_KEYS);
  const columns = load<u32>(spec, ASOF_COLUMNS);
  const fields = load<u32>(spec, ASOF_FIELDS);
  const program = <usize>load<u32>(node, N_PROGRAM);
  const rows = selectionPush();
  const late = selectionPush();
  const own = stageAcquire(fields + 1);
  const blocks = poolAlloc(ctx.scratch, (columns + fields + 1) << 2);
  const binds = poolAlloc(ctx.scratch, (2 * keys + fields + 1) * BIND_SIZE);
  let done = rows != 0 && late != 0 && own != 0 && blocks != 0 && binds != 0 && (!program || runClean(program));
  if (done) {
    for (let c: u32 = 0; c < columns; c++) store<u32>(blocks + (<usize>c << 2), <u32>blockOf(operandAt(spec, ASOF_COLUMNS_AT, c)));
    memory.copy(blocks + (<usize>columns << 2), own, fields << 2);
    for (let k: u32 = 0; k < 2 * keys; k++) bindBlock(binds + k * BIND_SIZE, blockOf(operandAt(spec, ASOF_KEYS_AT, k)));
    const fieldsAt = binds + 2 * keys * BIND_SIZE;
    for (let f: u32 = 0; f < fields; f++) bindBlock(fieldsAt + f * BIND_SIZE, blockOf(operandAt(spec, ASOF_FIELDS_AT, f)));
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
@inline function operandAt(spec: usize, list: usize, i: u32): u32 {
  return load<u16>(spec + load<u32>(spec + list) + (<usize>i << 1));
}

/** The block for marks stands behind those of the fields. */
// @ts-ignore: decorator
@inline function ofMarks(own: usize, fields: u32): usize {
  return <usize>load<u32>(own + (<usize>fields << 2));
}

/** Takes the rows as they come. */
function takeAll(node: usize, binds: usize, own: usize, rows: usize): bool {
  begin(node, binds, own, ofMarks(own, load<u32>(<usize>load<u32>(node, N_SPEC), ASOF_FIELDS)), rows);
  const branches = <usize>load<u32>(ctx.cols);
  const errors = ctx.rowErrors;
  const left = load<u32>(spec, ASOF_LEFT);
  const right = load<u32>(spec, ASOF_RIGHT);
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + (<usize>i << 2));
    if (errors && tagAt(errors, row) == Tag.ERROR) {
      passFailure(row, valAt(errors, row));
      continue;
    }
    const branch = <u32>valAt(branches, row);
    if (branch == right) takeRight(row, 0);
    else if (branch == left) joinLeft(row, 0);
    else passOther(row);
  }
  return !isOut;
}

/** A row of another stream goes on. */
// @ts-ignore: decorator
@inline function passOther(row: u32): void {
  leaveFields(row);
  keepRow(row);
}

/**
 * Takes rows in the order of their times: of each time those of the right side first. Those of the left of the last time are held
 * back; `late` has room for their numbers.
 */
function takeTimed(node: usize, blocks: usize, binds: usize, own: usize, rows: usize, late: usize): bool {
  const cols = ctx.cols;
  const count = ctx.rows;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const errors = ctx.rowErrors;
  const forMarks = ofMarks(own, load<u32>(<usize>load<u32>(node, N_SPEC), ASOF_FIELDS));
  begin(node, binds, own, forMarks, rows);
  // Rows that failed come alone, without columns.
  let i = passFailures(errors, sel, 0, n);
  if (i == n) return true;
  const times = <usize>load<u32>(cols + (<usize>load<u32>(spec, ASOF_TIME) << 2));
  const last = load<u32>(spec, ASOF_COLUMNS) + fieldCount;
  store<u32>(blocks + (<usize>last << 2), <u32>times);
  while (i < n) {
    const ms = <f64>(<i64>valAt(times, load<u32>(sel + (<usize>i << 2))));
    if (heldCount(state) && ms > load<f64>(state, ASOF_HELD_TIME)) {
      const failed = marks;
      const sent = keptCount;
      sendHeld(node);
      if (isExhausted(node)) return false;
      begin(node, binds, own, forMarks, rows);
      keptCount = sent;
      marks = failed;
      ctx.setBatch(cols, count, sel, n, errors);
    }
    const next = endOfTime(times, errors, sel, i, n, ms);
    const isLast = next == n;
    let held: u32 = 0;
    // Two rounds: a row meets those of its own time, too.
    for (let round = 0; round < 2 && !isOut; round++) held = takeRound(round, errors, sel, i, next, ms, isLast ? late : 0, held);
    if (isOut || (held && !hold(blocks, late, held, ms))) return false;
    i = next;
  }
  return true;
}

/** Lets rows that failed go on, as long as one follows the other. */
function passFailures(errors: usize, sel: usize, i: u32, n: u32): u32 {
  if (!errors) return i;
  while (i < n) {
    const row = load<u32>(sel + (<usize>i << 2));
    if (tagAt(errors, row) != Tag.ERROR) break;
    passFailure(row, valAt(errors, row));
    i++;
  }
  return i;
}

/** Where rows of a later time begin. */
function endOfTime(times: usize, errors: usize, sel: usize, i: u32, n: u32, ms: f64): u32 {
  while (i < n) {
    const row = load<u32>(sel + (<usize>i << 2));
    if (!(errors && tagAt(errors, row) == Tag.ERROR) && <f64>(<i64>valAt(times, row)) != ms) break;
    i++;
  }
  return i;
}

/** Takes the rows `from … to` of one time: first those of the right side, then all others in their order. */
function takeRound(round: i32, errors: usize, sel: usize, from: u32, to: u32, ms: f64, late: usize, held: u32): u32 {
  const branches = <usize>load<u32>(ctx.cols);
  const left = load<u32>(spec, ASOF_LEFT);
  const right = load<u32>(spec, ASOF_RIGHT);
  for (let i = from; i < to; i++) {
    const row = load<u32>(sel + (<usize>i << 2));
    if (errors && tagAt(errors, row) == Tag.ERROR) {
      if (round) passFailure(row, valAt(errors, row));
      continue;
    }
    const branch = <u32>valAt(branches, row);
    if (branch == right) {
      if (!round) takeRight(row, ms);
    } else if (round) {
      if (branch != left) passOther(row);
      else if (!late) joinLeft(row, ms);
      else if (isJoinable(row)) store<u32>(late + (<usize>(held++) << 2), row);
    }
  }
  return held;
}

/** Fails a row whose key is an error before it is held back. */
function isJoinable(row: u32): bool {
  if (!keyCount || makeKey(leftKeys, keyCount, row) != KeyOutcome.FAILED) return true;
  failRow(row, keyError);
  return false;
}

/** Holds rows of the left side back; false when memory is exhausted. */
function hold(blocks: usize, rows: usize, n: u32, ms: f64): bool {
  const columns = load<u32>(spec, ASOF_COLUMNS);
  const binds = poolAlloc(ctx.scratch, (columns + keyCount) * BIND_SIZE);
  if (!binds) return false;
  for (let c: u32 = 0; c < columns; c++) bindBlock(binds + c * BIND_SIZE, <usize>load<u32>(blocks + (<usize>c << 2)));
  memory.copy(binds + columns * BIND_SIZE, leftKeys, keyCount * BIND_SIZE);
  if (!rowsAppend(state + ASOF_HELD, binds, columns + keyCount, rows, n, 0)) return false;
  store<f64>(state, ms, ASOF_HELD_TIME);
  return true;
}

/** Sends the rows that were held back: time has gone on. Afterwards the current batch is another one. */
function sendHeld(node: usize): void {
  const held = <usize>load<u32>(node, N_STATE) + ASOF_HELD;
  while (load<u32>(held, ROWS_COUNT) && !isExhausted(node)) {
    const n = min(BATCH_ROWS, load<u32>(held, ROWS_COUNT));
    if (!sendSome(node, held, n)) {
      exhaust(node);
      return;
    }
    rowsDrop(held, n);
  }
}

function sendSome(node: usize, held: usize, n: u32): bool {
  const ofSpec = <usize>load<u32>(node, N_SPEC);
  const columns = load<u32>(ofSpec, ASOF_COLUMNS);
  const fields = load<u32>(ofSpec, ASOF_FIELDS);
  const keys = load<u32>(ofSpec, ASOF_KEYS);
  const ms = load<f64>(<usize>load<u32>(node, N_STATE), ASOF_HELD_TIME);
  // As in the output, then the keys.
  const width = columns + fields + 1 + keys;
  const rows = selectionPush();
  const own = stageAcquire(width + 1);
  const binds = poolAlloc(ctx.scratch, (keys + 1) * BIND_SIZE);
  const refs = poolAlloc(ctx.scratch, n << 3);
  const done = rows != 0 && own != 0 && binds != 0 && refs != 0;
  if (done) {
    nameRows(held, refs, n);
    for (let c: u32 = 0; c < columns + keys; c++) {
      const block = <usize>load<u32>(own + (<usize>(c < columns ? c : c + fields + 1) << 2));
      copyOut(block, c, refs, 8, n, 0);
      noteUniform(block, n);
      if (c >= columns) bindBlock(binds + (c - columns) * BIND_SIZE, block);
    }
    const times = <usize>load<u32>(own + (<usize>(columns + fields) << 2));
    for (let i: u32 = 0; i < n; i++) setAt(times, i, Tag.I64, <u64>(<i64>ms));
    store<u8>(times, Tag.I64, COL_UNIFORM);
    begin(node, binds, own + (<usize>columns << 2), <usize>load<u32>(own + (<usize>width << 2)), rows);
    for (let i: u32 = 0; i < n; i++) joinLeft(i, ms);
    ctx.setBatch(own, n, rows, keptCount, marks);
    if (keptCount) emit(node);
  }
  if (own) stageRelease(width + 1);
  if (rows) selectionPop();
  return done;
}

/** Writes {page u32, row u32} of the first `n` rows of the store to `refs`. */
function nameRows(held: usize, refs: usize, n: u32): void {
  let page = rowsFirst(held);
  let row = load<u32>(page, PAGE_LEFT);
  for (let i: u32 = 0; i < n; i++, refs += 8) {
    if (row == load<u32>(page, PAGE_TO)) {
      page = <usize>load<u32>(page, PAGE_NEXT);
      row = load<u32>(page, PAGE_LEFT);
    }
    store<u32>(refs, <u32>page);
    store<u32>(refs, row++, 4);
  }
}

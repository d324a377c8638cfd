// dedup_trigger(begin, end, now, expire): rows that ask for a range of time wait until time has come to the end of
// their range, and are given those parts of it that no row before them was given. How far time has come rows say
// themselves (`now`); between them it runs with the clock. What lies more than `expire` before the `now` of a row it is
// not given, and is forgotten.
//
//   state   pending 80 (order/pending.ts) | 80 due f64 (clock at which the first row that waits goes on, epoch ms, 0
//   none)
//           88  ranges u32 | count u32 | room u32 | 0 u32
//   range   begin i64 | end i64        what rows were given, ascending, with gaps between them
//
// A row is kept as its columns, then begin, end and now. The output has the columns and the list of what the row is
// given: objects with start_key and end_key as texts, or no list at all. Rows that failed go on at once.
import * as ctx from '../batch/context';
import { emit, sendFailed } from '../emit/emit';
import { N_PROGRAM, N_SPEC, N_STATE, N_STATE_SIZE, accountOf, addException, exhaust, isExhausted } from '../node/node';
import { Operator, Trait } from '../node/operator';
import { identity, noteUniform, stageAcquire, stageRelease } from '../batch/stage';
import { clearDeadline, setDeadline } from '../node/timers';
import { DEDUP_BEGIN, DEDUP_COLUMNS, DEDUP_END, DEDUP_EXPIRE, DEDUP_NOW, DEDUP_SIZE_OF } from '../gen/order-layouts';
import { LoadFault } from '../gen/state-layouts';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { BIND_SIZE, bindTag, bindTo, bindVal } from '../mem/bind';
import {
  BATCH_ROWS,
  COL_UNIFORM,
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  NO_LIST,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
  isNull,
  lenOf,
  offOf,
  setAt,
  span,
  tagAt,
  valAt,
} from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { blockOf, isConst, strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { copyOut } from '../rows/copy';
import { pageTag, pageVal } from '../rows/page';
import { readF64, readFail, readFails, readLength, readU64, readVersion } from '../state/reader';
import { writeF64, writeU32, writeU64, writeVersion } from '../state/writer';
import { plainError, putShort } from '../value/error';
import { fitsI64 } from '../value/number';
import { textBegin, textI64, textLiteral, textTake, textTakeError } from '../value/text';
import {
  ENTRY_SIZE,
  PENDING_ROW,
  PENDING_SIZE,
  pendingAdd,
  pendingCount,
  pendingDone,
  pendingFree,
  pendingInit,
  pendingIsEmpty,
  pendingNext,
  pendingTake,
} from './pending';
import { pendingLoad, pendingSave } from './pending-save';

const DUE: usize = PENDING_SIZE;
const RANGES: usize = PENDING_SIZE + 8;
const COUNT: usize = PENDING_SIZE + 12;
const ROOM: usize = PENDING_SIZE + 16;
const STATE_SIZE: u32 = PENDING_SIZE + 24;
const RANGE: u32 = 16;
/** What is kept of a row behind its columns. */
const BEGIN: u32 = 0;
const END: u32 = 1;
const NOW: u32 = 2;
const TIMES: u32 = 3;

const START_KEY: usize = memory.data<u8>(
  [0x73, 0x74, 0x61, 0x72, 0x74, 0x5f, 0x6b, 0x65, 0x79, 0, 0, 0, 0, 0, 0, 0],
  16,
);
const END_KEY: usize = memory.data<u8>([0x65, 0x6e, 0x64, 0x5f, 0x6b, 0x65, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16);

export function dedupOperator(operator: Operator): void {
  operator.open = dedupOpen;
  operator.push = dedupPush;
  operator.tick = dedupTick;
  operator.save = dedupSave;
  operator.load = dedupLoad;
  operator.free = dedupFree;
  operator.traits = Trait.ENDS_DEFERRING;
}

// @ts-ignore: decorator
@inline function columnsOf(node: usize): u32 {
  return load<u32>(<usize>load<u32>(node, N_SPEC), DEDUP_COLUMNS);
}

function dedupOpen(node: usize): bool {
  const state = allocZeroed(STATE_SIZE, accountOf(node));
  if (!state) return false;
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, STATE_SIZE, N_STATE_SIZE);
  pendingInit(state, columnsOf(node) + TIMES, accountOf(node));
  return true;
}

function dedupFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  clearDeadline(node);
  pendingFree(state);
  free(<usize>load<u32>(state, RANGES), load<u32>(state, ROOM) * RANGE, accountOf(node));
  free(state, STATE_SIZE, accountOf(node));
  store<u32>(node, 0, N_STATE);
}

/** Entries of rows that go on next, and what they are given (u64 each). */
let taken: usize = 0;
let given: usize = 0;
let count: u32 = 0;

/** Makes room for rows that go on; false when memory is exhausted. */
function begin(): bool {
  taken = poolAlloc(ctx.scratch, BATCH_ROWS * ENTRY_SIZE);
  given = poolAlloc(ctx.scratch, BATCH_ROWS << 3);
  count = 0;
  return taken != 0 && given != 0;
}

/** Time of a row by itself, where `pendingAdd` finds it. */
const ROW_TIME: usize = memory.data(8, 8);

function dedupPush(node: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program) vmRun(program);
  const columns = load<u32>(spec, DEDUP_COLUMNS);
  const width = columns + TIMES;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const errors = ctx.rowErrors;
  const binds = poolAlloc(ctx.scratch, width * BIND_SIZE);
  if (!binds || !begin()) {
    exhaust(node);
    return;
  }
  for (let c: u32 = 0; c < columns; c++)
    bindOperand(binds + c * BIND_SIZE, program, load<u16>(spec + ((<usize>c) << 1), DEDUP_SIZE_OF));
  const times = binds + columns * BIND_SIZE;
  bindOperand(times, program, load<u16>(spec, DEDUP_BEGIN));
  bindOperand(times + BIND_SIZE, program, load<u16>(spec, DEDUP_END));
  bindOperand(times + 2 * BIND_SIZE, program, load<u16>(spec, DEDUP_NOW));
  for (let i: u32 = 0; i < n && !isExhausted(node); i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const isFailed = errors && tagAt(errors, row) == Tag.ERROR;
    const failure = isFailed ? valAt(errors, row) : timesFail(times, row);
    if (failure) {
      // What came before the failure goes out before it.
      flush(node, columns);
      if (!isFailed) addException(node, offOf(failure), lenOf(failure), 1);
      sendFailed(node, failure);
      continue;
    }
    store<f64>(ROW_TIME, <f64>wholeOf(times + END * BIND_SIZE, row));
    if (!pendingAdd(state, binds, width, sel + ((<usize>i) << 2), 1, ROW_TIME - ((<usize>row) << 3), 0)) exhaust(node);
    else release(node, state, columns, <f64>wholeOf(times + NOW * BIND_SIZE, row));
  }
  flush(node, columns);
  awaitNext(node, state);
}

function bindOperand(bind: usize, program: usize, operand: u32): void {
  const tags = tagsOf(program, operand);
  const uniform = isConst(operand) ? load<u8>(tags) : load<u8>(blockOf(operand), COL_UNIFORM);
  bindTo(bind, valsOf(program, operand), tags, strideOf(operand), uniform);
}

/** Why the times of the row are none, a payload of ERROR; 0 when they are. */
function timesFail(times: usize, row: u32): u64 {
  for (let t: u32 = 0; t < TIMES; t++) {
    const tag = bindTag(times + t * BIND_SIZE, row);
    const val = bindVal(times + t * BIND_SIZE, row);
    if (tag == Tag.I64 || (tag == Tag.F64 && fitsI64(reinterpret<f64>(val)))) continue;
    if (tag == Tag.ERROR) return val;
    const name = t == BEGIN ? 'start' : t == END ? 'end' : 'now';
    textBegin();
    textLiteral('dedup_trigger: the ');
    textLiteral(name);
    textLiteral(' time ');
    if (isNull(tag)) textLiteral(tag == Tag.MISSING ? 'is missing' : 'is null');
    else {
      putShort(tag, val);
      textLiteral(' is no integer');
    }
    return textTakeError();
  }
  if (wholeOf(times + BEGIN * BIND_SIZE, row) < wholeOf(times + END * BIND_SIZE, row)) return 0;
  return plainError('dedup_trigger: the start time is not before the end time');
}

// @ts-ignore: decorator
@inline function wholeOf(bind: usize, row: u32): i64 {
  return whole(bindTag(bind, row), bindVal(bind, row));
}

// @ts-ignore: decorator
@inline function whole(tag: u8, payload: u64): i64 {
  return tag == Tag.I64 ? <i64>payload : tag == Tag.F64 ? <i64>reinterpret<f64>(payload) : 0;
}

/** Takes the rows that wait and whose end time has reached; then the clock runs for the next of them. */
function release(node: usize, state: usize, columns: u32, now: f64): void {
  while (!isExhausted(node) && pendingTake(state, now, taken + count * ENTRY_SIZE, 1)) {
    const entry = taken + count * ENTRY_SIZE;
    store<u64>(given + ((<usize>count) << 3), give(node, state, columns, entry));
    if (++count == BATCH_ROWS) flush(node, columns);
  }
  store<f64>(state, pendingIsEmpty(state) ? 0 : ctx.nowMs + (pendingNext(state) - now), DUE);
}

/** Rows that wait for the end of their range. */
export function dedupWaiting(node: usize): u32 {
  return pendingCount(<usize>load<u32>(node, N_STATE));
}

function dedupTick(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (isExhausted(node) || pendingIsEmpty(state)) return;
  if (!begin()) {
    exhaust(node);
    return;
  }
  release(node, state, columnsOf(node), pendingNext(state));
  flush(node, columnsOf(node));
  awaitNext(node, state);
}

/** Asks for a tick when the first row that waits is to go on. */
function awaitNext(node: usize, state: usize): void {
  clearDeadline(node);
  const due = load<f64>(state, DUE);
  if (due && !setDeadline(node, due)) exhaust(node);
}

/** Sends the rows that were taken. */
function flush(node: usize, columns: u32): void {
  const n = count;
  count = 0;
  if (!n || isExhausted(node)) return;
  const state = <usize>load<u32>(node, N_STATE);
  const stage = stageAcquire(columns + 1);
  if (!stage) {
    exhaust(node);
    return;
  }
  for (let c: u32 = 0; c < columns; c++) {
    const block = <usize>load<u32>(stage + ((<usize>c) << 2));
    copyOut(block, c, taken + PENDING_ROW, ENTRY_SIZE, n);
    noteUniform(block, n);
  }
  const lists = <usize>load<u32>(stage + ((<usize>columns) << 2));
  for (let i: u32 = 0; i < n; i++) setAt(lists, i, Tag.ARRAY, load<u64>(given + ((<usize>i) << 3)));
  store<u8>(lists, Tag.ARRAY, COL_UNIFORM);
  ctx.setBatch(stage, n, identity, n, 0);
  emit(node);
  stageRelease(columns + 1);
  for (let i: u32 = 0; i < n; i++) pendingDone(state, taken + i * ENTRY_SIZE);
}

// ---- what was given ----------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline function rangeAt(state: usize, i: u32): usize {
  return <usize>load<u32>(state, RANGES) + <usize>(i * RANGE);
}

/** What of its range the row of the entry is given, a payload of ARRAY; from then on it is given away. */
function give(node: usize, state: usize, columns: u32, entry: usize): u64 {
  const page = <usize>load<u32>(entry, PENDING_ROW);
  const row = load<u32>(entry, PENDING_ROW + 4);
  const end = whole(pageTag(page, columns + END, row), pageVal(page, columns + END, row));
  const now = whole(pageTag(page, columns + NOW, row), pageVal(page, columns + NOW, row));
  const oldest = now - <i64>load<f64>(<usize>load<u32>(node, N_SPEC), DEDUP_EXPIRE);
  if (end < oldest) return NO_LIST;
  const from = max(whole(pageTag(page, columns + BEGIN, row), pageVal(page, columns + BEGIN, row)), oldest);
  forget(state, oldest);
  const gaps = gapsIn(state, from, end, 0);
  const list = gaps ? poolAlloc(ctx.scratch, gaps * (SLOT_SIZE + MEMBER_SIZE * 2)) : 0;
  if ((gaps && !list) || !take(node, state, from, end, list)) {
    exhaust(node);
    return NO_LIST;
  }
  return gaps ? span(list, gaps) : NO_LIST;
}

/** Forgets what ended before that time. */
function forget(state: usize, oldest: i64): void {
  const n = load<u32>(state, COUNT);
  let gone: u32 = 0;
  while (gone < n && load<i64>(rangeAt(state, gone), 8) < oldest) gone++;
  if (!gone) return;
  memory.copy(rangeAt(state, 0), rangeAt(state, gone), (n - gone) * RANGE);
  store<u32>(state, n - gone, COUNT);
}

/**
 * Counts the parts of the range that were not given; writes them to `list`, an array of so many items, unless that is
 * 0.
 */
function gapsIn(state: usize, from: i64, end: i64, list: usize): u32 {
  const n = load<u32>(state, COUNT);
  let at = from;
  let gaps: u32 = 0;
  for (let i: u32 = 0; i < n && at < end; i++) {
    const range = rangeAt(state, i);
    if (load<i64>(range, 8) <= at) continue;
    if (load<i64>(range) >= end) break;
    if (load<i64>(range) > at) putGap(list, gaps++, at, load<i64>(range));
    at = load<i64>(range, 8);
  }
  if (at < end) putGap(list, gaps++, at, end);
  return gaps;
}

/** Items stand at the beginning of the memory, their members behind all of them: `listGaps` says how many there are. */
let listGaps: u32 = 0;

function putGap(list: usize, i: u32, from: i64, end: i64): void {
  if (!list) return;
  const members = list + listGaps * SLOT_SIZE + i * MEMBER_SIZE * 2;
  putMember(members, END_KEY, 7, end);
  putMember(members + MEMBER_SIZE, START_KEY, 9, from);
  store<u64>(list + i * SLOT_SIZE, span(members, 2));
  store<u64>(list + i * SLOT_SIZE, <u64>Tag.OBJECT, SLOT_TAG);
}

function putMember(at: usize, name: usize, len: u32, time: i64): void {
  textBegin();
  textI64(time);
  store<u64>(at, textTake());
  store<u32>(at, <u32>Tag.STR, MEMBER_TAG);
  store<u32>(at, len, MEMBER_KEY_LEN);
  store<u64>(at, <u64>name, MEMBER_KEY_OFF);
}

/**
 * Writes the parts that were not given to `list`, if there are any, and gives the range away; false when memory is
 * exhausted.
 */
function take(node: usize, state: usize, from: i64, end: i64, list: usize): bool {
  if (list) {
    listGaps = gapsIn(state, from, end, 0);
    gapsIn(state, from, end, list);
  }
  const n = load<u32>(state, COUNT);
  let first: u32 = 0;
  while (first < n && load<i64>(rangeAt(state, first), 8) < from) first++;
  let after = first;
  let least = from;
  let most = end;
  for (; after < n && load<i64>(rangeAt(state, after)) <= end; after++) {
    least = min(least, load<i64>(rangeAt(state, after)));
    most = max(most, load<i64>(rangeAt(state, after), 8));
  }
  if (after == first && !roomForOne(node, state)) return false;
  memory.copy(rangeAt(state, first + 1), rangeAt(state, after), (n - after) * RANGE);
  store<i64>(rangeAt(state, first), least);
  store<i64>(rangeAt(state, first), most, 8);
  store<u32>(state, n - (after - first) + 1, COUNT);
  return true;
}

function roomForOne(node: usize, state: usize): bool {
  const n = load<u32>(state, COUNT);
  const room = load<u32>(state, ROOM);
  if (n < room) return true;
  const wanted = max<u32>(room << 1, 8);
  const ranges: usize = wanted > 1 << 26 ? 0 : alloc(wanted * RANGE, accountOf(node));
  if (!ranges) return false;
  memory.copy(ranges, <usize>load<u32>(state, RANGES), n * RANGE);
  free(<usize>load<u32>(state, RANGES), room * RANGE, accountOf(node));
  store<u32>(state, <u32>ranges, RANGES);
  store<u32>(state, wanted, ROOM);
  return true;
}

// ---- saved state -------------------------------------------------------------------------------------------------

const VERSION: u32 = 2;

function dedupSave(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  writeVersion(VERSION);
  pendingSave(state);
  writeF64(load<f64>(state, DUE));
  const n = load<u32>(state, COUNT);
  writeU32(n);
  for (let i: u32 = 0; i < n; i++) {
    writeU64(load<u64>(rangeAt(state, i)));
    writeU64(load<u64>(rangeAt(state, i), 8));
  }
}

function dedupLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  const state = <usize>load<u32>(node, N_STATE);
  pendingLoad(state);
  store<f64>(state, readF64(), DUE);
  const n = readLength();
  let last = i64.MIN_VALUE;
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const from = <i64>readU64();
    const end = <i64>readU64();
    if (readFails()) break;
    if (from < last || end < from) readFail(LoadFault.DAMAGED);
    else if (!roomForOne(node, state)) readFail(LoadFault.MEMORY);
    else {
      store<i64>(rangeAt(state, i), from);
      store<i64>(rangeAt(state, i), end, 8);
      store<u32>(state, i + 1, COUNT);
      last = end;
    }
  }
  if (!readFails()) awaitNext(node, state);
  return !readFails();
}

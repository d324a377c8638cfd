// dedup_trigger(begin, end, now, expire): a row asks for a range of time and waits until time has come to the end of
// the range. It is then given the parts of the range that no row before it was given. Rows say themselves how far time
// has come (`now`); between rows, time runs with the clock. Parts more than `expire` before the `now` of a row are not
// given to it, and are forgotten.
//
//   state   pending 80 (order/pending.ts) | 80 due f64 (clock at which the first row that waits goes on, epoch ms, 0
//   none)
//           88  ranges u32 | count u32 | room u32 | 0 u32
//   range   begin i64 | end i64        what rows were given, ascending, with gaps between them
//
// The store keeps the columns of a row, then begin, end and now. The output has the columns and the list of the parts
// that the row is given: objects with start_key and end_key as texts, or no list at all. Failed rows go on at once.
import * as ctx from '../batch/context';
import { emit, sendFailed } from '../emit/emit';
import { accountOf, addException, exhaust, isExhausted } from '../node/node';
import { Operator, Trait } from '../node/operator';
import { identity, noteUniform, stageAcquire, stageRelease } from '../batch/stage';
import { clearDeadline, setDeadline } from '../node/timers';
import { DedupSpec, DEDUP_SIZE_OF } from '../gen/order-layouts';
import { LoadFault } from '../gen/state-layouts';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { Bind, BIND_SIZE, bindTag, bindTo, bindVal } from '../mem/bind';
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
  Pending,
  PendingRow,
  ENTRY_SIZE,
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
import { keepRow } from '../source/columns/failed-row';
import { Node } from '../gen/node-layouts';
import { Program } from '../gen/ops-layouts';
import { Rows } from '../rows/layout';

/** State of a dedup node. */
// @ts-ignore: decorator
@unmanaged
class DedupState extends Pending {
  due: f64;
  ranges: usize;
  rangeCount: u32;
  room: u32;
}

const STATE_SIZE: u32 = PENDING_SIZE + 24;
const RANGE: u32 = 16;
/** Places of the values that are kept of a row behind its columns. */
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
@inline function columnsOf(node: Node): u32 {
  return changetype<DedupSpec>(node.spec).columns;
}

function dedupOpen(node: Node): bool {
  const state = changetype<Pending>(allocZeroed(STATE_SIZE, accountOf(node)));
  if (!state) return false;
  node.state = changetype<usize>(state);
  node.stateSize = STATE_SIZE;
  pendingInit(state, columnsOf(node) + TIMES, accountOf(node));
  return true;
}

function dedupFree(node: Node): void {
  const state = changetype<DedupState>(node.state);
  if (!state) return;
  clearDeadline(node);
  pendingFree(state);
  free(state.ranges, state.room * RANGE, accountOf(node));
  free(changetype<usize>(state), STATE_SIZE, accountOf(node));
  node.state = 0;
}

/** Entries of the rows that go on next; then the list that each row is given (u64 each). */
let taken: usize = 0;
let given: usize = 0;
let count: u32 = 0;

/** Makes room for the rows that go on; false when memory is exhausted. */
function begin(): bool {
  taken = poolAlloc(ctx.scratch, BATCH_ROWS * ENTRY_SIZE);
  given = poolAlloc(ctx.scratch, BATCH_ROWS << 3);
  count = 0;
  return taken != 0 && given != 0;
}

/** The time of the current row, for `pendingAdd`. */
const ROW_TIME: usize = memory.data(8, 8);

function dedupPush(node: Node): void {
  const spec = changetype<DedupSpec>(node.spec);
  const state = changetype<DedupState>(node.state);
  const program = node.program;
  if (program) vmRun(program);
  const columns = spec.columns;
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
    bindOperand(
      changetype<Bind>(binds + c * BIND_SIZE),
      program,
      load<u16>(changetype<usize>(spec) + ((<usize>c) << 1), DEDUP_SIZE_OF),
    );
  const times = changetype<Bind>(binds + columns * BIND_SIZE);
  bindOperand(times, program, spec.begin);
  bindOperand(changetype<Bind>(changetype<usize>(times) + BIND_SIZE), program, spec.end);
  bindOperand(changetype<Bind>(changetype<usize>(times) + 2 * BIND_SIZE), program, spec.now);
  for (let i: u32 = 0; i < n && !isExhausted(node); i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const isFailed = errors && tagAt(errors, row) == Tag.ERROR;
    const failure = isFailed ? valAt(errors, row) : timesFail(changetype<usize>(times), row);
    if (failure) {
      // Rows before the failure go out before it.
      flush(node, columns);
      if (!isFailed) {
        keepRow(node, row);
        addException(node, offOf(failure), lenOf(failure), 1);
      }
      sendFailed(node, failure);
      continue;
    }
    store<f64>(ROW_TIME, <f64>wholeOf(changetype<Bind>(changetype<usize>(times) + END * BIND_SIZE), row));
    if (!pendingAdd(state, binds, width, sel + ((<usize>i) << 2), 1, ROW_TIME - ((<usize>row) << 3), 0)) exhaust(node);
    else release(node, state, columns, <f64>wholeOf(changetype<Bind>(changetype<usize>(times) + NOW * BIND_SIZE), row));
  }
  flush(node, columns);
  awaitNext(node, state);
}

function bindOperand(bind: Bind, program: Program, operand: u32): void {
  const tags = tagsOf(program, operand);
  const uniform = isConst(operand) ? load<u8>(tags) : load<u8>(blockOf(operand), COL_UNIFORM);
  bindTo(bind, valsOf(program, operand), tags, strideOf(operand), uniform);
}

/** Payload of the error in the times of the row; 0 when they are valid. */
function timesFail(times: usize, row: u32): u64 {
  for (let t: u32 = 0; t < TIMES; t++) {
    const tag = bindTag(changetype<Bind>(times + t * BIND_SIZE), row);
    const val = bindVal(changetype<Bind>(times + t * BIND_SIZE), row);
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
  if (
    wholeOf(changetype<Bind>(times + BEGIN * BIND_SIZE), row) < wholeOf(changetype<Bind>(times + END * BIND_SIZE), row)
  )
    return 0;
  return plainError('dedup_trigger: the start time is not before the end time');
}

// @ts-ignore: decorator
@inline function wholeOf(bind: Bind, row: u32): i64 {
  return whole(bindTag(bind, row), bindVal(bind, row));
}

// @ts-ignore: decorator
@inline function whole(tag: u8, payload: u64): i64 {
  return tag == Tag.I64 ? <i64>payload : tag == Tag.F64 ? <i64>reinterpret<f64>(payload) : 0;
}

/** Takes out the rows whose end time has come, and sets when the next waiting row is due by the clock. */
function release(node: Node, state: DedupState, columns: u32, now: f64): void {
  while (!isExhausted(node) && pendingTake(state, now, taken + count * ENTRY_SIZE, 1)) {
    const entry = changetype<PendingRow>(taken + count * ENTRY_SIZE);
    store<u64>(given + ((<usize>count) << 3), give(node, state, columns, entry));
    if (++count == BATCH_ROWS) flush(node, columns);
  }
  state.due = pendingIsEmpty(changetype<usize>(state)) ? 0 : ctx.nowMs + (pendingNext(state) - now);
}

/** Number of rows that wait for the end of their range. */
export function dedupWaiting(node: Node): u32 {
  return pendingCount(changetype<Pending>(node.state));
}

function dedupTick(node: Node): void {
  const state = changetype<DedupState>(node.state);
  if (isExhausted(node) || pendingIsEmpty(changetype<usize>(state))) return;
  if (!begin()) {
    exhaust(node);
    return;
  }
  release(node, state, columnsOf(node), pendingNext(state));
  flush(node, columnsOf(node));
  awaitNext(node, state);
}

/** Sets the deadline of the node to the time at which the first waiting row goes on. */
function awaitNext(node: Node, state: DedupState): void {
  clearDeadline(node);
  const due = state.due;
  if (due && !setDeadline(node, due)) exhaust(node);
}

/** Sends the rows that were taken out. */
function flush(node: Node, columns: u32): void {
  const n = count;
  count = 0;
  if (!n || isExhausted(node)) return;
  const state = changetype<Rows>(node.state);
  const stage = stageAcquire(columns + 1);
  if (!stage) {
    exhaust(node);
    return;
  }
  for (let c: u32 = 0; c < columns; c++) {
    const block = <usize>load<u32>(stage + ((<usize>c) << 2));
    copyOut(block, c, taken + offsetof<PendingRow>('page'), ENTRY_SIZE, n);
    noteUniform(block, n);
  }
  const lists = <usize>load<u32>(stage + ((<usize>columns) << 2));
  for (let i: u32 = 0; i < n; i++) setAt(lists, i, Tag.ARRAY, load<u64>(given + ((<usize>i) << 3)));
  store<u8>(lists, Tag.ARRAY, COL_UNIFORM);
  ctx.setBatch(stage, n, identity, n, 0);
  emit(node);
  stageRelease(columns + 1);
  for (let i: u32 = 0; i < n; i++) pendingDone(state, changetype<PendingRow>(taken + i * ENTRY_SIZE));
}

// ---- what was given ----------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline function rangeAt(state: DedupState, i: u32): usize {
  return state.ranges + <usize>(i * RANGE);
}

/** Payload of the ARRAY of parts that the row of the entry is given; its range counts as given from then on. */
function give(node: Node, state: DedupState, columns: u32, entry: PendingRow): u64 {
  const page = entry.page;
  const row = load<u32>(changetype<usize>(entry), offsetof<PendingRow>('page') + 4);
  const end = whole(pageTag(page, columns + END, row), pageVal(page, columns + END, row));
  const now = whole(pageTag(page, columns + NOW, row), pageVal(page, columns + NOW, row));
  const oldest = now - <i64>changetype<DedupSpec>(node.spec).expire;
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

/** Forgets the ranges that ended before `oldest`. */
function forget(state: DedupState, oldest: i64): void {
  const n = state.rangeCount;
  let gone: u32 = 0;
  while (gone < n && load<i64>(rangeAt(state, gone), 8) < oldest) gone++;
  if (!gone) return;
  memory.copy(rangeAt(state, 0), rangeAt(state, gone), (n - gone) * RANGE);
  state.rangeCount = n - gone;
}

/**
 * Counts the parts of the range that were not given. Writes them to `list`, an array with room for them, unless `list`
 * is 0.
 */
function gapsIn(state: DedupState, from: i64, end: i64, list: usize): u32 {
  const n = state.rangeCount;
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

/** Number of items in the list; items stand at the beginning of its memory, and their members behind all items. */
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
 * Writes the parts that were not given to `list`, unless it is 0, and adds the range to the given ones. False when
 * memory is exhausted.
 */
function take(node: Node, state: DedupState, from: i64, end: i64, list: usize): bool {
  if (list) {
    listGaps = gapsIn(state, from, end, 0);
    gapsIn(state, from, end, list);
  }
  const n = state.rangeCount;
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
  state.rangeCount = n - (after - first) + 1;
  return true;
}

function roomForOne(node: Node, state: DedupState): bool {
  const n = state.rangeCount;
  const room = state.room;
  if (n < room) return true;
  const wanted = max<u32>(room << 1, 8);
  const ranges: usize = wanted > 1 << 26 ? 0 : alloc(wanted * RANGE, accountOf(node));
  if (!ranges) return false;
  memory.copy(ranges, state.ranges, n * RANGE);
  free(state.ranges, room * RANGE, accountOf(node));
  state.ranges = ranges;
  state.room = wanted;
  return true;
}

// ---- saved state -------------------------------------------------------------------------------------------------

const VERSION: u32 = 2;

function dedupSave(node: Node): void {
  const state = changetype<DedupState>(node.state);
  writeVersion(VERSION);
  pendingSave(state);
  writeF64(state.due);
  const n = state.rangeCount;
  writeU32(n);
  for (let i: u32 = 0; i < n; i++) {
    writeU64(load<u64>(rangeAt(state, i)));
    writeU64(load<u64>(rangeAt(state, i), 8));
  }
}

function dedupLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const state = changetype<DedupState>(node.state);
  pendingLoad(state);
  state.due = readF64();
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
      state.rangeCount = i + 1;
      last = end;
    }
  }
  if (!readFails()) awaitNext(node, state);
  return !readFails();
}

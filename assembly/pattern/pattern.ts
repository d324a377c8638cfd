// MATCH_RECOGNIZE: finds matches of a pattern in the rows of each key, and sends a row, or a message of rows, for each.
//
// A batch is worked on in two passes. First its rows are kept, and the conditions that look at rows alone, or at those
// a number of rows before or behind, are evaluated for all of them. What they say is kept with each row, as a bit for
// each variable. Then the searches of each key take the rows in (pattern/search.ts), in the order of the batch. So what
// is sent comes in the order in which it became final.
import * as ctx from '../batch/context';
import { signalBelow } from '../emit/emit';
import { setFree, setInit, SET_SIZE } from '../agg/group/group';
import { GroupSet } from '../agg/group/table';
import { selectionPop, selectionPush } from '../batch/selection';
import { LookKind, PatternFlag, PatternRows, PatternSpec } from '../gen/pattern-layouts';
import { FOR_TABLE } from '../join/message/spec';
import { Node } from '../gen/node-layouts';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { Bind, BIND_SIZE, bindTo } from '../mem/bind';
import { COL_UNIFORM, Tag, lenOf, offOf, tagAt, valAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import {
  NodeFlag,
  accountOf,
  addException,
  exhaust,
  isExhausted,
  leaveEventTime,
  setTimesColumn,
  timesColumn,
} from '../node/node';
import { Operator, Signal, Trait } from '../node/operator';
import { clearDeadline } from '../node/timers';
import { runClean } from '../ops/clean';
import { blockOf, isConst, strideOf, tagsOf, valsOf } from '../ops/operand';
import { findEntries, noteDirty, tableFree, tableInit } from '../partitions/table';
import { ROWS_SIZE, Rows, RowsFlag } from '../rows/layout';
import { rowsAppend, rowsFirst, rowsFree, rowsInit, rowsLast, rowsSetBack } from '../rows/store';
import { readTime, TIMES } from '../order/row-times';
import { finish as finishDeferred, isDeferred } from '../node/deferred';
import { aggregatesFree, aggregatesOpen } from './aggregates';
import { chainFree, chainOpen } from './chain';
import { chainEnds, chainRowsCome } from './chain-rows';
import { conditions, endTime, entries, faults, numbers, reportError, roomForRows, takeRest } from './conditions';
import {
  clockComes,
  forgetIdle,
  freeRest,
  patternGoOn,
  patternResults,
  rowsCome,
  settleKeys,
  waitsByClock,
  watermarkComes,
} from './pieces';
import { patternLoad, patternSave } from './save';
import { finish, setWhole } from './search';
import { flush, sendFailure } from './send';
import { Part, lookAt, numberAt, specClose, specOf, specOpen } from './spec';
import { placeSums } from './sums';
import { awaitDue } from './time';
import {
  PATTERN_STATE_SIZE,
  Partition,
  PatternState,
  TIMED_SIZE,
  UNTIMED_SIZE,
  addRef,
  endOf,
  partitionFree,
} from './state';

export function patternOperator(operator: Operator): void {
  operator.open = patternOpen;
  operator.push = patternPush;
  operator.signal = patternSignal;
  operator.tick = patternTick;
  operator.save = patternSave;
  operator.load = patternLoad;
  operator.free = patternFree;
  operator.setBack = patternSetBack;
  operator.deferred = patternGoOn;
  operator.results = patternResults;
  operator.traits = Trait.ENDS_DEFERRING | Trait.MAKES_ROWS;
}

function patternOpen(node: Node): bool {
  const spec = specOf(node);
  const acct = accountOf(node);
  const state = changetype<PatternState>(allocZeroed(PATTERN_STATE_SIZE, acct));
  if (!state) return false;
  node.state = changetype<usize>(state);
  node.stateSize = PATTERN_STATE_SIZE;
  tableInit(state, spec.ttl > 0 && spec.keys != 0);
  state.entrySize = spec.within > 0 || spec.absentMs > 0 ? TIMED_SIZE : UNTIMED_SIZE;
  for (let i: u32 = 0; i < spec.looks; i++) {
    if (lookAt(spec, i).kind == LookKind.MATCH_NUMBER) state.hasNumbers = 1;
  }
  state.rows = changetype<Rows>(allocZeroed(ROWS_SIZE, acct));
  state.set = changetype<GroupSet>(allocZeroed(SET_SIZE, acct));
  state.marks = allocZeroed(spec.steps << 2, acct);
  state.stack = alloc((spec.steps << 3) + 16, acct);
  state.times = timesColumn(node);
  leaveEventTime(node);
  if (spec.rows == PatternRows.ONE) node.flags &= ~NodeFlag.MESSAGES;
  else node.flags |= NodeFlag.MESSAGES;
  setTimesColumn(node, spec.outputs - 1);
  if (!state.rows || !state.set || !state.marks || !state.stack) return false;
  rowsInit(state.rows, spec.columns, RowsFlag.TIMES, acct);
  setInit(state.set, acct);
  if (!aggregatesOpen(spec, state, acct) || !specOpen(spec, acct)) return false;
  placeSums(spec);
  return chainOpen(spec, state, acct);
}

function patternFree(node: Node): void {
  const state = changetype<PatternState>(node.state);
  if (!state) return;
  const spec = specOf(node);
  const acct = accountOf(node);
  clearDeadline(node);
  for (let entry = state.first; entry; entry = entry.next) partitionFree(changetype<Partition>(entry), acct);
  tableFree(state, state.entrySize, acct);
  chainFree(spec, state, acct);
  if (state.rows && state.set && state.marks && state.stack) specClose(spec);
  if (state.rows) {
    if (state.rows.account) rowsFree(state.rows);
    free(changetype<usize>(state.rows), ROWS_SIZE, acct);
  }
  if (state.set) {
    if (state.set.account) setFree(state.set);
    free(changetype<usize>(state.set), SET_SIZE, acct);
  }
  aggregatesFree(spec, state, acct);
  freeRest(state, acct);
  free(state.marks, spec.steps << 2, acct);
  free(state.stack, (spec.steps << 3) + 16, acct);
  free(state.dues, state.dueRoom << 2, acct);
  free(state.next, state.nextRoom << 3, acct);
  free(changetype<usize>(state), PATTERN_STATE_SIZE, acct);
  node.state = 0;
}

// ---- rows that come ----------------------------------------------------------------------------------------------

function patternPush(node: Node): void {
  if (!waitsByClock(node)) finishOwn(node);
  const program = node.program;
  if (program && !runClean(program)) {
    exhaust(node);
    return;
  }
  const kept = selectionPush();
  if (!kept) {
    exhaust(node);
    return;
  }
  const sel = ctx.sel;
  const n = ctx.selLen;
  const cols = ctx.cols;
  const rows = ctx.rows;
  const errors = ctx.rowErrors;
  if (!take(node, kept)) exhaust(node);
  else if (changetype<PatternState>(node.state).chain) chainRowsCome(node, sel, n);
  else rowsCome(node, sel, n);
  ctx.setBatch(cols, rows, sel, n, errors);
  selectionPop();
  settleKeys(node);
}

/** The time of a row: its own in event time, otherwise the clock's. Payload of an error, or 0. */
// @ts-ignore: decorator
@inline function noteTime(node: Node, spec: PatternSpec, row: u32): u64 {
  const times = changetype<PatternState>(node.state).times;
  if (!(spec.flags & PatternFlag.EVENT_TIME)) {
    store<f64>(TIMES + ((<usize>row) << 3), ctx.nowMs);
    return 0;
  }
  const block = times >= 0 ? <usize>load<u32>(ctx.cols + ((<usize>times) << 2)) : blockOf(spec.times);
  return readTime(block, row);
}

/** Keeps the rows of the batch and evaluates the conditions on them; false when memory is exhausted. */
function take(node: Node, kept: usize): bool {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  const acct = accountOf(node);
  const program = node.program;
  const keys = spec.keys;
  const size = state.entrySize;
  const columns = spec.columns;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const errors = ctx.rowErrors;
  const binds = poolAlloc(ctx.scratch, (keys + columns) * BIND_SIZE);
  if (!roomForRows(ctx.rows) || !binds) return false;
  let clean: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    let fault = errors && tagAt(errors, row) == Tag.ERROR ? valAt(errors, row) : 0;
    if (!fault) {
      fault = noteTime(node, spec, row);
      if (fault) addException(node, offOf(fault), lenOf(fault), 1);
    }
    store<u64>(faults + ((<usize>row) << 3), fault);
    if (fault) store<u32>(entries + ((<usize>row) << 2), 0);
    else store<u32>(kept + ((clean++ as usize) << 2), row);
  }
  if (!clean) return true;
  for (let i: u32 = 0; i < keys + columns; i++) {
    const operand = i < keys ? numberAt(spec, spec.keysAt, i) : numberAt(spec, spec.columnsAt, i - keys);
    const tags = tagsOf(program, operand);
    const uniform = isConst(operand) ? load<u8>(tags) : load<u8>(blockOf(operand), COL_UNIFORM);
    const bind = changetype<Bind>(binds + i * BIND_SIZE);
    bindTo(bind, valsOf(program, operand), tags, strideOf(operand), uniform);
  }
  if (!findEntries(state, size, binds, BIND_SIZE, keys, kept, clean, entries, acct, ctx.nowMs)) return false;
  clean = withoutFailedKeys(node, spec, binds, kept, clean);
  if (!clean) return true;
  let page = rowsLast(state.rows);
  let at: u32 = page ? page.to : 0;
  if (!rowsAppend(state.rows, binds + keys * BIND_SIZE, columns, kept, clean, TIMES)) return false;
  if (!page) page = rowsFirst(state.rows);
  for (let i: u32 = 0; i < clean; i++) {
    const row = load<u32>(kept + ((<usize>i) << 2));
    if (at == page.capacity) {
      page = page.next;
      at = 0;
    }
    const partition = changetype<Partition>(load<u32>(entries + ((<usize>row) << 2)));
    store<u32>(numbers + ((<usize>row) << 2), endOf(partition));
    if (!addRef(partition, page, at++, 0, acct)) return false;
    noteDirty(state, partition);
  }
  if (!conditions(node, spec, state, kept, clean, Part.ROWS)) return false;
  return !(spec.flags & PatternFlag.ASKS_AHEAD) || conditions(node, spec, state, kept, clean, Part.AHEAD);
}

/** Takes rows out whose key failed. */
function withoutFailedKeys(node: Node, spec: PatternSpec, binds: usize, kept: usize, n: u32): u32 {
  let clean: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(kept + ((<usize>i) << 2));
    if (load<u32>(entries + ((<usize>row) << 2))) {
      store<u32>(kept + ((clean++ as usize) << 2), row);
      continue;
    }
    for (let k: u32 = 0; k < spec.keys; k++) {
      const bind = changetype<Bind>(binds + k * BIND_SIZE);
      const tag = load<u8>(bind.tags + row * bind.stride);
      if (tag != Tag.ERROR) continue;
      const fault = load<u64>(bind.vals + ((<usize>(row * bind.stride)) << 3));
      store<u64>(faults + ((<usize>row) << 3), fault);
      addException(node, offOf(fault), lenOf(fault), 1);
      break;
    }
  }
  return clean;
}

// ---- time --------------------------------------------------------------------------------------------------------

function patternSignal(node: Node, signal: u32, value: u64): void {
  finishOwn(node);
  if (signal == Signal.END && offOf(value)) sendFailure(node, value);
  if (signal == Signal.BEGIN || signal == Signal.END) return;
  // The end of a table is not that of the rows that are joined with it.
  if (signal == Signal.FLUSH && !(ctx.branch & FOR_TABLE)) inputEnds(node);
  if (signal == Signal.WATERMARK && specOf(node).flags & PatternFlag.EVENT_TIME) {
    watermarkComes(node, reinterpret<f64>(value));
  } else signalBelow(node, signal, value);
}

/** Finishes the node's own deferred work, for what can't wait for it. */
// @ts-ignore: decorator
@inline function finishOwn(node: Node): void {
  if (isDeferred(node)) finishDeferred(node);
}

/** An input has ended; with the last one all is final. */
function inputEnds(node: Node): void {
  const state = changetype<PatternState>(node.state);
  if (isExhausted(node) || ++state.ended != specOf(node).inputs) return;
  setWhole(true);
  takeRest(node);
  for (let entry = state.first; entry && !isExhausted(node); entry = entry.next) {
    const partition = changetype<Partition>(entry);
    noteDirty(state, partition);
    if (state.chain) chainEnds(node, partition);
    else finish(node, partition, endTime(node, partition));
    reportError(node);
  }
  setWhole(false);
  flush(node);
  settleKeys(node);
}

function patternTick(node: Node): void {
  if (!waitsByClock(node)) finishOwn(node);
  if (!(specOf(node).flags & PatternFlag.EVENT_TIME)) clockComes(node);
  settleKeys(node);
  // Rows that wait belong to keys.
  if (!isDeferred(node)) forgetIdle(node);
  awaitDue(node);
}

/** Rows have the times of the clock, unless they have times of their own. */
function patternSetBack(node: Node, ms: f64): void {
  const state = changetype<PatternState>(node.state);
  if (state.isAging) for (let entry = state.first; entry; entry = entry.next) entry.seen -= ms;
  if (specOf(node).flags & PatternFlag.EVENT_TIME) return;
  rowsSetBack(state.rows, ms);
  state.timeMs -= ms;
  state.resumeMs -= ms;
  if (!state.dueCount) return;
  for (let entry = state.first; entry; entry = entry.next) {
    const partition = changetype<Partition>(entry);
    if (partition.heap) partition.due -= ms;
  }
}

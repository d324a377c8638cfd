// Joins rows with a table outside: the host is asked for the rows of keys that nobody knows yet, and the rows of the
// input wait until the answer is there, while the data plane goes on. A batch asks once, for each list of values once.
// When all answers are there already and nothing waits, rows go on at once and uncopied.
//
// Rows and signals keep their order. A message goes on as a whole: between two inputs none is open below (decision
// 0022).
//
//   state   as of a lookup (spec.ts); `index` -> asking
//   asking  0   queue 32 (queue.ts) | requests 16 (requests.ts) | answers 48 (answers.ts)
import * as ctx from '../../batch/context';
import { signalBelow } from '../../emit/emit';
import { fail } from '../../batch/failure';
import { keepRow } from '../../source/columns/failed-row';
import { NodeFlag, accountOf, addException, exhaust } from '../../node/node';
import { Operator, Signal, Trait } from '../../node/operator';
import { selectionPop, selectionPush } from '../../batch/selection';
import { identity, noteUniform, stageAcquire, stageRelease } from '../../batch/stage';
import { setDeadline } from '../../node/timers';
import { LookupSpec, LookupFlag } from '../../gen/lookup-layouts';
import { allocZeroed, free } from '../../mem/alloc';
import { Bind, BIND_SIZE, bindBlock } from '../../mem/bind';
import { COL_TAGS, COL_VALS, OPERAND_NONE, Tag, lenOf, offOf, setAt, tagAt, valAt } from '../../mem/layout';
import { poolAlloc, poolChunk, poolFilled, poolReturn } from '../../mem/pool';
import { runClean } from '../../ops/clean';
import { blockOf } from '../../ops/operand';
import { programFree } from '../../ops/vm';
import { pageTags, pageVals } from '../../rows/page';
import { rowsAppend, rowsFirst } from '../../rows/store';
import { textBegin, textI64, textLiteral, textTake } from '../../value/text';
import {
  Answer,
  EntryState,
  answersFree,
  answersInit,
  answersSetBack,
  entryDone,
  entryFail,
  entryFailure,
  entryFirst,
  entryJoin,
  entryLeave,
  entryNew,
  entryOf,
  entryState,
} from './answers';
import { KeyOutcome, keyFailure, readKeys } from '../find';
import { lookupOpen } from '../lookup';
import { failMemory, failMessage, failRow, isInMessage, messageBegins, messageEnds } from '../message';
import { pairsAdd, pairsAreFull, pairsBegin, pairsFlush } from '../pairs';
import {
  Queue,
  Item,
  itemEntries,
  itemIsReady,
  itemNext,
  itemRows,
  itemSignal,
  itemValue,
  queueDrop,
  queueFirst,
  queueFree,
  queueRows,
  queueSignal,
} from './queue';
import { Record, recordNext } from '../record';
import {
  requestCount,
  requestDeadline,
  requestDrop,
  requestEntry,
  requestsFirst,
  requestsFree,
  requestsSetBack,
} from './requests';
import { sendSingles, setRecord } from '../singles';
import { Look, columnOperand } from '../spec';
import { ASKING_SIZE, answersOf, askingOf, hasFlag, queueOf, requestsOf, roundOf, specOf } from './asking';
import { forgetIdle, hasStates, partitionOf, statesInit, statesSetBack } from './partitions';
import { askStates, askStatesFree, endStates, isCalled } from './states';
import { FRESH, ask } from './send';
import { askLoad, askSave } from './save';
import { Node } from '../../gen/node-layouts';
import { Program } from '../../gen/ops-layouts';
import { NamesIndex } from '../names-index';

export function askOperator(operator: Operator): void {
  operator.open = askOpen;
  operator.push = askPush;
  operator.signal = askSignal;
  operator.tick = askTick;
  operator.save = askSave;
  operator.load = askLoad;
  operator.free = askFree;
  operator.setBack = askSetBack;
  operator.traits = Trait.MAKES_ROWS | Trait.ENDS_DEFERRING;
}

function askOpen(node: Node): bool {
  if (!lookupOpen(node)) return false;
  const asking = changetype<NamesIndex>(allocZeroed(ASKING_SIZE, accountOf(node)));
  if (!asking) return false;
  changetype<Look>(node.state).index = asking;
  statesInit(node);
  return answersInit(answersOf(node), accountOf(node));
}

function askFree(node: Node): void {
  const state = changetype<Look>(node.state);
  if (!state) return;
  const acct = accountOf(node);
  if (askingOf(node)) {
    queueFree(changetype<Queue>(queueOf(node)), acct);
    requestsFree(requestsOf(node), acct);
    answersFree(answersOf(node), acct);
    askStatesFree(node);
    free(changetype<usize>(askingOf(node)), ASKING_SIZE, acct);
  }
  programFree(state.program);
  free(changetype<usize>(state), node.stateSize, acct);
}

function askSignal(node: Node, signal: u32, value: u64): void {
  const queue = changetype<Queue>(queueOf(node));
  if (!isInMessage(node) && !queueFirst(queue)) {
    signalBelow(node, signal, value);
    return;
  }
  if (!queueSignal(queue, signal, value, signal == Signal.END, accountOf(node))) {
    exhaust(node);
    return;
  }
  if (signal != Signal.BEGIN) drain(node);
}

/** Entries of the batch, by their place in its selection. */
const ENTRIES: usize = memory.data(4 * 1024, 16);

function askPush(node: Node): void {
  const state = changetype<Look>(node.state);
  const spec = specOf(node);
  const program = node.program;
  const marks = stageAcquire(1);
  if (!marks || (!!program && !runClean(program))) {
    if (marks) stageRelease(1);
    exhaust(node);
    return;
  }
  const errors = <usize>load<u32>(marks);
  if (!takeBatch(node, spec, state, program, errors)) exhaust(node);
  stageRelease(1);
}

/** Finds or makes the entries of the batch's rows; false when memory is exhausted. */
function takeBatch(node: Node, spec: LookupSpec, state: Look, program: Program, errors: usize): bool {
  const acct = accountOf(node);
  const answers = answersOf(node);
  const keys = spec.keys;
  const keeps = hasFlag(spec, LookupFlag.KEEPS);
  const isEach = hasFlag(spec, LookupFlag.IS_EACH);
  const keepsStates = hasStates(node);
  if (keepsStates) forgetIdle(node);
  const most = keeps ? spec.mostKept : u32.MAX_VALUE;
  const before = ctx.rowErrors;
  const selLen = ctx.selLen;
  let fresh: u32 = 0;
  let waiting: u32 = 0;
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(ctx.sel + ((<usize>i) << 2));
    let entry: Answer = changetype<Answer>(0);
    let mark: u64 = 0;
    if (before && tagAt(before, row) == Tag.ERROR) mark = valAt(before, row);
    else {
      const outcome = readKeys(spec, program, row, isEach, isEach && !keepsStates);
      if (outcome == KeyOutcome.FAILED) {
        mark = keyFailure;
        if (!isInMessage(node)) {
          keepRow(node, row);
          addException(node, offOf(mark), lenOf(mark), 1);
        }
      } else if (outcome == KeyOutcome.FOUND) {
        entry = isEach ? changetype<Answer>(0) : entryOf(answers, keys, ctx.nowMs, acct);
        if (!entry) {
          entry = entryNew(answers, keys, most, isEach, acct);
          if (!entry) return false;
          // Its partition is not to be forgotten while the row waits.
          if (spec.stateTtl > 0 && !partitionOf(node, entry)) return false;
          store<u32>(FRESH + ((fresh++ as usize) << 2), changetype<u32>(entry));
        }
        // Held while others of the batch are found.
        entryJoin(entry);
        waiting += <u32>(entryState(entry) == EntryState.WAITING);
      }
    }
    setAt(errors, row, mark ? Tag.ERROR : Tag.NULL, mark);
    store<u32>(ENTRIES + ((<usize>i) << 2), changetype<u32>(entry));
  }
  const queue = changetype<Queue>(queueOf(node));
  if (!waiting && !isInMessage(node) && !queueFirst(queue)) {
    sendNow(node, spec, state, errors);
    return true;
  }
  if (!queueBatch(node, spec, errors)) return false;
  if (!fresh) return true;
  if (!ask(node, fresh)) return false;
  // Rows that the function does not take in may have their results already.
  if (keepsStates) drain(node);
  return true;
}

/** Sends a batch whose answers are all there. */
function sendNow(node: Node, spec: LookupSpec, state: Look, errors: usize): void {
  const columns = spec.columns;
  const blocks = poolAlloc(ctx.scratch, (columns + spec.fields) << 2);
  const entries = poolAlloc(ctx.scratch, ctx.selLen << 2);
  if (!blocks || !entries) {
    exhaust(node);
    return;
  }
  for (let c: u32 = 0; c < columns; c++) store<u32>(blocks + ((<usize>c) << 2), <u32>blockOf(columnOperand(spec, c)));
  const selLen = ctx.selLen;
  memory.copy(entries, ENTRIES, selLen << 2);
  sendRows(node, spec, state, blocks, errors, entries);
  const acct = accountOf(node);
  const keeps = hasFlag(spec, LookupFlag.KEEPS);
  for (let i: u32 = 0; i < selLen; i++) {
    const entry = changetype<Answer>(load<u32>(entries + ((<usize>i) << 2)));
    if (entry) entryLeave(answersOf(node), entry, keeps, acct);
  }
}

/** Keeps the batch until its answers are there. */
function queueBatch(node: Node, spec: LookupSpec, errors: usize): bool {
  const columns = spec.columns;
  const width = columns + 1;
  const binds = poolAlloc(ctx.scratch, width * BIND_SIZE);
  const item: Item = binds
    ? queueRows(changetype<Queue>(queueOf(node)), ctx.selLen, width, accountOf(node))
    : changetype<Item>(0);
  if (!item) return false;
  for (let c: u32 = 0; c < columns; c++)
    bindBlock(changetype<Bind>(binds + <usize>(c * BIND_SIZE)), blockOf(columnOperand(spec, c)));
  bindBlock(changetype<Bind>(binds + <usize>(columns * BIND_SIZE)), errors);
  memory.copy(itemEntries(item), ENTRIES, ctx.selLen << 2);
  return rowsAppend(itemRows(item), binds, width, ctx.sel, ctx.selLen, 0);
}

/**
 * Sends the rows of the current batch: `blocks` has the columns that go on, with room for those of the table behind
 * them, `errors` the marks of rows that failed, `entries` the entry of each selected row.
 */
function sendRows(node: Node, spec: LookupSpec, state: Look, blocks: usize, errors: usize, entries: usize): void {
  if (isInMessage(node)) sendPairs(node, spec, state, blocks, errors, entries);
  else sendEach(node, spec, state, blocks, errors, entries);
}

/** Sends rows of a stream: each becomes one row at most. */
function sendEach(node: Node, spec: LookupSpec, state: Look, blocks: usize, errors: usize, entries: usize): void {
  const columns = spec.columns;
  const fields = spec.fields;
  const kept = selectionPush();
  const own = stageAcquire(max<u32>(fields, 1));
  if (!kept || !own) {
    exhaust(node);
    if (own) stageRelease(max<u32>(fields, 1));
    if (kept) selectionPop();
    return;
  }
  memory.copy(blocks + ((<usize>columns) << 2), own, fields << 2);
  const isLeft = spec.isLeft != 0;
  let n: u32 = 0;
  let hasFailed = false;
  for (let i: u32 = 0; i < ctx.selLen; i++) {
    const row = load<u32>(ctx.sel + ((<usize>i) << 2));
    const entry = changetype<Answer>(load<u32>(entries + ((<usize>i) << 2)));
    let record: Record = changetype<Record>(0);
    if (tagAt(errors, row) == Tag.ERROR) {
      if (!(node.flags & NodeFlag.SEND_ERROR)) continue;
      hasFailed = true;
    } else if (entry && entryState(entry) == EntryState.FAILED) {
      const failure = entryFailure(entry);
      fail(offOf(failure), lenOf(failure));
      if (!failRow(node, errors, row)) continue;
      hasFailed = true;
    } else {
      record = entry ? entryFirst(entry) : changetype<Record>(0);
      if (!record && !isLeft) continue;
    }
    setRecord(row, record);
    store<u32>(kept + ((n++ as usize) << 2), row);
  }
  sendSingles(node, spec, state, blocks, errors, kept, n, hasFailed);
  stageRelease(max<u32>(fields, 1));
  selectionPop();
}

/** Sends rows of a message: each may become several rows. */
function sendPairs(node: Node, spec: LookupSpec, state: Look, blocks: usize, errors: usize, entries: usize): void {
  const frame = pairsBegin(blocks);
  if (!frame) {
    failMemory(node, state);
    return;
  }
  const isLeft = spec.isLeft != 0;
  const hasCondition = spec.condition != OPERAND_NONE;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  for (let i: u32 = 0; i < selLen && !state.fail; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const entry = changetype<Answer>(load<u32>(entries + ((<usize>i) << 2)));
    const isFailed = !!entry && entryState(entry) == EntryState.FAILED;
    if (isFailed || tagAt(errors, row) == Tag.ERROR) {
      const failure = isFailed ? entryFailure(entry) : valAt(errors, row);
      fail(offOf(failure), lenOf(failure));
      failMessage(node, state);
      return;
    }
    let record: Record = entry ? entryFirst(entry) : changetype<Record>(0);
    const isAlone = isLeft && (!record || hasCondition);
    for (; record; record = recordNext(record)) {
      pairsAdd(frame, row, record);
      if (pairsAreFull(frame)) pairsFlush(node, spec, state, frame);
      if (state.fail) return;
    }
    if (isAlone) pairsAdd(frame, row, changetype<Record>(0));
    if (pairsAreFull(frame)) pairsFlush(node, spec, state, frame);
  }
  if (!state.fail) pairsFlush(node, spec, state, frame);
}

// ---- what waits --------------------------------------------------------------------------------------------------

/** Sends the items whose answers are there, up to the first that still waits; a message goes as a whole. */
export function drain(node: Node): void {
  const queue = changetype<Queue>(queueOf(node));
  for (let item = queueFirst(queue); item; item = queueFirst(queue)) {
    if (itemSignal(item) == Signal.BEGIN ? !messageIsReady(item) : !itemIsReady(item)) return;
    const isMessage = itemSignal(item) == Signal.BEGIN;
    while (item) {
      const isLast = !isMessage || itemSignal(item) == Signal.END;
      sendItem(node, item);
      queueDrop(queue, answersOf(node), hasFlag(specOf(node), LookupFlag.KEEPS), accountOf(node));
      item = isLast ? changetype<Item>(0) : queueFirst(queue);
    }
  }
}

/** The end of the message has come, and all answers for its rows. */
function messageIsReady(begin: Item): bool {
  let item = begin;
  while (item && itemSignal(item) != Signal.END) {
    if (!itemIsReady(item)) return false;
    item = itemNext(item);
  }
  return !!item;
}

function sendItem(node: Node, item: Item): void {
  const state = changetype<Look>(node.state);
  const signal = itemSignal(item);
  if (!signal) sendItemRows(node, state, item);
  else if (signal == Signal.BEGIN) messageBegins(state);
  else if (signal == Signal.END) messageEnds(node, state, offOf(itemValue(item)), lenOf(itemValue(item)));
  else signalBelow(node, signal, itemValue(item));
}

/** Makes batches of the kept rows again. */
function sendItemRows(node: Node, state: Look, item: Item): void {
  if (isInMessage(node) && state.fail) return;
  const spec = specOf(node);
  const columns = spec.columns;
  const chunk = poolChunk(ctx.scratch);
  const filled = poolFilled(ctx.scratch);
  const blocks = poolAlloc(ctx.scratch, (columns + spec.fields) << 2);
  const own = stageAcquire(columns + 1);
  if (blocks && own) {
    memory.copy(blocks, own, columns << 2);
    const errors = <usize>load<u32>(own + ((<usize>columns) << 2));
    let from: u32 = 0;
    for (let page = rowsFirst(itemRows(item)); page; page = page.next) {
      const n = page.to;
      for (let c: u32 = 0; c <= columns; c++) {
        const block = <usize>load<u32>(own + ((<usize>c) << 2));
        memory.copy(block + COL_VALS, pageVals(page, c), (<usize>n) << 3);
        memory.copy(block + COL_TAGS, pageTags(page, c), n);
        noteUniform(block, n);
      }
      ctx.setBatch(blocks, n, identity, n, 0);
      sendRows(node, spec, state, blocks, errors, itemEntries(item) + ((<usize>from) << 2));
      from += n;
    }
  } else exhaust(node);
  if (own) stageRelease(columns + 1);
  poolReturn(ctx.scratch, chunk, filled);
}

/** Moves the times of requests and remembered answers `ms` back, because the clock was set back. */
function askSetBack(node: Node, ms: f64): void {
  requestsSetBack(requestsOf(node), ms);
  answersSetBack(answersOf(node), ms);
  statesSetBack(node, ms);
}

/** Gives up requests that have taken too long; with IS_DELAY that is the end of the delay. */
function askTick(node: Node): void {
  const requests = requestsOf(node);
  const acct = accountOf(node);
  const isDelay = hasFlag(specOf(node), LookupFlag.IS_DELAY);
  const keepsStates = hasStates(node);
  for (let request = requestsFirst(requests); request; request = requestsFirst(requests)) {
    const deadline = requestDeadline(request);
    // Requests behind a call that has states are not asked for yet.
    if (keepsStates && !roundOf(node).calls) break;
    if (deadline > ctx.nowMs) {
      if (!setDeadline(node, deadline)) exhaust(node);
      break;
    }
    const text: u64 = isDelay ? 0 : timeoutText(node);
    const count = requestCount(request);
    for (let i: u32 = 0; i < count; i++) {
      const entry = requestEntry(request, i);
      if (isDelay) entryDone(answersOf(node), entry, false, false, 0, acct);
      else if (!keepsStates || isCalled(node, entry)) entryFail(answersOf(node), entry, offOf(text), lenOf(text), acct);
    }
    if (keepsStates) endStates(node, request);
    else requestDrop(requests, request, acct);
  }
  if (keepsStates) {
    forgetIdle(node);
    if (!askStates(node)) exhaust(node);
  }
  drain(node);
}

function timeoutText(node: Node): u64 {
  textBegin();
  textLiteral('no answer within ');
  textI64(<i64>specOf(node).timeout);
  textLiteral(' ms');
  return textTake();
}

// ---- saved state -------------------------------------------------------------------------------------------------

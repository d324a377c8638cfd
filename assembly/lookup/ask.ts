// Joins rows with a table outside: the host is asked for the rows of keys that nobody knows yet, and the rows of the
// input wait until the answer is there, while the data plane goes on. A batch asks once, for each list of values once.
// Where all answers are there already and nothing waits, rows go on at once and uncopied.
//
// Rows and signals keep their order. A message goes on as a whole: between two inputs none is open below (decision
// 0022).
//
//   state   as of a lookup (spec.ts); LOOK_INDEX -> asking
//   asking  0   queue 32 (queue.ts) | requests 16 (requests.ts) | answers 48 (answers.ts)
import * as ctx from '../batch/context';
import { signalBelow } from '../emit/emit';
import { fail } from '../batch/failure';
import { N_FLAGS, N_PROGRAM, N_STATE, N_STATE_SIZE, NodeFlag, accountOf, addException, exhaust } from '../node/node';
import { Operator, Signal, Trait } from '../node/operator';
import { selectionPop, selectionPush } from '../batch/selection';
import { identity, noteUniform, stageAcquire, stageRelease } from '../batch/stage';
import { setDeadline } from '../node/timers';
import { LOOKUP_MOST_KEPT, LOOKUP_TIMEOUT, LookupFlag } from '../gen/lookup-layouts';
import { allocZeroed, free } from '../mem/alloc';
import { BIND_SIZE, bindBlock } from '../mem/bind';
import { COL_TAGS, COL_VALS, OPERAND_NONE, Tag, lenOf, offOf, setAt, tagAt, valAt } from '../mem/layout';
import { poolAlloc, poolChunk, poolFilled, poolReturn } from '../mem/pool';
import { runClean } from '../ops/clean';
import { blockOf } from '../ops/operand';
import { programFree } from '../ops/vm';
import { PAGE_NEXT, PAGE_TO, pageTags, pageVals } from '../rows/page';
import { rowsAppend, rowsFirst } from '../rows/store';
import { textBegin, textI64, textLiteral, textTake } from '../value/text';
import {
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
import { KeyOutcome, keyFailure, readKeys } from './find';
import { lookupOpen } from './lookup';
import { failMemory, failMessage, failRow, isInMessage, messageBegins, messageEnds } from './message';
import { pairsAdd, pairsAreFull, pairsBegin, pairsFlush } from './pairs';
import {
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
import { recordNext } from './record';
import {
  requestCount,
  requestDeadline,
  requestDrop,
  requestEntry,
  requestsFirst,
  requestsFree,
  requestsSetBack,
} from './requests';
import { sendSingles, setRecord } from './singles';
import {
  LOOKUP_COLUMNS,
  LOOKUP_CONDITION,
  LOOKUP_FIELDS,
  LOOKUP_IS_LEFT,
  LOOKUP_KEYS,
  LOOK_FAIL,
  LOOK_INDEX,
  LOOK_PROGRAM,
  columnOperand,
} from './spec';
import { ASKING_SIZE, FRESH, answersOf, ask, askingOf, hasFlag, queueOf, requestsOf, specOf } from './asking';
import { askLoad, askSave } from './ask-save';

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

function askOpen(node: usize): bool {
  if (!lookupOpen(node)) return false;
  const asking = allocZeroed(ASKING_SIZE, accountOf(node));
  if (!asking) return false;
  store<u32>(<usize>load<u32>(node, N_STATE), <u32>asking, LOOK_INDEX);
  return answersInit(answersOf(node), accountOf(node));
}

function askFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  const acct = accountOf(node);
  if (askingOf(node)) {
    queueFree(queueOf(node), acct);
    requestsFree(requestsOf(node), acct);
    answersFree(answersOf(node), acct);
    free(askingOf(node), ASKING_SIZE, acct);
  }
  programFree(<usize>load<u32>(state, LOOK_PROGRAM));
  free(state, load<u32>(node, N_STATE_SIZE), acct);
}

function askSignal(node: usize, signal: u32, value: u64): void {
  const queue = queueOf(node);
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

function askPush(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  const spec = specOf(node);
  const program = <usize>load<u32>(node, N_PROGRAM);
  const marks = stageAcquire(1);
  if (!marks || (program && !runClean(program))) {
    if (marks) stageRelease(1);
    exhaust(node);
    return;
  }
  const errors = <usize>load<u32>(marks);
  if (!takeBatch(node, spec, state, program, errors)) exhaust(node);
  stageRelease(1);
}

/** Finds what the rows are to be joined with; false when memory is exhausted. */
function takeBatch(node: usize, spec: usize, state: usize, program: usize, errors: usize): bool {
  const acct = accountOf(node);
  const answers = answersOf(node);
  const keys = load<u32>(spec, LOOKUP_KEYS);
  const keeps = hasFlag(spec, LookupFlag.KEEPS);
  const isEach = hasFlag(spec, LookupFlag.IS_EACH);
  const most = keeps ? load<u32>(spec, LOOKUP_MOST_KEPT) : u32.MAX_VALUE;
  const before = ctx.rowErrors;
  const selLen = ctx.selLen;
  let fresh: u32 = 0;
  let waiting: u32 = 0;
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(ctx.sel + ((<usize>i) << 2));
    let entry: usize = 0;
    let mark: u64 = 0;
    if (before && tagAt(before, row) == Tag.ERROR) mark = valAt(before, row);
    else {
      const outcome = readKeys(spec, program, row, isEach);
      if (outcome == KeyOutcome.FAILED) {
        mark = keyFailure;
        if (!isInMessage(node)) addException(node, offOf(mark), lenOf(mark), 1);
      } else if (outcome == KeyOutcome.FOUND) {
        entry = isEach ? 0 : entryOf(answers, keys, ctx.nowMs, acct);
        if (!entry) {
          entry = entryNew(answers, keys, most, isEach, acct);
          if (!entry) return false;
          store<u32>(FRESH + ((fresh++ as usize) << 2), <u32>entry);
        }
        // Held while others of the batch are found.
        entryJoin(entry);
        waiting += <u32>(entryState(entry) == EntryState.WAITING);
      }
    }
    setAt(errors, row, mark ? Tag.ERROR : Tag.NULL, mark);
    store<u32>(ENTRIES + ((<usize>i) << 2), <u32>entry);
  }
  const queue = queueOf(node);
  if (!waiting && !isInMessage(node) && !queueFirst(queue)) {
    sendNow(node, spec, state, errors);
    return true;
  }
  if (!queueBatch(node, spec, errors)) return false;
  if (!fresh) return true;
  return ask(node, fresh);
}

/** Sends a batch whose answers are all there. */
function sendNow(node: usize, spec: usize, state: usize, errors: usize): void {
  const columns = load<u32>(spec, LOOKUP_COLUMNS);
  const blocks = poolAlloc(ctx.scratch, (columns + load<u32>(spec, LOOKUP_FIELDS)) << 2);
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
    const entry = <usize>load<u32>(entries + ((<usize>i) << 2));
    if (entry) entryLeave(answersOf(node), entry, keeps, acct);
  }
}

/** Keeps the batch until its answers are there. */
function queueBatch(node: usize, spec: usize, errors: usize): bool {
  const columns = load<u32>(spec, LOOKUP_COLUMNS);
  const width = columns + 1;
  const binds = poolAlloc(ctx.scratch, width * BIND_SIZE);
  const item: usize = binds ? queueRows(queueOf(node), ctx.selLen, width, accountOf(node)) : 0;
  if (!item) return false;
  for (let c: u32 = 0; c < columns; c++) bindBlock(binds + <usize>(c * BIND_SIZE), blockOf(columnOperand(spec, c)));
  bindBlock(binds + <usize>(columns * BIND_SIZE), errors);
  memory.copy(itemEntries(item), ENTRIES, ctx.selLen << 2);
  return rowsAppend(itemRows(item), binds, width, ctx.sel, ctx.selLen, 0);
}

/**
 * Sends the rows of the current batch: `blocks` has the columns that go on, with room for those of the table behind
 * them, `errors` the marks of rows that failed, `entries` the entry of each selected row.
 */
function sendRows(node: usize, spec: usize, state: usize, blocks: usize, errors: usize, entries: usize): void {
  if (isInMessage(node)) sendPairs(node, spec, state, blocks, errors, entries);
  else sendEach(node, spec, state, blocks, errors, entries);
}

/** Rows of a stream: each becomes one at most. */
function sendEach(node: usize, spec: usize, state: usize, blocks: usize, errors: usize, entries: usize): void {
  const columns = load<u32>(spec, LOOKUP_COLUMNS);
  const fields = load<u32>(spec, LOOKUP_FIELDS);
  const kept = selectionPush();
  const own = stageAcquire(max<u32>(fields, 1));
  if (!kept || !own) {
    exhaust(node);
    if (own) stageRelease(max<u32>(fields, 1));
    if (kept) selectionPop();
    return;
  }
  memory.copy(blocks + ((<usize>columns) << 2), own, fields << 2);
  const isLeft = load<u32>(spec, LOOKUP_IS_LEFT) != 0;
  let n: u32 = 0;
  let hasFailed = false;
  for (let i: u32 = 0; i < ctx.selLen; i++) {
    const row = load<u32>(ctx.sel + ((<usize>i) << 2));
    const entry = <usize>load<u32>(entries + ((<usize>i) << 2));
    let record: usize = 0;
    if (tagAt(errors, row) == Tag.ERROR) {
      if (!(load<u32>(node, N_FLAGS) & NodeFlag.SEND_ERROR)) continue;
      hasFailed = true;
    } else if (entry && entryState(entry) == EntryState.FAILED) {
      const failure = entryFailure(entry);
      fail(offOf(failure), lenOf(failure));
      if (!failRow(node, errors, row)) continue;
      hasFailed = true;
    } else {
      record = entry ? entryFirst(entry) : 0;
      if (!record && !isLeft) continue;
    }
    setRecord(row, record);
    store<u32>(kept + ((n++ as usize) << 2), row);
  }
  sendSingles(node, spec, state, blocks, errors, kept, n, hasFailed);
  stageRelease(max<u32>(fields, 1));
  selectionPop();
}

/** Rows of a message: each may become several. */
function sendPairs(node: usize, spec: usize, state: usize, blocks: usize, errors: usize, entries: usize): void {
  const frame = pairsBegin(blocks);
  if (!frame) {
    failMemory(node, state);
    return;
  }
  const isLeft = load<u32>(spec, LOOKUP_IS_LEFT) != 0;
  const hasCondition = load<u32>(spec, LOOKUP_CONDITION) != OPERAND_NONE;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  for (let i: u32 = 0; i < selLen && !load<u32>(state, LOOK_FAIL); i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const entry = <usize>load<u32>(entries + ((<usize>i) << 2));
    const isFailed = entry != 0 && entryState(entry) == EntryState.FAILED;
    if (isFailed || tagAt(errors, row) == Tag.ERROR) {
      const failure = isFailed ? entryFailure(entry) : valAt(errors, row);
      fail(offOf(failure), lenOf(failure));
      failMessage(node, state);
      return;
    }
    let record: usize = entry ? entryFirst(entry) : 0;
    const isAlone = isLeft && (!record || hasCondition);
    for (; record; record = recordNext(record)) {
      pairsAdd(frame, row, record);
      if (pairsAreFull(frame)) pairsFlush(node, spec, state, frame);
      if (load<u32>(state, LOOK_FAIL)) return;
    }
    if (isAlone) pairsAdd(frame, row, 0);
    if (pairsAreFull(frame)) pairsFlush(node, spec, state, frame);
  }
  if (!load<u32>(state, LOOK_FAIL)) pairsFlush(node, spec, state, frame);
}

// ---- what waits --------------------------------------------------------------------------------------------------

/** Sends what has waited and is complete, in its order; a message as a whole. */
export function drain(node: usize): void {
  const queue = queueOf(node);
  for (let item = queueFirst(queue); item; item = queueFirst(queue)) {
    if (itemSignal(item) == Signal.BEGIN ? !messageIsReady(item) : !itemIsReady(item)) return;
    const isMessage = itemSignal(item) == Signal.BEGIN;
    while (item) {
      const isLast = !isMessage || itemSignal(item) == Signal.END;
      sendItem(node, item);
      queueDrop(queue, answersOf(node), hasFlag(specOf(node), LookupFlag.KEEPS), accountOf(node));
      item = isLast ? 0 : queueFirst(queue);
    }
  }
}

/** The end of the message has come, and all answers for its rows. */
function messageIsReady(begin: usize): bool {
  let item = begin;
  while (item && itemSignal(item) != Signal.END) {
    if (!itemIsReady(item)) return false;
    item = itemNext(item);
  }
  return item != 0;
}

function sendItem(node: usize, item: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  const signal = itemSignal(item);
  if (!signal) sendItemRows(node, state, item);
  else if (signal == Signal.BEGIN) messageBegins(state);
  else if (signal == Signal.END) messageEnds(node, state, offOf(itemValue(item)), lenOf(itemValue(item)));
  else signalBelow(node, signal, itemValue(item));
}

/** Makes batches of the kept rows again. */
function sendItemRows(node: usize, state: usize, item: usize): void {
  if (isInMessage(node) && load<u32>(state, LOOK_FAIL)) return;
  const spec = specOf(node);
  const columns = load<u32>(spec, LOOKUP_COLUMNS);
  const chunk = poolChunk(ctx.scratch);
  const filled = poolFilled(ctx.scratch);
  const blocks = poolAlloc(ctx.scratch, (columns + load<u32>(spec, LOOKUP_FIELDS)) << 2);
  const own = stageAcquire(columns + 1);
  if (blocks && own) {
    memory.copy(blocks, own, columns << 2);
    const errors = <usize>load<u32>(own + ((<usize>columns) << 2));
    let from: u32 = 0;
    for (let page = rowsFirst(itemRows(item)); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
      const n = load<u32>(page, PAGE_TO);
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

/** The clock is set back: requests have as long as before, answers are remembered no longer. */
function askSetBack(node: usize, ms: f64): void {
  requestsSetBack(requestsOf(node), ms);
  answersSetBack(answersOf(node), ms);
}

/** Gives up what was asked for too long ago; a delay is over then. */
function askTick(node: usize): void {
  const requests = requestsOf(node);
  const acct = accountOf(node);
  const isDelay = hasFlag(specOf(node), LookupFlag.IS_DELAY);
  for (let request = requestsFirst(requests); request; request = requestsFirst(requests)) {
    const deadline = requestDeadline(request);
    if (deadline > ctx.nowMs) {
      if (!setDeadline(node, deadline)) exhaust(node);
      break;
    }
    const text: u64 = isDelay ? 0 : timeoutText(node);
    const count = requestCount(request);
    for (let i: u32 = 0; i < count; i++) {
      const entry = requestEntry(request, i);
      if (isDelay) entryDone(answersOf(node), entry, false, false, 0, acct);
      else entryFail(answersOf(node), entry, offOf(text), lenOf(text), acct);
    }
    requestDrop(requests, request, acct);
  }
  drain(node);
}

function timeoutText(node: usize): u64 {
  textBegin();
  textLiteral('no answer within ');
  textI64(<i64>load<f64>(specOf(node), LOOKUP_TIMEOUT));
  textLiteral(' ms');
  return textTake();
}

// ---- saved state -------------------------------------------------------------------------------------------------

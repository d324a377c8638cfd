// Joins each row of the input with the rows of a table that match: of a stream a row becomes at most one, in its place
// in the batch; of a message it may become several, in the order in which the table has them.
//
// Values are not copied: columns of the input go on as they are (where a row stays one row), those of the table refer
// to its records, which nothing changes while the batch is under way.
import * as ctx from '../batch/context';
import { signalBelow } from '../emit/emit';
import { fail } from '../batch/failure';
import { N_PROGRAM, N_SPEC, N_STATE, N_STATE_SIZE, accountOf } from '../node/node';
import { Operator, Signal, Trait } from '../node/operator';
import { selectionPop, selectionPush } from '../batch/selection';
import { stageAcquire, stageRelease } from '../batch/stage';
import { allocZeroed, free } from '../mem/alloc';
import { Tag, lenOf, offOf, setAt, tagAt, valAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { runClean } from '../ops/clean';
import { blockOf } from '../ops/operand';
import { programFree, programNew } from '../ops/vm';
import { KeyOutcome, findIndex, firstMatch, keyFailure, readKeys, tableOf, touchMatches } from './find';
import { failMemory, failMessage, failRow, isInMessage, messageBegins, messageEnds } from './message';
import { pushPairs } from './pairs';
import { sendSingles, setRecord } from './singles';
import {
  LOOKUP_COLUMNS,
  LOOKUP_FIELDS,
  LOOKUP_IS_LEFT,
  LOOKUP_PROGRAM,
  LOOKUP_PROGRAM_LEN,
  LOOKUP_TABLE,
  LOOK_FAIL,
  LOOK_INDEX,
  LOOK_IS_BY_KEY,
  LOOK_PROGRAM,
  LOOK_SERIAL,
  columnOperand,
  stateSize,
} from './spec';
import { tableLeave, tableSerial } from './table';

export function lookupOperator(operator: Operator): void {
  operator.open = lookupOpen;
  operator.push = lookupPush;
  operator.signal = lookupSignal;
  operator.free = lookupFree;
  operator.traits = Trait.MAKES_ROWS;
}

/** Makes the state of a lookup; false when memory is exhausted. */
export function lookupOpen(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const acct = accountOf(node);
  const size = stateSize(spec);
  const state = allocZeroed(size, acct);
  if (!state) return false;
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, size, N_STATE_SIZE);
  const len = load<u32>(spec, LOOKUP_PROGRAM_LEN);
  if (!len) return true;
  const program = programNew(spec + <usize>load<u32>(spec, LOOKUP_PROGRAM), len, acct);
  store<u32>(state, <u32>program, LOOK_PROGRAM);
  return program != 0;
}

function lookupFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const table = tableOf(spec);
  if (load<u32>(state, LOOK_SERIAL) && load<u32>(state, LOOK_SERIAL) == tableSerial(table)) {
    tableLeave(table, <usize>load<u32>(state, LOOK_INDEX), accountOf(<usize>load<u32>(spec, LOOKUP_TABLE)));
  }
  programFree(<usize>load<u32>(state, LOOK_PROGRAM));
  free(state, load<u32>(node, N_STATE_SIZE), accountOf(node));
}

function lookupSignal(node: usize, signal: u32, value: u64): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (signal == Signal.BEGIN) messageBegins(state);
  else if (signal == Signal.END) messageEnds(node, state, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

function lookupPush(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (isInMessage(node) && load<u32>(state, LOOK_FAIL)) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (!findIndex(spec, state) || (program && !runClean(program))) {
    failMemory(node, state);
    return;
  }
  if (load<u32>(state, LOOK_IS_BY_KEY)) pushSingles(node, spec, state);
  else pushPairs(node, spec, state);
}

/** Joins a batch of which each row matches one row of the table at most. */
function pushSingles(node: usize, spec: usize, state: usize): void {
  const columns = load<u32>(spec, LOOKUP_COLUMNS);
  const fields = load<u32>(spec, LOOKUP_FIELDS);
  const kept = selectionPush();
  const own = stageAcquire(fields + 1);
  const blocks = poolAlloc(ctx.scratch, (columns + fields) << 2);
  if (kept && own && blocks) {
    for (let c: u32 = 0; c < columns; c++) store<u32>(blocks + ((<usize>c) << 2), <u32>blockOf(columnOperand(spec, c)));
    memory.copy(blocks + ((<usize>columns) << 2), own, fields << 2);
    joinSingles(node, spec, state, blocks, <usize>load<u32>(own + ((<usize>fields) << 2)), kept);
  } else failMemory(node, state);
  if (own) stageRelease(fields + 1);
  if (kept) selectionPop();
}

function joinSingles(node: usize, spec: usize, state: usize, blocks: usize, errors: usize, kept: usize): void {
  const program = <usize>load<u32>(node, N_PROGRAM);
  const isLeft = load<u32>(spec, LOOKUP_IS_LEFT) != 0;
  const before = ctx.rowErrors;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  let n: u32 = 0;
  let failed: u32 = 0;
  if (!before) touchMatches(spec, state, program, sel, selLen);
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    let record: usize = 0;
    if (before && tagAt(before, row) == Tag.ERROR) {
      setAt(errors, row, Tag.ERROR, valAt(before, row));
      failed++;
    } else {
      const outcome = readKeys(spec, program, row);
      if (outcome == KeyOutcome.FAILED) {
        fail(offOf(keyFailure), lenOf(keyFailure));
        if (isInMessage(node)) {
          failMessage(node, state);
          return;
        }
        if (!failRow(node, errors, row)) continue;
        failed++;
      } else {
        if (outcome == KeyOutcome.FOUND) record = firstMatch(spec, state);
        if (!record && !isLeft) continue;
        setAt(errors, row, Tag.NULL, 0);
      }
    }
    setRecord(row, record);
    store<u32>(kept + ((n++ as usize) << 2), row);
  }
  sendSingles(node, spec, state, blocks, errors, kept, n, failed != 0);
}

// Joins each row of the input with the rows of a table that match: of a stream a row becomes at most one, in its place
// in the batch; of a message it may become several, in the order in which the table has them.
//
// Values are not copied: columns of the input go on as they are (where a row stays one row), those of the table refer
// to its records, which nothing changes while the batch is under way.
import * as ctx from '../batch/context';
import { signalBelow } from '../emit/emit';
import { fail } from '../batch/failure';
import { accountOf } from '../node/node';
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
import { Look, columnOperand, stateSize } from './spec';
import { tableLeave, tableSerial } from './table';
import { LookupSpec } from '../gen/lookup-layouts';
import { Node } from '../gen/node-layouts';
import { Record } from './record';

export function lookupOperator(operator: Operator): void {
  operator.open = lookupOpen;
  operator.push = lookupPush;
  operator.signal = lookupSignal;
  operator.free = lookupFree;
  operator.traits = Trait.MAKES_ROWS;
}

/** Makes the state of a lookup; false when memory is exhausted. */
export function lookupOpen(node: Node): bool {
  const spec = changetype<LookupSpec>(node.spec);
  const acct = accountOf(node);
  const size = stateSize(spec);
  const state = changetype<Look>(allocZeroed(size, acct));
  if (!state) return false;
  node.state = changetype<usize>(state);
  node.stateSize = size;
  const len = spec.programLen;
  if (!len) return true;
  const program = programNew(changetype<usize>(spec) + spec.program, len, acct);
  state.program = program;
  return !!program;
}

function lookupFree(node: Node): void {
  const state = changetype<Look>(node.state);
  if (!state) return;
  const spec = changetype<LookupSpec>(node.spec);
  const table = tableOf(spec);
  if (state.serial && state.serial == tableSerial(table)) {
    tableLeave(table, state.index, accountOf(spec.table));
  }
  programFree(state.program);
  free(changetype<usize>(state), node.stateSize, accountOf(node));
}

function lookupSignal(node: Node, signal: u32, value: u64): void {
  const state = changetype<Look>(node.state);
  if (signal == Signal.BEGIN) messageBegins(state);
  else if (signal == Signal.END) messageEnds(node, state, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

function lookupPush(node: Node): void {
  const state = changetype<Look>(node.state);
  if (isInMessage(node) && state.fail) return;
  const spec = changetype<LookupSpec>(node.spec);
  const program = node.program;
  if (!findIndex(spec, state) || (!!program && !runClean(program))) {
    failMemory(node, state);
    return;
  }
  if (state.isByKey) pushSingles(node, spec, state);
  else pushPairs(node, spec, state);
}

/** Joins a batch of which each row matches one row of the table at most. */
function pushSingles(node: Node, spec: LookupSpec, state: Look): void {
  const columns = spec.columns;
  const fields = spec.fields;
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

function joinSingles(node: Node, spec: LookupSpec, state: Look, blocks: usize, errors: usize, kept: usize): void {
  const program = node.program;
  const isLeft = spec.isLeft != 0;
  const before = ctx.rowErrors;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  let n: u32 = 0;
  let failed: u32 = 0;
  if (!before) touchMatches(spec, state, program, sel, selLen);
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    let record: Record = changetype<Record>(0);
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

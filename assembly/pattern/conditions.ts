// Conditions that look at rows alone, or at those a number of rows before or behind, for many rows at a time. Of each
// row a bit is kept for each variable whose condition holds.
import * as ctx from '../batch/context';
import { identity, stageAcquire, stageRelease } from '../batch/stage';
import { PatternFlag, PatternLook, PatternSpec } from '../gen/pattern-layouts';
import { Node } from '../gen/node-layouts';
import { BATCH_ROWS, COL_HAS_RAW, COL_UNIFORM, OPERAND_NONE, Tag, lenOf, offOf, setAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { addException, exhaust, isExhausted } from '../node/node';
import { blockOf, strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { pageTag, pageVal } from '../rows/page';
import { noteError } from './judge';
import { advance } from './search';
import { sendFailure } from './send';
import { Part, lookAt, numberAt, programAt, specOf, variableAt } from './spec';
import { Partition, PatternState, endOf, isHeld, refAt, timeOf } from './state';

/** Partitions of the rows of the batch: u32 by the row. */
export let entries: usize = 0;
/** Payload of the error of a row of the batch, or 0: u64 by the row. */
export let faults: usize = 0;
/** Number of each row of the batch in its partition: u32 by the row. */
export let numbers: usize = 0;

/** The results of the conditions at work, at most 64: variable u32 | stride u32 | tags u32 | values u32. */
const ASKED: usize = memory.data(16 * 64, 16);

/** Makes room for what is noted of the rows of a batch; false when memory is exhausted. */
export function roomForRows(rows: u32): bool {
  entries = poolAlloc(ctx.scratch, rows << 2);
  faults = poolAlloc(ctx.scratch, rows << 3);
  numbers = poolAlloc(ctx.scratch, rows << 2);
  return entries != 0 && faults != 0 && numbers != 0;
}

/**
 * Evaluates the conditions of a part on rows, each in the batch row of the row that came. Those that look ahead are
 * asked of the row so many rows before it.
 */
export function conditions(node: Node, spec: PatternSpec, state: PatternState, kept: usize, n: u32, part: u32): bool {
  const one = programAt(spec, part);
  const looks = spec.looks;
  const ahead = part == Part.AHEAD ? spec.ahead : 0;
  const stage = stageAcquire(looks);
  const outer = ctx.cols;
  const cols = poolAlloc(ctx.scratch, looks << 2);
  if (!stage || (!cols && looks)) {
    if (stage) stageRelease(looks);
    return false;
  }
  memory.copy(cols, stage, looks << 2);
  const reads = one.reads;
  for (let i: u32 = 0; i < reads; i++) {
    const number = numberAt(spec, one.readsAt, i);
    const look = lookAt(spec, number);
    if (!look.shift && !ahead) {
      const operand = numberAt(spec, spec.columnsAt, look.column);
      store<u32>(cols + ((<usize>number) << 2), <u32>blockOf(operand));
    }
  }
  for (let r: u32 = 0; r < reads; r++) {
    const number = numberAt(spec, one.readsAt, r);
    const look = lookAt(spec, number);
    if (look.shift || ahead) gather(look, ahead, <usize>load<u32>(cols + ((<usize>number) << 2)), kept, n);
  }
  const all = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const errors = ctx.rowErrors;
  ctx.setBatch(cols, all, kept, n, 0);
  if (one.made) vmRun(one.made);
  noteBits(node, spec, kept, n, part);
  ctx.setBatch(outer, all, sel, selLen, errors);
  stageRelease(looks);
  return true;
}

/** Fills a column with what is kept of the row so far away from each row of the batch. */
function gather(look: PatternLook, ahead: u32, block: usize, kept: usize, n: u32): void {
  const shift = <u32>look.shift - ahead;
  const column = look.column;
  let seen: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(kept + ((<usize>i) << 2));
    const partition = changetype<Partition>(load<u32>(entries + ((<usize>row) << 2)));
    const number = load<u32>(numbers + ((<usize>row) << 2)) + shift;
    let tag: u8 = Tag.NULL;
    if (isHeld(partition, number)) {
      const ref = refAt(partition, number);
      tag = pageTag(ref.page, column, ref.row);
      setAt(block, row, tag, pageVal(ref.page, column, ref.row));
    } else setAt(block, row, Tag.NULL, 0);
    seen |= (<u32>1) << tag;
  }
  store<u8>(block, popcnt(seen) == 1 ? <u8>ctz(seen) : Tag.MIXED, COL_UNIFORM);
  store<u8>(block, 0, COL_HAS_RAW);
}

/** Notes with each row which conditions of a part hold for it. */
function noteBits(node: Node, spec: PatternSpec, kept: usize, n: u32, part: u32): void {
  const made = programAt(spec, part).made;
  const variables = spec.variables;
  const state = changetype<PatternState>(node.state);
  const ahead = part == Part.AHEAD ? spec.ahead : 0;
  let always: u64 = 0;
  for (let v: u32 = 0; v < variables && part == Part.ROWS; v++) {
    if (variableAt(spec, v).rowOperand == OPERAND_NONE) always |= (<u64>1) << v;
  }
  let asked = ASKED;
  for (let v: u32 = 0; v < variables; v++) {
    const variable = variableAt(spec, v);
    const operand = <u32>variable.rowOperand;
    if (operand == OPERAND_NONE || variable.rowProgram != part) continue;
    store<u32>(asked, v);
    store<u32>(asked, strideOf(operand), 4);
    store<u32>(asked, <u32>tagsOf(made, operand), 8);
    store<u32>(asked, <u32>valsOf(made, operand), 12);
    asked += 16;
  }
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(kept + ((<usize>i) << 2));
    const partition = changetype<Partition>(load<u32>(entries + ((<usize>row) << 2)));
    const number = load<u32>(numbers + ((<usize>row) << 2)) - ahead;
    if (!isHeld(partition, number)) continue;
    let bits = always;
    for (let at = ASKED; at < asked; at += 16) {
      const from = row * load<u32>(at, 4);
      const tag = load<u8>(<usize>(load<u32>(at, 8) + from));
      const val = load<u64>(<usize>load<u32>(at, 12) + ((<usize>from) << 3));
      if (tag == Tag.BOOL) bits |= (<u64>(val != 0)) << load<u32>(at);
      else if (tag > Tag.NULL) noteError(state, tag, val);
    }
    refAt(partition, number).bits |= bits;
    if (!state.error) continue;
    const fault = state.error;
    state.error = 0;
    addException(node, offOf(fault), lenOf(fault), 1);
    store<u64>(faults + ((<usize>row) << 3), fault);
  }
}

/** Sends the error of a condition on a match, if there was one. */
export function reportError(node: Node): void {
  const state = changetype<PatternState>(node.state);
  const error = state.error;
  if (!error) return;
  state.error = 0;
  addException(node, offOf(error), lenOf(error), 1);
  sendFailure(node, error);
}

// ---- the end of the input ----------------------------------------------------------------------------------------

/** When what the end of the input makes final is so: now, or at the last row of the partition. */
export function endTime(node: Node, partition: Partition): f64 {
  if (!(specOf(node).flags & PatternFlag.EVENT_TIME)) return ctx.nowMs;
  return partition.count ? timeOf(partition, endOf(partition) - 1) : 0;
}

/** Takes the rows whose conditions wait for rows behind them: none come any more. */
export function takeRest(node: Node): void {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  if (!spec.ahead) return;
  if (!roomForRows(BATCH_ROWS)) exhaust(node);
  let n: u32 = 0;
  for (let entry = state.first; entry && !isExhausted(node); entry = entry.next) {
    const partition = changetype<Partition>(entry);
    const end = endOf(partition);
    for (let number = partition.limit; number != end; number++) {
      store<u32>(entries + ((<usize>n) << 2), changetype<u32>(partition));
      store<u32>(numbers + ((<usize>n) << 2), number + spec.ahead);
      store<u64>(faults + ((<usize>n) << 3), 0);
      if (++n < BATCH_ROWS) continue;
      takeSome(node, spec, state, n);
      n = 0;
      if (isExhausted(node) || !roomForRows(BATCH_ROWS)) return;
    }
  }
  if (n && !isExhausted(node)) takeSome(node, spec, state, n);
}

function takeSome(node: Node, spec: PatternSpec, state: PatternState, n: u32): void {
  // Nodes below may be of the same kind.
  const ofRows = entries;
  const numbersOf = numbers;
  const faultsOf = faults;
  ctx.setBatch(ctx.cols, n, identity, n, 0);
  if (spec.flags & PatternFlag.ASKS_AHEAD && !conditions(node, spec, state, identity, n, Part.AHEAD)) {
    exhaust(node);
    return;
  }
  for (let i: usize = 0; i < n && !isExhausted(node); i++) {
    const fault = load<u64>(faultsOf + (i << 3));
    if (fault) sendFailure(node, fault);
    const partition = changetype<Partition>(load<u32>(ofRows + (i << 2)));
    partition.limit = load<u32>(numbersOf + (i << 2)) - spec.ahead + 1;
    advance(node, partition, endTime(node, partition));
    reportError(node);
  }
}

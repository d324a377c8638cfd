// The rows of a batch for the partial matches of a chain (pattern/chain.ts).
import * as ctx from '../batch/context';
import { identity, stageAcquire, stageRelease } from '../batch/stage';
import { PatternSpec } from '../gen/pattern-layouts';
import { Node } from '../gen/node-layouts';
import { COL_HAS_RAW, COL_UNIFORM, Tag, setAt } from '../mem/layout';
import { exhaust, isExhausted } from '../node/node';
import { strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { pageTag, pageVal } from '../rows/page';
import { Chain, NOWHERE, bitsOf, moveOn, rowsTaken, setTaken, stepsOf, takeComplete } from './chain';
import { endTime, entries, faults, numbers, reportError } from './conditions';
import { noteError } from './judge';
import { flush, sendFailure, sendMatch } from './send';
import { Part, lookAt, numberAt, programAt, specOf, stepAt, variableAt } from './spec';
import { Partition, PatternState, isHeld, refAt, timeOf } from './state';

/** The partial matches take the rows of the batch in, in their order. */
export function chainRowsCome(node: Node, sel: usize, n: u32): void {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  const chain = changetype<Chain>(state.chain);
  // Nodes below may be of the same kind.
  const ofRows = entries;
  const numbersOf = numbers;
  const faultsOf = faults;
  const isPlain = chain.words == 1 && !chain.looks;
  const complete = (<u64>1) << ((chain.length - 1) & 63);
  for (let i: u32 = 0; i < n && !isExhausted(node); i++) {
    const row = <usize>load<u32>(sel + ((<usize>i) << 2));
    const fault = load<u64>(faultsOf + (row << 3));
    if (fault) sendFailure(node, fault);
    const partition = changetype<Partition>(load<u32>(ofRows + (row << 2)));
    if (!partition) continue;
    const number = load<u32>(numbersOf + (row << 2));
    partition.arrived = number + 1;
    partition.limit = number + 1;
    if (isPlain) {
      const bits = bitsOf(chain, partition);
      const begun = ((load<u64>(bits) << 1) | 1) & stepsOf(chain, refAt(partition, number).bits, 0);
      if (!(begun & complete)) store<u64>(bits, begun);
      else {
        store<u64>(bits, chain.overlaps ? begun & ~complete : 0);
        found(node, spec, chain, partition, number + 1 - chain.length, timeOf(partition, number));
      }
      continue;
    }
    if (chain.isWhole) takeRow(node, spec, chain, partition, number);
    else tryRows(node, spec, chain, partition, number - rowsTaken(chain, partition), number, timeOf(partition, number));
    reportError(node);
  }
  flush(node);
}

/** Sends the match that begins with a row. */
function found(node: Node, spec: PatternSpec, chain: Chain, partition: Partition, start: u32, ms: f64): void {
  for (let run = chain.runs; run; run = run.previous) run.end = start + run.users;
  partition.matches++;
  sendMatch(node, spec, partition, chain.runs, start, partition.matches, ms);
}

/** All partial matches take a row. */
function takeRow(node: Node, spec: PatternSpec, chain: Chain, partition: Partition, number: u32): void {
  const bits = chain.bits;
  const kept = bitsOf(chain, partition);
  const variables = refAt(partition, number).bits;
  moveOn(chain, kept, bits, variables);
  if (chain.looks && !judgeAll(node, spec, chain, partition, number, variables)) {
    exhaust(node);
    return;
  }
  const isComplete = takeComplete(chain, bits);
  memory.copy(kept, bits, (<usize>chain.words) << 3);
  if (!isComplete) return;
  if (!chain.overlaps) setTaken(chain, partition, 0);
  found(node, spec, chain, partition, number + 1 - chain.length, timeOf(partition, number));
}

/** One first row is tried after the other, from `start` on: rows before `from` have been taken for that. */
function tryRows(
  node: Node,
  spec: PatternSpec,
  chain: Chain,
  partition: Partition,
  start: u32,
  from: u32,
  ms: f64,
): void {
  const end = partition.arrived;
  let row = from;
  while (row != end && !isExhausted(node)) {
    const step = row - start;
    if (!isNext(node, spec, chain, partition, row, step)) {
      row = ++start;
      continue;
    }
    row++;
    if (step + 1 != chain.length) continue;
    found(node, spec, chain, partition, start, ms);
    start = row;
  }
  setTaken(chain, partition, end - start);
}

/** True when a row is the variable of a step of the match that it would belong to. */
function isNext(node: Node, spec: PatternSpec, chain: Chain, partition: Partition, row: u32, step: u32): bool {
  const variable = stepAt(spec, step).a;
  if (!((refAt(partition, row).bits >> variable) & 1)) return false;
  const program = variableAt(spec, variable).program;
  if (program < Part.FIRST_CONDITION) return true;
  store<u16>(PLACES, <u16>step);
  memory.fill(chain.bits, 0xff, 8);
  if (!judge(node, spec, chain, partition, row, variable, 1)) exhaust(node);
  return ((load<u64>(chain.bits) >> step) & 1) != 0;
}

/** No row comes any more: partial matches end. */
export function chainEnds(node: Node, partition: Partition): void {
  const chain = changetype<Chain>(changetype<PatternState>(node.state).chain);
  const ms = endTime(node, partition);
  let taken = rowsTaken(chain, partition);
  while (taken && !chain.isWhole && !isExhausted(node)) {
    const start = partition.arrived - taken + 1;
    tryRows(node, specOf(node), chain, partition, start, start, ms);
    taken = rowsTaken(chain, partition);
  }
  setTaken(chain, partition, 0);
}

// ---- conditions on the match -------------------------------------------------------------------------------------

/** Steps of the partial matches in the batch: u16. */
const PLACES: usize = memory.data(2 * 256, 16);

/** Takes those away whose condition on the match does not hold; false when memory is exhausted. */
function judgeAll(node: Node, spec: PatternSpec, chain: Chain, partition: Partition, row: u32, variables: u64): bool {
  const words = chain.words;
  const bits = chain.bits;
  for (let v: u32 = 0; v < spec.variables; v++) {
    if (variableAt(spec, v).program < Part.FIRST_CONDITION || !((variables >> v) & 1)) continue;
    let n: u32 = 0;
    // Those that began first come first.
    for (let w = words; w-- > 0; ) {
      const steps = load<u64>(chain.steps + ((<usize>(v * words + w)) << 3));
      for (let left = load<u64>(bits + ((<usize>w) << 3)) & steps; left; n++) {
        const bit = 63 - <u32>clz(left);
        left ^= (<u64>1) << bit;
        store<u16>(PLACES + ((<usize>n) << 1), <u16>((w << 6) | bit));
      }
    }
    if (n && !judge(node, spec, chain, partition, row, v, n)) return false;
  }
  return true;
}

/** Evaluates a condition for `n` partial matches; false when memory is exhausted. */
function judge(
  node: Node,
  spec: PatternSpec,
  chain: Chain,
  partition: Partition,
  row: u32,
  variable: u32,
  n: u32,
): bool {
  ctx.addWork(n >> 3);
  const looks = spec.looks;
  const one = programAt(spec, variableAt(spec, variable).program);
  const stage = stageAcquire(looks);
  if (!stage) return false;
  const reads = one.reads;
  for (let i: u32 = 0; i < reads; i++) {
    const number = numberAt(spec, one.readsAt, i);
    const shifts = chain.shifts + ((<usize>(number * chain.length)) << 2);
    const block = <usize>load<u32>(stage + ((<usize>number) << 2));
    fillLook(block, shifts, lookAt(spec, number).column, partition, row, n);
  }
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const errors = ctx.rowErrors;
  ctx.setBatch(stage, n, identity, n, 0);
  if (one.made) vmRun(one.made);
  const operand = <u32>variableAt(spec, variable).operand;
  const tags = tagsOf(one.made, operand);
  const vals = valsOf(one.made, operand);
  const stride = strideOf(operand);
  for (let i: u32 = 0; i < n; i++) {
    const tag = load<u8>(tags + i * stride);
    const val = load<u64>(vals + ((<usize>(i * stride)) << 3));
    if (tag == Tag.BOOL && val != 0) continue;
    if (tag > Tag.BOOL) noteError(changetype<PatternState>(node.state), tag, val);
    const step = <u32>load<u16>(PLACES + ((<usize>i) << 1));
    const word = chain.bits + ((<usize>(step >> 6)) << 3);
    store<u64>(word, load<u64>(word) & ~((<u64>1) << (step & 63)));
  }
  ctx.setBatch(cols, rows, sel, selLen, errors);
  stageRelease(looks);
  return true;
}

/** Fills a column with what is kept of the row that a look finds for each of `n` partial matches. */
function fillLook(block: usize, shifts: usize, column: u32, partition: Partition, row: u32, n: u32): void {
  let before = NOWHERE;
  let tag: u8 = Tag.NULL;
  let val: u64 = 0;
  let seen: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const shift = load<i32>(shifts + ((<usize>load<u16>(PLACES + ((<usize>i) << 1))) << 2));
    // Most looks are at the row that is tried.
    if (shift != before) {
      before = shift;
      tag = Tag.NULL;
      val = 0;
      if (shift != NOWHERE && isHeld(partition, row + <u32>shift)) {
        const ref = refAt(partition, row + <u32>shift);
        tag = pageTag(ref.page, column, ref.row);
        val = pageVal(ref.page, column, ref.row);
      }
    }
    setAt(block, i, tag, val);
    seen |= (<u32>1) << tag;
  }
  store<u8>(block, popcnt(seen) == 1 ? <u8>ctz(seen) : Tag.MIXED, COL_UNIFORM);
  store<u8>(block, 0, COL_HAS_RAW);
}

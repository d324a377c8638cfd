// A chain: a pattern of rows that follow each other, as `A UP{3}`. All its matches have one length, so that a partial
// match is no more than the number of its rows. A partition keeps a bit for each: with bit i the last i + 1 rows are
// the beginning of a match. A row moves all of them on by one shift, and takes those away whose next variable it is not
// (the algorithm Shift-And). There are no searches and no runs, which other patterns have.
//
// With SKIP PAST LAST ROW the match that is complete first also began first. Where conditions look at the match, they
// are asked for one first row after the other: then only the bit of the first partial match is kept.
//
// Saved state is that of other patterns.
import { LoadFault } from '../gen/state-layouts';
import { LookKind, PatternFlag, PatternOp, PatternRows, PatternSkip, PatternSpec } from '../gen/pattern-layouts';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { readFail } from '../state/reader';
import { writeU32 } from '../state/writer';
import { Part, lookAt, numberAt, programAt, stepAt, variableAt } from './spec';
import {
  Partition,
  PatternState,
  RUN_SIZE,
  Run,
  Search,
  UNTIMED_SIZE,
  dropSearch,
  hasBest,
  leaveRun,
  newRun,
  refAt,
} from './state';

// @ts-ignore: decorator
@unmanaged
export class Chain {
  /** Rows of a match. */
  length: u32;
  /** Words of the bits of a partition, and where they stand in it. */
  words: u32;
  at: u32;
  /** True when the bits of all partial matches are kept, false: that of the first one alone. */
  isWhole: u32;
  /** Matches may have rows in common. */
  overlaps: u32;
  /** Conditions look at the match. */
  looks: u32;
  /** Bits of the steps that are a variable: u64[words] for each variable. */
  steps: usize;
  /** For each look and step how far the row is away from the one that is tried, or NOWHERE: i32. */
  shifts: usize;
  /** The bits at work. */
  bits: usize;
  /** Runs of a match; `users`: rows of the match up to the end of the run. */
  runs: Run;
}

const CHAIN_SIZE: u32 = <u32>offsetof<Chain>('runs') + 8;
/** Rows of the longest chain, and of the longest one that tries one first row after the other. */
const MOST_ROWS: u32 = 256;
const MOST_TRIED: u32 = 16;
/** The look has no row. */
export const NOWHERE: i32 = i32.MIN_VALUE;

// @ts-ignore: decorator
@inline export function bitsOf(chain: Chain, partition: Partition): usize {
  return changetype<usize>(partition) + chain.at;
}

// ---- is it one? --------------------------------------------------------------------------------------------------

/** Rows of each match, if the pattern is a chain; otherwise 0. */
function chainLength(spec: PatternSpec): u32 {
  if (spec.rows != PatternRows.ONE || spec.within > 0 || spec.absentMs > 0 || spec.ahead || spec.after) return 0;
  if (spec.skip != PatternSkip.NEXT && spec.skip != PatternSkip.PAST_LAST) return 0;
  const length = spec.steps - 1;
  if (!length || length > MOST_ROWS || spec.most < length) return 0;
  for (let i: u32 = 0; i < length; i++) if (stepAt(spec, i).op != PatternOp.ROW) return 0;
  if (stepAt(spec, length).op != PatternOp.MATCH) return 0;
  const looks = (spec.flags & PatternFlag.LOOKS_AT_MATCH) != 0;
  if (looks && spec.skip != PatternSkip.NEXT && length > MOST_TRIED) return 0;
  for (let v: u32 = 0; v < spec.variables; v++) {
    const program = variableAt(spec, v).program;
    if (program >= Part.FIRST_CONDITION && !looksAtRows(spec, program)) return 0;
  }
  return length;
}

/** True when a program reads nothing but values of rows. */
function looksAtRows(spec: PatternSpec, program: u32): bool {
  const one = programAt(spec, program);
  for (let i: u32 = 0; i < one.reads; i++) {
    const kind = lookAt(spec, numberAt(spec, one.readsAt, i)).kind;
    if (kind != LookKind.ROW && kind != LookKind.CURRENT) return false;
  }
  return true;
}

/** Makes the chain, if the pattern is one; false when memory is exhausted. */
export function chainOpen(spec: PatternSpec, state: PatternState, acct: usize): bool {
  const length = chainLength(spec);
  if (!length) return true;
  const chain = changetype<Chain>(allocZeroed(CHAIN_SIZE, acct));
  if (!chain) return false;
  state.chain = changetype<usize>(chain);
  const words = (length + 63) >> 6;
  chain.length = length;
  chain.words = words;
  chain.overlaps = <u32>(spec.skip == PatternSkip.NEXT);
  chain.looks = <u32>((spec.flags & PatternFlag.LOOKS_AT_MATCH) != 0);
  chain.isWhole = chain.overlaps | (chain.looks ^ 1);
  // One word stands where others have `covered` and `partials`, which a chain needs not.
  chain.at = words == 1 ? <u32>offsetof<Partition>('covered') : UNTIMED_SIZE;
  if (words > 1) state.entrySize = UNTIMED_SIZE + (words << 3);
  chain.bits = allocZeroed(words << 3, acct);
  chain.steps = allocZeroed((spec.variables * words) << 3, acct);
  chain.shifts = alloc((max(spec.looks, 1) * length) << 2, acct);
  if (!chain.bits || !chain.steps || !chain.shifts) return false;
  for (let i: u32 = 0; i < length; i++) {
    const step = stepAt(spec, i);
    const word = chain.steps + ((<usize>(step.a * words + (i >> 6))) << 3);
    store<u64>(word, load<u64>(word) | ((<u64>1) << (i & 63)));
    if (!addStep(chain, step.a, step.b, i + 1, acct)) return false;
  }
  for (let i: u32 = 0; i < spec.looks; i++) placeLook(spec, chain, i);
  return true;
}

/** Adds a row to the runs of the match; false when memory is exhausted. */
function addStep(chain: Chain, variable: u32, isExcluded: u32, rows: u32, acct: usize): bool {
  let run = chain.runs;
  if (!run || run.variable != variable || run.isExcluded != isExcluded) {
    run = newRun(run, variable, isExcluded, rows, RUN_SIZE, acct);
    if (!run) return false;
    chain.runs = run;
  }
  run.users = rows;
  return true;
}

/** Finds the row of a look for each step that a row may be tried for. */
function placeLook(spec: PatternSpec, chain: Chain, number: u32): void {
  const length = chain.length;
  const look = lookAt(spec, number);
  const to = chain.shifts + ((<usize>(number * length)) << 2);
  for (let i: u32 = 0; i < length; i++) {
    let shift = NOWHERE;
    if (look.kind == LookKind.CURRENT) shift = 0;
    let left = look.offset;
    for (let k: u32 = 0; k <= i && look.kind == LookKind.ROW && shift == NOWHERE; k++) {
      const at = look.isFirst ? k : i - k;
      if ((look.variables >> stepAt(spec, at).a) & 1 && left-- == 0) shift = <i32>(at - i) + look.shift;
    }
    store<i32>(to + ((<usize>i) << 2), shift);
  }
}

export function chainFree(spec: PatternSpec, state: PatternState, acct: usize): void {
  const chain = changetype<Chain>(state.chain);
  if (!chain) return;
  for (let run = chain.runs; run; run = run.previous) run.users = 1;
  leaveRun(chain.runs, acct);
  free(chain.bits, chain.words << 3, acct);
  free(chain.steps, (spec.variables * chain.words) << 3, acct);
  free(chain.shifts, (max(spec.looks, 1) * chain.length) << 2, acct);
  free(changetype<usize>(chain), CHAIN_SIZE, acct);
  state.chain = 0;
}

// ---- partial matches ---------------------------------------------------------------------------------------------

/** Rows of the first partial match of a partition, 0 without one. */
// @ts-ignore: decorator
@inline export function rowsTaken(chain: Chain, partition: Partition): u32 {
  const bits = bitsOf(chain, partition);
  for (let w = chain.words; w > 0; w--) {
    const word = load<u64>(bits + ((<usize>(w - 1)) << 3));
    if (word) return (w << 6) - <u32>clz(word);
  }
  return 0;
}

/** Sets the only partial match: that of the last `rows` rows, none with 0. */
export function setTaken(chain: Chain, partition: Partition, rows: u32): void {
  const bits = bitsOf(chain, partition);
  memory.fill(bits, 0, (<usize>chain.words) << 3);
  if (rows) addTaken(bits, rows);
}

// @ts-ignore: decorator
@inline function addTaken(bits: usize, rows: u32): void {
  const word = bits + ((<usize>((rows - 1) >> 6)) << 3);
  store<u64>(word, load<u64>(word) | ((<u64>1) << ((rows - 1) & 63)));
}

// @ts-ignore: decorator
@inline function hasTaken(bits: usize, rows: u32): bool {
  return ((load<u64>(bits + ((<usize>((rows - 1) >> 6)) << 3)) >> ((rows - 1) & 63)) & 1) != 0;
}

/** Bits of word `w` of the steps which a row may be whose conditions on rows are these. */
// @ts-ignore: decorator
@inline export function stepsOf(chain: Chain, variables: u64, w: u32): u64 {
  const words = chain.words;
  let steps: u64 = 0;
  for (let left = variables; left; left &= left - 1) {
    steps |= load<u64>(chain.steps + ((<usize>(<u32>ctz(left) * words + w)) << 3));
  }
  return steps;
}

/** Moves the partial matches at `from` on by a row, to `to`, and adds the one that begins with it. */
// @ts-ignore: decorator
@inline export function moveOn(chain: Chain, from: usize, to: usize, variables: u64): void {
  const words = chain.words;
  let carry: u64 = 1;
  for (let w: u32 = 0; w < words; w++) {
    const word = load<u64>(from + ((<usize>w) << 3));
    store<u64>(to + ((<usize>w) << 3), ((word << 1) | carry) & stepsOf(chain, variables, w));
    carry = word >> 63;
  }
}

/** Takes the complete match away; true when there was one. */
// @ts-ignore: decorator
@inline export function takeComplete(chain: Chain, bits: usize): bool {
  if (!hasTaken(bits, chain.length)) return false;
  const last = chain.length - 1;
  const word = bits + ((<usize>(last >> 6)) << 3);
  store<u64>(word, load<u64>(word) & ~((<u64>1) << (last & 63)));
  return true;
}

// ---- saved state -------------------------------------------------------------------------------------------------

/** Number of the row with which the next search would begin. */
export function nextStart(chain: Chain, partition: Partition): u32 {
  const taken = rowsTaken(chain, partition);
  return chain.overlaps || !taken ? partition.arrived : partition.arrived - taken + 1;
}

/** Saves the searches that other patterns would have. */
export function chainSave(chain: Chain, partition: Partition): void {
  const bits = bitsOf(chain, partition);
  const end = partition.arrived - partition.base;
  const most = rowsTaken(chain, partition);
  let searches: u32 = 0;
  for (let rows = most; rows > 0; rows--) searches += <u32>hasTaken(bits, rows);
  // Without overlaps the others follow from the rows.
  if (!chain.overlaps) searches = min(searches, 1);
  writeU32(searches);
  for (let rows = most; rows > 0 && searches > 0; rows--) {
    if (!hasTaken(bits, rows)) continue;
    searches--;
    writeU32(end - rows);
    writeU32(end);
    writeU32(0);
    writeU32(1);
    writeU32(rows);
    saveRuns(chain, end - rows, rows);
  }
}

/** Saves the runs of the first `rows` rows of a match, the last one first. */
function saveRuns(chain: Chain, start: u32, rows: u32): void {
  let n: u32 = 0;
  for (let run = chain.runs; run; run = run.previous) if (!run.previous || run.previous.users < rows) n++;
  writeU32(n);
  for (let run = chain.runs; run; run = run.previous) {
    if (run.previous && run.previous.users >= rows) continue;
    writeU32(((<u32>run.variable) << 1) | <u32>run.isExcluded);
    writeU32(start + min(run.users, rows));
  }
}

/** Makes the bits of the searches that were loaded, which go. */
export function chainLoad(chain: Chain, spec: PatternSpec, partition: Partition, acct: usize): void {
  const bits = chain.bits;
  const end = partition.arrived;
  memory.fill(bits, 0, (<usize>chain.words) << 3);
  for (let search = partition.search; search; search = search.next) {
    const rows = end - search.start;
    if (search.at != end || hasBest(search) || search.count != 1 || rows >= chain.length) {
      readFail(LoadFault.DAMAGED);
      return;
    }
    if (chain.looks) addTaken(bits, rows);
  }
  if (!chain.looks && partition.search) {
    for (let row = partition.search.start; row != end; row++) {
      moveOn(chain, bits, bits, refAt(partition, row).bits);
      takeComplete(chain, bits);
    }
  }
  while (partition.search) dropSearch(partition, changetype<Search>(0), partition.search, acct);
  memory.copy(bitsOf(chain, partition), bits, (<usize>chain.words) << 3);
}

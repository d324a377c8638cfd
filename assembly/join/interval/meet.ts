// How the rows of a batch of an interval join meet earlier rows, and how old rows are worked off and empty keys
// dropped. All of it may be stopped where it takes long (node/deferred.ts): the rest of the batch becomes a job
// (join/interval/job.ts), and goes on later.
import * as ctx from '../../batch/context';
import { defer } from '../../node/deferred';
import { sendFailed } from '../../emit/emit';
import { accountOf, addException, exhaust, isExhausted } from '../../node/node';
import { selectionPop, selectionPush } from '../../batch/selection';
import { stageRelease } from '../../batch/stage';
import { BIND_SIZE } from '../../mem/bind';
import { Tag, lenOf, offOf, tagAt, valAt } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import {
  IntervalJob,
  Phase,
  jobBatch,
  jobCount,
  jobEntries,
  jobFailure,
  jobFailures,
  jobItem,
  jobKeep,
  jobNew,
  jobNotes,
  jobRows,
  jobSel,
} from './job';
import { OF_BATCH, addPair, budget, budgetRestore, isTired, pairsBegin, pairsFlush } from './pairs';
import {
  IntervalState,
  leaveEarly,
  linkAt,
  linkRow,
  linkTime,
  listCount,
  listFirst,
  listOf,
  nextOf,
  positionOf,
  sideOf,
} from './state';
import { keyError, makeKey } from '../key/bytes';
import { KeyWish, isEntry } from '../key/entries';
import { keysGo, oldGo, workOffBefore, isStopped } from './old';
import { IntervalSpec } from '../../gen/join-layouts';
import { Node } from '../../gen/node-layouts';
import { PartitionTable, PartitionEntry } from '../../partitions/table-slots';

/** Bits noted for each row of the batch before rows meet, beside the wishes of its key (join/key/entries.ts). */
export namespace Note {
  /** The row is kept. */
  export const KEPT: u8 = 8;
  /** The row failed, or its key did. */
  export const FAILED: u8 = 16;
  /** The key failed, which is counted when the row's turn comes. */
  export const COUNTS: u8 = 32;
}

// @ts-ignore: decorator
@inline export function rowAt(sel: usize, i: u32): u32 {
  return load<u32>(sel + ((<usize>i) << 2));
}

// @ts-ignore: decorator
@inline export function isError(errors: usize, row: u32): bool {
  return errors != 0 && tagAt(errors, row) == Tag.ERROR;
}

// @ts-ignore: decorator
@inline export function timesBlock(spec: IntervalSpec): usize {
  return <usize>load<u32>(ctx.cols + ((<usize>spec.time) << 2));
}

// @ts-ignore: decorator
@inline export function timeIn(times: usize, row: u32): f64 {
  return <f64>(<i64>valAt(times, row));
}

/** Address of the binds of a side's keys. */
// @ts-ignore: decorator
@inline export function keysOf(spec: IntervalSpec, binds: usize, isRight: bool): usize {
  const keys = spec.keys;
  return binds + (columnsOf(spec) + (isRight ? keys : 0)) * BIND_SIZE;
}

// @ts-ignore: decorator
@inline function columnsOf(spec: IntervalSpec): u32 {
  return spec.lefts + spec.rights;
}

// @ts-ignore: decorator
@inline function isOuterJoin(spec: IntervalSpec): bool {
  return (spec.keepsLeft | spec.keepsRight) != 0;
}

// ---- what time leaves behind ------------------------------------------------------------------------------------

// ---- rows that meet ---------------------------------------------------------------------------------------------

/** Place where a batch was stopped, for `leave`: phase and rows as in the job. */
let stoppedPhase: u32 = 0;
let stoppedAt: u32 = 0;
let stoppedMember: u32 = 0;
let stoppedRound: u32 = 0;
let stoppedOther: u32 = 0;
let stoppedLeft: u32 = 0;
let stoppedOwn: u32 = 0;
let stoppedDue: f64 = 0;
let stoppedLast: f64 = 0;

function stopAt(phase: u32, at: u32, member: u32, round: u32, due: f64, last: f64): void {
  stoppedPhase = phase;
  stoppedAt = at;
  stoppedMember = member;
  stoppedRound = round;
  stoppedDue = due;
  stoppedLast = last;
}

/**
 * Lets the rows `sel[0 … last)` of the batch meet earlier rows; the rows behind, up to `n`, have all failed. Work that
 * takes too long is deferred. False when memory is exhausted.
 */
export function meetAll(
  node: Node,
  binds: usize,
  notes: usize,
  entries: usize,
  errors: usize,
  sel: usize,
  last: u32,
  n: u32,
): bool {
  const spec = changetype<IntervalSpec>(node.spec);
  const times: usize = last ? timesBlock(spec) : 0;
  const rows = ctx.rows;
  if (!meet(node, binds, times, rows, notes, entries, errors, 0, sel, last, changetype<IntervalJob>(0))) {
    return leave(node, binds, times, notes, entries, errors, sel, last, n);
  }
  for (let i = last; i < n && !isExhausted(node); i++) sendFailed(node, valAt(errors, rowAt(sel, i)));
  return true;
}

/** Defers the rest of the batch; false when memory is exhausted. */
function leave(
  node: Node,
  binds: usize,
  times: usize,
  notes: usize,
  entries: usize,
  errors: usize,
  sel: usize,
  last: u32,
  n: u32,
): bool {
  const spec = changetype<IntervalSpec>(node.spec);
  const from = stoppedPhase <= Phase.LIST ? stoppedAt : last;
  const columns = columnsOf(spec);
  const clean = selectionPush();
  const job: IntervalJob = clean ? jobNew(columns, n - from, accountOf(node)) : changetype<IntervalJob>(0);
  let isKept = !!job;
  let count: u32 = 0;
  for (let i = from; i < n && isKept; i++) {
    const row = rowAt(sel, i);
    let note: u8 = i < last ? load<u8>(notes + i) : Note.FAILED;
    if (note & Note.FAILED) {
      let failure: u64 = isError(errors, row) ? valAt(errors, row) : 0;
      if (!failure) {
        makeKey(keysOf(spec, binds, (note & KeyWish.RIGHT) != 0), spec.keys, row);
        failure = keyError;
        note |= Note.COUNTS;
      }
      isKept = jobFailure(job, i - from, failure, note);
      continue;
    }
    store<u32>(clean + ((<usize>count) << 2), row);
    jobItem(job, i - from, count++, load<u32>(entries + ((<usize>i) << 2)), note);
  }
  isKept = isKept && jobKeep(job, binds, columns, times, clean, count);
  if (clean) selectionPop();
  if (job) {
    changetype<IntervalState>(node.state).job = job;
    job.ends = last - from;
    noteStop(job, from);
  }
  if (!isKept) return false;
  defer(node);
  // The pairs that are there are of this batch.
  pairsFlush();
  return true;
}

/** Writes where the work was stopped to the job, whose first row is number `from` of the batch. */
function noteStop(job: IntervalJob, from: u32): void {
  job.phase = stoppedPhase;
  job.at = stoppedAt - from;
  job.member = stoppedMember - from;
  job.round = stoppedRound;
  job.other = stoppedOther;
  job.left = stoppedLeft;
  job.own = stoppedOwn;
  job.due = stoppedDue;
  job.lastTime = stoppedLast;
}

/** Goes on with the batch of a job; true when it is done or memory is exhausted. */
export function meetOn(node: Node, job: IntervalJob): bool {
  const spec = changetype<IntervalSpec>(node.spec);
  const columns = columnsOf(spec);
  const binds = poolAlloc(ctx.scratch, (columns + 1) * BIND_SIZE);
  const stage: usize = binds ? jobBatch(job, columns, binds) : 0;
  if (!stage) {
    exhaust(node);
    return true;
  }
  const times = <usize>load<u32>(stage + ((<usize>columns) << 2));
  const rows = jobRows(job);
  const failures = jobFailures;
  const last = job.ends;
  pairsBegin(node, binds, times, rows);
  const isDone = meet(node, binds, times, rows, jobNotes, jobEntries, 0, failures, jobSel, last, job);
  if (isDone)
    for (let i = last; i < jobCount(job) && !isExhausted(node); i++)
      sendFailed(node, load<u64>(failures + ((<usize>i) << 3)));
  else {
    noteStop(job, 0);
    pairsFlush();
  }
  stageRelease(columns + 1);
  return isDone;
}

/**
 * Lets the first `n` rows meet earlier rows, time by time, for a job from where it was stopped. Then old rows are
 * worked off and empty keys dropped. False when it was stopped (`stopped…` say where).
 */
function meet(
  node: Node,
  binds: usize,
  times: usize,
  rows: u32,
  notes: usize,
  entries: usize,
  errors: usize,
  failures: usize,
  sel: usize,
  n: u32,
  job: IntervalJob,
): bool {
  const spec = changetype<IntervalSpec>(node.spec);
  const state = changetype<PartitionTable>(node.state);
  const isOuter = isOuterJoin(spec);
  let phase: u32 = job ? job.phase : Phase.TIME;
  // No row is worked off before the time `due`. Where rows do not go on alone, rows are worked off once for the batch;
  // until then old rows leave only the list of a key that is looked at (`leaveEarly`).
  let due: f64 = job ? job.due : isOuter ? -Infinity : Infinity;
  let last: f64 = job ? job.lastTime : -Infinity;
  if (phase <= Phase.LIST) {
    const leftWaits = max<f64>(spec.most, 0);
    const rightWaits = max<f64>(-spec.least, 0);
    for (let i: u32 = job ? job.at : 0; i < n; ) {
      const note = load<u8>(notes + i);
      if (note & Note.FAILED) {
        failRow(node, binds, errors, failures, note, i, rowAt(sel, i));
        pairsBegin(node, binds, times, rows);
        i++;
        continue;
      }
      const ms = timeIn(times, rowAt(sel, i));
      let end = i + 1;
      while (end < n && !(load<u8>(notes + end) & Note.FAILED) && timeIn(times, rowAt(sel, end)) == ms) end++;
      if (phase == Phase.TIME) {
        if (due < ms) {
          due = workOffBefore(node, spec, state, ms);
          if (isStopped) {
            stopAt(Phase.TIME, i, i, 0, due, last);
            return false;
          }
        }
        if (end == i + 1) {
          if (
            !meetRow(
              node,
              spec,
              state,
              changetype<PartitionEntry>(load<u32>(entries + ((<usize>i) << 2))),
              rowAt(sel, i),
              note,
              ms,
              leftWaits,
              rightWaits,
              isOuter,
            )
          ) {
            stopAt(Phase.LIST, i, i, note & KeyWish.RIGHT ? 0 : 1, due, last);
            return false;
          }
        }
      }
      if (phase != Phase.TIME || end > i + 1) {
        const isJob = phase != Phase.TIME;
        for (let round: u32 = isJob ? job.round : 0, at: u32 = isJob ? job.member : i; round < 2; round++, at = i) {
          for (; at < end; at++) {
            const its = load<u8>(notes + at);
            if (((its & KeyWish.RIGHT) != 0) != (round == 0)) continue;
            const entry = changetype<PartitionEntry>(load<u32>(entries + ((<usize>at) << 2)));
            const isMet =
              phase == Phase.LIST
                ? meetRest(node, spec, state, rowAt(sel, at), (its & KeyWish.RIGHT) != 0, its, ms, isOuter, job)
                : meetRow(node, spec, state, entry, rowAt(sel, at), its, ms, leftWaits, rightWaits, isOuter);
            phase = Phase.TIME;
            if (!isMet) {
              stopAt(Phase.LIST, i, at, round, due, last);
              return false;
            }
            if (isExhausted(node)) return true;
            if (isTired()) {
              stopAt(Phase.ROWS, i, at + 1, round, due, last);
              return false;
            }
          }
        }
        phase = Phase.TIME;
      }
      if (isOuter) due = min(due, ms + min(leftWaits, rightWaits));
      if (isExhausted(node)) return true;
      last = ms;
      i = end;
      if (i < n && isTired()) {
        stopAt(Phase.TIME, i, i, 0, due, last);
        return false;
      }
    }
    phase = Phase.OLD;
  }
  if (phase == Phase.OLD) {
    if (!isOuter && !oldGo(spec, state, last)) {
      stopAt(Phase.OLD, n, n, 0, due, last);
      return false;
    }
    pairsFlush();
  }
  if (!keysGo(state, accountOf(node))) {
    stopAt(Phase.KEYS, n, n, 0, due, last);
    return false;
  }
  return true;
}

/** Passes on a row that failed above; a key that failed is counted here. */
function failRow(node: Node, binds: usize, errors: usize, failures: usize, note: u8, i: u32, row: u32): void {
  const spec = changetype<IntervalSpec>(node.spec);
  let failure: u64 = failures ? load<u64>(failures + ((<usize>i) << 3)) : isError(errors, row) ? valAt(errors, row) : 0;
  let counts = (note & Note.COUNTS) != 0;
  if (!failure) {
    makeKey(keysOf(spec, binds, (note & KeyWish.RIGHT) != 0), spec.keys, row);
    failure = keyError;
    counts = true;
  }
  if (counts) addException(node, offOf(failure), lenOf(failure), 1);
  // Pairs of earlier rows go out before the row.
  pairsFlush();
  const before = budget();
  sendFailed(node, failure);
  budgetRestore(before);
}

/**
 * Lets a row meet the rows of the other side that are not too old. Where rows go on alone, a kept row is named by its
 * number, so that it can be marked when it has met one. Otherwise all are rows of the batch, in which numbers have the
 * texts that they came with. False when it was stopped in the middle.
 */
// @ts-ignore: decorator
@inline function meetRow(
  node: Node,
  spec: IntervalSpec,
  state: PartitionTable,
  found: PartitionEntry,
  row: u32,
  note: u8,
  ms: f64,
  leftWaits: f64,
  rightWaits: f64,
  isOuter: bool,
): bool {
  const isRight = (note & KeyWish.RIGHT) != 0;
  const entry: PartitionEntry = isEntry(changetype<usize>(found)) ? found : changetype<PartitionEntry>(0);
  let own = OF_BATCH | row;
  let isNumbered = false;
  if (note & Note.KEPT) {
    const number = linkRow(
      sideOf(changetype<usize>(state), isRight),
      isRight,
      changetype<usize>(note & KeyWish.MAKES ? entry : changetype<PartitionEntry>(0)),
      ms,
    );
    isNumbered = isOuter;
    if (isOuter) own = number;
  }
  if (!entry || !listCount(listOf(changetype<usize>(entry), !isRight))) return true;
  const others = sideOf(changetype<usize>(state), !isRight);
  const list = listOf(changetype<usize>(entry), !isRight);
  const waits = isRight ? leftWaits : rightWaits;
  while (linkTime(linkAt(others, listFirst(list))) + waits < ms) {
    leaveEarly(state, others, !isRight, entry);
    if (listCount(list) == 0) return true;
  }
  return meetList(node, spec, state, isRight, isNumbered, own, ms, listFirst(list), listCount(list));
}

/** Goes on with the row of a job that was stopped in the middle of its list. */
function meetRest(
  node: Node,
  spec: IntervalSpec,
  state: PartitionTable,
  row: u32,
  isRight: bool,
  note: u8,
  ms: f64,
  isOuter: bool,
  job: IntervalJob,
): bool {
  const isNumbered = isOuter && (note & Note.KEPT) != 0;
  const own = isNumbered ? job.own : OF_BATCH | row;
  return meetList(node, spec, state, isRight, isNumbered, own, ms, job.other, job.left);
}

/**
 * Lets a row, the number `own` of its side or of the batch, meet `left` rows from `other` on; false when it was
 * stopped.
 */
function meetList(
  node: Node,
  spec: IntervalSpec,
  state: PartitionTable,
  isRight: bool,
  isNumbered: bool,
  own: u32,
  ms: f64,
  other: u32,
  left: u32,
): bool {
  const side = sideOf(changetype<usize>(state), isRight);
  const others = sideOf(changetype<usize>(state), !isRight);
  const until = ms + (isRight ? -spec.least : spec.most);
  while (true) {
    const link = linkAt(others, other);
    if (linkTime(link) > until) return true;
    // Pairs that are sent in between let rows go, which gives others their positions.
    const position = positionOf(others, other);
    const name = isNumbered ? positionOf(side, own) : own;
    addPair(isRight ? position : name, isRight ? name : position, ms);
    if (--left == 0 || isExhausted(node)) return true;
    other = nextOf(link);
    if (!isTired()) continue;
    stoppedOther = other;
    stoppedLeft = left;
    stoppedOwn = own;
    return false;
  }
}

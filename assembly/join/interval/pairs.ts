// Candidates of an interval join, in the order in which they are found: judged by the condition in batches, then sent.
// Where rows without a partner go on, the end of a row is a candidate, too: it goes on when no pair of it has.
//
// A row is named by its position among the rows that its side holds or, when it is not kept, by its number in the batch
// at work.
import * as ctx from '../../batch/context';
import { LOOK_ROWS, firstLook, isOver } from '../../node/deferred';
import { emit } from '../../emit/emit';
import { failLen, failNotBoolean, failOff } from '../../batch/failure';
import { NodeFlag, addException, exhaust } from '../../node/node';
import { selectionPop, selectionPush } from '../../batch/selection';
import { identity, stageAcquire, stageRelease } from '../../batch/stage';
import { Bind, BIND_SIZE, blockOfBind } from '../../mem/bind';
import {
  BATCH_ROWS,
  COL_HAS_RAW,
  COL_RAW,
  COL_TAGS,
  COL_UNIFORM,
  COL_VALS,
  Tag,
  lenOf,
  offOf,
  setAt,
  span,
  tagAt,
  valAt,
} from '../../mem/layout';
import { poolAlloc, poolChunk, poolFilled, poolReturn } from '../../mem/pool';
import { strideOf, tagsOf, valsOf } from '../../ops/operand';
import { vmRun } from '../../ops/vm';
import { LACKS_ROWS, copyValues, tagOfSeen } from '../../rows/values';
import { IntervalState, dropDone, isMatched, noteMatched, sideDone, sideOf } from './state';
import { IntervalSpec } from '../../gen/join-layouts';
import { Node } from '../../gen/node-layouts';
import { Program } from '../../gen/ops-layouts';

/** No row on that side. */
export const NO_ROW: u32 = 0xffffffff;
/** Bit that marks a number as that of a row of the batch at work. */
export const OF_BATCH: u32 = 0x80000000;
const NO_CONDITION: u32 = 0xffff;

const LEFTS: usize = memory.data(4 * 1024, 16);
const RIGHTS: usize = memory.data(4 * 1024, 16);
/** Times of the candidates. */
const TIMES: usize = memory.data(8 * 1024, 16);

let owner: Node = changetype<Node>(0);
let spec: IntervalSpec = changetype<IntervalSpec>(0);
let state: IntervalState = changetype<IntervalState>(0);
/** Values of the batch at work, those of rows of the left, then of the right (mem/bind.ts). */
let binds: usize = 0;
/** Times of the rows of the batch at work, and the number of rows in its blocks. */
let ownTimes: usize = 0;
let ownRows: u32 = 0;
let count: u32 = 0;

/** Rows and pairs worked on, without the candidates at hand, and the count at which the clock is looked at. */
let worked: u32 = 0;
let lookAt: u32 = u32.MAX_VALUE;

/** Begins a piece of work of the node that it may leave in the middle. */
export function budgetBegin(node: Node): void {
  worked = 0;
  lookAt = firstLook(node);
}

/** The budget of the work under way, to be put back (`budgetRestore`) after others have worked. */
// @ts-ignore: decorator
@inline export function budget(): u64 {
  return ((<u64>lookAt) << 32) | worked;
}

// @ts-ignore: decorator
@inline export function budgetRestore(known: u64): void {
  worked = <u32>known;
  lookAt = <u32>(known >> 32);
}

// @ts-ignore: decorator
@inline export function noteWorked(): void {
  worked++;
}

/** True when the rest of the work is to be deferred. */
// @ts-ignore: decorator
@inline export function isTired(): bool {
  return worked + count >= lookAt && look();
}

function look(): bool {
  if (lookAt == u32.MAX_VALUE) return false;
  if (isOver()) return true;
  lookAt = worked + count + LOOK_ROWS;
  return false;
}

/**
 * Begins the candidates of a batch: `columns` are its values, if there is one, `times` is the block of its rows' times,
 * `rows` their number. Rows that are sent may bring another join to work meanwhile.
 */
export function pairsBegin(node: Node, columns: usize, times: usize, rows: u32): void {
  owner = node;
  spec = changetype<IntervalSpec>(node.spec);
  state = changetype<IntervalState>(node.state);
  binds = columns;
  ownTimes = times;
  ownRows = rows;
  count = 0;
}

// @ts-ignore: decorator
@inline export function addPair(left: u32, right: u32, ms: f64): void {
  store<u32>(LEFTS + ((<usize>count) << 2), left);
  store<u32>(RIGHTS + ((<usize>count) << 2), right);
  store<f64>(TIMES + ((<usize>count) << 3), ms);
  if (++count == BATCH_ROWS) pairsFlush();
}

/** Drops rows that are worked off, where there are many and nobody refers to them. */
// @ts-ignore: decorator
@inline export function pairsTidy(): void {
  if (
    count == 0 &&
    sideDone(sideOf(changetype<usize>(state), false)) + sideDone(sideOf(changetype<usize>(state), true)) >= BATCH_ROWS
  )
    dropBoth();
}

/** Judges the candidates, sends those that go on, and drops rows that are worked off. */
export function pairsFlush(): void {
  const n = count;
  count = 0;
  if (n) {
    ctx.addWork(n);
    const node = owner;
    const columns = binds;
    const times = ownTimes;
    const rows = ownRows;
    worked += n;
    const before = budget();
    if (!(isInPlace(n) ? sendInPlace(n) : send(n))) exhaust(node);
    pairsBegin(node, columns, times, rows);
    budgetRestore(before);
  }
  dropBoth();
}

function dropBoth(): void {
  dropDone(sideOf(changetype<usize>(state), false));
  dropDone(sideOf(changetype<usize>(state), true));
}

/** True when all rows of the left (right) in the candidates are rows of the batch at work. */
let leftsOfBatch: bool = false;
let rightsOfBatch: bool = false;

/** True when rows of a side without a partner go on. */
// @ts-ignore: decorator
@inline function isOuter(): bool {
  return (spec.keepsLeft | spec.keepsRight) != 0;
}

function areOfBatch(names: usize, n: u32): bool {
  for (let i: u32 = 0; i < n; i++) {
    const name = load<u32>(names + ((<usize>i) << 2));
    if (!(name & OF_BATCH) || name == NO_ROW) return false;
  }
  return true;
}

/** Sends those of the `n` candidates that go on; false when memory is exhausted. */
function send(n: u32): bool {
  leftsOfBatch = areOfBatch(LEFTS, n);
  rightsOfBatch = areOfBatch(RIGHTS, n);
  const columns = spec.lefts + spec.rights;
  const kept = selectionPush();
  const stage = stageAcquire(columns + 2);
  const done = kept != 0 && stage != 0;
  if (done) {
    const times = <usize>load<u32>(stage + ((<usize>columns) << 2));
    const marks = <usize>load<u32>(stage + ((<usize>(columns + 1)) << 2));
    // Texts that the condition computes are freed, as nothing later uses them.
    const chunk = poolChunk(ctx.scratch);
    const filled = poolFilled(ctx.scratch);
    store<u8>(marks, Tag.MIXED, COL_UNIFORM);
    const hasFailed = judge(stage, n, marks, kept);
    if (passed) {
      for (let c: u32 = 0; c < columns; c++) fill(<usize>load<u32>(stage + ((<usize>c) << 2)), c, kept, passed);
      for (let i: u32 = 0; i < n; i++)
        store<i64>(times + ((<usize>i) << 3), <i64>load<f64>(TIMES + ((<usize>i) << 3)), COL_VALS);
      memory.fill(times + COL_TAGS, Tag.I64, n);
      store<u8>(times, Tag.I64, COL_UNIFORM);
      ctx.setBatch(stage, n, kept, passed, hasFailed ? marks : 0);
      emit(owner);
    }
    poolReturn(ctx.scratch, chunk, filled);
  }
  if (stage) stageRelease(columns + 2);
  if (kept) selectionPop();
  return done;
}

/** Set by `isInPlace`: the rows of the batch are rows of the right side. */
let isRightOwn: bool = false;

/**
 * True when the batch itself can go on, with columns of the other side beside its own: each candidate is a row of the
 * batch with a kept one, all of the same sides, none is there twice, and all go on.
 */
function isInPlace(n: u32): bool {
  if (!binds || isOuter() || spec.condition != NO_CONDITION) return false;
  isRightOwn = (load<u32>(RIGHTS) & OF_BATCH) != 0;
  const own = isRightOwn ? RIGHTS : LEFTS;
  let last = load<u32>(own);
  let inOrder = last & OF_BATCH;
  for (let i: usize = 4; i < (<usize>n) << 2; i += 4) {
    const name = load<u32>(own + i);
    inOrder &= (<u32>(name > last)) << 31;
    last = name;
  }
  return inOrder != 0;
}

/** As `send` for candidates of which `isInPlace` is true. */
function sendInPlace(n: u32): bool {
  const lefts = spec.lefts;
  const columns = lefts + spec.rights;
  const others = isRightOwn ? lefts : columns - lefts;
  const firstOther = isRightOwn ? 0 : lefts;
  const sel = selectionPush();
  const stage = stageAcquire(others + 1);
  const chunk = poolChunk(ctx.scratch);
  const filled = poolFilled(ctx.scratch);
  const blocks = sel && stage ? poolAlloc(ctx.scratch, (columns + 1) << 2) : 0;
  if (blocks) {
    const own = isRightOwn ? RIGHTS : LEFTS;
    for (let i: usize = 0; i < (<usize>n) << 2; i += 4) store<u32>(sel + i, load<u32>(own + i) & ~OF_BATCH);
    for (let c: u32 = 0; c < columns; c++) {
      const other = c - firstOther;
      const block =
        other < others ? <usize>load<u32>(stage + ((<usize>other) << 2)) : blockOfBind(binds + c * BIND_SIZE);
      if (other < others) fillBeside(block, other, !isRightOwn, sel, n);
      store<u32>(blocks + ((<usize>c) << 2), <u32>block);
    }
    store<u32>(blocks + ((<usize>columns) << 2), <u32>ownTimes);
    ctx.setBatch(blocks, ownRows, sel, n, 0);
    emit(owner);
    poolReturn(ctx.scratch, chunk, filled);
  }
  if (stage) stageRelease(others + 1);
  if (sel) selectionPop();
  return blocks != 0;
}

/** Number of candidates that go on. */
let passed: u32 = 0;

/**
 * Writes the numbers of the candidates that go on to `kept`. True when some of them have failed, which stand in `marks`
 * then.
 */
function judge(stage: usize, n: u32, marks: usize, kept: usize): bool {
  const condition = spec.condition;
  const hasCondition = condition != NO_CONDITION;
  const marksMatched = isOuter();
  passed = n;
  if (!hasCondition && !marksMatched) {
    memory.copy(kept, identity, n << 2);
    return false;
  }
  const program = state.program;
  if (hasCondition) run(program, stage, n);
  const tags = hasCondition ? tagsOf(program, condition) : 0;
  const vals = hasCondition ? valsOf(program, condition) : 0;
  const stride = hasCondition ? strideOf(condition) : 0;
  const lefts = sideOf(changetype<usize>(state), false);
  const rights = sideOf(changetype<usize>(state), true);
  let hasFailed = false;
  passed = 0;
  for (let i: u32 = 0; i < n; i++) {
    const left = load<u32>(LEFTS + ((<usize>i) << 2));
    const right = load<u32>(RIGHTS + ((<usize>i) << 2));
    let failure: u64 = 0;
    if (left == NO_ROW) {
      if (isMatched(rights, right)) continue;
    } else if (right == NO_ROW) {
      if (isMatched(lefts, left)) continue;
    } else {
      if (hasCondition) {
        const tag = load<u8>(tags + i * stride);
        const payload = load<u64>(vals + ((<usize>(i * stride)) << 3));
        if (tag != Tag.BOOL) failure = failureOf(tag, payload);
        else if (!payload) continue;
      }
      // A pair that failed counts as a match of both rows, since its failure reports them.
      if (marksMatched) {
        if (!(left & OF_BATCH)) noteMatched(lefts, left);
        if (!(right & OF_BATCH)) noteMatched(rights, right);
      }
      if (failure) {
        addException(owner, offOf(failure), lenOf(failure), 1);
        if (!(owner.flags & NodeFlag.SEND_ERROR)) continue;
        if (!hasFailed) memory.fill(marks + COL_TAGS, Tag.NULL, n);
        hasFailed = true;
        setAt(marks, i, Tag.ERROR, failure);
      }
    }
    store<u32>(kept + ((passed++ as usize) << 2), i);
  }
  return hasFailed;
}

function failureOf(tag: u8, payload: u64): u64 {
  if (tag == Tag.ERROR) return payload;
  failNotBoolean();
  return span(failOff, failLen);
}

/** Runs the condition over the candidates. */
function run(program: Program, stage: usize, n: u32): void {
  const reads = spec.reads;
  const list = changetype<usize>(spec) + spec.readsAt;
  for (let i: u32 = 0; i < reads; i++) {
    const column = load<u16>(list + ((<usize>i) << 1));
    fill(<usize>load<u32>(stage + ((<usize>column) << 2)), column, identity, n);
  }
  ctx.setBatch(stage, n, identity, n, 0);
  if (program) vmRun(program);
}

/** Writes a column of the selected candidates. */
function fill(block: usize, column: u32, sel: usize, n: u32): void {
  const lefts = spec.lefts;
  const isRight = column >= lefts;
  if (isRight ? rightsOfBatch : leftsOfBatch) fillOwn(block, column, isRight ? RIGHTS : LEFTS, sel, n);
  else fillAny(block, column, isRight ? column - lefts : column, isRight, sel, n);
}

/** Writes a column of rows of the batch at work, of numbers also the texts that they came with. */
function fillOwn(block: usize, column: u32, names: usize, sel: usize, n: u32): void {
  const own = blockOfBind(binds + column * BIND_SIZE);
  const hasRaw = load<u8>(own, COL_HAS_RAW) != 0;
  let seen: u32 = 0;
  for (let k: u32 = 0; k < n; k++) {
    const i = load<u32>(sel + ((<usize>k) << 2));
    const row = load<u32>(names + ((<usize>i) << 2)) & ~OF_BATCH;
    const tag = tagAt(own, row);
    seen |= 1 << tag;
    setAt(block, i, tag, valAt(own, row));
    if (hasRaw) store<u64>(block + ((<usize>i) << 3), load<u64>(own + ((<usize>row) << 3), COL_RAW), COL_RAW);
  }
  store<u8>(block, popcnt(seen) == 1 ? <u8>ctz(seen) : Tag.MIXED, COL_UNIFORM);
  store<u8>(block, <u8>hasRaw, COL_HAS_RAW);
}

function fillAny(block: usize, column: u32, slot: u32, isRight: bool, sel: usize, n: u32): void {
  const names = isRight ? RIGHTS : LEFTS;
  const tags = block + COL_TAGS;
  const vals = block + COL_VALS;
  let seen = copyValues(sideOf(changetype<usize>(state), isRight), slot, names, 4, sel, sel, n, tags, vals);
  if (seen & LACKS_ROWS && binds) seen = fillFromBatch(block, column, names, sel, n);
  store<u8>(block, tagOfSeen(seen), COL_UNIFORM);
  store<u8>(block, 0, COL_HAS_RAW);
}

/** Adds the values of rows of the batch at work to a column that has those of kept rows; returns the tags seen. */
function fillFromBatch(block: usize, column: u32, names: usize, sel: usize, n: u32): u32 {
  const ownVals = <usize>load<u32>(binds + column * BIND_SIZE);
  const ownTags = <usize>load<u32>(binds + column * BIND_SIZE, offsetof<Bind>('tags'));
  let seen: u32 = 0;
  for (let k: u32 = 0; k < n; k++) {
    const i = load<u32>(sel + ((<usize>k) << 2));
    const name = load<u32>(names + ((<usize>i) << 2));
    if (name & OF_BATCH && name != NO_ROW) {
      const row = <usize>(name & ~OF_BATCH);
      setAt(block, i, load<u8>(ownTags + row), load<u64>(ownVals + (row << 3)));
    }
    seen |= (<u32>1) << tagAt(block, i);
  }
  return seen;
}

/** Writes the column at that place of a side whose rows are all kept, beside the rows of the batch that `sel` has. */
function fillBeside(block: usize, slot: u32, isRight: bool, sel: usize, n: u32): void {
  const names = isRight ? RIGHTS : LEFTS;
  const seen = copyValues(
    sideOf(changetype<usize>(state), isRight),
    slot,
    names,
    4,
    0,
    sel,
    n,
    block + COL_TAGS,
    block + COL_VALS,
  );
  store<u8>(block, tagOfSeen(seen), COL_UNIFORM);
  store<u8>(block, 0, COL_HAS_RAW);
}

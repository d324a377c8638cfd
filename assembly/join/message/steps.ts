// The steps of the join of a message, one after the other. A step with many pairs stops in between where it may
// (node/deferred.ts), and goes on from there; meanwhile it is suspended (join/message/suspended-run.ts).
import { beginLong, mayDefer } from '../../node/deferred';
import { accountOf } from '../../node/node';
import { allocZeroed, free } from '../../mem/alloc';
import { JoinType } from './spec';
import { NO_ROW, failure, leftCount, node, rightCount, runFailMemory, runStep, spec, step } from './run';
import { addResult, outputFlush } from './output';
import { addPair, outerIsRight, matchedRights, pairsBegin, pairsEnd } from './pairs';
import { equalEnd, equalSome } from './equal';
import { hashEnd, hashSome, hashWay, indexSome, indexWay } from './hash';
import { isPaused, pauseBegin } from './pause';
import { Way } from './way';

/** Number of the step under way, and whether it has begun. */
let number: u32 = 0;
let isBegun: bool = false;
/** Way in which the candidates of the step are found. */
let way: u32 = Way.LOOP;
/** True when all pairs of the step were added, and only rows of the right side without a match are left. */
let isPaired: bool = false;
/** Place where the loops stopped: outer and inner row, or row of the right side. */
let outer: u32 = 0;
let inner: u32 = 0;

/** Bytes that `stepsSave` writes. */
export const STEPS_SIZE: u32 = 24;

/** Saves the steps. */
export function stepsSave(to: usize): void {
  store<u32>(to, number);
  store<u32>(to, way, 4);
  store<u32>(to, outer, 8);
  store<u32>(to, inner, 12);
  store<u8>(to, <u8>isBegun, 16);
  store<u8>(to, <u8>isPaired, 17);
}

/** Restores the steps that `stepsSave` saved. */
export function stepsRestore(from: usize): void {
  number = load<u32>(from);
  way = load<u32>(from, 4);
  outer = load<u32>(from, 8);
  inner = load<u32>(from, 12);
  isBegun = load<u8>(from, 16) != 0;
  isPaired = load<u8>(from, 17) != 0;
}

/** Begins the steps of the run. */
export function stepsBegin(): void {
  number = 0;
  isBegun = false;
  beginLong();
}

/** Goes on with the steps; false when they were stopped. */
export function stepsGoOn(): bool {
  const steps = spec.steps;
  pauseBegin(mayDefer(node));
  for (; number < steps && failure == 0; number++) {
    if (!isBegun) begin();
    const isDone = failure != 0 || (pairs() && rest());
    if (!isDone && failure == 0) {
      outputFlush();
      if (failure == 0) return false;
    }
    stepsEnd();
  }
  if (failure == 0) outputFlush();
  return true;
}

function begin(): void {
  runStep(number);
  const isFull = step.type == JoinType.FULL;
  const matched: usize = isFull && rightCount ? allocZeroed(rightCount, accountOf(node)) : 0;
  pairsBegin(matched);
  isBegun = true;
  isPaired = false;
  outer = 0;
  inner = 0;
  way = Way.NONE;
  if (isFull && rightCount && !matched) runFailMemory();
  else way = hashWay();
}

/** Frees the memory of the step under way, if any. */
export function stepsEnd(): void {
  if (!isBegun) return;
  isBegun = false;
  if (way == Way.EQUAL) equalEnd();
  else if (way == Way.HASH || way == Way.INDEX) hashEnd();
  free(matchedRights, rightCount, accountOf(node));
}

/** Adds pairs; true when these were all, or the message has failed. */
function pairs(): bool {
  if (isPaired) return true;
  if (way == Way.INDEX) {
    if (!indexSome()) return false;
    way = indexWay();
  }
  switch (way) {
    case Way.LOOP:
      if (!loopSome()) return false;
      break;
    case Way.HASH:
      if (!hashSome()) return false;
      break;
    case Way.EQUAL:
      if (!equalSome()) return false;
      break;
    default:
      break;
  }
  isPaired = true;
  outer = 0;
  if (failure == 0) pairsEnd();
  return true;
}

/** Adds all pairs, in the order of the outer rows. */
function loopSome(): bool {
  const isRight = outerIsRight;
  const outers = isRight ? rightCount : leftCount;
  const inners = isRight ? leftCount : rightCount;
  let i = inner;
  for (let o = outer; o < outers; o++) {
    while (i < inners) {
      // At most as many pairs as are judged together.
      const to = min(i + 1024, inners);
      for (; i < to; i++) if (!(isRight ? addPair(i, o) : addPair(o, i))) return true;
      if (!isPaused()) continue;
      outer = o;
      inner = i;
      return false;
    }
    i = 0;
  }
  return true;
}

/** Adds the rows of the right side that have no match, of a full join. */
function rest(): bool {
  const matched = matchedRights;
  if (!matched || failure) return true;
  for (let r = outer; r < rightCount && failure == 0; r++) {
    if (load<u8>(matched + r)) continue;
    addResult(NO_ROW, r);
    if (!isPaused()) continue;
    outer = r + 1;
    return false;
  }
  return true;
}

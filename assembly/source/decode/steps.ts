// Steps: the bytes between the values of an object are mostly the same from message to message: comma, space, key,
// colon. A step holds such a literal, and how to decode the value behind it. Each step names the steps that were seen
// after it; decoding goes from step to step, literals being compared 16 bytes at a time instead of being read and
// looked up. A literal that no step matches is read the general way and, when seen again, becomes a step or a way
// between two steps. So other orders of the keys, fields that come and go and other spacing cost little, and nothing is
// read twice.
//
// A literal is valid JSON after any value of the object it was seen in, wherever it stands; values are checked as in
// the general way (json/scan.ts). A message that breaks off or is broken merely takes the general way, which says what
// is wrong.
//
// The literal before a text has its opening quote, so that text and number are two steps. What a step does with its
// value (double, integer, nothing) is known as well, once it has seen a number.
//
//   steps      STEP bytes each: START, UNKNOWN (after a member without step), MISS (matches all), then those learnt
//   step       literal 60 | mask u32 (bits of the bytes of its first 16) | shape of its numbers 68 (number.ts) | len u8
//   | kind u8 |
//              0 u16 | use u32 (address of the first of its name) | next: addresses of up to seven steps, u32 each,
//              MISS behind
//              the last | second shape 68
import * as ctx from '../../batch/context';
import { alloc, free } from '../../mem/alloc';
import { poolAlloc } from '../../mem/pool';
import { fault } from '../../json/fault';
import { afterKey, scanString, skipSpace, stringEscaped, unescape } from '../../json/scan';
import { Use, findUse, NumberAs, useAt } from '../columns/use';
import { filling } from '../columns/batch';
import {
  fits,
  hasFitted,
  isDouble,
  lengthOf,
  mayReplace,
  measure,
  measuredEnd,
  offset,
  putDouble,
  putInteger,
  putMeasured,
  shapeIsDouble,
  shapeLearn,
  shapesSwap,
} from './number';
import { putText, putValue, skipText, skipValue } from './value';
import { Source } from '../columns/state';

const STEP: u32 = 240;
const STEP_MASK: usize = 60;
const STEP_SHAPE: usize = 64;
const STEP_LEN: usize = 132;
const STEP_KIND: usize = 133;
const STEP_USE: usize = 136;
const STEP_NEXT: usize = 140;
const STEP_SECOND: usize = 172;
const UNKNOWN: u32 = 1;
const MISS: u32 = 2;
const FIRST_LEARNT: u32 = 3;
const MAX_NEXT: u32 = 7;
const MAX_LITERAL: u32 = 60;
const FIRST_CAPACITY: u32 = 12;
const MAX_STEPS: u32 = 128;
/** Members without step after which all steps are learnt anew: the sender has changed, or the steps are of no use. */
const FORGET_AFTER: u32 = 4096;

namespace StepKind {
  /** A number nobody needs follows, mostly. */
  export const SKIP_NUMBER: u8 = 0;
  /** A number for `use` follows, mostly: as a double. */
  export const DOUBLE: u8 = 1;
  /** A number for `use` follows, mostly: as an integer. */
  export const INTEGER: u8 = 2;
  /** A value for `use` follows. */
  export const VALUE: u8 = 3;
  /** A value nobody needs follows. */
  export const SKIP: u8 = 4;
  /** A text for `use` follows, its opening quote is behind. */
  export const TEXT: u8 = 5;
  /** A text nobody needs follows, its opening quote is behind. */
  export const SKIP_TEXT: u8 = 6;
  /** The object ends. */
  export const END: u8 = 7;
  /** A value for several columns of one name follows. */
  export const VALUES: u8 = 8;
  /** None of the steps before matches. */
  export const MISS: u8 = 9;
}

export function stepsForget(state: Source, account: usize): void {
  const steps = state.steps;
  if (steps) free(steps, state.stepCapacity * STEP, account);
  state.steps = 0;
  state.stepCount = 0;
  state.stepCapacity = 0;
  state.stepMisses = 0;
}

// @ts-ignore: decorator
@inline function matches(step: usize, p: usize): bool {
  const mask = load<u32>(step, STEP_MASK);
  if ((<u32>i8x16.bitmask(i8x16.eq(v128.load(p), v128.load(step))) & mask) != mask) return false;
  const len = <u32>load<u8>(step, STEP_LEN);
  return len <= 16 || restMatches(step, p, len);
}

/** Compares the literal's bytes from 16 on; blocks overlap, so that none needs a mask. */
function restMatches(step: usize, p: usize, len: u32): bool {
  const last = <usize>len - 16;
  if (v128.any_true(v128.xor(v128.load(p + last), v128.load(step + last)))) return false;
  for (let i: usize = 16; i < last; i += 16) {
    if (v128.any_true(v128.xor(v128.load(p + i), v128.load(step + i)))) return false;
  }
  return true;
}

/**
 * Decodes the object at `p0` into row `row` and returns the position after it; 0 when it is broken (the row may be half
 * filled then; the general way tells what is wrong).
 */
export function decodeBySteps(steps: usize, p0: usize, end: usize, row: u32): usize {
  if (!steps) return 0;
  let way = steps;
  let p = p0;
  while (true) {
    const step = <usize>load<u32>(way, STEP_NEXT);
    // Inlined `matches`, whose result would be stored here and tested once more.
    const mask = load<u32>(step, STEP_MASK);
    if ((<u32>i8x16.bitmask(i8x16.eq(v128.load(p), v128.load(step))) & mask) != mask) {
      way += 4;
      continue;
    }
    const len = <usize>load<u8>(step, STEP_LEN);
    if (len > 16 && !restMatches(step, p, <u32>len)) {
      way += 4;
      continue;
    }
    p += len;
    const kind = load<u8>(step, STEP_KIND);
    if (kind <= StepKind.INTEGER) {
      const shape = step + STEP_SHAPE;
      const x = offset(shape, p);
      if (fits(shape, x)) {
        hasFitted(shape);
        const q = p + lengthOf(shape);
        if (kind == StepKind.DOUBLE) putDouble(shape, changetype<Use>(load<u32>(step, STEP_USE)), p, x, row);
        else if (kind == StepKind.INTEGER) putInteger(shape, changetype<Use>(load<u32>(step, STEP_USE)), p, x, row);
        if (q > end) return 0;
        p = q;
        way = step;
        continue;
      }
      p = kind ? putOther(step, p, end, row) : skipOther(step, p, end);
    } else if (kind == StepKind.TEXT) p = putText(changetype<Use>(load<u32>(step, STEP_USE)), p, end, row);
    else if (kind == StepKind.SKIP_TEXT) p = skipText(p, end);
    else if (kind == StepKind.END) return p <= end ? p : 0;
    else if (kind == StepKind.VALUE) p = putOther(step, p, end, row);
    else if (kind == StepKind.SKIP) p = skipOther(step, p, end);
    else if (kind == StepKind.VALUES) p = putValues(changetype<Use>(load<u32>(step, STEP_USE)), p, end, row);
    else {
      p = readAfter(way, p, end, row);
      if (!p || ended) return p <= end ? p : 0;
      way = reached;
      continue;
    }
    way = step;
    if (p - 1 >= end) return 0; // 0 as well
  }
}

/** Decodes a value that is no number of the step's first shape. */
function putOther(step: usize, p: usize, end: usize, row: u32): usize {
  const use = changetype<Use>(load<u32>(step, STEP_USE));
  const as = use.numberAs;
  if (as == NumberAs.OTHER) return putValue(use, p, end, row);
  const shape = step + STEP_SECOND;
  const x = offset(shape, p);
  const length = lengthOf(shape);
  if (fits(shape, x) && length) {
    const isF64 = shapeIsDouble(shape, as);
    hasFitted(shape);
    if (isF64) putDouble(shape, use, p, x, row);
    else putInteger(shape, use, p, x, row);
    if (mayReplace(step + STEP_SHAPE)) useSecond(step, isF64 ? StepKind.DOUBLE : StepKind.INTEGER);
    return p + length;
  }
  if (!measure(p, as == NumberAs.I64)) return putValue(use, p, end, row);
  if (!lengthOf(step + STEP_SHAPE)) {
    shapeLearn(step + STEP_SHAPE, p);
    store<u8>(step, isDouble(as) ? StepKind.DOUBLE : StepKind.INTEGER, STEP_KIND);
  } else if (mayReplace(shape)) shapeLearn(shape, p);
  putMeasured(use, p, row);
  return measuredEnd;
}

/** Walks over a value that is no number of the step's first shape. */
function skipOther(step: usize, p: usize, end: usize): usize {
  const shape = step + STEP_SECOND;
  const length = lengthOf(shape);
  if (fits(shape, offset(shape, p)) && length) {
    hasFitted(shape);
    if (mayReplace(step + STEP_SHAPE)) useSecond(step, StepKind.SKIP_NUMBER);
    return p + length;
  }
  if (!measure(p, false)) return skipValue(p, end);
  if (!lengthOf(step + STEP_SHAPE)) {
    shapeLearn(step + STEP_SHAPE, p);
    store<u8>(step, StepKind.SKIP_NUMBER, STEP_KIND);
  } else if (mayReplace(shape)) shapeLearn(shape, p);
  return measuredEnd;
}

/** Exchanges the two shapes of a step, because more numbers have the second one. */
function useSecond(step: usize, kind: u8): void {
  shapesSwap(step + STEP_SHAPE, step + STEP_SECOND);
  store<u8>(step, kind, STEP_KIND);
}

/** Reads a member that none of the steps at `way` matched. */
function readAfter(way: usize, p: usize, end: usize, row: u32): usize {
  const first = filling.steps;
  const after = way - ((way - first) % STEP);
  return readMember(after, after == first, p, end, row);
}

/** Decodes a value for all columns of one name, the first of which is `first`. */
function putValues(first: Use, p: usize, end: usize, row: u32): usize {
  let use = first;
  while (true) {
    const q = putValue(use, p, end, row);
    const next = use.next;
    if (!q || !next) return q;
    use = useAt(filling, next - 1);
  }
}

/** Makes the first steps and returns their address; 0 when memory is exhausted. */
export function stepsBegin(state: Source, account: usize): u32 {
  const steps = <u32>alloc(FIRST_CAPACITY * STEP, account);
  if (!steps) return 0;
  state.steps = steps;
  state.stepCapacity = FIRST_CAPACITY;
  state.stepAccount = account;
  restart(state);
  return steps;
}

/** Drops all learnt steps. */
function restart(state: Source): void {
  const steps = state.steps;
  for (let i: u32 = 0; i < FIRST_LEARNT; i++) clearStep(steps, steps + i * STEP);
  store<u8>(steps + MISS * STEP, StepKind.MISS, STEP_KIND);
  state.stepCount = FIRST_LEARNT;
  state.stepMisses = 0;
}

function clearStep(steps: usize, step: usize): void {
  memory.fill(step, 0, STEP);
  for (let way = step; way <= step + (MAX_NEXT << 2); way += 4) store<u32>(way, <u32>steps + MISS * STEP, STEP_NEXT);
}

// ---- members without step -------------------------------------------------------------------------------------

/** Set by readMember: the object has ended. */
export let ended: bool = false;
/** Set by learn: the step that was found or learnt, or UNKNOWN. */
let reached: usize = 0;

/**
 * Reads a member at `p0` the general way: `{` (`isFirst`) or a comma, key and value, or the end of the object. Returns
 * the position behind it, 0 on failure. The literal is learnt as one that follows step `after`, unless that is 0.
 */
export function readMember(after: usize, isFirst: bool, p0: usize, end: usize, row: u32): usize {
  const state = filling;
  ended = false;
  let p = skipSpace(p0, end);
  let c: u32 = p < end ? load<u8>(p) : 0;
  const canEnd = isFirst || c == 0x7d;
  if (c == <u32>(isFirst ? 0x7b : 0x2c)) {
    p = skipSpace(p + 1, end);
    c = p < end ? load<u8>(p) : 0;
  } else if (isFirst || !canEnd) return fault("',' or '}' was expected", p);
  if (c == 0x7d && canEnd) {
    ended = true;
    if (after) learn(state, after, p0, p + 1, StepKind.END, changetype<Use>(0));
    return p + 1;
  }
  if (c != 0x22) return fault('a key was expected', p);
  let key = p + 1;
  const close = scanString(key, end);
  if (!close) return 0;
  let keyLen = <u32>(close - key);
  if (stringEscaped) {
    const to = poolAlloc(ctx.scratch, keyLen);
    if (!to) return fault('out of memory', p);
    keyLen = <u32>(unescape(key, close, to) - to);
    key = to;
  }
  p = afterKey(close + 1, end);
  if (!p) return 0;
  const index = findUse(state, key, keyLen);
  const use = index ? useAt(state, index - 1) : changetype<Use>(0);
  if (after) {
    if (use && use.next) learn(state, after, p0, p, StepKind.VALUES, use);
    else if (load<u8>(p) != 0x22) learn(state, after, p0, p, use ? StepKind.VALUE : StepKind.SKIP, use);
    else if (!use) learn(state, after, p0, p + 1, StepKind.SKIP_TEXT, changetype<Use>(0));
    else if (use.takesText) learn(state, after, p0, p + 1, StepKind.TEXT, use);
    else learn(state, after, p0, p, StepKind.VALUE, use);
  }
  return use ? putValues(use, p, end, row) : skipValue(p, end);
}

/** Hashes of literals seen once, of all sources: a key that never comes again takes no step. */
const SEEN: usize = memory.data(4 * 256, 4);
/** Pseudo-random: its highest bit says which of its two places a literal takes. */
let seenRandom: u32 = 0;

/**
 * Makes the literal [from, to) the step after `after`: finds or adds the step and the way to it, once the literal has
 * been seen before. Sets `reached` to the step's offset when there is one.
 */
function learn(state: Source, after: usize, from: usize, to: usize, kind: u8, use: Use): void {
  const len = <u32>(to - from);
  let steps = state.steps;
  reached = steps + UNKNOWN * STEP;
  if (len > MAX_LITERAL) return;
  let slot: usize = 0;
  while (slot < MAX_NEXT << 2 && load<u32>(after + slot, STEP_NEXT) != <u32>steps + MISS * STEP) slot += 4;
  if (slot == MAX_NEXT << 2) return missed(state);
  let step = findStep(state, from, len);
  if (!step) {
    if (!isSeen(from, len)) return;
    const count = state.stepCount;
    if (count == state.stepCapacity) {
      if (!growSteps(state)) return missed(state);
      after -= steps;
      steps = state.steps;
      after += steps;
      reached = steps + UNKNOWN * STEP;
    }
    step = steps + count * STEP;
    state.stepCount = count + 1;
    clearStep(steps, step);
    memory.copy(step, from, len);
    store<u32>(step, (1 << min(len, 16)) - 1, STEP_MASK);
    store<u8>(step, <u8>len, STEP_LEN);
    store<u8>(step, kind, STEP_KIND);
    store<u32>(step, changetype<u32>(use), STEP_USE);
  }
  store<u32>(after + slot, <u32>step, STEP_NEXT);
  reached = step;
}

/** Address of the step with this literal, 0 when there is none. */
function findStep(state: Source, from: usize, len: u32): usize {
  const first = state.steps;
  const stop = first + state.stepCount * STEP;
  for (let step = first + FIRST_LEARNT * STEP; step < stop; step += STEP) {
    if (<u32>load<u8>(step, STEP_LEN) == len && matches(step, from)) return step;
  }
  return 0;
}

/**
 * Whether the literal has been seen before; notes it. Two places each, by chance one or the other: of two literals that
 * share a place, taken in turn, each message would displace both.
 */
function isSeen(from: usize, len: u32): bool {
  let h: u64 = len;
  for (let i: u32 = 0; i < len; i++) h = (h ^ load<u8>(from + i)) * 0x100000001b3;
  const hash = <u32>(h ^ (h >> 32)) | 1;
  const one = SEEN + ((hash >> 24) << 2);
  const other = SEEN + (((hash >> 16) & 0xff) << 2);
  if (load<u32>(one) == hash || load<u32>(other) == hash) return true;
  seenRandom = seenRandom * 1664525 + 1013904223;
  store<u32>(<i32>seenRandom < 0 ? one : other, hash);
  return false;
}

/** Doubles the room for steps; they move. */
function growSteps(state: Source): bool {
  const account = state.stepAccount;
  const capacity = state.stepCapacity;
  if (capacity == MAX_STEPS) return false;
  const old = state.steps;
  const steps = alloc(capacity * 2 * STEP, account);
  if (!steps) return false;
  memory.copy(steps, old, capacity * STEP);
  for (let step = steps; step < steps + capacity * STEP; step += STEP) {
    for (let way = step; way <= step + (MAX_NEXT << 2); way += 4) {
      store<u32>(way, load<u32>(way, STEP_NEXT) + <u32>(steps - old), STEP_NEXT);
    }
  }
  free(old, capacity * STEP, account);
  state.steps = steps;
  state.stepCapacity = capacity * 2;
  return true;
}

/** Counts a member that could not become a step. */
function missed(state: Source): void {
  const misses = state.stepMisses + 1;
  state.stepMisses = misses;
  if (misses >= FORGET_AFTER) restart(state);
}

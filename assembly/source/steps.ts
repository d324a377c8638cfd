// Steps: what stands between the values of an object is mostly the same from message to message: comma, space, key, colon.
// A step holds such a literal and what to do with the value behind it. Each step names the steps that were seen after it;
// decoding goes from step to step, literals being compared 16 bytes at a time instead of being read and looked up. What no
// step matches is read the general way and, when seen again, becomes a step or a way between two steps. So other orders of
// the keys, fields that come and go and other spacing cost little, and nothing is read twice.
//
// A literal is valid JSON after any value of the object it was seen in, wherever it stands; values are checked as in the
// general way (json/scan.ts). A message that breaks off or is broken merely takes the general way, which says what is wrong.
//
//   steps      STEP bytes each: START, UNKNOWN (after a member without step), then those learnt
//   step       mask 16 | literal 64 | len u32 | block u32 | kind u8 | numberAs u8 | takesText u8 | 0 | use u32 |
//              next: seven times u32, offset of a step from the first, 0 none; 0
import * as ctx from '../flow/context';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { poolAlloc } from '../mem/pool';
import { fault } from '../json/fault';
import { afterKey, scanString, skipSpace, stringEscaped, unescape } from '../json/scan';
import {
  blockAt, findUse, S_STEP_ACCOUNT, S_STEP_CAPACITY, S_STEP_COUNT, S_STEP_MISSES, S_STEPS, U_NEXT, U_NUMBER, U_TEXT, useAt,
} from './state';
import { filling } from './batch';
import { putValue, skipValue } from './value';

const STEP: u32 = 128;
const G_LITERAL: usize = 16;
const G_LEN: usize = 80;
const G_BLOCK: usize = 84;
const G_KIND: usize = 88;
const G_NUMBER: usize = 89;
const G_TEXT: usize = 90;
const G_USE: usize = 92;
const G_NEXT: usize = 96;
const MAX_NEXT: u32 = 7;
const MAX_LITERAL: u32 = 64;
const FIRST_CAPACITY: u32 = 16;
const MAX_STEPS: u32 = 128;
/** Members without step after which all is learnt anew: the sender has changed, or the steps are of no use. */
const FORGET_AFTER: u32 = 4096;

namespace StepKind {
  /** A value nobody needs follows. */
  export const SKIP: u8 = 0;
  /** A value for `block` follows. */
  export const VALUE: u8 = 1;
  /** A value for several columns of one name follows. */
  export const VALUES: u8 = 2;
  /** The object ends. */
  export const END: u8 = 3;
}

export function stepsForget(state: usize, account: usize): void {
  const steps = <usize>load<u32>(state, S_STEPS);
  if (steps) free(steps, load<u32>(state, S_STEP_CAPACITY) * STEP, account);
  store<u32>(state, 0, S_STEPS);
  store<u32>(state, 0, S_STEP_COUNT);
  store<u32>(state, 0, S_STEP_CAPACITY);
  store<u32>(state, 0, S_STEP_MISSES);
}

// @ts-ignore: decorator
@inline function matches(step: usize, p: usize): bool {
  if (v128.any_true(v128.and(v128.xor(v128.load(p), v128.load(step, G_LITERAL)), v128.load(step)))) return false;
  const len = load<u32>(step, G_LEN);
  return len <= 16 || restMatches(step, p, len);
}

/** Compares the literal's bytes from 16 on; blocks overlap, so that none needs a mask. */
function restMatches(step: usize, p: usize, len: u32): bool {
  const last = <usize>len - 16;
  if (v128.any_true(v128.xor(v128.load(p + last), v128.load(step + last, G_LITERAL)))) return false;
  for (let i: usize = 16; i < last; i += 16) {
    if (v128.any_true(v128.xor(v128.load(p + i), v128.load(step + i, G_LITERAL)))) return false;
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
    const step = <usize>load<u32>(way, G_NEXT);
    if (!step) {
      p = readAfter(way, p, end, row);
      if (!p || ended) return p <= end ? p : 0;
      way = reached;
      continue;
    }
    if (!matches(step, p)) {
      way += 4;
      continue;
    }
    way = step;
    p += <usize>load<u32>(step, G_LEN);
    const kind = load<u8>(step, G_KIND);
    if (kind == StepKind.VALUE) {
      p = putValue(
        load<u32>(step, G_USE), <usize>load<u32>(step, G_BLOCK), load<u8>(step, G_NUMBER), load<u8>(step, G_TEXT), p, end, row,
      );
    } else if (kind == StepKind.SKIP) p = skipValue(p, end);
    else if (kind == StepKind.END) return p <= end ? p : 0;
    else p = putValues(load<u32>(step, G_USE), p, end, row);
    if (p - 1 >= end) return 0; // 0 as well
  }
}

/** Reads a member that none of the steps at `way` matched. */
function readAfter(way: usize, p: usize, end: usize, row: u32): usize {
  const first = <usize>load<u32>(filling, S_STEPS);
  const after = way - (way - first) % STEP;
  return readMember(after, after == first, p, end, row);
}

/** Decodes a value for all columns of one name, the first of which is use `index`. */
function putValues(index: u32, p: usize, end: usize, row: u32): usize {
  const state = filling;
  let next = p;
  let use = index + 1;
  while (use) {
    const entry = useAt(state, use - 1);
    next = putValue(use - 1, blockAt(use - 1), load<u8>(entry, U_NUMBER), load<u8>(entry, U_TEXT), p, end, row);
    if (!next) return 0;
    use = load<u32>(entry, U_NEXT);
  }
  return next;
}

/** Makes the first two steps and returns their address; 0 when memory is exhausted. */
export function stepsBegin(state: usize, account: usize): u32 {
  const steps = <u32>allocZeroed(FIRST_CAPACITY * STEP, account);
  if (!steps) return 0;
  store<u32>(state, steps, S_STEPS);
  store<u32>(state, 2, S_STEP_COUNT);
  store<u32>(state, FIRST_CAPACITY, S_STEP_CAPACITY);
  store<u32>(state, 0, S_STEP_MISSES);
  store<u32>(state, <u32>account, S_STEP_ACCOUNT);
  return steps;
}

// ---- members without step -------------------------------------------------------------------------------------

/** Set by readMember: the object has ended. */
export let ended: bool = false;
/** Set by learn: the step that was found or learnt, or UNKNOWN. */
let reached: usize = 0;

/**
 * Reads what stands at `p0`, the general way: `{` (`isFirst`) or a comma, key and value, or the end of the object. Returns
 * the position behind it, 0 on failure. What was read is learnt as what follows step `after`, unless that is 0.
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
    if (after) learn(state, after, p0, p + 1, StepKind.END, 0);
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
  const use = findUse(state, key, keyLen);
  if (after) {
    const kind = !use ? StepKind.SKIP : load<u32>(useAt(state, use - 1), U_NEXT) ? StepKind.VALUES : StepKind.VALUE;
    learn(state, after, p0, p, kind, use ? use - 1 : 0);
  }
  return use ? putValues(use - 1, p, end, row) : skipValue(p, end);
}

/** Hashes of literals seen once, of all sources: a key that never comes again takes no step. */
const SEEN: usize = memory.data(4 * 256, 4);
let seenCount: u32 = 0;

/**
 * Makes the literal [from, to) the step after `after`: finds or adds the step and the way to it, once the literal has been
 * seen before. Sets `reached` to the step's offset when there is one.
 */
function learn(state: usize, after: usize, from: usize, to: usize, kind: u8, use: u32): void {
  const len = <u32>(to - from);
  reached = <usize>load<u32>(state, S_STEPS) + STEP;
  if (len > MAX_LITERAL) return;
  let slot: usize = 0;
  while (slot < MAX_NEXT << 2 && load<u32>(after + slot, G_NEXT)) slot += 4;
  if (slot == MAX_NEXT << 2) return missed(state);
  let step = findStep(state, from, len);
  if (!step) {
    if (!isSeen(from, len)) return;
    const count = load<u32>(state, S_STEP_COUNT);
    if (count == load<u32>(state, S_STEP_CAPACITY)) {
      const old = <usize>load<u32>(state, S_STEPS);
      if (!growSteps(state)) return missed(state);
      after += <usize>load<u32>(state, S_STEPS) - old;
      reached = <usize>load<u32>(state, S_STEPS) + STEP;
    }
    step = <usize>load<u32>(state, S_STEPS) + count * STEP;
    store<u32>(state, count + 1, S_STEP_COUNT);
    memory.fill(step, 0, STEP);
    memory.fill(step, 0xff, min(len, 16));
    memory.copy(step + G_LITERAL, from, len);
    store<u32>(step, len, G_LEN);
    store<u8>(step, kind, G_KIND);
    if (kind == StepKind.VALUE) {
      const entry = useAt(state, use);
      store<u32>(step, <u32>blockAt(use), G_BLOCK);
      store<u8>(step, load<u8>(entry, U_NUMBER), G_NUMBER);
      store<u8>(step, load<u8>(entry, U_TEXT), G_TEXT);
    }
    store<u32>(step, use, G_USE);
  }
  store<u32>(after + slot, <u32>step, G_NEXT);
  reached = step;
}

/** Address of the step with this literal, 0 when there is none. */
function findStep(state: usize, from: usize, len: u32): usize {
  const first = <usize>load<u32>(state, S_STEPS);
  const stop = first + load<u32>(state, S_STEP_COUNT) * STEP;
  for (let step = first + 2 * STEP; step < stop; step += STEP) {
    if (load<u32>(step, G_LEN) == len && memory.compare(step + G_LITERAL, from, len) == 0) return step;
  }
  return 0;
}

/** Whether the literal has been seen before; notes it. Two places each, so that two literals do not displace each other. */
function isSeen(from: usize, len: u32): bool {
  let h: u64 = len;
  for (let i: u32 = 0; i < len; i++) h = (h ^ load<u8>(from + i)) * 0x100000001b3;
  const hash = <u32>(h ^ (h >> 32)) | 1;
  const one = SEEN + ((hash >> 24) << 2);
  const other = SEEN + (((hash >> 16) & 0xff) << 2);
  if (load<u32>(one) == hash || load<u32>(other) == hash) return true;
  seenCount++;
  store<u32>(seenCount & 1 ? one : other, hash);
  return false;
}

/** Doubles the room for steps; they move. */
function growSteps(state: usize): bool {
  const account = <usize>load<u32>(state, S_STEP_ACCOUNT);
  const capacity = load<u32>(state, S_STEP_CAPACITY);
  if (capacity == MAX_STEPS) return false;
  const old = <usize>load<u32>(state, S_STEPS);
  const steps = alloc(capacity * 2 * STEP, account);
  if (!steps) return false;
  memory.copy(steps, old, capacity * STEP);
  for (let step = steps; step < steps + capacity * STEP; step += STEP) {
    for (let way = step; load<u32>(way, G_NEXT); way += 4) {
      store<u32>(way, load<u32>(way, G_NEXT) + <u32>(steps - old), G_NEXT);
    }
  }
  free(old, capacity * STEP, account);
  store<u32>(state, <u32>steps, S_STEPS);
  store<u32>(state, capacity * 2, S_STEP_CAPACITY);
  return true;
}

/** Counts a member that could not become a step. */
function missed(state: usize): void {
  const misses = load<u32>(state, S_STEP_MISSES) + 1;
  store<u32>(state, misses, S_STEP_MISSES);
  if (misses < FORGET_AFTER) return;
  memory.fill(<usize>load<u32>(state, S_STEPS), 0, 2 * STEP);
  store<u32>(state, 2, S_STEP_COUNT);
  store<u32>(state, 0, S_STEP_MISSES);
}

// The description of a window node as the host writes it (kernels/nodes/window.ts), and where the values of its inputs
// stand while rows are taken in.
// The spec is drawn in gen/window-layouts.ts.
import { isFixed, isMergeable, stateSize } from '../../gen/aggregates';
import { bindTo } from '../../mem/bind';
import { blockOf, isConst, strideOf, tagsOf, valsOf } from '../../ops/operand';
import { COL_UNIFORM, Tag } from '../../mem/layout';

export { WindowFlag } from '../../gen/window-layouts';
export {
  WINDOW_KIND,
  WINDOW_FLAGS,
  WINDOW_UNIT,
  WINDOW_LENGTH,
  WINDOW_STEP,
  WINDOW_COUNT_LENGTH,
  WINDOW_COUNT_STEP,
  WINDOW_PARTITION,
  WINDOW_FURTHER,
  WINDOW_START,
  WINDOW_END,
  WINDOW_ZONE,
  WINDOW_TIMESTAMP,
  WINDOW_TRIGGER,
  WINDOW_WHERE,
  WINDOW_EMIT,
  WINDOW_INPUTS,
  WINDOW_KEYS,
  WINDOW_KEEPS,
  WINDOW_AGGS,
  WINDOW_TAGS_AT,
  WINDOW_ENTRY_SIZE,
} from '../../gen/window-layouts';
export {
  AGG_FN,
  AGG_A,
  AGG_B,
  AGG_C,
  AGG_FILTER,
  AGG_STATE,
  AGG_CALL,
  AGG_SIZE_OF,
} from '../../gen/window-layouts';
import {
  AGG_A,
  AGG_FN,
  AGG_SIZE_OF,
  AGG_STATE,
  WINDOW_AGGS,
  WINDOW_ENTRY_SIZE,
  WINDOW_FLAGS,
  WINDOW_FURTHER,
  WINDOW_INPUTS,
  WINDOW_KEEPS,
  WINDOW_KEYS,
  WINDOW_PARTITION,
  WINDOW_SIZE,
  WINDOW_SIZE_OF,
  WINDOW_STATES_AT,
  WINDOW_TAGS_AT,
  WindowFlag,
} from '../../gen/window-layouts';

export const NO_INPUT: u32 = 0xffff;
/** Bytes of a group before its kept values: hash u32, key length u32, key u32, next u32, short key 16. */
export const GROUP_HEAD: u32 = 32;
/** Bytes of the number of a group in its set, which stands before its tags. */
export const NUMBER_SIZE: u32 = 4;

// @ts-ignore: decorator
@inline export function inputOperand(spec: usize, i: u32): u32 {
  return load<u16>(spec + ((<usize>i) << 1), WINDOW_SIZE_OF);
}

// @ts-ignore: decorator
@inline export function keysAt(spec: usize): usize {
  return spec + WINDOW_SIZE_OF + ((<usize>load<u32>(spec, WINDOW_INPUTS)) << 1);
}

// @ts-ignore: decorator
@inline export function keepsAt(spec: usize): usize {
  return keysAt(spec) + ((<usize>load<u32>(spec, WINDOW_KEYS)) << 1);
}

// @ts-ignore: decorator
@inline export function aggsAt(spec: usize): usize {
  return (keepsAt(spec) + ((<usize>load<u32>(spec, WINDOW_KEEPS)) << 1) + 3) & ~3;
}

/** True when the window has the flag (WindowFlag). */
// @ts-ignore: decorator
@inline export function hasFlag(spec: usize, flag: u32): bool {
  return (load<u32>(spec, WINDOW_FLAGS) & flag) != 0;
}

// @ts-ignore: decorator
@inline export function isEventTime(spec: usize): bool {
  return hasFlag(spec, WindowFlag.EVENT_TIME);
}

/** True where rows of equal values have windows of their own. */
// @ts-ignore: decorator
@inline export function isPartitioned(spec: usize): bool {
  return load<u16>(spec, WINDOW_PARTITION) != NO_INPUT;
}

/** Input `i` of the further ones that rows are partitioned by. */
// @ts-ignore: decorator
@inline export function furtherInput(spec: usize, i: u32): u32 {
  return load<u16>(spec + load<u32>(spec, WINDOW_SIZE) - ((<usize>(load<u16>(spec, WINDOW_FURTHER) - i)) << 1));
}

/** Input that is argument `i` of an aggregate that is folded. */
// @ts-ignore: decorator
@inline export function foldedInput(spec: usize, agg: usize, i: u32): u32 {
  const at = aggsAt(spec) + <usize>(load<u32>(spec, WINDOW_AGGS) * AGG_SIZE_OF);
  return load<u16>(at + ((<usize>(load<u16>(agg, AGG_A) + i)) << 1));
}

/**
 * Lays out a group: head, kept values (8 bytes each), states of the aggregates, its number, then a tag for each kept
 * value and each aggregate.
 */
export function specPrepare(spec: usize): void {
  const keeps = load<u32>(spec, WINDOW_KEEPS);
  const count = load<u32>(spec, WINDOW_AGGS);
  let at = GROUP_HEAD + keeps * 8;
  store<u32>(spec, at, WINDOW_STATES_AT);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    store<u32>(agg, at, AGG_STATE);
    at += stateSize(load<u16>(agg, AGG_FN));
  }
  at += NUMBER_SIZE;
  store<u32>(spec, at, WINDOW_TAGS_AT);
  store<u32>(spec, at + keeps + count, WINDOW_ENTRY_SIZE);
}

/** True when all aggregates of the spec are mergeable. */
export function allMergeable(spec: usize): bool {
  const count = load<u32>(spec, WINDOW_AGGS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    if (!isMergeable(load<u16>(agg, AGG_FN))) return false;
  }
  return true;
}

/** True when the states of all aggregates of the spec have a fixed size. */
export function allFixed(spec: usize): bool {
  const count = load<u32>(spec, WINDOW_AGGS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    if (!isFixed(load<u16>(agg, AGG_FN))) return false;
  }
  return true;
}

// ---- where the inputs stand ---------------------------------------------------------------------------------
export { bindTag, bindUniform, bindVal } from '../../mem/bind';
/** Where they stand: of the window at work (window/content/frame.ts), which has room for MAX_INPUTS of them. */
export let binds: usize = 0;

export function setBinds(at: usize): void {
  binds = at;
}

// @ts-ignore: decorator
@inline export function bindOf(input: u32): usize {
  return binds + ((<usize>input) << 4);
}

export function setBind(input: u32, vals: usize, tags: usize, stride: u32, uniform: u8): void {
  bindTo(bindOf(input), vals, tags, stride, uniform);
}

/** Binds the inputs to the current batch; constants stand in `program`. */
export function bindBatch(spec: usize, program: usize): void {
  const count = load<u32>(spec, WINDOW_INPUTS);
  for (let i: u32 = 0; i < count; i++) {
    const operand = inputOperand(spec, i);
    const tags = tagsOf(program, operand);
    const uniform = isConst(operand) ? load<u8>(tags) : load<u8>(blockOf(operand), COL_UNIFORM);
    setBind(i, valsOf(program, operand), tags, strideOf(operand), uniform);
  }
}

/** True where the value is the boolean true. */
// @ts-ignore: decorator
@inline export function isTrue(tag: u8, payload: u64): bool {
  return tag == Tag.BOOL && payload != 0;
}

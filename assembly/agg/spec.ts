// The description of a window node as the host writes it (kernels/window-spec.ts), and where the values of its inputs
// stand while rows are taken in.
// The spec is drawn in gen/window-layouts.ts.
import { isMergeable, stateSize } from '../gen/aggregates';
import { bindTo } from '../mem/bind';
import { blockOf, isConst, strideOf, tagsOf, valsOf } from '../ops/operand';
import { COL_UNIFORM, Tag } from '../mem/layout';

export { WindowFlag, WindowKind } from '../gen/window-layouts';
export {
  WINDOW_KIND as S_KIND, WINDOW_FLAGS as S_FLAGS, WINDOW_UNIT as S_UNIT, WINDOW_LENGTH as S_LENGTH, WINDOW_STEP as S_STEP,
  WINDOW_COUNT_LENGTH as S_COUNT_LENGTH, WINDOW_COUNT_STEP as S_COUNT_STEP, WINDOW_PARTITION as S_PARTITION, WINDOW_START as S_START,
  WINDOW_END as S_END, WINDOW_ZONE as S_ZONE, WINDOW_TIMESTAMP as S_TIMESTAMP, WINDOW_TRIGGER as S_TRIGGER, WINDOW_WHERE as S_WHERE,
  WINDOW_EMIT as S_EMIT, WINDOW_INPUTS as S_INPUTS, WINDOW_KEYS as S_KEYS, WINDOW_KEEPS as S_KEEPS, WINDOW_AGGS as S_AGGS,
  WINDOW_STATES_AT as S_STATES_AT, WINDOW_TAGS_AT as S_TAGS_AT, WINDOW_ENTRY_SIZE as S_ENTRY_SIZE, WINDOW_SIZE as S_SIZE,
  WINDOW_SIZE_OF as S_TABLES,
} from '../gen/window-layouts';
export {
  AGG_FN as G_FN, AGG_A as G_A, AGG_B as G_B, AGG_C as G_C, AGG_FILTER as G_FILTER, AGG_STATE as G_STATE, AGG_SIZE_OF as AGG_SIZE,
} from '../gen/window-layouts';
import {
  AGG_FN as G_FN, AGG_SIZE_OF as AGG_SIZE, AGG_STATE as G_STATE, WINDOW_AGGS as S_AGGS, WINDOW_ENTRY_SIZE as S_ENTRY_SIZE,
  WINDOW_INPUTS as S_INPUTS, WINDOW_KEEPS as S_KEEPS, WINDOW_KEYS as S_KEYS, WINDOW_SIZE_OF as S_TABLES, WINDOW_STATES_AT as S_STATES_AT,
  WINDOW_TAGS_AT as S_TAGS_AT,
} from '../gen/window-layouts';

export const NO_INPUT: u32 = 0xffff;
/** Bytes of a group before its kept values: hash u32, key length u32, key u32, next u32, short key 16. */
export const GROUP_HEAD: u32 = 32;

// @ts-ignore: decorator
@inline export function inputOperand(spec: usize, i: u32): u32 {
  return load<u16>(spec + (<usize>i << 1), S_TABLES);
}

// @ts-ignore: decorator
@inline export function keysAt(spec: usize): usize {
  return spec + S_TABLES + (<usize>load<u32>(spec, S_INPUTS) << 1);
}

// @ts-ignore: decorator
@inline export function keepsAt(spec: usize): usize {
  return keysAt(spec) + (<usize>load<u32>(spec, S_KEYS) << 1);
}

// @ts-ignore: decorator
@inline export function aggsAt(spec: usize): usize {
  return (keepsAt(spec) + (<usize>load<u32>(spec, S_KEEPS) << 1) + 3) & ~3;
}

/**
 * Lays out a group: head, kept values (8 bytes each), states of the aggregates, then a tag for each kept value and each
 * aggregate.
 */
export function specPrepare(spec: usize): void {
  const keeps = load<u32>(spec, S_KEEPS);
  const count = load<u32>(spec, S_AGGS);
  let at = GROUP_HEAD + keeps * 8;
  store<u32>(spec, at, S_STATES_AT);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE) {
    store<u32>(agg, at, G_STATE);
    at += stateSize(load<u16>(agg, G_FN));
  }
  store<u32>(spec, at, S_TAGS_AT);
  store<u32>(spec, at + keeps + count, S_ENTRY_SIZE);
}

/** True when all aggregates of the spec are mergeable. */
export function allMergeable(spec: usize): bool {
  const count = load<u32>(spec, S_AGGS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE) {
    if (!isMergeable(load<u16>(agg, G_FN))) return false;
  }
  return true;
}

// ---- where the inputs stand ---------------------------------------------------------------------------------
export { bindTag, bindUniform, bindVal } from '../mem/bind';
export const MAX_INPUTS: u32 = 1024;
/** Where they stand: of the window at work (window/frame.ts), which has room for MAX_INPUTS of them. */
export let binds: usize = 0;

export function setBinds(at: usize): void {
  binds = at;
}

// @ts-ignore: decorator
@inline export function bindOf(input: u32): usize {
  return binds + (<usize>input << 4);
}

export function setBind(input: u32, vals: usize, tags: usize, stride: u32, uniform: u8): void {
  bindTo(bindOf(input), vals, tags, stride, uniform);
}

/** Binds the inputs to the current batch; constants stand in `program`. */
export function bindBatch(spec: usize, program: usize): void {
  const count = load<u32>(spec, S_INPUTS);
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

// The description of a window node as the host writes it (kernels/nodes/window.ts), and where the values of its inputs
// stand while rows are taken in.
// The spec is drawn in gen/window-layouts.ts.
import { isFixed, isMergeable, stateSize } from '../../gen/aggregates';
import { Bind, bindTo } from '../../mem/bind';
import { blockOf, isConst, strideOf, tagsOf, valsOf } from '../../ops/operand';
import { COL_UNIFORM, Tag } from '../../mem/layout';

export { WindowFlag } from '../../gen/window-layouts';
export { AGG_SIZE_OF } from '../../gen/window-layouts';
import { WindowSpec, AggregateSpec, AGG_SIZE_OF, WINDOW_SIZE_OF, WindowFlag } from '../../gen/window-layouts';
import { Program } from '../../gen/ops-layouts';

export const NO_INPUT: u32 = 0xffff;
/** Bytes of a group before its kept values: hash u32, key length u32, key u32, next u32, short key 16. */
export const GROUP_HEAD: u32 = 32;
/** Bytes of the number of a group in its set, which stands before its tags. */
export const NUMBER_SIZE: u32 = 4;

// @ts-ignore: decorator
@inline export function inputOperand(spec: WindowSpec, i: u32): u32 {
  return load<u16>(changetype<usize>(spec) + ((<usize>i) << 1), WINDOW_SIZE_OF);
}

// @ts-ignore: decorator
@inline export function keysAt(spec: WindowSpec): usize {
  return changetype<usize>(spec) + WINDOW_SIZE_OF + ((<usize>spec.inputs) << 1);
}

// @ts-ignore: decorator
@inline export function keepsAt(spec: WindowSpec): usize {
  return keysAt(spec) + ((<usize>spec.keys) << 1);
}

// @ts-ignore: decorator
@inline export function aggsAt(spec: WindowSpec): usize {
  return (keepsAt(spec) + ((<usize>spec.keeps) << 1) + 3) & ~3;
}

/** True when the window has the flag (WindowFlag). */
// @ts-ignore: decorator
@inline export function hasFlag(spec: WindowSpec, flag: u32): bool {
  return (spec.flags & flag) != 0;
}

// @ts-ignore: decorator
@inline export function isEventTime(spec: WindowSpec): bool {
  return hasFlag(spec, WindowFlag.EVENT_TIME);
}

/** True where rows of equal values have windows of their own. */
// @ts-ignore: decorator
@inline export function isPartitioned(spec: WindowSpec): bool {
  return spec.partition != NO_INPUT;
}

/** Input number `i` of the partition keys behind the first one. */
// @ts-ignore: decorator
@inline export function furtherInput(spec: WindowSpec, i: u32): u32 {
  return load<u16>(changetype<usize>(spec) + spec.size - ((<usize>(spec.further - i)) << 1));
}

/** Input of argument `i` of an aggregate that the host folds. */
// @ts-ignore: decorator
@inline export function foldedInput(spec: WindowSpec, agg: AggregateSpec, i: u32): u32 {
  const at = aggsAt(spec) + <usize>(spec.aggs * AGG_SIZE_OF);
  return load<u16>(at + ((<usize>(agg.a + i)) << 1));
}

/**
 * Lays out a group: head, kept values (8 bytes each), states of the aggregates, its number, then a tag for each kept
 * value and each aggregate.
 */
export function specPrepare(spec: WindowSpec): void {
  const keeps = spec.keeps;
  const count = spec.aggs;
  let at = GROUP_HEAD + keeps * 8;
  spec.statesAt = at;
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    store<u32>(agg, at, offsetof<AggregateSpec>('state'));
    at += stateSize(load<u16>(agg, offsetof<AggregateSpec>('fn')));
  }
  at += NUMBER_SIZE;
  spec.tagsAt = at;
  spec.entrySize = at + keeps + count;
}

/** True when all aggregates of the spec are mergeable. */
export function allMergeable(spec: WindowSpec): bool {
  const count = spec.aggs;
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    if (!isMergeable(load<u16>(agg, offsetof<AggregateSpec>('fn')))) return false;
  }
  return true;
}

/** True when the states of all aggregates of the spec have a fixed size. */
export function allFixed(spec: WindowSpec): bool {
  const count = spec.aggs;
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    if (!isFixed(load<u16>(agg, offsetof<AggregateSpec>('fn')))) return false;
  }
  return true;
}

// ---- where the inputs stand ---------------------------------------------------------------------------------
export { bindTag, bindUniform, bindVal } from '../../mem/bind';
/** Address of the binds of the current window (window/content/frame.ts), which has room for MAX_INPUTS of them. */
export let binds: usize = 0;

export function setBinds(at: usize): void {
  binds = at;
}

// @ts-ignore: decorator
@inline export function bindOf(input: u32): Bind {
  return changetype<Bind>(binds + ((<usize>input) << 4));
}

export function setBind(input: u32, vals: usize, tags: usize, stride: u32, uniform: u8): void {
  bindTo(bindOf(input), vals, tags, stride, uniform);
}

/** Binds the inputs to the current batch; constants stand in `program`. */
export function bindBatch(spec: WindowSpec, program: Program): void {
  const count = spec.inputs;
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

// The description of a window node as the host writes it (kernels/window-spec.ts), and where the values of its inputs
// stand while rows are taken in.
//
//   0    kind u32        WindowKind
//   4    flags u32       WindowFlag
//   8    unitMs f64      natural unit of the alignment (dd, hh, mi, ss, ms)
//   16   lengthMs f64    length; longest duration of a session
//   24   stepMs f64      hop, timeout of a session or delay of a sliding window
//   32   countLength u32 | 36 countStep u32       of a message: indexes of the inputs with its start and end; of a state
//                        window the first is the index of the input that its rows are partitioned by, 0xffff none
//   40   zoneMs f64      offset of local time from UTC
//   48   timestamp u16   operand, not an index, 0xffff none
//   50   trigger u16 | 52 where u16 | 54 emit u16      indexes of inputs, 0xffff none
//   56   inputs u32 | keys u32 | keeps u32 | aggs u32  counts
//   72   statesAt u32 | tagsAt u32 | entrySize u32     layout of a group, filled in by `specPrepare`
//   84   specSize u32
//   88   u16[inputs] operands, u16[keys], u16[keeps] indexes of inputs, padding to 4, then an aggregate of 20 bytes each:
//        fn u16 | a u16 | b u16 | c u16 (indexes of inputs) | filter u16 | 0 u16 | stateAt u32 | reserved u32
import { Agg } from '../gen/aggregates';
import { blockOf, isConst, strideOf, tagsOf, valsOf } from '../ops/operand';
import { COL_UNIFORM, Tag } from '../mem/layout';

export namespace WindowKind {
  export const TUMBLING: u32 = 0;
  export const HOPPING: u32 = 1;
  export const SLIDING: u32 = 2;
  export const SESSION: u32 = 3;
  export const COUNT: u32 = 4;
  export const ROW: u32 = 5;
  export const STATE: u32 = 6;
  export const MESSAGE: u32 = 7;
}

export namespace WindowFlag {
  export const EVENT_TIME: u32 = 1;
  export const GROUPED: u32 = 2;
  export const SEND_EMPTY: u32 = 4;
  /** Set by the window: rows of the same time come together (window/sliding.ts). */
  export const JOINS_EQUAL: u32 = 8;
}

export const S_KIND: usize = 0;
export const S_FLAGS: usize = 4;
export const S_UNIT: usize = 8;
export const S_LENGTH: usize = 16;
export const S_STEP: usize = 24;
export const S_COUNT_LENGTH: usize = 32;
export const S_COUNT_STEP: usize = 36;
export const S_PARTITION: usize = S_COUNT_LENGTH;
export const S_ZONE: usize = 40;
export const S_TIMESTAMP: usize = 48;
export const S_TRIGGER: usize = 50;
export const S_WHERE: usize = 52;
export const S_EMIT: usize = 54;
export const S_INPUTS: usize = 56;
export const S_KEYS: usize = 60;
export const S_KEEPS: usize = 64;
export const S_AGGS: usize = 68;
export const S_STATES_AT: usize = 72;
export const S_TAGS_AT: usize = 76;
export const S_ENTRY_SIZE: usize = 80;
export const S_SIZE: usize = 84;
export const S_TABLES: usize = 88;

export const AGG_SIZE: u32 = 20;
export const G_FN: usize = 0;
export const G_A: usize = 2;
export const G_B: usize = 4;
export const G_C: usize = 6;
export const G_FILTER: usize = 8;
export const G_STATE: usize = 12;

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

function stateSize(fn: u32): u32 {
  switch (fn) {
    case Agg.COUNT:
    case Agg.COUNT_ALL:
    case Agg.SUM:
      return 8;
    case Agg.AVG:
    case Agg.MIN:
    case Agg.MAX:
    case Agg.LAST_VALUE:
    case Agg.FIRST_VALUE:
      return 16;
    default:
      return 24;
  }
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

/** True when the state of the aggregate has a fixed size and two states make one: panes and two stacks can be used. */
export function isMergeable(fn: u32): bool {
  return fn <= Agg.MAX || fn == Agg.LAST_VALUE || fn == Agg.FIRST_VALUE;
}

/** True when all aggregates of the spec are. */
export function allMergeable(spec: usize): bool {
  const count = load<u32>(spec, S_AGGS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE) {
    if (!isMergeable(load<u16>(agg, G_FN))) return false;
  }
  return true;
}

// ---- where the inputs stand ---------------------------------------------------------------------------------
//   bind    vals u32 | tags u32 | stride u32 | uniform u32      row i's payload at vals + i * stride * 8
export const BIND_SIZE: u32 = 16;
export const MAX_INPUTS: u32 = 1024;
const BINDS: usize = memory.data(16 * 1024, 16);

// @ts-ignore: decorator
@inline export function bindOf(input: u32): usize {
  return BINDS + (<usize>input << 4);
}

// @ts-ignore: decorator
@inline export function bindTag(bind: usize, row: u32): u8 {
  return load<u8>(<usize>load<u32>(bind, 4) + <usize>(row * load<u32>(bind, 8)));
}

// @ts-ignore: decorator
@inline export function bindVal(bind: usize, row: u32): u64 {
  return load<u64>(<usize>load<u32>(bind) + (<usize>(row * load<u32>(bind, 8)) << 3));
}

// @ts-ignore: decorator
@inline export function bindUniform(bind: usize): u8 {
  return load<u8>(bind, 12);
}

export function setBind(input: u32, vals: usize, tags: usize, stride: u32, uniform: u8): void {
  const bind = bindOf(input);
  store<u32>(bind, <u32>vals);
  store<u32>(bind, <u32>tags, 4);
  store<u32>(bind, stride, 8);
  store<u32>(bind, uniform, 12);
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

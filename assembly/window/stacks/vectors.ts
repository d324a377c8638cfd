// Sliding windows without keys whose aggregates are counts, sums, averages and extremes of numbers: a batch is taken in
// column by column, and all windows that it triggers are sent as one batch in which each row is a message of its own.
//
// The algorithm is the two stacks of window/stacks/stacks.ts, with the same order of adding, in vectors of numbers
// instead of groups. The front of a vector is a list of numbers, each joined with all younger ones; the back is one
// number. When a row brings a value of another type than the vector has had so far, the vectors hand their content over
// to the stacks. State is always saved in the form of stacks.
//
//   vectors   0   isActive u32 | vectors u32 | values u32 (f64 or i64 [capacity] for each vector) | capacity u32
//           16  from u32 | count u32             rows `from` to `count` of the front are in the window
//           24  taken u32 | again u32            as in window/stacks/stacks.ts
//           32  passed u32 | 0 u32               rows since the stacks took over
//   vector    op u32 | tag u32 | input u32 (NO_INPUT: rows are counted) | column u32 of the kept rows | back u64
import * as ctx from '../../batch/context';
import { accountOf } from '../../node/node';
import { Agg } from '../../gen/aggregates';
import { alloc, allocZeroed, free } from '../../mem/alloc';
import { bindIsConst } from '../../mem/bind';
import { Tag } from '../../mem/layout';
import { isConst } from '../../ops/operand';
import {
  AGG_SIZE_OF,
  NO_INPUT,
  WindowFlag,
  aggsAt,
  bindOf,
  bindUniform,
  hasFlag,
  inputOperand,
} from '../../agg/group/spec';
import { averageCount, averageSetInts } from '../../agg/functions/avg';
import { Page, pageUniforms, pageVals } from '../../rows/page';
import { rowsFirst } from '../../rows/store';
import { Front, frontCount, frontGroup } from './front';
import { keptColumns } from '../content/kept';
import { stacksAgain, stacksClear, stacksFailed, stacksFill, stacksTaken } from './stacks';
import { Node } from '../../gen/node-layouts';
import { WindowSpec, AggregateSpec } from '../../gen/window-layouts';
import { Group } from '../../agg/group/table';
import { WindowState } from '../content/state';
import { Stacks } from './state';

/** Head of the vectors of a sliding window. */
// @ts-ignore: decorator
@unmanaged
export class Vectors {
  isActive: u32;
  vectors: u32;
  values: usize;
  capacity: u32;
  from: u32;
  count: u32;
  taken: u32;
  again: u32;
  passed: u32;
}

const HEAD: u32 = 40;

/** An aggregate of the window, with its back; the values of its front stand in `values`. */
// @ts-ignore: decorator
@unmanaged
export class Vector {
  op: u32;
  tag: u32;
  input: u32;
  column: u32;
  back: u64;
}

const VECTOR_SIZE: u32 = 24;

/** No place in the front. */
export const NONE: u32 = 0xffffffff;
/** Integers below this, and not below its negative, are small. */
const SMALL: u64 = 1 << 31;
/** Rows for which an empty front keeps room. */
const KEPT_ROWS: u32 = 1024;

// @ts-ignore: decorator
@inline export function vectorAt(vectors: Vectors, i: u32): Vector {
  return changetype<Vector>(changetype<usize>(vectors) + HEAD + <usize>(i * VECTOR_SIZE));
}

// @ts-ignore: decorator
@inline export function valuesOf(vectors: Vectors, i: u32): usize {
  return vectors.values + ((<usize>(i * vectors.capacity)) << 3);
}

/** Makes vectors for a window that can use them, in which each row sends a window. False when memory is exhausted. */
export function vectorsOpen(node: Node, spec: WindowSpec, state: WindowState): bool {
  if (!hasFlag(spec, WindowFlag.STACKS) || spec.keys || spec.where != NO_INPUT || spec.trigger != NO_INPUT) return true;
  if (spec.step > 0) return true;
  const count = spec.aggs;
  const vectors = changetype<Vectors>(allocZeroed(HEAD + count * VECTOR_SIZE, accountOf(node)));
  if (!vectors) return false;
  vectors.vectors = count;
  state.vectors = changetype<u32>(vectors);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    if (!vectorOpen(spec, vectorAt(vectors, i), changetype<AggregateSpec>(agg))) {
      vectorsFree(node, state);
      return true;
    }
  }
  return true;
}

/** Fills in the vector of an aggregate; false when the aggregate has no vector. */
function vectorOpen(spec: WindowSpec, vector: Vector, agg: AggregateSpec): bool {
  const fn = <u32>agg.fn;
  const input = agg.a;
  if (agg.filter != NO_INPUT) return false;
  vector.op = fn;
  vector.input = input;
  if (fn == Agg.COUNT_ALL) return true;
  if (fn != Agg.COUNT && fn != Agg.SUM && fn != Agg.AVG && fn != Agg.MIN && fn != Agg.MAX) return false;
  if (input == NO_INPUT || isConst(inputOperand(spec, input))) return false;
  let column: u32 = 0;
  for (let i: u32 = 0; i < input; i++) column += <u32>!isConst(inputOperand(spec, i));
  vector.column = column;
  return true;
}

export function vectorsFree(node: Node, state: WindowState): void {
  const vectors = changetype<Vectors>(state.vectors);
  if (!vectors) return;
  freeValues(vectors, accountOf(node));
  free(changetype<usize>(vectors), HEAD + vectors.vectors * VECTOR_SIZE, accountOf(node));
  state.vectors = 0;
}

function freeValues(vectors: Vectors, acct: usize): void {
  free(vectors.values, vectors.vectors * vectors.capacity * 8, acct);
  vectors.values = 0;
  vectors.capacity = 0;
}

/** Makes room for the front, whose content is lost; false when memory is exhausted. */
export function reserve(vectors: Vectors, n: u32, acct: usize): bool {
  const capacity = vectors.capacity;
  if (n <= capacity && (capacity <= KEPT_ROWS || n > capacity >> 2)) return true;
  freeValues(vectors, acct);
  const wanted = (n + (n >> 2) + 15) & ~15;
  const bytes = <u64>vectors.vectors * wanted * 8;
  const values = bytes < 0x7fffffff ? alloc(<u32>bytes, acct) : 0;
  if (!values) return false;
  vectors.values = values;
  vectors.capacity = wanted;
  return true;
}

/** True when the vector counts rows and needs no values. */
// @ts-ignore: decorator
@inline export function isCount(vector: Vector): bool {
  return vector.op <= Agg.COUNT_ALL;
}

/** True when a vector can take values that all have the tag. */
// @ts-ignore: decorator
@inline function suits(vector: Vector, uniform: u8): bool {
  if (isCount(vector)) return uniform > Tag.NULL && uniform != Tag.MIXED && uniform != Tag.ERROR;
  return uniform == Tag.F64 || uniform == Tag.I64;
}

/** True when the vector averages integers, whose sum must not need more than 64 bits. */
// @ts-ignore: decorator
@inline function sumsIntegers(vector: Vector, uniform: u8): bool {
  return vector.op == Agg.AVG && uniform == Tag.I64;
}

/** True when all integers `sel[0 … n)` are so small that the sum of a window always fits in 64 bits. */
function areSmall(vals: usize, sel: usize, n: u32): bool {
  let isSmall = true;
  for (let i: u32 = 0; i < n; i++) {
    const value = load<u64>(vals + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3));
    isSmall = isSmall && value + SMALL < SMALL << 1;
  }
  return isSmall;
}

/** True when all vectors can take the bound rows; with `isGoingOn`, together with their content. */
export function fits(vectors: Vectors, isGoingOn: bool): bool {
  const count = vectors.vectors;
  for (let i: u32 = 0; i < count; i++) {
    const vector = vectorAt(vectors, i);
    if (vector.op == Agg.COUNT_ALL) continue;
    const bind = bindOf(vector.input);
    const uniform = bindUniform(bind);
    if (bindIsConst(bind) || !suits(vector, uniform)) return false;
    if (sumsIntegers(vector, uniform) && !areSmall(bind.vals, ctx.sel, ctx.selLen)) return false;
    if (isGoingOn && !isCount(vector) && vector.tag != uniform) return false;
  }
  return true;
}

/** Begins to work on the bound rows in vectors; false when the stacks must go on. */
export function enter(node: Node, spec: WindowSpec, state: WindowState, vectors: Vectors): bool {
  if (!fits(vectors, false)) return false;
  const count = vectors.vectors;
  for (let i: u32 = 0; i < count; i++) {
    const vector = vectorAt(vectors, i);
    if (!isCount(vector)) vector.tag = bindUniform(bindOf(vector.input));
  }
  vectors.from = 0;
  vectors.count = 0;
  vectors.taken = 0;
  vectors.again = 0;
  const rows = state.kept.count;
  if (rows && !takeOver(node, spec, state, vectors, rows)) return false;
  stacksClear(state, accountOf(node));
  vectors.isActive = 1;
  return true;
}

/** Takes over the content of the stacks, if it is that of `rows` kept rows; false when it does not suit. */
function takeOver(node: Node, spec: WindowSpec, state: WindowState, vectors: Vectors, rows: u32): bool {
  const stacks = changetype<Stacks>(state.stacks);
  const inFront = frontCount(stacks);
  const taken = stacksTaken(stacks);
  if (stacksFailed(stacks) || inFront + taken != rows || !keptFit(spec, state, vectors)) return false;
  if (!reserve(vectors, inFront, accountOf(node))) return false;
  for (let i: u32 = 0; i < inFront; i++) {
    if (!readGroup(spec, vectors, frontGroup(stacks, i), i)) return false;
  }
  if (taken && !readGroup(spec, vectors, state.first, NONE)) return false;
  vectors.count = inFront;
  vectors.taken = taken;
  vectors.again = <u32>stacksAgain(stacks);
  return true;
}

/** True when all kept rows have values that suit the vectors. */
function keptFit(spec: WindowSpec, state: WindowState, vectors: Vectors): bool {
  const count = vectors.vectors;
  const columns = keptColumns(spec);
  for (let page = rowsFirst(state.kept); page; page = page.next) {
    const uniforms = pageUniforms(page, columns);
    for (let i: u32 = 0; i < count; i++) {
      const vector = vectorAt(vectors, i);
      if (vector.op == Agg.COUNT_ALL) continue;
      const uniform = load<u8>(uniforms + vector.column);
      if (!suits(vector, uniform) || (!isCount(vector) && uniform != <u8>vector.tag)) return false;
      if (sumsIntegers(vector, uniform) && !arePageSmall(page, vector.column)) return false;
    }
  }
  return true;
}

/** As `areSmall` for a column of kept rows. */
function arePageSmall(page: Page, column: u32): bool {
  const vals = pageVals(page, column);
  for (let i = page.left; i < page.to; i++) {
    if (load<u64>(vals + ((<usize>i) << 3)) + SMALL >= SMALL << 1) return false;
  }
  return true;
}

/** Reads the states of a group as row `at` of the front, or (NONE) as the back. */
function readGroup(spec: WindowSpec, vectors: Vectors, group: Group, at: u32): bool {
  if (!group) return false;
  const count = vectors.vectors;
  const tagsAt = spec.tagsAt + spec.keeps;
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    const vector = vectorAt(vectors, i);
    if (isCount(vector)) continue;
    if (load<u8>(changetype<usize>(group) + tagsAt + i) != <u8>vector.tag) return false;
    const value = load<u64>(changetype<usize>(group) + load<u32>(agg, offsetof<AggregateSpec>('state')));
    store<u64>(
      at == NONE ? changetype<usize>(vector) + offsetof<Vector>('back') : valuesOf(vectors, i) + ((<usize>at) << 3),
      value,
    );
  }
  return true;
}

/**
 * Hands the content of active vectors over to the stacks. The stacks make their groups from the kept rows and get the
 * sums as the vectors added them. False when memory is exhausted; the stacks then begin anew with the kept rows.
 */
export function vectorsLeave(node: Node, spec: WindowSpec, state: WindowState): bool {
  const vectors = changetype<Vectors>(state.vectors);
  if (!vectors || !vectors.isActive) return true;
  vectors.isActive = 0;
  vectors.passed = 0;
  const from = vectors.from;
  const inFront = vectors.count - from;
  const taken = vectors.taken;
  if (!stacksFill(node, spec, state, inFront, taken, vectors.again != 0)) return false;
  const stacks = changetype<Front>(state.stacks);
  for (let i: u32 = 0; i < inFront; i++) writeGroup(spec, vectors, frontGroup(stacks, i), from + i);
  if (taken) writeGroup(spec, vectors, state.first, NONE);
  return true;
}

function writeGroup(spec: WindowSpec, vectors: Vectors, group: Group, at: u32): void {
  const count = vectors.vectors;
  const inWindow = vectors.count - at;
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    const vector = vectorAt(vectors, i);
    const to = changetype<usize>(group) + load<u32>(agg, offsetof<AggregateSpec>('state'));
    const isInt = vector.tag == Tag.I64;
    if (isCount(vector)) {
      if (at != NONE) store<u64>(to, inWindow);
      continue;
    }
    const value = at == NONE ? vector.back : load<u64>(valuesOf(vectors, i) + ((<usize>at) << 3));
    if (vector.op != Agg.AVG) store<u64>(to, value);
    else if (isInt) {
      averageSetInts(to, value, <i64>value >> 63, at == NONE ? <u32>averageCount(to, Tag.I64) : inWindow);
    } else {
      store<u64>(to, value);
      if (at != NONE) store<u64>(to, inWindow, 8);
    }
  }
}

// The work of vectors (window/stacks/vectors.ts): takes a batch in and sends a window for each of its rows, all in one
// batch.
import * as ctx from '../../batch/context';
import { emitEach } from '../../emit/emit';
import { accountOf, exhaust } from '../../node/node';
import { identity, stageAcquire, stageRelease } from '../../batch/stage';
import { Agg } from '../../gen/aggregates';
import { COL_TAGS, COL_UNIFORM, COL_VALS, Tag } from '../../mem/layout';
import { WindowFlag, bindOf, bindTag, bindVal, keepsAt } from '../../agg/group/spec';
import { Page, pageVals, timeAt } from '../../rows/page';
import { rowsDrop, rowsFirst } from '../../rows/store';
import { resume } from '../content/frame';
import { bindPage, keep } from '../content/kept';
import { Vectors, Vector, NONE, enter, fits, isCount, vectorAt, vectorsLeave, reserve, valuesOf } from './vectors';
import { columnAt, outputColumns } from '../content/output';
import { FEW } from './state';
import { timeOfRow } from '../content/times';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from '../content/state';

/**
 * Place in the front at which the window of each row of the batch begins, NONE without a front; then the size of the
 * window in rows.
 */
const FRONTS: usize = memory.data(4 * 1024, 16);
const SIZES: usize = memory.data(4 * 1024, 16);
/** Page and place of the oldest row in the window of each row of the batch. */
const PAGES: usize = memory.data(4 * 1024, 16);
const PLACES: usize = memory.data(4 * 1024, 16);

/** Takes in the selected rows and sends a window for each; false when the stacks have to do it. */
export function vectorsPush(node: Node, spec: WindowSpec, state: WindowState): bool {
  const vectors = changetype<Vectors>(state.vectors);
  if (!vectors) return false;
  if (!vectors.isActive) {
    // Entering reads all kept rows, so it is tried again only after as many new rows as are kept.
    const passed = vectors.passed + ctx.selLen;
    vectors.passed = passed;
    if (passed < state.kept.count) return false;
    vectors.passed = 0;
    if (!enter(node, spec, state, vectors)) return false;
  } else if (!fits(vectors, true)) {
    vectorsLeave(node, spec, state);
    resume();
    return false;
  }
  const columns = outputColumns(spec);
  const cols = stageAcquire(columns);
  if (!cols || !keep(spec, state, ctx.sel, ctx.selLen)) {
    exhaust(node);
    if (cols) stageRelease(columns);
    return true;
  }
  ctx.addWork(ctx.selLen);
  const dropped = slide(node, spec, state, vectors, cols);
  if (dropped == NONE) {
    vectors.isActive = 0;
    exhaust(node);
  } else {
    fillResults(node, spec, vectors, cols);
    ctx.setBatch(cols, ctx.selLen, identity, ctx.selLen, 0);
    emitEach(node);
    rowsDrop(state.kept, dropped);
    resume();
  }
  stageRelease(columns);
  return true;
}

/** True when row `i` of the batch and the next one have the same time. */
// @ts-ignore: decorator
@inline function isSameTime(i: u32): bool {
  const at = ctx.sel + ((<usize>i) << 2);
  return timeOfRow(load<u32>(at)) == timeOfRow(load<u32>(at, 4));
}

/** Computes the vectors of all windows; returns how many rows have left, NONE when memory is exhausted. */
function slide(node: Node, spec: WindowSpec, state: WindowState, vectors: Vectors, cols: usize): u32 {
  const sel = ctx.sel;
  const n = ctx.selLen;
  const length = spec.length;
  const hasKeeps = spec.keeps != 0;
  const joinsEqual = (spec.flags & WindowFlag.JOINS_EQUAL) != 0;
  let page = rowsFirst(state.kept);
  let place = page.left;
  let size = state.kept.count - n;
  let from = vectors.from;
  let inFront = vectors.count - from;
  let taken = vectors.taken;
  let again = vectors.again;
  let dropped: u32 = 0;
  // First row of the batch that came after the front or back made last.
  let begun: u32 = 0;
  let takenThen = taken;
  for (let i: u32 = 0; i < n; i++) {
    const least = timeOfRow(load<u32>(sel + ((<usize>i) << 2))) - length;
    const had = size;
    while (timeAt(page, place) < least) {
      size--;
      if (++place < page.to) continue;
      page = page.next;
      place = page.left;
    }
    const leave = had - size;
    size++;
    store<u32>(SIZES + ((<usize>i) << 2), size);
    if (hasKeeps) {
      store<u32>(PAGES + ((<usize>i) << 2), changetype<u32>(page));
      store<u32>(PLACES + ((<usize>i) << 2), place);
    }
    dropped += leave;
    if (leave < inFront) {
      from += leave;
      inFront -= leave;
    } else if (leave) {
      if (leave > inFront) {
        if (taken) again = <u32>(taken > 1);
        taken = 0;
      }
      inFront = 0;
    }
    if (inFront | taken) {
      store<u32>(FRONTS + ((<usize>i) << 2), inFront ? from : NONE);
      taken++;
      continue;
    }
    extend(vectors, cols, spec, begun, i, takenThen != 0);
    from = 0;
    begun = i + 1;
    takenThen = 0;
    // A front or back is made anew only with all rows of a time.
    if (joinsEqual && begun < n && isSameTime(i)) continue;
    const isFront = size > FEW && again != 0;
    if (isFront && !reserve(vectors, size, accountOf(node))) return NONE;
    begin(vectors, cols, spec, page, place, size, i, isFront);
    if (isFront) inFront = size;
    else taken = size;
    vectors.count = inFront;
    again = 0;
    takenThen = taken;
  }
  extend(vectors, cols, spec, begun, n, takenThen != 0);
  if (!inFront) {
    from = 0;
    vectors.count = 0;
  }
  vectors.from = from;
  vectors.taken = taken;
  vectors.again = again;
  return dropped;
}

/** Joins two values of a vector. */
// @ts-ignore: decorator
@inline function join<T>(fn: u32, earlier: T, later: T): T {
  if (fn == Agg.MIN) return later < earlier ? later : earlier;
  if (fn == Agg.MAX) return later > earlier ? later : earlier;
  return earlier + later;
}

// @ts-ignore: decorator
@inline function resultColumn(spec: WindowSpec, cols: usize, i: u32): usize {
  return columnAt(cols, spec.keeps + i) + COL_VALS;
}

/** Takes the rows `from` to `to` of the batch into the backs, and computes the result of the window of each. */
function extend(vectors: Vectors, cols: usize, spec: WindowSpec, from: u32, to: u32, hasBack: bool): void {
  if (from == to) return;
  const count = vectors.vectors;
  for (let i: u32 = 0; i < count; i++) {
    const vector = vectorAt(vectors, i);
    if (isCount(vector)) continue;
    const vals = changetype<Page>(bindOf(vector.input).vals);
    work(vector, Work.EXTEND, vals, valuesOf(vectors, i), resultColumn(spec, cols, i), from, to, hasBack);
  }
}

// @ts-ignore: decorator
@inline function extendVector<T>(
  fn: u32,
  vector: Vector,
  vals: Page,
  front: usize,
  out: usize,
  from: u32,
  to: u32,
  hasBack: bool,
): void {
  const sel = ctx.sel;
  let back = load<T>(changetype<usize>(vector), offsetof<Vector>('back'));
  for (let i = from; i < to; i++) {
    const value = load<T>(changetype<usize>(vals) + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3));
    back = hasBack ? join<T>(fn, back, value) : value;
    hasBack = true;
    const at = load<u32>(FRONTS + ((<usize>i) << 2));
    store<T>(out + ((<usize>i) << 3), at == NONE ? back : join<T>(fn, load<T>(front + ((<usize>at) << 3)), back));
  }
  store<T>(changetype<usize>(vector), back, offsetof<Vector>('back'));
}

/**
 * Makes the front, or the backs, from the `n` kept rows from `place` of the page on: the window that row `i` of the
 * batch sends.
 */
function begin(
  vectors: Vectors,
  cols: usize,
  spec: WindowSpec,
  page: Page,
  place: u32,
  n: u32,
  row: u32,
  isFront: bool,
): void {
  const count = vectors.vectors;
  for (let i: u32 = 0; i < count; i++) {
    const vector = vectorAt(vectors, i);
    if (isCount(vector)) continue;
    const front = isFront ? valuesOf(vectors, i) : 0;
    work(vector, Work.BEGIN, page, front, resultColumn(spec, cols, i) + ((<usize>row) << 3), place, n, false);
  }
}

// @ts-ignore: decorator
@inline function beginVector<T>(
  fn: u32,
  vector: Vector,
  column: u32,
  front: usize,
  out: usize,
  firstPage: Page,
  firstPlace: u32,
  n: u32,
): void {
  let page = firstPage;
  let place = firstPlace;
  let done: u32 = 0;
  let joined: T = 0;
  for (;;) {
    const part = min(page.to - place, n - done);
    const from = pageVals(page, column) + ((<usize>place) << 3);
    if (front) memory.copy(front + ((<usize>done) << 3), from, (<usize>part) << 3);
    else {
      for (let i: u32 = 0; i < part; i++) {
        const value = load<T>(from + ((<usize>i) << 3));
        joined = done + i ? join<T>(fn, joined, value) : value;
      }
    }
    done += part;
    if (done == n) break;
    page = page.next;
    place = page.left;
  }
  if (!front) {
    store<T>(changetype<usize>(vector), joined, offsetof<Vector>('back'));
    store<T>(out, joined);
    return;
  }
  joined = load<T>(front + ((<usize>(n - 1)) << 3));
  for (let i = n - 1; i > 0; ) {
    const at = front + ((<usize>--i) << 3);
    joined = join<T>(fn, load<T>(at), joined);
    store<T>(at, joined);
  }
  store<T>(out, joined);
}

/** Ways of working on a vector. */
namespace Work {
  export const EXTEND: u32 = 0;
  export const BEGIN: u32 = 1;
}

/** Extends or begins a vector with the loop for its aggregate and the type of its numbers. */
function work(
  vector: Vector,
  kind: u32,
  rows: Page,
  front: usize,
  out: usize,
  from: u32,
  to: u32,
  hasBack: bool,
): void {
  const isInt = vector.tag == Tag.I64;
  switch (vector.op) {
    case Agg.MIN:
      if (isInt) workAs<i64>(Agg.MIN, vector, kind, rows, front, out, from, to, hasBack);
      else workAs<f64>(Agg.MIN, vector, kind, rows, front, out, from, to, hasBack);
      break;
    case Agg.MAX:
      if (isInt) workAs<i64>(Agg.MAX, vector, kind, rows, front, out, from, to, hasBack);
      else workAs<f64>(Agg.MAX, vector, kind, rows, front, out, from, to, hasBack);
      break;
    default:
      if (isInt) workAs<i64>(Agg.SUM, vector, kind, rows, front, out, from, to, hasBack);
      else workAs<f64>(Agg.SUM, vector, kind, rows, front, out, from, to, hasBack);
  }
}

// @ts-ignore: decorator
@inline function workAs<T>(
  fn: u32,
  vector: Vector,
  kind: u32,
  rows: Page,
  front: usize,
  out: usize,
  from: u32,
  to: u32,
  hasBack: bool,
): void {
  if (kind == Work.EXTEND) extendVector<T>(fn, vector, rows, front, out, from, to, hasBack);
  else beginVector<T>(fn, vector, vector.column, front, out, rows, from, to);
}

/** Completes the columns of all windows of the batch. */
function fillResults(node: Node, spec: WindowSpec, vectors: Vectors, cols: usize): void {
  const n = ctx.selLen;
  const keeps = spec.keeps;
  const count = vectors.vectors;
  if (spec.flags & WindowFlag.JOINS_EQUAL) joinEqual(spec, vectors, cols, n);
  for (let i: u32 = 0; i < count; i++) {
    const vector = vectorAt(vectors, i);
    const vals = resultColumn(spec, cols, i);
    const isInt = isCount(vector) || vector.tag == Tag.I64;
    if (isCount(vector)) {
      for (let k: u32 = 0; k < n; k++) store<u64>(vals + ((<usize>k) << 3), load<u32>(SIZES + ((<usize>k) << 2)));
    } else if (vector.op == Agg.AVG) {
      if (isInt) divide<i64>(vals, n);
      else divide<f64>(vals, n);
    }
    noteTag(columnAt(cols, keeps + i), isInt ? Tag.I64 : Tag.F64, n);
  }
  for (let k: u32 = 0; k < keeps; k++)
    fillKept(node, spec, columnAt(cols, k), load<u16>(keepsAt(spec) + ((<usize>k) << 1)), n);
  const length = spec.length;
  const sel = ctx.sel;
  const starts = columnAt(cols, keeps + count);
  const ends = columnAt(cols, keeps + count + 1);
  const triggers = columnAt(cols, keeps + count + 2);
  for (let i: u32 = 0; i < n; i++) {
    const ms = timeOfRow(load<u32>(sel + ((<usize>i) << 2)));
    const at = (<usize>i) << 3;
    store<i64>(starts + at, <i64>floor(ms - length), COL_VALS);
    store<i64>(ends + at, <i64>floor(ms), COL_VALS);
    store<i64>(triggers + at, <i64>floor(ms), COL_VALS);
  }
  noteTag(starts, Tag.I64, n);
  noteTag(ends, Tag.I64, n);
  noteTag(triggers, Tag.I64, n);
}

// @ts-ignore: decorator
@inline function noteTag(col: usize, tag: u8, n: u32): void {
  memory.fill(col + COL_TAGS, tag, n);
  store<u8>(col, tag, COL_UNIFORM);
}

// @ts-ignore: decorator
@inline function divide<T>(vals: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const at = vals + ((<usize>i) << 3);
    store<T>(at, load<T>(at) / <T>load<u32>(SIZES + ((<usize>i) << 2)));
  }
}

/** Gives rows of the same time the result of the last of them, because each is in the windows of all. */
function joinEqual(spec: WindowSpec, vectors: Vectors, cols: usize, n: u32): void {
  const count = vectors.vectors;
  for (let i = n - 1; i > 0; i--) {
    if (!isSameTime(i - 1)) continue;
    store<u32>(SIZES + ((<usize>(i - 1)) << 2), load<u32>(SIZES + ((<usize>i) << 2)));
    for (let k: u32 = 0; k < count; k++) {
      const at = resultColumn(spec, cols, k) + ((<usize>i) << 3);
      store<u64>(at - 8, load<u64>(at));
    }
  }
}

/** Fills a column with the kept value of the oldest row of each window. */
function fillKept(node: Node, spec: WindowSpec, col: usize, input: u32, n: u32): void {
  const program = node.program;
  const bind = bindOf(input);
  let bound: Page = changetype<Page>(0);
  let uniform = Tag.MIXED;
  let isSame = true;
  for (let i: u32 = 0; i < n; i++) {
    const page = changetype<Page>(load<u32>(PAGES + ((<usize>i) << 2)));
    if (page != bound) {
      bindPage(page, spec, program);
      bound = page;
    }
    const place = load<u32>(PLACES + ((<usize>i) << 2));
    const tag = bindTag(bind, place);
    if (i == 0) uniform = tag;
    else if (tag != uniform) isSame = false;
    store<u8>(col + i, tag, COL_TAGS);
    store<u64>(col + ((<usize>i) << 3), bindVal(bind, place), COL_VALS);
  }
  store<u8>(col, isSame ? uniform : Tag.MIXED, COL_UNIFORM);
}

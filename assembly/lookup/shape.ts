// Shapes: the lists of names that rows of a table have in common, so that a row holds values alone. A table keeps each
// shape once, by the hash of its names, as long as it has rows of it.
//
//   shape   0   next u32 (of its bucket) | hash u32 | count u32 | rows u32 (that have it)
//           16  size u32 | serial u32 (never used twice)
//           24  {off u32, len u32}[count] | names                                      ascending by bytes
//   shapes  mask u32 (buckets - 1) | count u32 | buckets u32 -> u32[mask + 1] | 0 u32
import { alloc, allocZeroed, free } from '../mem/alloc';
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE } from '../mem/layout';
import { bytesEqual, bytesHash } from '../value/bytes';

const SHAPE_HASH: usize = 4;
const SHAPE_COUNT: usize = 8;
const SHAPE_ROWS: usize = 12;
const SHAPE_SIZE: usize = 16;
const SHAPE_SERIAL: usize = 20;
const SHAPE_NAMES: usize = 24;
const SHAPES_COUNT: usize = 4;
const SHAPES_BUCKETS: usize = 8;
const SHAPES_SIZE: u32 = 16;
const FIRST_BUCKETS: u32 = 16;
/** Numbers and texts may be read by words of 16 bytes. */
const SLACK: u32 = 16;

let lastSerial: u32 = 0;

/** The shapes of a table, none yet; 0 when memory is exhausted. */
export function shapesNew(acct: usize): usize {
  const shapes = allocZeroed(SHAPES_SIZE, acct);
  const buckets: usize = shapes ? allocZeroed(FIRST_BUCKETS << 2, acct) : 0;
  if (!buckets) {
    free(shapes, SHAPES_SIZE, acct);
    return 0;
  }
  store<u32>(shapes, FIRST_BUCKETS - 1);
  store<u32>(shapes, <u32>buckets, SHAPES_BUCKETS);
  return shapes;
}

/** Frees the list; no rows are left. */
export function shapesFree(shapes: usize, acct: usize): void {
  if (!shapes) return;
  free(<usize>load<u32>(shapes, SHAPES_BUCKETS), (load<u32>(shapes) + 1) << 2, acct);
  free(shapes, SHAPES_SIZE, acct);
}

// @ts-ignore: decorator
@inline function bucketAt(shapes: usize, hash: u32): usize {
  return <usize>load<u32>(shapes, SHAPES_BUCKETS) + ((<usize>(hash & load<u32>(shapes))) << 2);
}

/** Spreads the shapes over twice as many buckets; without memory for them they stay as they are. */
function grow(shapes: usize, acct: usize): void {
  const before = load<u32>(shapes) + 1;
  const old = <usize>load<u32>(shapes, SHAPES_BUCKETS);
  const wider: usize = before < 1 << 26 ? allocZeroed(before << 3, acct) : 0;
  if (!wider) return;
  store<u32>(shapes, (before << 1) - 1);
  store<u32>(shapes, <u32>wider, SHAPES_BUCKETS);
  for (let i: u32 = 0; i < before; i++) {
    let shape = <usize>load<u32>(old + ((<usize>i) << 2));
    while (shape) {
      const next = <usize>load<u32>(shape);
      const bucket = bucketAt(shapes, load<u32>(shape, SHAPE_HASH));
      store<u32>(shape, load<u32>(bucket));
      store<u32>(bucket, <u32>shape);
      shape = next;
    }
  }
  free(old, before << 2, acct);
}

// @ts-ignore: decorator
@inline export function shapeCount(shape: usize): u32 {
  return load<u32>(shape, SHAPE_COUNT);
}

/** Tells the shape from all others that there are and were. */
// @ts-ignore: decorator
@inline export function shapeSerial(shape: usize): u32 {
  return load<u32>(shape, SHAPE_SERIAL);
}

// @ts-ignore: decorator
@inline export function shapeName(shape: usize, i: u32): usize {
  return <usize>load<u32>(shape + ((<usize>i) << 3), SHAPE_NAMES);
}

// @ts-ignore: decorator
@inline export function shapeNameLen(shape: usize, i: u32): u32 {
  return load<u32>(shape + ((<usize>i) << 3), SHAPE_NAMES + 4);
}

/** Place of the name, -1 when the shape does not have it. */
export function shapeFind(shape: usize, name: usize, len: u32): i32 {
  const count = shapeCount(shape);
  for (let i: u32 = 0; i < count; i++) {
    if (shapeNameLen(shape, i) == len && bytesEqual(shapeName(shape, i), name, len)) return <i32>i;
  }
  return -1;
}

/** The shape has the names of these members. */
function shapeFits(shape: usize, members: usize, count: u32): bool {
  if (shapeCount(shape) != count) return false;
  for (let i: u32 = 0; i < count; i++, members += MEMBER_SIZE) {
    const len = load<u32>(members, MEMBER_KEY_LEN);
    if (shapeNameLen(shape, i) != len) return false;
    if (!bytesEqual(shapeName(shape, i), <usize>load<u32>(members, MEMBER_KEY_OFF), len)) return false;
  }
  return true;
}

/** The shape of an object with these members; 0 when memory is exhausted. It goes away with `shapeLeave`. */
export function shapeOf(shapes: usize, members: usize, count: u32, acct: usize): usize {
  let hash = count;
  for (let i: u32 = 0; i < count; i++) {
    const member = members + <usize>(i * MEMBER_SIZE);
    hash = hash * 31 + bytesHash(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
  }
  for (let shape = <usize>load<u32>(bucketAt(shapes, hash)); shape; shape = <usize>load<u32>(shape)) {
    if (load<u32>(shape, SHAPE_HASH) == hash && shapeFits(shape, members, count)) return shape;
  }
  return shapeNew(shapes, hash, members, count, acct);
}

function shapeNew(shapes: usize, hash: u32, members: usize, count: u32, acct: usize): usize {
  let size: u64 = SHAPE_NAMES + ((<u64>count) << 3) + SLACK;
  for (let i: u32 = 0; i < count; i++) size += load<u32>(members + <usize>(i * MEMBER_SIZE), MEMBER_KEY_LEN);
  const shape: usize = size > 0x7fffffff ? 0 : alloc(<u32>size, acct);
  if (!shape) return 0;
  if (load<u32>(shapes, SHAPES_COUNT) > load<u32>(shapes)) grow(shapes, acct);
  const bucket = bucketAt(shapes, hash);
  store<u32>(shape, load<u32>(bucket));
  store<u32>(shape, hash, SHAPE_HASH);
  store<u32>(shape, count, SHAPE_COUNT);
  store<u32>(shape, 0, SHAPE_ROWS);
  store<u32>(shape, <u32>size, SHAPE_SIZE);
  store<u32>(shape, ++lastSerial, SHAPE_SERIAL);
  let to = shape + SHAPE_NAMES + ((<usize>count) << 3);
  for (let i: u32 = 0; i < count; i++, members += MEMBER_SIZE) {
    const len = load<u32>(members, MEMBER_KEY_LEN);
    memory.copy(to, <usize>load<u32>(members, MEMBER_KEY_OFF), len);
    store<u32>(shape + ((<usize>i) << 3), <u32>to, SHAPE_NAMES);
    store<u32>(shape + ((<usize>i) << 3), len, SHAPE_NAMES + 4);
    to += len;
  }
  store<u32>(bucket, <u32>shape);
  store<u32>(shapes, load<u32>(shapes, SHAPES_COUNT) + 1, SHAPES_COUNT);
  return shape;
}

/** A row has the shape. */
// @ts-ignore: decorator
@inline export function shapeJoin(shape: usize): void {
  store<u32>(shape, load<u32>(shape, SHAPE_ROWS) + 1, SHAPE_ROWS);
}

/** A row has it no longer. */
export function shapeLeave(shapes: usize, shape: usize, acct: usize): void {
  store<u32>(shape, load<u32>(shape, SHAPE_ROWS) - 1, SHAPE_ROWS);
  shapeDrop(shapes, shape, acct);
}

/** Frees a shape that no row has. */
export function shapeDrop(shapes: usize, shape: usize, acct: usize): void {
  if (load<u32>(shape, SHAPE_ROWS)) return;
  let at = bucketAt(shapes, load<u32>(shape, SHAPE_HASH));
  while (<usize>load<u32>(at) != shape) at = <usize>load<u32>(at);
  store<u32>(at, load<u32>(shape));
  store<u32>(shapes, load<u32>(shapes, SHAPES_COUNT) - 1, SHAPES_COUNT);
  free(shape, load<u32>(shape, SHAPE_SIZE), acct);
}

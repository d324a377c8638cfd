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

/** Names that rows have in common. */
// @ts-ignore: decorator
@unmanaged
export class RowShape {
  next: RowShape;
  hash: u32;
  count: u32;
  rows: u32;
  size: u32;
  serial: u32;
}

const SHAPE_NAMES: usize = 24;
/** The shapes of a table. */
// @ts-ignore: decorator
@unmanaged
export class RowShapes {
  mask: u32;
  count: u32;
  buckets: usize;
}

const SHAPES_SIZE: u32 = 16;
const FIRST_BUCKETS: u32 = 16;
/** Numbers and texts may be read by words of 16 bytes. */
const SLACK: u32 = 16;

let lastSerial: u32 = 0;

/** The shapes of a table, none yet; 0 when memory is exhausted. */
export function shapesNew(acct: usize): RowShapes {
  const shapes = changetype<RowShapes>(allocZeroed(SHAPES_SIZE, acct));
  const buckets: usize = shapes ? allocZeroed(FIRST_BUCKETS << 2, acct) : 0;
  if (!buckets) {
    free(changetype<usize>(shapes), SHAPES_SIZE, acct);
    return changetype<RowShapes>(0);
  }
  shapes.mask = FIRST_BUCKETS - 1;
  shapes.buckets = buckets;
  return shapes;
}

/** Frees the list; no rows are left. */
export function shapesFree(shapes: RowShapes, acct: usize): void {
  if (!shapes) return;
  free(shapes.buckets, (shapes.mask + 1) << 2, acct);
  free(changetype<usize>(shapes), SHAPES_SIZE, acct);
}

// @ts-ignore: decorator
@inline function bucketAt(shapes: RowShapes, hash: u32): usize {
  return shapes.buckets + ((<usize>(hash & shapes.mask)) << 2);
}

/** Spreads the shapes over twice as many buckets; without memory for them they stay as they are. */
function grow(shapes: RowShapes, acct: usize): void {
  const before = shapes.mask + 1;
  const old = shapes.buckets;
  const wider: usize = before < 1 << 26 ? allocZeroed(before << 3, acct) : 0;
  if (!wider) return;
  shapes.mask = (before << 1) - 1;
  shapes.buckets = wider;
  for (let i: u32 = 0; i < before; i++) {
    let shape = changetype<RowShape>(load<u32>(old + ((<usize>i) << 2)));
    while (shape) {
      const next = shape.next;
      const bucket = bucketAt(shapes, shape.hash);
      shape.next = changetype<RowShape>(load<u32>(bucket));
      store<u32>(bucket, changetype<u32>(shape));
      shape = next;
    }
  }
  free(old, before << 2, acct);
}

// @ts-ignore: decorator
@inline export function shapeCount(shape: RowShape): u32 {
  return shape.count;
}

/** Serial of the shape, which no other shape has or had. */
// @ts-ignore: decorator
@inline export function shapeSerial(shape: RowShape): u32 {
  return shape.serial;
}

// @ts-ignore: decorator
@inline export function shapeName(shape: RowShape, i: u32): usize {
  return <usize>load<u32>(changetype<usize>(shape) + ((<usize>i) << 3), SHAPE_NAMES);
}

// @ts-ignore: decorator
@inline export function shapeNameLen(shape: RowShape, i: u32): u32 {
  return load<u32>(changetype<usize>(shape) + ((<usize>i) << 3), SHAPE_NAMES + 4);
}

/** Place of the name, -1 when the shape does not have it. */
export function shapeFind(shape: RowShape, name: usize, len: u32): i32 {
  const count = shapeCount(shape);
  for (let i: u32 = 0; i < count; i++) {
    if (shapeNameLen(shape, i) == len && bytesEqual(shapeName(shape, i), name, len)) return <i32>i;
  }
  return -1;
}

/** True when the shape has the names of these members. */
function shapeFits(shape: RowShape, members: usize, count: u32): bool {
  if (shapeCount(shape) != count) return false;
  for (let i: u32 = 0; i < count; i++, members += MEMBER_SIZE) {
    const len = load<u32>(members, MEMBER_KEY_LEN);
    if (shapeNameLen(shape, i) != len) return false;
    if (!bytesEqual(shapeName(shape, i), <usize>load<u32>(members, MEMBER_KEY_OFF), len)) return false;
  }
  return true;
}

/** The shape of an object with these members; 0 when memory is exhausted. It goes away with `shapeLeave`. */
export function shapeOf(shapes: RowShapes, members: usize, count: u32, acct: usize): RowShape {
  let hash = count;
  for (let i: u32 = 0; i < count; i++) {
    const member = members + <usize>(i * MEMBER_SIZE);
    hash = hash * 31 + bytesHash(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
  }
  for (let shape = changetype<RowShape>(load<u32>(bucketAt(shapes, hash))); shape; shape = shape.next) {
    if (shape.hash == hash && shapeFits(shape, members, count)) return shape;
  }
  return shapeNew(shapes, hash, members, count, acct);
}

function shapeNew(shapes: RowShapes, hash: u32, members: usize, count: u32, acct: usize): RowShape {
  let size: u64 = SHAPE_NAMES + ((<u64>count) << 3) + SLACK;
  for (let i: u32 = 0; i < count; i++) size += load<u32>(members + <usize>(i * MEMBER_SIZE), MEMBER_KEY_LEN);
  const shape: RowShape = size > 0x7fffffff ? changetype<RowShape>(0) : changetype<RowShape>(alloc(<u32>size, acct));
  if (!shape) return changetype<RowShape>(0);
  if (shapes.count > shapes.mask) grow(shapes, acct);
  const bucket = bucketAt(shapes, hash);
  shape.next = changetype<RowShape>(load<u32>(bucket));
  shape.hash = hash;
  shape.count = count;
  shape.rows = 0;
  shape.size = <u32>size;
  shape.serial = ++lastSerial;
  let to = changetype<usize>(shape) + SHAPE_NAMES + ((<usize>count) << 3);
  for (let i: u32 = 0; i < count; i++, members += MEMBER_SIZE) {
    const len = load<u32>(members, MEMBER_KEY_LEN);
    memory.copy(to, <usize>load<u32>(members, MEMBER_KEY_OFF), len);
    store<u32>(changetype<usize>(shape) + ((<usize>i) << 3), <u32>to, SHAPE_NAMES);
    store<u32>(changetype<usize>(shape) + ((<usize>i) << 3), len, SHAPE_NAMES + 4);
    to += len;
  }
  store<u32>(bucket, changetype<u32>(shape));
  shapes.count++;
  return shape;
}

/** Counts in a row that has the shape. */
// @ts-ignore: decorator
@inline export function shapeJoin(shape: RowShape): void {
  shape.rows++;
}

/** Counts out a row that had the shape, and frees a shape without rows. */
export function shapeLeave(shapes: RowShapes, shape: RowShape, acct: usize): void {
  shape.rows--;
  shapeDrop(shapes, shape, acct);
}

/** Frees a shape that no row has. */
export function shapeDrop(shapes: RowShapes, shape: RowShape, acct: usize): void {
  if (shape.rows) return;
  let at = bucketAt(shapes, shape.hash);
  while (<usize>load<u32>(at) != changetype<usize>(shape)) at = <usize>load<u32>(at);
  store<u32>(at, changetype<usize>(shape.next));
  shapes.count--;
  free(changetype<usize>(shape), shape.size, acct);
}

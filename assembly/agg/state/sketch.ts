// Sketches of numbers for percentiles (DDSketch): counts of values in buckets whose bounds grow by a fixed factor, so
// that the middle of a bucket is within 1 % of all values in it. Two sketches make one by adding their counts.
//
//   sketch   total u64 | zeros u64 | min f64 | max f64 | positive store 16 | negative store 16     (by absolute values)
//   store    counts u32 -> u64[capacity] | first key i32 | capacity u32 | 0
//
// A store has at most MAX_BUCKETS buckets, enough for 17 decades; beyond those the values nearest to zero share one.
import { Pool, poolAlloc } from '../../mem/pool';
import { LoadFault } from '../../gen/state-layouts';
import { readFail, readFails, readU32, readU64, readUpTo } from '../../state/reader';
import { writeU32, writeU64 } from '../../state/writer';

/** A sketch of numbers. */
// @ts-ignore: decorator
@unmanaged
export class Sketch {
  total: u64;
  zeros: u64;
  min: f64;
  max: f64;

  get positive(): Buckets {
    return changetype<Buckets>(changetype<usize>(this) + POSITIVE);
  }

  get negative(): Buckets {
    return changetype<Buckets>(changetype<usize>(this) + NEGATIVE);
  }
}

const POSITIVE: usize = 32;
const NEGATIVE: usize = 48;
const SKETCH_SIZE: u32 = 64;

/** Counts of the values of one sign. */
// @ts-ignore: decorator
@unmanaged
class Buckets {
  counts: usize;
  first: i32;
  capacity: i32;
}

const MAX_BUCKETS: i32 = 2048;
const FEW_BUCKETS: i32 = 32;

/** Largest relative error of a value. */
const ACCURACY: f64 = 0.01;
const FACTOR: f64 = (1 + ACCURACY) / (1 - ACCURACY);
/** Natural logarithm of FACTOR. */
const LOG_FACTOR: f64 = 0.020000666706669435;

/** A sketch without values; 0 when memory is exhausted. */
export function sketchNew(pool: Pool): Sketch {
  const sketch = changetype<Sketch>(poolAlloc(pool, SKETCH_SIZE));
  if (!sketch) return changetype<Sketch>(0);
  memory.fill(changetype<usize>(sketch), 0, SKETCH_SIZE);
  sketch.min = Infinity;
  sketch.max = -Infinity;
  return sketch;
}

/**
 * Adds a finite number. When memory is exhausted the number is lost, and the count of refusals grows (mem/alloc.ts).
 */
export function sketchAdd(pool: Pool, sketch: Sketch, x: f64): void {
  sketch.total++;
  if (x < sketch.min) sketch.min = x;
  if (x > sketch.max) sketch.max = x;
  if (x == 0) sketch.zeros++;
  else count(pool, changetype<Buckets>(changetype<usize>(sketch) + (x > 0 ? POSITIVE : NEGATIVE)), keyOf(abs(x)), 1);
}

/** Adds all values of another sketch. */
export function sketchMerge(pool: Pool, to: Sketch, from: Sketch): void {
  to.total += from.total;
  to.zeros += from.zeros;
  to.min = min(to.min, from.min);
  to.max = max(to.max, from.max);
  addStore(pool, to.positive, from.positive);
  addStore(pool, to.negative, from.negative);
}

function addStore(pool: Pool, to: Buckets, from: Buckets): void {
  const first = from.first;
  // From the top, so that a lack of memory shows at once.
  for (let i = from.capacity - 1; i >= 0; i--) {
    const n = countAt(from, i);
    if (n) count(pool, to, first + i, n);
  }
}

/** Number of the bucket of a positive number. */
// @ts-ignore: decorator
@inline function keyOf(x: f64): i32 {
  return <i32>ceil(Math.log(x) / LOG_FACTOR);
}

/** The number that is within ACCURACY of all values in the bucket. */
// @ts-ignore: decorator
@inline function valueOf(key: i32): f64 {
  return (Math.exp(<f64>key * LOG_FACTOR) * 2) / (1 + FACTOR);
}

// @ts-ignore: decorator
@inline function countAt(buckets: Buckets, i: i32): u64 {
  return load<u64>(buckets.counts + ((<usize>i) << 3));
}

function count(pool: Pool, buckets: Buckets, key: i32, n: u64): void {
  let i = key - buckets.first;
  if (i < 0 || i >= buckets.capacity) {
    if (!grow(pool, buckets, key)) return;
    i = max(key - buckets.first, 0);
  }
  const at = buckets.counts + ((<usize>i) << 3);
  store<u64>(at, load<u64>(at) + n);
}

/** Makes room for the key, or only for larger keys where there are too many buckets; false when memory is exhausted. */
function grow(pool: Pool, buckets: Buckets, key: i32): bool {
  const first = buckets.first;
  const capacity = buckets.capacity;
  let low = key;
  let high = key;
  for (let i: i32 = 0; i < capacity; i++) {
    if (!countAt(buckets, i)) continue;
    low = min(low, first + i);
    high = max(high, first + i);
  }
  low = max(low, high - MAX_BUCKETS + 1);
  const wanted = min(max(max(high - low + 1, capacity << 1), FEW_BUCKETS), MAX_BUCKETS);
  // Spare room goes to the side on which the values grow.
  const start = key < first || capacity == 0 ? high - wanted + 1 + (capacity == 0 ? wanted >> 1 : 0) : low;
  if (start == first && wanted == capacity) return true;
  const to = poolAlloc(pool, (<u32>wanted) << 3);
  if (!to) return false;
  memory.fill(to, 0, (<usize>wanted) << 3);
  for (let i: i32 = 0; i < capacity; i++) {
    const at = to + ((<usize>max(first + i - start, 0)) << 3);
    const n = countAt(buckets, i);
    if (n) store<u64>(at, load<u64>(at) + n);
  }
  buckets.counts = to;
  buckets.first = start;
  buckets.capacity = wanted;
  return true;
}

/** The value at the rank p * (count - 1), p from 0 to 1, of a sketch that has values. */
export function sketchQuantile(sketch: Sketch, p: f64): f64 {
  const least = sketch.min;
  const largest = sketch.max;
  const rank = p * <f64>(sketch.total - 1);
  if (rank < 1) return least;
  if (p == 1) return largest;
  return max(least, min(largest, valueAt(sketch, rank)));
}

function valueAt(sketch: Sketch, rank: f64): f64 {
  let seen: u64 = 0;
  let buckets = sketch.negative;
  for (let i = buckets.capacity - 1; i >= 0; i--) {
    seen += countAt(buckets, i);
    if (<f64>seen > rank) return -valueOf(buckets.first + i);
  }
  seen += sketch.zeros;
  if (<f64>seen > rank) return 0;
  buckets = sketch.positive;
  for (let i: i32 = 0; i < buckets.capacity; i++) {
    seen += countAt(buckets, i);
    if (<f64>seen > rank) return valueOf(buckets.first + i);
  }
  return sketch.max;
}

// ---- saved form ------------------------------------------------------------------------------------------------

export function sketchSave(sketch: Sketch): void {
  writeU64(sketch.total);
  writeU64(sketch.zeros);
  writeU64(load<u64>(changetype<usize>(sketch), offsetof<Sketch>('min')));
  writeU64(load<u64>(changetype<usize>(sketch), offsetof<Sketch>('max')));
  saveStore(sketch.positive);
  saveStore(sketch.negative);
}

function saveStore(buckets: Buckets): void {
  const capacity = load<u32>(changetype<usize>(buckets), offsetof<Buckets>('capacity'));
  writeU32(capacity);
  writeU32(load<u32>(changetype<usize>(buckets), offsetof<Buckets>('first')));
  for (let i: u32 = 0; i < capacity; i++) writeU64(countAt(buckets, i));
}

/** Makes a sketch from saved values; 0 when they can't be read (state/reader.ts). */
export function sketchLoad(pool: Pool): Sketch {
  const sketch = sketchNew(pool);
  if (!sketch) {
    readFail(LoadFault.MEMORY);
    return changetype<Sketch>(0);
  }
  sketch.total = readU64();
  sketch.zeros = readU64();
  store<u64>(changetype<usize>(sketch), readU64(), offsetof<Sketch>('min'));
  store<u64>(changetype<usize>(sketch), readU64(), offsetof<Sketch>('max'));
  let sum = sketch.zeros;
  sum += loadStore(pool, sketch.positive);
  sum += loadStore(pool, sketch.negative);
  // A value that is not a finite number would come out as a percentile.
  const isNumbered = isFinite(sketch.min) && isFinite(sketch.max);
  if (!readFails() && (sum != sketch.total || sum == 0 || !isNumbered)) readFail(LoadFault.DAMAGED);
  return readFails() ? changetype<Sketch>(0) : sketch;
}

/** Returns how many values the store has. */
function loadStore(pool: Pool, buckets: Buckets): u64 {
  const capacity = readUpTo(<u32>MAX_BUCKETS);
  const first = <i32>readU32();
  if (readFails() || capacity == 0) return 0;
  const to = poolAlloc(pool, capacity << 3);
  if (!to) {
    readFail(LoadFault.MEMORY);
    return 0;
  }
  // Keys of doubles are not larger.
  if (first < -0x10000 || first > 0x10000) readFail(LoadFault.DAMAGED);
  let sum: u64 = 0;
  for (let i: u32 = 0; i < capacity && !readFails(); i++) {
    const n = readU64();
    store<u64>(to + ((<usize>i) << 3), n);
    sum += n;
  }
  buckets.counts = to;
  buckets.first = first;
  store<u32>(changetype<usize>(buckets), capacity, offsetof<Buckets>('capacity'));
  return sum;
}

// Sketches of numbers for percentiles (DDSketch): counts of values in buckets whose bounds grow by a fixed factor, so
// that the middle of a bucket is within 1 % of all values in it. Two sketches make one by adding their counts.
//
//   sketch   total u64 | zeros u64 | min f64 | max f64 | positive store 16 | negative store 16     (by absolute values)
//   store    counts u32 -> u64[capacity] | first key i32 | capacity u32 | 0
//
// A store has at most MAX_BUCKETS buckets, enough for 17 decades; beyond those the values nearest to zero share one.
import { poolAlloc } from '../../mem/pool';
import { LoadFault } from '../../gen/state-layouts';
import { readFail, readFails, readU32, readU64, readUpTo } from '../../state/reader';
import { writeU32, writeU64 } from '../../state/writer';

const ZEROS: usize = 8;
const MIN: usize = 16;
const MAX: usize = 24;
const POSITIVE: usize = 32;
const NEGATIVE: usize = 48;
const SKETCH_SIZE: u32 = 64;

const FIRST: usize = 4;
const CAPACITY: usize = 8;

const MAX_BUCKETS: i32 = 2048;
const FEW_BUCKETS: i32 = 32;

/** Largest relative error of a value. */
const ACCURACY: f64 = 0.01;
const FACTOR: f64 = (1 + ACCURACY) / (1 - ACCURACY);
/** Natural logarithm of FACTOR. */
const LOG_FACTOR: f64 = 0.020000666706669435;

/** A sketch without values; 0 when memory is exhausted. */
export function sketchNew(pool: usize): usize {
  const sketch = poolAlloc(pool, SKETCH_SIZE);
  if (!sketch) return 0;
  memory.fill(sketch, 0, SKETCH_SIZE);
  store<f64>(sketch, Infinity, MIN);
  store<f64>(sketch, -Infinity, MAX);
  return sketch;
}

/** Adds a finite number; without memory it is lost, which the count of refusals tells (mem/alloc.ts). */
export function sketchAdd(pool: usize, sketch: usize, x: f64): void {
  store<u64>(sketch, load<u64>(sketch) + 1);
  if (x < load<f64>(sketch, MIN)) store<f64>(sketch, x, MIN);
  if (x > load<f64>(sketch, MAX)) store<f64>(sketch, x, MAX);
  if (x == 0) store<u64>(sketch, load<u64>(sketch, ZEROS) + 1, ZEROS);
  else count(pool, sketch + (x > 0 ? POSITIVE : NEGATIVE), keyOf(abs(x)), 1);
}

/** Adds all values of another sketch. */
export function sketchMerge(pool: usize, to: usize, from: usize): void {
  store<u64>(to, load<u64>(to) + load<u64>(from));
  store<u64>(to, load<u64>(to, ZEROS) + load<u64>(from, ZEROS), ZEROS);
  store<f64>(to, min(load<f64>(to, MIN), load<f64>(from, MIN)), MIN);
  store<f64>(to, max(load<f64>(to, MAX), load<f64>(from, MAX)), MAX);
  addStore(pool, to + POSITIVE, from + POSITIVE);
  addStore(pool, to + NEGATIVE, from + NEGATIVE);
}

function addStore(pool: usize, to: usize, from: usize): void {
  const first = load<i32>(from, FIRST);
  // From the top, so that what has no room is known at once.
  for (let i = load<i32>(from, CAPACITY) - 1; i >= 0; i--) {
    const n = countAt(from, i);
    if (n) count(pool, to, first + i, n);
  }
}

/** Number of the bucket of a positive number. */
// @ts-ignore: decorator
@inline function keyOf(x: f64): i32 {
  return <i32>ceil(Math.log(x) / LOG_FACTOR);
}

/** The number that is within ACCURACY of all in the bucket. */
// @ts-ignore: decorator
@inline function valueOf(key: i32): f64 {
  return (Math.exp(<f64>key * LOG_FACTOR) * 2) / (1 + FACTOR);
}

// @ts-ignore: decorator
@inline function countAt(buckets: usize, i: i32): u64 {
  return load<u64>(<usize>load<u32>(buckets) + ((<usize>i) << 3));
}

function count(pool: usize, buckets: usize, key: i32, n: u64): void {
  let i = key - load<i32>(buckets, FIRST);
  if (i < 0 || i >= load<i32>(buckets, CAPACITY)) {
    if (!grow(pool, buckets, key)) return;
    i = max(key - load<i32>(buckets, FIRST), 0);
  }
  const at = <usize>load<u32>(buckets) + ((<usize>i) << 3);
  store<u64>(at, load<u64>(at) + n);
}

/** Makes room for the key, or for those above where there are too many; false when memory is exhausted. */
function grow(pool: usize, buckets: usize, key: i32): bool {
  const first = load<i32>(buckets, FIRST);
  const capacity = load<i32>(buckets, CAPACITY);
  let low = key;
  let high = key;
  for (let i: i32 = 0; i < capacity; i++) {
    if (!countAt(buckets, i)) continue;
    low = min(low, first + i);
    high = max(high, first + i);
  }
  low = max(low, high - MAX_BUCKETS + 1);
  const wanted = min(max(max(high - low + 1, capacity << 1), FEW_BUCKETS), MAX_BUCKETS);
  // The room to spare is where the values go.
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
  store<u32>(buckets, <u32>to);
  store<i32>(buckets, start, FIRST);
  store<i32>(buckets, wanted, CAPACITY);
  return true;
}

/** The value at the rank p * (count - 1), p from 0 to 1, of a sketch that has values. */
export function sketchQuantile(sketch: usize, p: f64): f64 {
  const least = load<f64>(sketch, MIN);
  const largest = load<f64>(sketch, MAX);
  const rank = p * <f64>(load<u64>(sketch) - 1);
  if (rank < 1) return least;
  if (p == 1) return largest;
  return max(least, min(largest, valueAt(sketch, rank)));
}

function valueAt(sketch: usize, rank: f64): f64 {
  let seen: u64 = 0;
  let buckets = sketch + NEGATIVE;
  for (let i = load<i32>(buckets, CAPACITY) - 1; i >= 0; i--) {
    seen += countAt(buckets, i);
    if (<f64>seen > rank) return -valueOf(load<i32>(buckets, FIRST) + i);
  }
  seen += load<u64>(sketch, ZEROS);
  if (<f64>seen > rank) return 0;
  buckets = sketch + POSITIVE;
  for (let i: i32 = 0; i < load<i32>(buckets, CAPACITY); i++) {
    seen += countAt(buckets, i);
    if (<f64>seen > rank) return valueOf(load<i32>(buckets, FIRST) + i);
  }
  return load<f64>(sketch, MAX);
}

// ---- saved form ------------------------------------------------------------------------------------------------

export function sketchSave(sketch: usize): void {
  writeU64(load<u64>(sketch));
  writeU64(load<u64>(sketch, ZEROS));
  writeU64(load<u64>(sketch, MIN));
  writeU64(load<u64>(sketch, MAX));
  saveStore(sketch + POSITIVE);
  saveStore(sketch + NEGATIVE);
}

function saveStore(buckets: usize): void {
  const capacity = load<u32>(buckets, CAPACITY);
  writeU32(capacity);
  writeU32(load<u32>(buckets, FIRST));
  for (let i: u32 = 0; i < capacity; i++) writeU64(countAt(buckets, i));
}

/** A sketch of the saved values; 0 when they can't be read (state/reader.ts). */
export function sketchLoad(pool: usize): usize {
  const sketch = sketchNew(pool);
  if (!sketch) {
    readFail(LoadFault.MEMORY);
    return 0;
  }
  store<u64>(sketch, readU64());
  store<u64>(sketch, readU64(), ZEROS);
  store<u64>(sketch, readU64(), MIN);
  store<u64>(sketch, readU64(), MAX);
  let sum = load<u64>(sketch, ZEROS);
  sum += loadStore(pool, sketch + POSITIVE);
  sum += loadStore(pool, sketch + NEGATIVE);
  // What is no number would be sent as a percentile.
  const isNumbered = isFinite(load<f64>(sketch, MIN)) && isFinite(load<f64>(sketch, MAX));
  if (!readFails() && (sum != load<u64>(sketch) || sum == 0 || !isNumbered)) readFail(LoadFault.DAMAGED);
  return readFails() ? 0 : sketch;
}

/** Returns how many values the store has. */
function loadStore(pool: usize, buckets: usize): u64 {
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
  store<u32>(buckets, <u32>to);
  store<i32>(buckets, first, FIRST);
  store<u32>(buckets, capacity, CAPACITY);
  return sum;
}

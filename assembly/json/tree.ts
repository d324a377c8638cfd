// Lists under construction: values of an array or object stand on a stack until the closing bracket, then move to a
// pool as one block. All entries have the form of object members (24 bytes, see mem/layout.ts).
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { Pool, poolAlloc } from '../mem/pool';
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, SLOT_SIZE, SLOT_TAG, Tag, span } from '../mem/layout';

const ORDER: usize = 20; // position in the text while sorting; 0 in finished members

/** Entries that the stack keeps room for between two inputs. */
const KEPT_CAPACITY: u32 = 16384;

let stack: usize = 0;
let capacity: u32 = 0;
/** Entries on the stack. */
export let stacked: u32 = 0;

/** Takes entries above `height` off. */
export function unstack(height: u32): void {
  stacked = height;
}

/** Puts an entry on the stack; false when memory is exhausted. */
export function push(tag: u8, payload: u64, keyOff: usize, keyLen: u32): bool {
  if (stacked == capacity && !growStack()) return false;
  const at = stack + <usize>stacked * MEMBER_SIZE;
  store<u64>(at, payload);
  store<u32>(at, <u32>tag, MEMBER_TAG);
  store<u32>(at, keyLen, MEMBER_KEY_LEN);
  store<u32>(at, <u32>keyOff, MEMBER_KEY_OFF);
  store<u32>(at, stacked, ORDER);
  stacked++;
  return true;
}

function growStack(): bool {
  const more = capacity ? capacity * 2 : 1024;
  if (more > 0x2000000) return false;
  const bigger = alloc(more * MEMBER_SIZE, WORKSPACE);
  if (!bigger) return false;
  if (capacity) {
    memory.copy(bigger, stack, capacity * MEMBER_SIZE);
    free(stack, capacity * MEMBER_SIZE, WORKSPACE);
  }
  stack = bigger;
  capacity = more;
  return true;
}

/** Gives the memory of a stack that was higher than most back. */
export function stackTrim(): void {
  if (capacity <= KEPT_CAPACITY || stacked) return;
  free(stack, capacity * MEMBER_SIZE, WORKSPACE);
  stack = 0;
  capacity = 0;
}

/** Set by takeArray and takeObject. */
export let taken: u64 = 0;

/** Moves the entries above `height` into the pool as an array; false when memory is exhausted. */
export function takeArray(pool: Pool, height: u32): bool {
  const n = stacked - height;
  const to = poolAlloc(pool, n * SLOT_SIZE);
  if (!to) return false;
  for (let i: u32 = 0; i < n; i++) {
    const from = stack + <usize>(height + i) * MEMBER_SIZE;
    store<u64>(to + i * SLOT_SIZE, load<u64>(from));
    store<u64>(to + i * SLOT_SIZE, <u64>load<u8>(from, MEMBER_TAG), SLOT_TAG);
  }
  stacked = height;
  taken = span(to, n);
  return true;
}

/** Moves the entries above `height` into the pool as an object: keys ascending, the last of equal keys. */
export function takeObject(pool: Pool, height: u32): bool {
  const base = stack + <usize>height * MEMBER_SIZE;
  let n = stacked - height;
  let sorted = true;
  for (let i: u32 = 1; i < n; i++) {
    if (compareKeys(base + (i - 1) * MEMBER_SIZE, base + i * MEMBER_SIZE) >= 0) {
      sorted = false;
      break;
    }
  }
  if (!sorted) {
    if (n <= 32) insertionSort(base, n);
    else heapSort(base, n);
    n = dropRepeated(base, n);
  }
  const to = poolAlloc(pool, n * MEMBER_SIZE);
  if (!to) return false;
  for (let i: u32 = 0; i < n; i++) {
    copyMember(to + i * MEMBER_SIZE, base + i * MEMBER_SIZE);
    store<u32>(to + i * MEMBER_SIZE, 0, ORDER);
  }
  stacked = height;
  taken = span(to, n);
  return true;
}

/** As `takeObject`, but the values of equal keys are an array, in the order in which they were put there. */
export function takeGroups(pool: Pool, height: u32): bool {
  const base = stack + <usize>height * MEMBER_SIZE;
  const n = stacked - height;
  if (n <= 32) insertionSort(base, n);
  else heapSort(base, n);
  let kept: u32 = 0;
  for (let from: u32 = 0; from < n; ) {
    const at = base + from * MEMBER_SIZE;
    let next = from + 1;
    while (next < n && compareKeys(at, base + next * MEMBER_SIZE) == 0) next++;
    if (next - from > 1) {
      const items = poolAlloc(pool, (next - from) * SLOT_SIZE);
      if (!items) return false;
      for (let i = from; i < next; i++) {
        const slot = items + (i - from) * SLOT_SIZE;
        store<u64>(slot, load<u64>(base + i * MEMBER_SIZE));
        store<u64>(slot, <u64>load<u8>(base + i * MEMBER_SIZE, MEMBER_TAG), SLOT_TAG);
      }
      store<u64>(at, span(items, next - from));
      store<u32>(at, <u32>Tag.ARRAY, MEMBER_TAG);
    }
    if (kept != from) memory.copy(base + kept * MEMBER_SIZE, at, MEMBER_SIZE);
    kept++;
    from = next;
  }
  stacked = height + kept;
  return takeObject(pool, height);
}

/** Keeps the last of entries with equal keys in a sorted list; returns how many are left. */
function dropRepeated(base: usize, n: u32): u32 {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const at = base + i * MEMBER_SIZE;
    if (i + 1 < n && compareKeys(at, at + MEMBER_SIZE) == 0) continue;
    if (kept != i) memory.copy(base + kept * MEMBER_SIZE, at, MEMBER_SIZE);
    kept++;
  }
  return kept;
}

/** Compares keys, of which up to seven bytes behind the end are read. */
// @ts-ignore: decorator
@inline function compareKeys(a: usize, b: usize): i32 {
  const la = load<u32>(a, MEMBER_KEY_LEN);
  const lb = load<u32>(b, MEMBER_KEY_LEN);
  const ka = <usize>load<u32>(a, MEMBER_KEY_OFF);
  const kb = <usize>load<u32>(b, MEMBER_KEY_OFF);
  const n = min(la, lb);
  if (n) {
    // Numbers with the first byte on top compare as the bytes do.
    const beyond = <u64>(n < 8 ? (8 - n) << 3 : 0);
    const x = bswap(load<u64>(ka)) >> beyond;
    const y = bswap(load<u64>(kb)) >> beyond;
    if (x != y) return x < y ? -1 : 1;
    if (n > 8) {
      const c = memory.compare(ka + 8, kb + 8, n - 8);
      if (c) return c;
    }
  }
  return <i32>la - <i32>lb;
}

// @ts-ignore: decorator
@inline function copyMember(to: usize, from: usize): void {
  v128.store(to, v128.load(from));
  store<u64>(to, load<u64>(from, 16), 16);
}

// @ts-ignore: decorator
@inline function isBefore(a: usize, b: usize): bool {
  const c = compareKeys(a, b);
  return c != 0 ? c < 0 : load<u32>(a, ORDER) < load<u32>(b, ORDER);
}

const HELD: usize = memory.data(32, 16);

function insertionSort(base: usize, n: u32): void {
  for (let i: u32 = 1; i < n; i++) {
    copyMember(HELD, base + i * MEMBER_SIZE);
    let j = i;
    while (j > 0 && isBefore(HELD, base + (j - 1) * MEMBER_SIZE)) {
      copyMember(base + j * MEMBER_SIZE, base + (j - 1) * MEMBER_SIZE);
      j--;
    }
    copyMember(base + j * MEMBER_SIZE, HELD);
  }
}

/** Heap sort: no worst case that a sender could choose. */
function heapSort(base: usize, n: u32): void {
  for (let i = <i32>(n >> 1) - 1; i >= 0; i--) siftDown(base, <u32>i, n);
  for (let last = n - 1; last > 0; last--) {
    const at = base + last * MEMBER_SIZE;
    memory.copy(HELD, base, MEMBER_SIZE);
    memory.copy(base, at, MEMBER_SIZE);
    memory.copy(at, HELD, MEMBER_SIZE);
    siftDown(base, 0, last);
  }
}

function siftDown(base: usize, from: u32, n: u32): void {
  let at = from;
  memory.copy(HELD, base + at * MEMBER_SIZE, MEMBER_SIZE);
  while (true) {
    let child = at * 2 + 1;
    if (child >= n) break;
    if (child + 1 < n && isBefore(base + child * MEMBER_SIZE, base + (child + 1) * MEMBER_SIZE)) child++;
    if (!isBefore(HELD, base + child * MEMBER_SIZE)) break;
    memory.copy(base + at * MEMBER_SIZE, base + child * MEMBER_SIZE, MEMBER_SIZE);
    at = child;
  }
  memory.copy(base + at * MEMBER_SIZE, HELD, MEMBER_SIZE);
}

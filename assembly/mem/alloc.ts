// Memory of everything that outlives a batch. Blocks have no header: the owner knows the size it asked for.
//
// Size classes: multiples of 16 up to 1 KiB, then four steps for each power of two. A freed block goes to the free
// list of its class and serves the next request of that class. Where that list is empty a larger free block is split,
// so that what one rule gave back serves others whatever their sizes; only then a fresh block is cut from the end of
// the heap, which grows the Wasm memory by at least 1 MiB at a time.
//
// Joining: free blocks that touch each other become one again, all in one go, and a free block at the end of the heap
// goes back to it. That happens where a request would grow the memory although a good part of it was given back
// meanwhile, or where it would be refused; what is on the fast path pays nothing for it. The blocks go to lists by the
// MiB that they begin in; a bit for each 16 bytes of one MiB then gives their order, so that the time is that of the
// blocks alone, however many.
//
// Accounting: `acct` is the address of a u64 that counts the bytes held (0: nobody's). Every alloc adds, every free
// subtracts, so the figure of a rule is exact.

const SMALL_CLASSES: u32 = 64;
const CLASSES: u32 = SMALL_CLASSES + 4 * 22;
/**
 * Account of the workspace: blocks, stacks and tables for the batch under way, which all rules share. It grows to what
 * the largest batch needed and never shrinks, so it is no part of what a rule holds.
 */
export const WORKSPACE: usize = memory.data(8, 8);
const FREE_LISTS: usize = memory.data(4 * (64 + 4 * 22), 16);
const PAGE: usize = 65536;
/** The largest class. */
const MAX_CLASS: u32 = 0x80000000;
/** Bytes given back, at least, for blocks to be joined before the memory grows. */
const MIN_JOIN: usize = 4 << 20;
/** Bytes of a line of the cache. */
const LINE: usize = 64;
/** One page less than 4 GiB: the end of the memory must be a number of 32 bits. */
const MAX_PAGES: i32 = 65535;

/** Heads of the lists of free blocks that begin in each MiB, while blocks are joined; zeros otherwise. */
const AREAS: usize = (__heap_base + 63) & ~63;
const AREA_LOG: u32 = 20;
const AREAS_SIZE: usize = 4 << (32 - AREA_LOG);
/** A bit for each 16 bytes of one MiB: a free block begins there. Zeros when no blocks are joined. */
const STARTS: usize = AREAS + AREAS_SIZE;
const STARTS_SIZE: usize = 1 << (AREA_LOG - 4 - 3);
const HEAP: usize = STARTS + STARTS_SIZE;

let top: usize = HEAP;
let limit: usize = (<usize>memory.size()) << 16;
/** Bytes ever handed out, and ever given back. */
let taken: u64 = 0;
let freed: u64 = 0;
/** `freed` when blocks were joined last. */
let freedAtJoin: u64 = 0;
/**
 * Bytes that have to be given back until blocks are joined for a request that would be refused; halved by each refusal.
 */
let patience: u64 = 0;
/**
 * Requests that were refused, of all owners; after many requests in a row one look shows whether one of them failed.
 */
export let refusals: u32 = 0;
/** Pages that the memory may have. */
let maxPages: i32 = MAX_PAGES;

/** Bounds the size of the Wasm memory, bytes; memory that is there already stays. */
export function setMemoryLimit(bytes: f64): void {
  maxPages = <i32>min(bytes / 65536, <f64>MAX_PAGES);
}

/**
 * Pages at the end of the memory, at most, for the work under way (16 MiB, or a sixteenth of the memory). Rules that
 * are full must not keep others from handling their rows.
 */
const MAX_RESERVE: i32 = 256;

/** Pages that may be in use when the owner of the account gets more. */
function mostPages(acct: usize): i32 {
  return acct && acct != WORKSPACE ? maxPages - min(maxPages >> 4, MAX_RESERVE) : maxPages;
}

function grow(pages: i32, acct: usize): bool {
  return memory.size() + pages <= mostPages(acct) && memory.grow(pages) >= 0;
}

function refuse(): usize {
  refusals++;
  return 0;
}

/** Sets the count of refusals back to `before`, for requests that their caller can do without. */
export function forgiveRefusals(before: u32): void {
  refusals = before;
}

/** Notes that something was refused for its size before it came to a request. */
export function noteRefusal(): void {
  refusals++;
}

/** Bytes handed out and not freed, all owners. */
export function bytesInUse(): u64 {
  return taken - freed;
}

/** Bytes of the workspace, part of `bytesInUse`. */
export function bytesOfWorkspace(): u64 {
  return load<u64>(WORKSPACE);
}

// @ts-ignore: decorator
@inline function classOf(size: u32): u32 {
  if (size <= 1024) return size == 0 ? 0 : (size - 1) >> 4;
  const up = size - 1;
  const log = 31 - clz(up); // >= 10
  return SMALL_CLASSES + ((log - 10) << 2) + ((up >> (log - 2)) & 3);
}

// @ts-ignore: decorator
@inline function classSize(cls: u32): u32 {
  if (cls < SMALL_CLASSES) return (cls + 1) << 4;
  const k = cls - SMALL_CLASSES;
  const log = 10 + (k >> 2);
  return ((<u32>1) << log) + (((k & 3) + 1) << (log - 2));
}

/** Bytes a request of this size really takes. */
export function roundedSize(size: u32): u32 {
  return classSize(classOf(size));
}

/**
 * Returns a block of at least `size` bytes, 16-byte aligned, content undefined; 0 when the memory limit is reached
 * (the caller turns that into an error of its rule).
 */
export function alloc(size: u32, acct: usize): usize {
  if (size > 0x7fffffff) return refuse();
  const cls = classOf(size);
  const real = classSize(cls);
  const list = FREE_LISTS + ((<usize>cls) << 2);
  let ptr = <usize>load<u32>(list);
  if (ptr) {
    store<u32>(list, load<u32>(ptr));
  } else if (!(ptr = carve(cls, acct))) return refuse();
  taken += real;
  if (acct) store<u64>(acct, load<u64>(acct) + real);
  return ptr;
}

/** The request under way is one that its caller can do without. */
let isSpare: bool = false;

/**
 * As `alloc` for a block that its caller can do without: a refusal does not count, and no blocks are joined for it,
 * which others may need more.
 */
export function allocSpare(size: u32, acct: usize): usize {
  const before = refusals;
  isSpare = true;
  const ptr = alloc(size, acct);
  isSpare = false;
  refusals = before;
  return ptr;
}

/** A block for which the list of its class has none; 0 when the limit is reached. */
function carve(cls: u32, acct: usize): usize {
  const real = classSize(cls);
  const inUse = taken - freed;
  if (inUse + real > (<u64>mostPages(acct)) << 16) return 0;
  let ptr = splitLarger(cls);
  if (ptr) return ptr;
  if (fits(real)) return cut(real);
  const given = freed - freedAtJoin;
  if (given >= <u64>max(top >> 2, MIN_JOIN) && <u64>(top - HEAP) - inUse >= real && (ptr = joined(cls))) return ptr;
  if (growFor(real, acct)) return cut(real);
  if (isSpare || freed == freedAtJoin) return 0;
  if (given < patience) {
    patience >>= 1;
    return 0;
  }
  ptr = joined(cls);
  // The end of the heap may have come down, but not far enough.
  return ptr ? ptr : growFor(real, acct) ? cut(real) : 0;
}

// @ts-ignore: decorator
@inline function fits(size: u32): bool {
  return <u64>top + size <= <u64>limit;
}

/** Grows the memory so that the end of the heap has room for a block; false when it may not. */
function growFor(size: u32, acct: usize): bool {
  const want = (<u64>top + size - limit + PAGE - 1) >> 16;
  const pages = <i32>max(want, 16);
  if (!grow(pages, acct) && (want >= 16 || !grow(<i32>want, acct))) return false;
  limit = (<usize>memory.size()) << 16;
  return true;
}

/** Takes a block from the end of the heap. One of whole lines of the cache begins at a line, if there is room. */
function cut(size: u32): usize {
  const from = top;
  const line = (top + (LINE - 1)) & ~(LINE - 1);
  const ptr = (size & (<u32>LINE - 1)) != 0 || <u64>line + size > <u64>limit ? from : line;
  top = ptr + size;
  if (ptr != from) give(from, ptr);
  return ptr;
}

/** Joins free blocks and takes a block of the class; 0 when there still is none. */
function joined(cls: u32): usize {
  join();
  const list = FREE_LISTS + ((<usize>cls) << 2);
  const ptr = <usize>load<u32>(list);
  if (ptr) {
    store<u32>(list, load<u32>(ptr));
    return ptr;
  }
  const size = classSize(cls);
  const part = splitLarger(cls);
  return part ? part : fits(size) ? cut(size) : 0;
}

/** Makes one block of each run of free blocks. */
function join(): void {
  spread();
  let from: usize = 0;
  let to: usize = 0;
  for (let area = <i32>((top - 1) >> AREA_LOG); area >= 0; area--) {
    const base = (<usize>area) << AREA_LOG;
    if (!markStarts(area, base)) continue;
    for (let word = <i32>STARTS_SIZE - 8; word >= 0; word -= 8) {
      let bits = load<u64>(STARTS + word);
      if (!bits) continue;
      store<u64>(STARTS + word, 0);
      while (bits) {
        const bit = 63 - clz(bits);
        bits ^= (<u64>1) << bit;
        const block = base + ((((<usize>word) << 3) + <usize>bit) << 4);
        const end = block + load<u32>(block, 4);
        if (end != from) {
          if (from) give(from, to);
          to = end;
        }
        from = block;
      }
    }
  }
  if (from) give(from, to);
  freedAtJoin = freed;
  patience = (<u64>(top - HEAP) - (taken - freed)) >> 3;
}

/** Moves all free blocks to the lists by MiB; a block holds next u32 | size u32 there. */
function spread(): void {
  for (let cls: u32 = 0; cls < CLASSES; cls++) {
    const list = FREE_LISTS + ((<usize>cls) << 2);
    const size = classSize(cls);
    let block = <usize>load<u32>(list);
    store<u32>(list, 0);
    while (block) {
      const next = <usize>load<u32>(block);
      const area = AREAS + ((block >> AREA_LOG) << 2);
      store<u32>(block, load<u32>(area));
      store<u32>(block, size, 4);
      store<u32>(area, <u32>block);
      block = next;
    }
  }
}

/** Marks where the free blocks of one MiB begin, and empties their list; false when there are none. */
function markStarts(area: i32, base: usize): bool {
  const list = AREAS + ((<usize>area) << 2);
  let block = <usize>load<u32>(list);
  if (!block) return false;
  store<u32>(list, 0);
  for (; block; block = <usize>load<u32>(block)) {
    const unit = (block - base) >> 4;
    const word = STARTS + ((unit >> 6) << 3);
    store<u64>(word, load<u64>(word) | ((<u64>1) << (unit & 63)));
  }
  return true;
}

/** Gives a run of free bytes to the end of the heap or to the free lists, cut as their classes are. */
function give(from: usize, to: usize): void {
  if (to == top) {
    top = from;
    return;
  }
  let left = <u32>(to - from);
  while (left) {
    const most = min(left, MAX_CLASS);
    let cls = classOf(most);
    if (classSize(cls) > most) cls--;
    const size = classSize(cls);
    const list = FREE_LISTS + ((<usize>cls) << 2);
    store<u32>(from, load<u32>(list));
    store<u32>(list, <u32>from);
    from += size;
    left -= size;
  }
}

/** Cuts a block of the class from the smallest free block of a larger one; 0 when there is none. */
function splitLarger(cls: u32): usize {
  for (let c = cls + 1; c < CLASSES; c++) {
    const list = FREE_LISTS + ((<usize>c) << 2);
    const ptr = <usize>load<u32>(list);
    if (!ptr) continue;
    store<u32>(list, load<u32>(ptr));
    give(ptr + classSize(cls), ptr + classSize(c));
    return ptr;
  }
  return 0;
}

/** Moves a block of `size` bytes to another account. */
export function accountMove(size: u32, from: usize, to: usize): void {
  const real = roundedSize(size);
  if (from) store<u64>(from, load<u64>(from) - real);
  if (to) store<u64>(to, load<u64>(to) + real);
}

/** As `alloc`, filled with zeros. */
export function allocZeroed(size: u32, acct: usize): usize {
  const ptr = alloc(size, acct);
  if (ptr) memory.fill(ptr, 0, size);
  return ptr;
}

/** Gives a block back; `size` and `acct` as in the call that made it. Freeing 0 does nothing. */
export function free(ptr: usize, size: u32, acct: usize): void {
  if (!ptr) return;
  const cls = classOf(size);
  const real = classSize(cls);
  const list = FREE_LISTS + ((<usize>cls) << 2);
  store<u32>(ptr, load<u32>(list));
  store<u32>(list, <u32>ptr);
  freed += real;
  if (acct) store<u64>(acct, load<u64>(acct) - real);
}

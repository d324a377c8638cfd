// Memory of everything that outlives a batch. Blocks have no header: the owner knows the size it asked for.
//
// Size classes: multiples of 16 up to 1 KiB, then four steps for each power of two. A freed block goes to the free
// list of its class and serves the next request of that class. Where that list is empty a larger free block is split,
// so that what one rule gave back serves others whatever their sizes; only then a fresh block is cut from the end of
// the heap, which grows the Wasm memory by at least 1 MiB at a time. Small blocks are never joined again.
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
/** One page less than 4 GiB: the end of the memory must be a number of 32 bits. */
const MAX_PAGES: i32 = 65535;

let top: usize = (__heap_base + 63) & ~63;
let limit: usize = <usize>memory.size() << 16;
let inUse: u64 = 0;
/** Requests that were refused, of all owners: who makes many requests in a row looks once whether one of them failed. */
export let refusals: u32 = 0;
/** Pages that the memory may have. */
let maxPages: i32 = MAX_PAGES;

/** Bounds the size of the Wasm memory, bytes; what is there already stays. */
export function setMemoryLimit(bytes: f64): void {
  maxPages = <i32>min(bytes / 65536, <f64>MAX_PAGES);
}

/**
 * The last part of the memory, a sixteenth and at most 16 MiB, is for the work under way: rules that are full must not keep
 * others from handling their rows.
 */
const MAX_RESERVE: i32 = 256;

function grow(pages: i32, acct: usize): bool {
  const most = acct && acct != WORKSPACE ? maxPages - min(maxPages >> 4, MAX_RESERVE) : maxPages;
  return memory.size() + pages <= most && memory.grow(pages) >= 0;
}

function refuse(): usize {
  refusals++;
  return 0;
}

/** Notes that something was refused for its size before it came to a request. */
export function noteRefusal(): void {
  refusals++;
}

/** Bytes handed out and not freed, all owners. */
export function bytesInUse(): u64 {
  return inUse;
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
  return (<u32>1 << log) + (((k & 3) + 1) << (log - 2));
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
  const list = FREE_LISTS + (<usize>cls << 2);
  let ptr = <usize>load<u32>(list);
  if (ptr) {
    store<u32>(list, load<u32>(ptr));
  } else if (!(ptr = splitLarger(cls))) {
    if (<u64>top + real > <u64>limit) {
      const want = (<u64>top + real - limit + PAGE - 1) >> 16;
      const pages = <i32>max(want, 16);
      if (!grow(pages, acct) && (want >= 16 || !grow(<i32>want, acct))) return refuse();
      limit = <usize>memory.size() << 16;
    }
    ptr = top;
    top += real;
  }
  inUse += real;
  if (acct) store<u64>(acct, load<u64>(acct) + real);
  return ptr;
}

/** Cuts a block of the class from the smallest free block of a larger one; 0 when there is none. */
function splitLarger(cls: u32): usize {
  for (let c = cls + 1; c < CLASSES; c++) {
    const list = FREE_LISTS + (<usize>c << 2);
    const ptr = <usize>load<u32>(list);
    if (!ptr) continue;
    store<u32>(list, load<u32>(ptr));
    const size = classSize(cls);
    let rest = ptr + size;
    let left = classSize(c) - size;
    while (left) {
      let fit = classOf(left);
      if (classSize(fit) > left) fit--;
      const to = FREE_LISTS + (<usize>fit << 2);
      store<u32>(rest, load<u32>(to));
      store<u32>(to, <u32>rest);
      rest += classSize(fit);
      left -= classSize(fit);
    }
    return ptr;
  }
  return 0;
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
  const list = FREE_LISTS + (<usize>cls << 2);
  store<u32>(ptr, load<u32>(list));
  store<u32>(list, <u32>ptr);
  inUse -= real;
  if (acct) store<u64>(acct, load<u64>(acct) - real);
}

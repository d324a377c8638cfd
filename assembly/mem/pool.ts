// Bump memory in chunks: fast to fill, freed as a whole. Used for the text a batch computes (reset with each batch)
// and for the rows and keys that windows and buffers keep (reset when the window is sent).
//
//   pool   first u32 | cur u32 | end u32 | nextSize u32 | acct u32 | bytes u32 (of all chunks)
//   chunk  next u32 | size u32 | data …
import { copyBytes } from './copy';
import { accountMove, alloc, free, noteRefusal } from './alloc';
import {
  Tag,
  SLOT_SIZE,
  SLOT_TAG,
  MEMBER_SIZE,
  MEMBER_TAG,
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  span,
  offOf,
  lenOf,
} from './layout';

export const POOL_SIZE: u32 = 32;
const FIRST: usize = 0;
const CUR: usize = 4;
const END: usize = 8;
const NEXT_SIZE: usize = 12;
const ACCT: usize = 16;
const BYTES: usize = 20;
const CHUNK_HEAD: u32 = 16;
const MAX_CHUNK: u32 = 65536;

/** Prepares a pool in the POOL_SIZE bytes at `pool`; its first chunk will have `firstChunk` bytes. */
export function poolInit(pool: usize, firstChunk: u32, acct: usize): void {
  memory.fill(pool, 0, POOL_SIZE);
  store<u32>(pool, firstChunk, NEXT_SIZE);
  store<u32>(pool, <u32>acct, ACCT);
}

/** Returns `size` bytes, 8-byte aligned, followed by at least 16 readable bytes; 0 when memory is exhausted. */
// @ts-ignore: decorator
@inline export function poolAlloc(pool: usize, size: u32): usize {
  const cur = <usize>load<u32>(pool, CUR);
  // In 64 bits: a long text behind a high address must not come round to a low one.
  const next = (<u64>cur + size + 7) & ~7;
  if (cur != 0 && next + 16 <= <u64>load<u32>(pool, END)) {
    store<u32>(pool, <u32>next, CUR);
    return cur;
  }
  return poolGrow(pool, size);
}

function poolGrow(pool: usize, size: u32): usize {
  if (size > 0x7fff0000) {
    noteRefusal();
    return 0;
  }
  let want = load<u32>(pool, NEXT_SIZE);
  if (want < MAX_CHUNK) store<u32>(pool, want << 1, NEXT_SIZE);
  const need = size + CHUNK_HEAD + 32;
  if (want < need) want = need;
  const chunk = alloc(want, <usize>load<u32>(pool, ACCT));
  if (!chunk) return 0;
  store<u32>(chunk, load<u32>(pool, FIRST));
  store<u32>(chunk, want, 4);
  store<u32>(pool, <u32>chunk, FIRST);
  store<u32>(pool, load<u32>(pool, BYTES) + want, BYTES);
  const at = chunk + CHUNK_HEAD;
  store<u32>(pool, <u32>((at + size + 7) & ~7), CUR);
  store<u32>(pool, <u32>(chunk + want), END);
  return at;
}

/** Bytes of all chunks of the pool. */
export function poolBytes(pool: usize): u32 {
  return load<u32>(pool, BYTES);
}

/** Bytes of the pool that are in use, with what is left over of its full chunks. */
export function poolUsed(pool: usize): u32 {
  return load<u32>(pool, BYTES) - (load<u32>(pool, END) - load<u32>(pool, CUR));
}

/** The chunk that is filled; with `poolFilled` what `poolReturn` needs to go back to. */
// @ts-ignore: decorator
@inline export function poolChunk(pool: usize): usize {
  return <usize>load<u32>(pool, FIRST);
}

/** How far that chunk is filled. */
// @ts-ignore: decorator
@inline export function poolFilled(pool: usize): usize {
  return <usize>load<u32>(pool, CUR);
}

/** Frees what was added since `poolChunk` and `poolFilled` gave these. */
export function poolReturn(pool: usize, chunk: usize, filled: usize): void {
  if (!chunk) {
    poolReset(pool);
    return;
  }
  const acct = <usize>load<u32>(pool, ACCT);
  let at = <usize>load<u32>(pool, FIRST);
  let bytes = load<u32>(pool, BYTES);
  while (at != chunk) {
    const next = <usize>load<u32>(at);
    const size = load<u32>(at, 4);
    free(at, size, acct);
    bytes -= size;
    at = next;
  }
  store<u32>(pool, bytes, BYTES);
  store<u32>(pool, <u32>chunk, FIRST);
  store<u32>(pool, <u32>filled, CUR);
  store<u32>(pool, <u32>chunk + load<u32>(chunk, 4), END);
}

/**
 * Forgets the content; keeps the newest chunk when it is the only one and of common size, so that a steady state
 * allocates nothing.
 */
export function poolReset(pool: usize): void {
  const first = <usize>load<u32>(pool, FIRST);
  if (!first) return;
  if (load<u32>(first) == 0 && load<u32>(first, 4) <= MAX_CHUNK) {
    store<u32>(pool, <u32>(first + CHUNK_HEAD), CUR);
    return;
  }
  poolFree(pool);
}

/** Frees every chunk; the pool can be used again. */
export function poolFree(pool: usize): void {
  const acct = <usize>load<u32>(pool, ACCT);
  let chunk = <usize>load<u32>(pool, FIRST);
  while (chunk) {
    const next = <usize>load<u32>(chunk);
    free(chunk, load<u32>(chunk, 4), acct);
    chunk = next;
  }
  store<u32>(pool, 0, FIRST);
  store<u32>(pool, 0, CUR);
  store<u32>(pool, 0, END);
  store<u32>(pool, 0, BYTES);
}

/** The pool belongs to another account from now on. */
export function poolMove(pool: usize, to: usize): void {
  const from = <usize>load<u32>(pool, ACCT);
  for (let chunk = <usize>load<u32>(pool, FIRST); chunk; chunk = <usize>load<u32>(chunk))
    accountMove(load<u32>(chunk, 4), from, to);
  store<u32>(pool, <u32>to, ACCT);
}

/** Takes the content of another pool over, which is empty then. */
export function poolTake(pool: usize, from: usize): void {
  const first = <usize>load<u32>(from, FIRST);
  if (!first) return;
  const acct = <usize>load<u32>(from, ACCT);
  poolMove(from, <usize>load<u32>(pool, ACCT));
  let last = first;
  while (load<u32>(last)) last = <usize>load<u32>(last);
  store<u32>(last, load<u32>(pool, FIRST));
  store<u32>(pool, <u32>first, FIRST);
  store<u32>(pool, load<u32>(from, CUR), CUR);
  store<u32>(pool, load<u32>(from, END), END);
  store<u32>(pool, load<u32>(from, NEXT_SIZE), NEXT_SIZE);
  store<u32>(pool, load<u32>(pool, BYTES) + load<u32>(from, BYTES), BYTES);
  poolInit(from, 128, acct);
}

/** Copies bytes into the pool and returns their address (0: memory exhausted). */
export function poolBytesCopy(pool: usize, off: usize, len: u32): usize {
  const to = poolAlloc(pool, len);
  if (to) copyBytes(to, off, len);
  return to;
}

/**
 * Copies a value with everything it refers to into the pool and returns the payload of the copy. Nesting is bounded
 * by the decoder's depth limit. When memory is exhausted the copy is cut to empty; the caller looks at
 * `refusals` (mem/alloc.ts).
 */
export function copyValue(pool: usize, tag: u8, payload: u64): u64 {
  if (tag < Tag.STR || tag == Tag.TIME) return payload;
  const off = offOf(payload);
  const n = lenOf(payload);
  if (tag == Tag.ARRAY) {
    if (!n) return payload;
    const to = poolAlloc(pool, n * SLOT_SIZE);
    if (!to) return 0;
    for (let i: u32 = 0; i < n; i++) {
      const s = off + i * SLOT_SIZE;
      const d = to + i * SLOT_SIZE;
      const t = load<u8>(s, SLOT_TAG);
      store<u64>(d, copyValue(pool, t, load<u64>(s)));
      store<u64>(d, <u64>t, SLOT_TAG);
    }
    return span(to, n);
  }
  if (tag == Tag.OBJECT) {
    const to = poolAlloc(pool, n * MEMBER_SIZE);
    if (!to) return 0;
    for (let i: u32 = 0; i < n; i++) {
      const s = off + i * MEMBER_SIZE;
      const d = to + i * MEMBER_SIZE;
      const t = load<u8>(s, MEMBER_TAG);
      const keyLen = load<u32>(s, MEMBER_KEY_LEN);
      store<u64>(d, copyValue(pool, t, load<u64>(s)));
      store<u32>(d, <u32>t, MEMBER_TAG);
      store<u32>(d, keyLen, MEMBER_KEY_LEN);
      store<u32>(d, <u32>poolBytesCopy(pool, <usize>load<u32>(s, MEMBER_KEY_OFF), keyLen), MEMBER_KEY_OFF);
      store<u32>(d, 0, MEMBER_KEY_OFF + 4);
    }
    return span(to, n);
  }
  const to = poolBytesCopy(pool, off, n);
  return to ? span(to, n) : 0;
}

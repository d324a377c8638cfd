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
/** A pool: memory of its own, freed as a whole. */
// @ts-ignore: decorator
@unmanaged
export class Pool {
  first: usize;
  current: u32;
  end: u32;
  nextSize: u32;
  account: usize;
  bytes: u32;
  private gap24: u64;
}

const CHUNK_HEAD: u32 = 16;
const MAX_CHUNK: u32 = 65536;

/** Prepares a pool in the POOL_SIZE bytes at `pool`; its first chunk will have `firstChunk` bytes. */
export function poolInit(pool: Pool, firstChunk: u32, acct: usize): void {
  memory.fill(changetype<usize>(pool), 0, POOL_SIZE);
  pool.nextSize = firstChunk;
  pool.account = acct;
}

/** Returns `size` bytes, 8-byte aligned, followed by at least 16 readable bytes; 0 when memory is exhausted. */
// @ts-ignore: decorator
@inline export function poolAlloc(pool: Pool, size: u32): usize {
  const cur = <usize>pool.current;
  // In 64 bits: a long text behind a high address must not come round to a low one.
  const next = (<u64>cur + size + 7) & ~7;
  if (cur != 0 && next + 16 <= <u64>pool.end) {
    pool.current = <u32>next;
    return cur;
  }
  return poolGrow(pool, size);
}

function poolGrow(pool: Pool, size: u32): usize {
  if (size > 0x7fff0000) {
    noteRefusal();
    return 0;
  }
  let want = pool.nextSize;
  if (want < MAX_CHUNK) pool.nextSize = want << 1;
  const need = size + CHUNK_HEAD + 32;
  if (want < need) want = need;
  const chunk = alloc(want, pool.account);
  if (!chunk) return 0;
  store<u32>(chunk, pool.first);
  store<u32>(chunk, want, 4);
  pool.first = chunk;
  pool.bytes += want;
  const at = chunk + CHUNK_HEAD;
  pool.current = <u32>((at + size + 7) & ~7);
  pool.end = <u32>(chunk + want);
  return at;
}

/** Bytes of all chunks of the pool. */
export function poolBytes(pool: Pool): u32 {
  return pool.bytes;
}

/** Bytes of the pool that are in use, with what is left over of its full chunks. */
export function poolUsed(pool: Pool): u32 {
  return pool.bytes - (pool.end - pool.current);
}

/** The chunk that is being filled; `poolReturn` needs it, and `poolFilled`, to go back. */
// @ts-ignore: decorator
@inline export function poolChunk(pool: Pool): usize {
  return pool.first;
}

/** Address up to which the chunk of `poolChunk` is filled. */
// @ts-ignore: decorator
@inline export function poolFilled(pool: Pool): usize {
  return <usize>pool.current;
}

/** Frees all that was added since the calls of `poolChunk` and `poolFilled`. */
export function poolReturn(pool: Pool, chunk: usize, filled: usize): void {
  if (!chunk) {
    poolReset(pool);
    return;
  }
  const acct = pool.account;
  let at = pool.first;
  let bytes = pool.bytes;
  while (at != chunk) {
    const next = <usize>load<u32>(at);
    const size = load<u32>(at, 4);
    free(at, size, acct);
    bytes -= size;
    at = next;
  }
  pool.bytes = bytes;
  pool.first = chunk;
  pool.current = <u32>filled;
  pool.end = <u32>chunk + load<u32>(chunk, 4);
}

/**
 * Forgets the content; keeps the newest chunk when it is the only one and of common size, so that a steady state
 * allocates nothing.
 */
export function poolReset(pool: Pool): void {
  const first = pool.first;
  if (!first) return;
  if (load<u32>(first) == 0 && load<u32>(first, 4) <= MAX_CHUNK) {
    pool.current = <u32>(first + CHUNK_HEAD);
    return;
  }
  poolFree(pool);
}

/** Frees every chunk; the pool can be used again. */
export function poolFree(pool: Pool): void {
  const acct = pool.account;
  let chunk = pool.first;
  while (chunk) {
    const next = <usize>load<u32>(chunk);
    free(chunk, load<u32>(chunk, 4), acct);
    chunk = next;
  }
  pool.first = 0;
  pool.current = 0;
  pool.end = 0;
  pool.bytes = 0;
}

/** Moves the pool to another account. */
export function poolMove(pool: Pool, to: usize): void {
  const from = pool.account;
  for (let chunk = pool.first; chunk; chunk = <usize>load<u32>(chunk)) accountMove(load<u32>(chunk, 4), from, to);
  pool.account = to;
}

/** Takes the content of another pool over, and leaves that one empty. */
export function poolTake(pool: Pool, from: Pool): void {
  const first = from.first;
  if (!first) return;
  const acct = from.account;
  poolMove(from, pool.account);
  let last = first;
  while (load<u32>(last)) last = <usize>load<u32>(last);
  store<u32>(last, pool.first);
  pool.first = first;
  pool.current = from.current;
  pool.end = from.end;
  pool.nextSize = from.nextSize;
  pool.bytes += from.bytes;
  poolInit(from, 128, acct);
}

/** Copies bytes into the pool and returns their address (0: memory exhausted). */
export function poolBytesCopy(pool: Pool, off: usize, len: u32): usize {
  const to = poolAlloc(pool, len);
  if (to) copyBytes(to, off, len);
  return to;
}

/**
 * Copies a value with everything it refers to into the pool and returns the payload of the copy. Nesting is bounded
 * by the decoder's depth limit. When memory is exhausted the copy is cut to empty; the caller looks at
 * `refusals` (mem/alloc.ts).
 */
export function copyValue(pool: Pool, tag: u8, payload: u64): u64 {
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

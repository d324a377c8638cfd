// Text under way in a pool: it may grow, and the next one begins where it ends.
import { copyBytes } from '../../mem/copy';
import { span } from '../../mem/layout';
import { Pool, poolAlloc } from '../../mem/pool';
import { valueLimit } from '../../ops/result';

const FIRST_ROOM: u32 = 4096;
/** Bytes behind a text that may be read. */
const PADDING: u32 = 64;

let base: usize = 0;
let at: usize = 0;
let stop: usize = 0;
let into: Pool = changetype<Pool>(0);

/** The texts that follow are in this pool. */
export function textsBegin(pool: Pool): void {
  into = pool;
  base = 0;
  at = 0;
  stop = 0;
}

/** Begins the next text. */
export function textNext(): void {
  base = at;
}

// @ts-ignore: decorator
@inline export function textLength(): u32 {
  return <u32>(at - base);
}

/** The text that ends here, from its byte `from` on. */
export function textFrom(from: u32): u64 {
  return span(base + from, <u32>(at - base) - from);
}

/** Adds bytes; false when the text would be longer than a value may be, or when memory is exhausted. */
export function textAdd(off: usize, len: u32): bool {
  if (at + len > stop && !grow(len)) return false;
  copyBytes(at, off, len);
  at += len;
  return true;
}

export function textAddByte(byte: u32): bool {
  if (at == stop && !grow(1)) return false;
  store<u8>(at++, <u8>byte);
  return true;
}

function grow(len: u32): bool {
  const length = textLength();
  if (<u64>length + len > <u64>valueLimit()) return false;
  const size = max(FIRST_ROOM, (length << 1) + len);
  const to = poolAlloc(into, size + PADDING);
  if (!to) return false;
  copyBytes(to, base, length);
  base = to;
  at = to + length;
  stop = to + size;
  return true;
}

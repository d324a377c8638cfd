// Reads state that state/writer.ts wrote, from bytes that the host gives as they come. A slice is used only after its
// check; lengths and counts are bounded nevertheless.
//
// The first failure stays: from then on everything that is read is 0, empty or MISSING, and nothing is touched. A
// reader of a list calls `readFails` with each item, so that a wrong count ends with the bytes. Other readers may call
// it only at the end.
import { hostStateIn } from '../batch/host';
import { LoadFault } from '../gen/state-layouts';
import { alloc, free, WORKSPACE } from '../mem/alloc';
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  NO_LIST,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
  span,
} from '../mem/layout';
import { Pool, poolAlloc } from '../mem/pool';
import {
  FORMAT,
  HEAD_CHECK,
  HEAD_FLAGS,
  HEAD_FORMAT,
  HEAD_OWN_CHECK,
  MAX_DEPTH,
  SLICE_HEAD,
  SLICE_SIZE,
  SLICE_SLACK,
  SavedTag,
  SliceFlag,
  checkOf,
  headCheckOf,
} from './form';

/** Reason why the part under way can't be read, a LoadFault. */
export let loadFault: u32 = 0;
/** Identity under which the part was saved. */
let partIdentity: u64 = 0;

let slice: usize = 0;
let at: usize = 0;
let end: usize = 0;
let number: u32 = 0;
let flags: u8 = 0;
/** Last whole time that was read of the part; the next time is saved as a difference from it. */
let lastTime: f64 = 0;
/** Reason why the whole sequence ended early, a LoadFault. */
let sequenceFault: u32 = 0;

/** Begins a sequence; false when memory is exhausted. */
export function loadBegin(): bool {
  return loadResume(0);
}

/** As `loadBegin` for a sequence that was left after `slices` slices. */
export function loadResume(slices: u32): bool {
  slice = alloc(SLICE_SIZE + SLICE_SLACK, WORKSPACE);
  if (!slice) return false;
  memory.fill(slice + SLICE_SIZE, 0, SLICE_SLACK);
  at = slice;
  end = slice;
  number = slices;
  flags = SliceFlag.LAST;
  partsLost = 0;
  loadFault = 0;
  sequenceFault = 0;
  return true;
}

/** Frees the memory of the sequence. */
export function loadEnd(): void {
  free(slice, SLICE_SIZE + SLICE_SLACK, WORKSPACE);
  slice = 0;
}

/** Leaves the sequence between two parts; returns the number of slices that were read. */
export function loadPause(): u32 {
  loadEnd();
  return number;
}

/** Notes why the part can't be read; the first reason counts. */
export function readFail(fault: u32): void {
  if (!loadFault) loadFault = fault;
  at = end;
}

// @ts-ignore: decorator
@inline export function readFails(): bool {
  return loadFault != 0;
}

/**
 * Goes to the next part, past the rest of the one under way. False when there is none; `loadFault` then has the reason
 * why the sequence ended early, if it did. A part whose first slice is damaged has no known owner and is passed over;
 * `partsPassed` counts such parts.
 */
export function partNext(): bool {
  for (;;) {
    while (!(flags & (SliceFlag.LAST | SliceFlag.END))) if (!nextSlice()) return endSequence();
    if (flags & SliceFlag.END || !nextSlice()) return endSequence();
    if (flags & SliceFlag.END || !(flags & SliceFlag.FIRST)) {
      if (loadFault || !(flags & SliceFlag.END)) sequenceFault = LoadFault.DAMAGED;
      return endSequence();
    }
    if (loadFault == 0 && end - at >= 8) break;
    partsLost++;
  }
  partIdentity = load<u64>(at);
  at += 8;
  lastTime = 0;
  return true;
}

/** Number of parts whose owner is unknown. */
let partsLost: u32 = 0;

/** Goes to the end of the part; false when it can't be read. */
export function partSkip(): bool {
  while (!(flags & SliceFlag.LAST) && more()) {}
  at = end;
  return loadFault == 0;
}

/** Reason why the part under way, or after the last part the sequence, can't be read: a LoadFault. */
export function loadOutcome(): u32 {
  return loadFault;
}

/** Identity under which the part under way was saved. */
export function partOwner(): u64 {
  return partIdentity;
}

/** Number of parts that were passed over because their owner is unknown. */
export function partsPassed(): u32 {
  return partsLost;
}

function endSequence(): bool {
  loadFault = sequenceFault;
  at = end;
  return false;
}

/** True when the part was read to its end. */
export function partEnds(): bool {
  if (loadFault == 0 && (at != end || !(flags & SliceFlag.LAST))) readFail(LoadFault.DAMAGED);
  return loadFault == 0;
}

/** Reads exactly `len` bytes; false when there are fewer. */
function take(to: usize, len: u32): bool {
  while (len) {
    const got = hostStateIn(to, len);
    if (!got || got > len) return false;
    to += got;
    len -= got;
  }
  return true;
}

/** Reads the next slice; false when the sequence ends here. A slice with wrong content makes its part fail. */
function nextSlice(): bool {
  at = slice;
  end = slice;
  if (sequenceFault) return false;
  if (!take(slice, SLICE_HEAD)) return stop(LoadFault.CUT);
  if (load<u8>(slice, HEAD_FORMAT) != FORMAT) return stop(LoadFault.VERSION);
  const len = load<u32>(slice);
  if (load<u16>(slice, HEAD_OWN_CHECK) != headCheckOf(slice, number) || len > SLICE_SIZE - SLICE_HEAD) {
    return stop(LoadFault.DAMAGED);
  }
  if (!take(slice + SLICE_HEAD, len)) return stop(LoadFault.CUT);
  flags = load<u8>(slice, HEAD_FLAGS);
  if (flags & (SliceFlag.FIRST | SliceFlag.END)) loadFault = 0;
  if (checkOf(slice + SLICE_HEAD, len, number) == load<u64>(slice, HEAD_CHECK)) {
    at = slice + SLICE_HEAD;
    end = at + len;
    memory.fill(end, 0, 16);
  } else readFail(LoadFault.DAMAGED);
  number++;
  return true;
}

function stop(fault: u32): bool {
  sequenceFault = fault;
  readFail(fault);
  return false;
}

/** Goes to the next slice of the part; false when there is none. */
function more(): bool {
  if (loadFault) return false;
  if (flags & SliceFlag.LAST) {
    readFail(LoadFault.DAMAGED);
    return false;
  }
  if (!nextSlice()) return false;
  if (flags & (SliceFlag.FIRST | SliceFlag.END)) {
    // The rest of the part is missing.
    sequenceFault = LoadFault.DAMAGED;
    readFail(LoadFault.DAMAGED);
  }
  return loadFault == 0;
}

/** Reads a version; false when it is missing or not `version`, which the operator reads. */
export function readVersion(version: u32): bool {
  if (readU32() != version) readFail(LoadFault.VERSION);
  return loadFault == 0;
}

export function readU8(): u8 {
  while (at >= end) if (!more()) return 0;
  return load<u8>(at++);
}

// @ts-ignore: decorator
@inline export function readBool(): bool {
  return readU8() != 0;
}

export function readU32(): u32 {
  const x = readU64();
  if (x > u32.MAX_VALUE) {
    readFail(LoadFault.DAMAGED);
    return 0;
  }
  return <u32>x;
}

/** Reads a number that must not be above `most`. */
export function readUpTo(most: u32): u32 {
  const x = readU32();
  if (x <= most) return x;
  readFail(LoadFault.DAMAGED);
  return 0;
}

export function readU64(): u64 {
  if (at < end && load<u8>(at) < 0x80) return load<u8>(at++);
  let x: u64 = 0;
  for (let shift: u64 = 0; shift < 64; shift += 7) {
    const b = <u64>readU8();
    x |= (b & 0x7f) << shift;
    if (b < 0x80) return x;
  }
  readFail(LoadFault.DAMAGED);
  return 0;
}

// @ts-ignore: decorator
@inline export function readI64(): i64 {
  const x = readU64();
  return <i64>(x >> 1) ^ -(<i64>(x & 1));
}

/** Reads a number written by `writeKey`. */
export function readKey(): u64 {
  return readRaw64();
}

function readRaw64(): u64 {
  if (at + 8 <= end) {
    at += 8;
    return load<u64>(at - 8);
  }
  let x: u64 = 0;
  for (let i: u64 = 0; i < 64; i += 8) x |= (<u64>readU8()) << i;
  return loadFault ? 0 : x;
}

export function readF64(): f64 {
  const x = readU64();
  return x & 1 ? readWide(x) : wholeOf(x);
}

/** Reads a time written by `writeTime`. */
export function readTime(): f64 {
  const x = readU64();
  if (x & 1) return readWide(x);
  lastTime += wholeOf(x);
  return lastTime;
}

// @ts-ignore: decorator
@inline function wholeOf(x: u64): f64 {
  return <f64>(<i64>(x >> 2) ^ -(<i64>((x >> 1) & 1)));
}

function readWide(x: u64): f64 {
  if (x != 1) readFail(LoadFault.DAMAGED);
  return reinterpret<f64>(readRaw64());
}

/** Address of the next `len` bytes, which were written together; 0 when they are missing. */
export function readBlock(len: u32): usize {
  if (len && at >= end && !more()) return 0;
  if (loadFault == 0 && len <= <u32>(end - at)) {
    at += len;
    return at - len;
  }
  readFail(LoadFault.DAMAGED);
  return 0;
}

/** Reads `len` bytes to `to`, which has room for them. */
export function readRaw(to: usize, len: u32): void {
  while (len) {
    while (at >= end) if (!more()) return;
    const part = min(len, <u32>(end - at));
    memory.copy(to, at, part);
    at += part;
    to += part;
    len -= part;
  }
}

/** Reads a length in bytes, or a count of items of at least a byte each, that follow. */
export function readLength(): u32 {
  const len = readU32();
  if (canFollow(len)) return len;
  readFail(LoadFault.DAMAGED);
  return 0;
}

/** True when `len` more bytes may follow. */
export function canFollow(len: u32): bool {
  // Only the last slice gives the number of bytes that remain.
  return len <= <u32>(end - at) || (!(flags & SliceFlag.LAST) && len <= 0x7fff0000);
}

/** Reads bytes with their length into the pool, and returns their span as a payload; 0 when they can't be read. */
export function readBytes(pool: Pool): u64 {
  const len = readLength();
  if (loadFault) return 0;
  const to = poolAlloc(pool, len);
  if (!to) {
    readFail(LoadFault.MEMORY);
    return 0;
  }
  readRaw(to, len);
  return loadFault ? 0 : span(to, len);
}

/** Payload of the value read last. */
export let valueRead: u64 = 0;

/** Reads a value into the pool and returns its tag, or SavedTag.ELSEWHERE; `valueRead` is then its payload. */
export function readValue(pool: Pool): u8 {
  return readNested(pool, MAX_DEPTH);
}

function readNested(pool: Pool, depth: u32): u8 {
  const tag = readU8();
  switch (tag) {
    case Tag.MISSING:
    case Tag.NULL:
    case Tag.BOOL:
    case SavedTag.ELSEWHERE:
      valueRead = 0;
      return tag;
    case SavedTag.TRUE:
      valueRead = 1;
      return Tag.BOOL;
    case Tag.I64:
    case Tag.TIME:
      valueRead = <u64>readI64();
      return tag;
    case Tag.F64:
      valueRead = readRaw64();
      return tag;
    case SavedTag.NO_LIST:
      valueRead = NO_LIST;
      return Tag.ARRAY;
    case SavedTag.WHOLE:
      valueRead = reinterpret<u64>(<f64>readI64());
      return Tag.F64;
    case Tag.STR:
    case Tag.BYTES:
    case Tag.ERROR:
      valueRead = readBytes(pool);
      return loadFault ? Tag.MISSING : tag;
    case Tag.ARRAY:
      return readArray(pool, depth);
    case Tag.OBJECT:
      return readObject(pool, depth);
    default:
      readFail(LoadFault.DAMAGED);
      valueRead = 0;
      return Tag.MISSING;
  }
}

/** Room for `n` items of nested values; 0 when memory is exhausted, or they would be nested too deep. */
function roomFor(pool: Pool, n: u32, size: u32, depth: u32): usize {
  valueRead = 0;
  if (loadFault) return 0;
  if (!depth || <u64>n * size > 0x7fff0000) {
    readFail(LoadFault.DAMAGED);
    return 0;
  }
  const to = poolAlloc(pool, n * size);
  if (!to) readFail(LoadFault.MEMORY);
  return to;
}

function readArray(pool: Pool, depth: u32): u8 {
  const n = readLength();
  const to = roomFor(pool, n, SLOT_SIZE, depth);
  if (!to) return Tag.MISSING;
  for (let i: u32 = 0; i < n; i++) {
    const tag = readNested(pool, depth - 1);
    if (loadFault || tag > Tag.ERROR) return failNested();
    const slot = to + i * SLOT_SIZE;
    store<u64>(slot, valueRead);
    store<u64>(slot, <u64>tag, SLOT_TAG);
  }
  valueRead = span(to, n);
  return Tag.ARRAY;
}

function readObject(pool: Pool, depth: u32): u8 {
  const n = readLength();
  const to = roomFor(pool, n, MEMBER_SIZE, depth);
  if (!to) return Tag.MISSING;
  for (let i: u32 = 0; i < n; i++) {
    const key = readBytes(pool);
    const tag = readNested(pool, depth - 1);
    if (loadFault || tag > Tag.ERROR) return failNested();
    const member = to + i * MEMBER_SIZE;
    store<u64>(member, valueRead);
    store<u32>(member, <u32>tag, MEMBER_TAG);
    store<u32>(member, <u32>(key >> 32), MEMBER_KEY_LEN);
    store<u32>(member, <u32>key, MEMBER_KEY_OFF);
    store<u32>(member, 0, MEMBER_KEY_OFF + 4);
  }
  valueRead = span(to, n);
  return Tag.OBJECT;
}

function failNested(): u8 {
  readFail(LoadFault.DAMAGED);
  valueRead = 0;
  return Tag.MISSING;
}

// Writes state in slices (state/form.ts), each handed to the host when it is full. Whatever the size of the state,
// saving takes the memory of one slice. The host can't refuse a slice; its errors are thrown when the kernel has
// returned.
import { hostStateOut } from '../batch/host';
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { copyBytes } from '../mem/copy';
import { Pool, poolAlloc } from '../mem/pool';
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  NO_LIST,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
  lenOf,
  offOf,
} from '../mem/layout';
import {
  FORMAT,
  HEAD_CHECK,
  HEAD_FLAGS,
  HEAD_FORMAT,
  HEAD_OWN_CHECK,
  SLICE_HEAD,
  SLICE_SIZE,
  SLICE_SLACK,
  SavedTag,
  SliceFlag,
  checkOf,
  headCheckOf,
} from './form';

let slice: usize = 0;
/** Address of the next byte, and the end of the slice; numbers may be written up to 16 bytes beyond it. */
let at: usize = 0;
let end: usize = 0;
let number: u32 = 0;
let firstFlag: u8 = 0;
/** Last whole time that was written of the part; the next time is written as a difference from it. */
let lastTime: f64 = 0;

/** The pool of held output, 0 when slices go to the host. */
let holder: Pool = changetype<Pool>(0);
/**
 * Pieces of held output: next u32 | length u32 | bytes; or a list that stays in place: next u32 | LIST u32 | slots u32
 * | count u32.
 */
let heldFirst: usize = 0;
let heldLast: usize = 0;
let holdsAll: bool = false;
const LIST: u32 = 0xffffffff;
const LIST_SIZE: u32 = 16;
/** Values from which a list is held by its address. */
export const LONG_LIST: u32 = 4096;
/** Slice of the sequence, with its place and end, that is left while output is held. */
let sliceBefore: usize = 0;
let atBefore: usize = 0;
let endBefore: usize = 0;

/** Number of bytes that were handed to the host. */
export let bytesSaved: u64 = 0;

/** Begins a sequence; false when memory is exhausted. */
export function saveBegin(): bool {
  return saveResume(0);
}

/** As `saveBegin` for a sequence that was left after `slices` slices. */
export function saveResume(slices: u32): bool {
  slice = alloc(SLICE_SIZE + SLICE_SLACK, WORKSPACE);
  if (!slice) return false;
  at = slice + SLICE_HEAD;
  end = slice + SLICE_SIZE;
  number = slices;
  return true;
}

/** Leaves the sequence between two parts, or in a part that was left. Returns the number of its slices. */
export function savePause(): u32 {
  free(slice, SLICE_SIZE + SLICE_SLACK, WORKSPACE);
  slice = 0;
  return number;
}

/** Ends the sequence and frees its memory. */
export function saveEnd(): void {
  send(SliceFlag.END);
  savePause();
}

/** Begins the part of a node. */
export function partBegin(identity: u64): void {
  firstFlag = SliceFlag.FIRST;
  lastTime = 0;
  writeRaw64(identity);
}

export function partEnd(): void {
  send(SliceFlag.LAST);
}

/** Leaves the part in its middle: bytes written so far go to the host, and the sequence may be left. */
export function partLeave(): void {
  if (at > slice + SLICE_HEAD) send(0);
}

/** Goes on with a part that was left. */
export function partResume(): void {
  firstFlag = 0;
}

/**
 * Holds output in the pool until `holdEnd`, so that `writeHeldSome` can write it later. Long lists are not copied:
 * their values have to stay as they are. False when memory is exhausted.
 */
export function holdBegin(pool: Pool): bool {
  const scratch = alloc(SLICE_SIZE + SLICE_SLACK, WORKSPACE);
  if (!scratch) return false;
  sliceBefore = slice;
  atBefore = at;
  endBefore = end;
  holder = pool;
  slice = scratch;
  at = slice + SLICE_HEAD;
  end = slice + SLICE_SIZE;
  heldFirst = 0;
  holdsAll = true;
  return true;
}

/** The output held since the last call, which must not be empty; 0 when memory was exhausted for it. */
export function holdNext(): usize {
  holdPiece();
  const held = holdsAll ? heldFirst : 0;
  heldFirst = 0;
  holdsAll = true;
  return held;
}

export function holdEnd(): void {
  free(slice, SLICE_SIZE + SLICE_SLACK, WORKSPACE);
  holder = changetype<Pool>(0);
  slice = sliceBefore;
  at = atBefore;
  end = endBefore;
}

function holdPiece(): void {
  const len = <u32>(at - slice) - SLICE_HEAD;
  if (!len) return;
  const piece = poolAlloc(holder, 8 + len);
  if (piece) {
    store<u32>(piece, len, 4);
    memory.copy(piece + 8, slice + SLICE_HEAD, len);
  }
  holdLink(piece);
  at = slice + SLICE_HEAD;
}

function holdList(slots: usize, n: u32): void {
  holdPiece();
  const piece = poolAlloc(holder, LIST_SIZE);
  if (piece) {
    store<u32>(piece, LIST, 4);
    store<u32>(piece, <u32>slots, 8);
    store<u32>(piece, n, 12);
  }
  holdLink(piece);
}

/** Adds a piece behind the others; 0 stands for one that memory was exhausted for. */
function holdLink(piece: usize): void {
  if (!piece) {
    holdsAll = false;
    return;
  }
  store<u32>(piece, 0);
  if (heldFirst) store<u32>(heldLast, <u32>piece);
  else heldFirst = piece;
  heldLast = piece;
}

/** Item of a list with which `writeHeldSome` goes on. */
export let heldItem: u32 = 0;

/**
 * Writes held output from a piece, and an item of its list, on, until `until` bytes are saved in all. Returns the piece
 * to go on with (`heldItem`), 0 when all is written.
 */
export function writeHeldSome(held: usize, item: u32, until: u64): usize {
  let i = item;
  for (let piece = held; piece; piece = <usize>load<u32>(piece)) {
    const len = load<u32>(piece, 4);
    const n = len == LIST ? load<u32>(piece, 12) : 1;
    for (; i < n; i++) {
      if (bytesSaved >= until) {
        heldItem = i;
        return piece;
      }
      if (len == LIST) writeSlot(<usize>load<u32>(piece, 8) + i * SLOT_SIZE);
      else writeRaw(piece + 8, len);
    }
    i = 0;
  }
  return 0;
}

function send(flags: u8): void {
  if (holder) {
    holdPiece();
    return;
  }
  const len = <u32>(at - slice) - SLICE_HEAD;
  store<u32>(slice, len);
  store<u8>(slice, flags | firstFlag, HEAD_FLAGS);
  store<u8>(slice, FORMAT, HEAD_FORMAT);
  store<u16>(slice, headCheckOf(slice, number), HEAD_OWN_CHECK);
  store<u64>(slice, checkOf(slice + SLICE_HEAD, len, number), HEAD_CHECK);
  hostStateOut(slice, SLICE_HEAD + len);
  bytesSaved += SLICE_HEAD + len;
  number++;
  firstFlag = 0;
  at = slice + SLICE_HEAD;
}

/** Makes room for a number in the slice. */
// @ts-ignore: decorator
@inline function room(): void {
  if (at + 16 > end) send(0);
}

/** Writes the version of the form of an operator; `readVersion` refuses others. */
export function writeVersion(version: u32): void {
  writeU32(version);
}

export function writeU8(x: u32): void {
  room();
  store<u8>(at++, <u8>x);
}

// @ts-ignore: decorator
@inline export function writeBool(x: bool): void {
  writeU8(<u32>x);
}

/** Writes a number in 1 to 5 bytes, small ones in fewer. */
// @ts-ignore: decorator
@inline export function writeU32(x: u32): void {
  writeU64(x);
}

/** Writes a number in 1 to 10 bytes, small ones in fewer. */
export function writeU64(x: u64): void {
  room();
  let p = at;
  while (x >= 0x80) {
    store<u8>(p++, <u8>x | 0x80);
    x >>= 7;
  }
  store<u8>(p++, <u8>x);
  at = p;
}

/** Writes a number of either sign; those near 0 in fewer bytes. */
// @ts-ignore: decorator
@inline export function writeI64(x: i64): void {
  writeU64(<u64>((x << 1) ^ (x >> 63)));
}

/** Writes any number in 8 bytes. */
export function writeKey(x: u64): void {
  writeRaw64(x);
}

function writeRaw64(x: u64): void {
  room();
  store<u64>(at, x);
  at += 8;
}

/** True for doubles that are whole numbers, not negative zero, and in the range that varints save in fewer bytes. */
// @ts-ignore: decorator
@inline function isWhole(x: f64): bool {
  return abs(x) < 140737488355328 && <f64>(<i64>x) == x && reinterpret<u64>(x) != 0x8000000000000000;
}

/** Writes a double; times in milliseconds and other whole numbers take fewer bytes. */
export function writeF64(x: f64): void {
  if (isWhole(x)) writeWhole(<i64>x);
  else writeWide(x);
}

/** Writes one of many times in a row: the difference from the one before, where both are whole numbers. */
export function writeTime(ms: f64): void {
  const step = ms - lastTime;
  if (!isWhole(ms) || !isWhole(step)) {
    writeWide(ms);
    return;
  }
  writeWhole(<i64>step);
  lastTime = ms;
}

/** Writes a whole number as an even one. */
// @ts-ignore: decorator
@inline function writeWhole(x: i64): void {
  writeU64((<u64>((x << 1) ^ (x >> 63))) << 1);
}

function writeWide(x: f64): void {
  writeU8(1);
  writeRaw64(reinterpret<u64>(x));
}

/** Writes a length and the bytes. */
export function writeBytes(off: usize, len: u32): void {
  writeU32(len);
  writeRaw(off, len);
}

/** Room for bytes that stand together, at most half a slice; the caller fills it. */
export function writeBlock(len: u32): usize {
  if (at + len > end) send(0);
  const block = at;
  at += len;
  return block;
}

/** Writes bytes whose length the reader knows. */
export function writeRaw(off: usize, len: u32): void {
  if (len <= 64 && at + len <= end) {
    copyBytes(at, off, len);
    at += len;
    return;
  }
  while (len) {
    if (at >= end) send(0);
    const part = min(len, <u32>(end - at));
    memory.copy(at, off, part);
    at += part;
    off += part;
    len -= part;
  }
}

/** Writes the values of a list, without their count. */
export function writeSlots(slots: usize, n: u32): void {
  if (holder && n >= LONG_LIST) holdList(slots, n);
  else for (let i: u32 = 0; i < n; i++) writeSlot(slots + i * SLOT_SIZE);
}

// @ts-ignore: decorator
@inline function writeSlot(slot: usize): void {
  writeValue(load<u8>(slot, SLOT_TAG), load<u64>(slot));
}

/** Writes a value with all memory that it refers to. */
export function writeValue(tag: u8, payload: u64): void {
  switch (tag) {
    case Tag.MISSING:
    case Tag.NULL:
      writeU8(tag);
      return;
    case Tag.BOOL:
      writeU8(payload ? SavedTag.TRUE : Tag.BOOL);
      return;
    case Tag.I64:
    case Tag.TIME:
      writeU8(tag);
      writeI64(<i64>payload);
      return;
    case Tag.F64: {
      const x = reinterpret<f64>(payload);
      if (isWhole(x)) {
        writeU8(SavedTag.WHOLE);
        writeI64(<i64>x);
        return;
      }
      writeU8(tag);
      writeRaw64(payload);
      return;
    }
    case Tag.ARRAY: {
      const n = lenOf(payload);
      if (payload == NO_LIST) {
        writeU8(SavedTag.NO_LIST);
        return;
      }
      writeU8(tag);
      writeU32(n);
      writeSlots(offOf(payload), n);
      return;
    }
    case Tag.OBJECT: {
      const n = lenOf(payload);
      writeU8(tag);
      writeU32(n);
      for (let i: u32 = 0; i < n; i++) {
        const member = offOf(payload) + i * MEMBER_SIZE;
        writeBytes(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
        writeValue(load<u8>(member, MEMBER_TAG), load<u64>(member));
      }
      return;
    }
    default:
      writeU8(tag);
      writeBytes(offOf(payload), lenOf(payload));
  }
}

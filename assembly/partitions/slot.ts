// A value that is kept from row to row. Within a batch it may refer to memory of the batch, or of the node above. Once
// all rows are handed on, that memory is copied into a block of the slot (`slotOwn`). The block of a text, or of bytes,
// is used again as long as it has room. Until then the block stays as it was, because rows under way may refer to it.
//
//   slot   payload u64 | tag u32 (OWNED: what it refers to stands in the block) | block u32, 0 none | room u32 | place
//   u32 (for who needs one
//          while a call is made ready, 0 none)
import { copyBytes } from '../mem/copy';
import { alloc, free } from '../mem/alloc';
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
  lenOf,
  offOf,
  span,
} from '../mem/layout';
import { Pool, poolFree, poolInit } from '../mem/pool';
import { LoadFault } from '../gen/state-layouts';
import { readFail, readFails, readValue, valueRead } from '../state/reader';
import { writeValue } from '../state/writer';

export const KEPT_SIZE: u32 = 24;
const TAG: usize = 8;
const BLOCK: usize = 12;
const ROOM: usize = 16;
const PLACE: usize = 20;
const OWNED: u32 = 0x100;
/** Bytes behind a text that must be readable. */
const SLACK: u32 = 16;
/** Texts up to this length are copied as a block. */
const SHORT: u32 = 16;
/** Size up to which a block stays, however short its text is. */
const LARGE: u32 = 512;

/** Tag of the kept value; MISSING when none was kept. */
// @ts-ignore: decorator
@inline export function keptTag(slot: Pool): u8 {
  return load<u8>(changetype<usize>(slot), TAG);
}

// @ts-ignore: decorator
@inline export function keptVal(slot: Pool): u64 {
  return load<u64>(changetype<usize>(slot));
}

/** True when the value is a copy in the block of the slot, from an earlier batch. */
// @ts-ignore: decorator
@inline export function isOwned(slot: usize): bool {
  return (load<u32>(slot, TAG) & OWNED) != 0;
}

// @ts-ignore: decorator
@inline export function slotPlace(slot: Pool): u32 {
  return load<u32>(changetype<usize>(slot), PLACE);
}

// @ts-ignore: decorator
@inline export function setSlotPlace(slot: Pool, place: u32): void {
  store<u32>(changetype<usize>(slot), place, PLACE);
}

/** Keeps a value. True when it refers to memory, which must be copied into the slot once the batch is handed on. */
// @ts-ignore: decorator
@inline export function keep(slot: Pool, tag: u8, payload: u64): bool {
  store<u64>(changetype<usize>(slot), payload);
  store<u32>(changetype<usize>(slot), tag, TAG);
  return tag >= Tag.STR && tag != Tag.TIME;
}

/** As `slotOwn`, without a call for a value that refers to no memory, or a short text that fits into the block. */
// @ts-ignore: decorator
@inline export function slotSettle(slot: usize, acct: usize): bool {
  const mark = load<u32>(slot, TAG);
  if (mark < Tag.STR || mark >= OWNED) return true;
  if (mark == Tag.STR) {
    const text = load<u64>(slot);
    const len = lenOf(text);
    const room = load<u32>(slot, ROOM);
    // A larger block may have to be freed.
    if (len <= SHORT && room >= SHORT + SLACK && room <= LARGE) {
      const block = <usize>load<u32>(slot, BLOCK);
      v128.store(block, v128.load(offOf(text)));
      store<u64>(slot, span(block, len));
      store<u32>(slot, Tag.STR | OWNED, TAG);
      return true;
    }
  }
  return slotOwn(slot, acct);
}

/**
 * Copies the memory of the value into the block of the slot. False when memory is exhausted: the value is null then.
 */
export function slotOwn(slot: usize, acct: usize): bool {
  const mark = load<u32>(slot, TAG);
  const tag = <u8>mark;
  if (mark & OWNED || tag < Tag.STR || tag == Tag.TIME) return true;
  const payload = load<u64>(slot);
  const need = flatSize(tag, payload) + SLACK;
  const room = load<u32>(slot, ROOM);
  const block = <usize>load<u32>(slot, BLOCK);
  // Parts of a nested value may stand in the block itself, so the value gets another block. A block much larger than
  // its text is freed.
  const isText = tag == Tag.STR || tag == Tag.BYTES;
  if (isText && need <= room && need + 64 >= room >> 3) {
    flatEnd = block;
    store<u64>(slot, flatCopy(tag, payload));
    store<u32>(slot, tag | OWNED, TAG);
    return true;
  }
  const wanted = !isText || need > 0x3fffffff ? need : max<u64>(need + (need >> 2), SHORT + SLACK);
  const other: usize = need > 0x7fffffff ? 0 : alloc(<u32>wanted, acct);
  if (!other) {
    store<u64>(slot, 0);
    store<u32>(slot, Tag.NULL, TAG);
    return false;
  }
  flatEnd = other;
  store<u64>(slot, flatCopy(tag, payload));
  store<u32>(slot, tag | OWNED, TAG);
  store<u32>(slot, <u32>other, BLOCK);
  store<u32>(slot, <u32>wanted, ROOM);
  free(block, room, acct);
  return true;
}

/** Bytes of a copy of the value with all memory that it refers to. */
function flatSize(tag: u8, payload: u64): u64 {
  if (tag < Tag.STR || tag == Tag.TIME) return 0;
  const n = lenOf(payload);
  if (tag == Tag.ARRAY) {
    let size = <u64>n * SLOT_SIZE;
    for (let i: u32 = 0, at = offOf(payload); i < n; i++, at += SLOT_SIZE)
      size += flatSize(load<u8>(at, SLOT_TAG), load<u64>(at));
    return size;
  }
  if (tag == Tag.OBJECT) {
    let size = <u64>n * MEMBER_SIZE;
    for (let i: u32 = 0, at = offOf(payload); i < n; i++, at += MEMBER_SIZE) {
      size += padded(load<u32>(at, MEMBER_KEY_LEN)) + flatSize(load<u8>(at, MEMBER_TAG), load<u64>(at));
    }
    return size;
  }
  return padded(n);
}

// @ts-ignore: decorator
@inline function padded(n: u32): u64 {
  return (<u64>n + 7) & ~7;
}

let flatEnd: usize = 0;

// @ts-ignore: decorator
@inline function flatBytes(at: usize, len: u32): usize {
  const to = flatEnd;
  copyBytes(to, at, len);
  flatEnd = to + <usize>padded(len);
  return to;
}

/** Copies the value to `flatEnd`, which is moved behind the copy; returns its payload. */
function flatCopy(tag: u8, payload: u64): u64 {
  if (tag < Tag.STR || tag == Tag.TIME) return payload;
  const n = lenOf(payload);
  let at = offOf(payload);
  if (tag == Tag.ARRAY) {
    if (!n) return payload;
    const to = flatEnd;
    flatEnd += <usize>n * SLOT_SIZE;
    for (let i: u32 = 0; i < n; i++, at += SLOT_SIZE) {
      const item = load<u8>(at, SLOT_TAG);
      store<u64>(to + i * SLOT_SIZE, flatCopy(item, load<u64>(at)));
      store<u64>(to + i * SLOT_SIZE, <u64>item, SLOT_TAG);
    }
    return span(to, n);
  }
  if (tag == Tag.OBJECT) {
    const to = flatEnd;
    flatEnd += <usize>n * MEMBER_SIZE;
    for (let i: u32 = 0; i < n; i++, at += MEMBER_SIZE) {
      const member = to + i * MEMBER_SIZE;
      const item = load<u8>(at, MEMBER_TAG);
      const keyLen = load<u32>(at, MEMBER_KEY_LEN);
      store<u64>(member, flatCopy(item, load<u64>(at)));
      store<u32>(member, <u32>item, MEMBER_TAG);
      store<u32>(member, keyLen, MEMBER_KEY_LEN);
      store<u32>(member, <u32>flatBytes(<usize>load<u32>(at, MEMBER_KEY_OFF), keyLen), MEMBER_KEY_OFF);
      store<u32>(member, 0, MEMBER_KEY_OFF + 4);
    }
    return span(to, n);
  }
  return span(flatBytes(at, n), n);
}

export function slotFree(slot: usize, acct: usize): void {
  free(<usize>load<u32>(slot, BLOCK), load<u32>(slot, ROOM), acct);
}

// @ts-ignore: decorator
@inline export function slotSave(slot: Pool): void {
  writeValue(keptTag(slot), keptVal(slot));
}

const READ_POOL: Pool = changetype<Pool>(memory.data(32, 16));

/** Reads a value into an empty slot. */
export function slotLoad(slot: Pool, acct: usize): void {
  poolInit(READ_POOL, 256, 0);
  const tag = readValue(READ_POOL);
  if (!readFails() && tag < Tag.ERROR) {
    keep(slot, tag, valueRead);
    if (!slotOwn(changetype<usize>(slot), acct)) readFail(LoadFault.MEMORY);
  } else readFail(LoadFault.DAMAGED);
  poolFree(READ_POOL);
}

/** Reads a value and throws it away. */
export function slotPass(): void {
  poolInit(READ_POOL, 256, 0);
  if (readValue(READ_POOL) >= Tag.ERROR) readFail(LoadFault.DAMAGED);
  poolFree(READ_POOL);
}

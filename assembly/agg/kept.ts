// Aggregates over kept values that are not numbers: merge_agg and deduplicate.
import {
  MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, SLOT_SIZE, SLOT_TAG, Tag, lenOf, offOf, span,
} from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import * as ctx from '../flow/context';
import { bytesCompare, bytesHash } from '../value/bytes';
import { Agg } from '../gen/aggregates';
import { G_C, NO_INPUT } from './spec';
import { noMemory } from '../ops/result';
import { textFails } from '../value/text';
import { parameterError } from './error';
import { keyLen, keyOff, keyText } from './key';
import { giveResult } from './result';

function compareKeys(a: usize, b: usize): i32 {
  return bytesCompare(
    <usize>load<u32>(a, MEMBER_KEY_OFF), load<u32>(a, MEMBER_KEY_LEN),
    <usize>load<u32>(b, MEMBER_KEY_OFF), load<u32>(b, MEMBER_KEY_LEN),
  );
}

/** One object with the members of all objects of the list; the last of equal names counts. Null when there is none. */
export function mergeObjects(list: usize): void {
  const n = load<u32>(list, 4);
  if (n == 0) {
    giveResult(Tag.NULL, 0);
    return;
  }
  const slots = <usize>load<u32>(list);
  let off = offOf(load<u64>(slots));
  let count = lenOf(load<u64>(slots));
  // Two blocks take turns.
  let taken: usize = 0;
  let takenRoom: u32 = 0;
  let spare: usize = 0;
  let spareRoom: u32 = 0;
  for (let i: u32 = 1; i < n; i++) {
    const payload = load<u64>(slots + i * SLOT_SIZE);
    const need = count + lenOf(payload);
    if (need > spareRoom) {
      spareRoom = need << 1;
      spare = poolAlloc(ctx.scratch, spareRoom * MEMBER_SIZE);
      if (!spare) {
        giveResult(Tag.ERROR, noMemory('merge_agg'));
        return;
      }
    }
    count = mergeMembers(off, count, offOf(payload), lenOf(payload), spare);
    off = spare;
    const room = spareRoom;
    spare = taken;
    spareRoom = takenRoom;
    taken = off;
    takenRoom = room;
  }
  if (count == 0) giveResult(Tag.NULL, 0);
  else giveResult(Tag.OBJECT, span(off, count));
}

/** Merges two ascending member lists to `to`; returns the number of members. */
function mergeMembers(a: usize, aCount: u32, b: usize, bCount: u32, to: usize): u32 {
  const aEnd = a + aCount * MEMBER_SIZE;
  const bEnd = b + bCount * MEMBER_SIZE;
  let at = to;
  while (a < aEnd || b < bEnd) {
    const order = a == aEnd ? 1 : b == bEnd ? -1 : compareKeys(a, b);
    memory.copy(at, order < 0 ? a : b, MEMBER_SIZE);
    at += MEMBER_SIZE;
    if (order <= 0) a += MEMBER_SIZE;
    if (order >= 0) b += MEMBER_SIZE;
  }
  return <u32>(at - to) / MEMBER_SIZE;
}

/**
 * deduplicate: the rows whose value was not there before. With the parameter true all of them, otherwise the last row if
 * its value is new, null if not. With operand c an item is a value and its row, otherwise the value alone.
 */
export function dedupe(agg: usize, list: usize, parameterTag: u8): void {
  const width: u32 = load<u16>(agg, G_C) == NO_INPUT ? 1 : 2;
  const n = load<u32>(list, 4) / width;
  if (n == 0) {
    giveResult(Tag.NULL, 0);
    return;
  }
  if (parameterTag != Tag.BOOL) {
    giveResult(Tag.ERROR, parameterError(Agg.DEDUPLICATE, 'bool', parameterTag, load<u64>(list, 16)));
    return;
  }
  const slots = <usize>load<u32>(list);
  const all = load<u64>(list, 16) != 0;
  let mask: u32 = 15;
  while (mask < n * 2) mask = (mask << 1) + 1;
  // Table of the printed values seen: text u32 | len u32.
  const table = poolAlloc(ctx.scratch, (mask + 1) * 8);
  const result = poolAlloc(ctx.scratch, n * SLOT_SIZE);
  if (!table || !result) {
    giveResult(Tag.ERROR, noMemory('deduplicate'));
    return;
  }
  isFull = false;
  memory.fill(table, 0, (mask + 1) * 8);
  let kept: u32 = 0;
  let isLastNew = false;
  for (let i: u32 = 0; i < n; i++) {
    const slot = slots + i * width * SLOT_SIZE;
    isLastNew = isUnseen(table, mask, slot);
    if (!isLastNew) continue;
    memory.copy(result + kept * SLOT_SIZE, slot + (width - 1) * SLOT_SIZE, SLOT_SIZE);
    kept++;
  }
  if (isFull) giveResult(Tag.ERROR, noMemory('deduplicate'));
  else if (all) giveResult(Tag.ARRAY, span(result, kept));
  else if (isLastNew) {
    const last = result + (kept - 1) * SLOT_SIZE;
    giveResult(load<u8>(last, SLOT_TAG), load<u64>(last));
  } else giveResult(Tag.NULL, 0);
}

/** Set when there was no memory for the text of a value. */
let isFull: bool = false;

function isUnseen(table: usize, mask: u32, slot: usize): bool {
  keyText(load<u8>(slot, SLOT_TAG), load<u64>(slot));
  let hash = bytesHash(keyOff, keyLen);
  let entry = table + (<usize>(hash & mask) << 3);
  while (load<u32>(entry)) {
    if (load<u32>(entry, 4) == keyLen && memory.compare(<usize>load<u32>(entry), keyOff, keyLen) == 0) return false;
    hash++;
    entry = table + (<usize>(hash & mask) << 3);
  }
  const copy = poolAlloc(ctx.scratch, keyLen + 1);
  if (!copy || textFails) {
    isFull = true;
    return true;
  }
  memory.copy(copy, keyOff, keyLen);
  store<u32>(entry, <u32>copy);
  store<u32>(entry, keyLen, 4);
  return true;
}

// merge_agg(x): objects merged, later members win.
import { Agg } from '../../gen/aggregates';
import {
  MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, SLOT_SIZE, Tag, lenOf, offOf, span,
} from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import * as ctx from '../../flow/context';
import { noMemory } from '../../ops/result';
import { bytesCompare } from '../../value/bytes';
import { keepItem, keepParameter } from '../keep';
import { giveResult } from '../result';

export function mergeAggTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  if (keepParameter(set, agg, state, tagAt, row) && tag == Tag.OBJECT) keepItem(set, Agg.MERGE_AGG, state, tagAt, tag, payload);
}

function compareKeys(a: usize, b: usize): i32 {
  return bytesCompare(
    <usize>load<u32>(a, MEMBER_KEY_OFF), load<u32>(a, MEMBER_KEY_LEN),
    <usize>load<u32>(b, MEMBER_KEY_OFF), load<u32>(b, MEMBER_KEY_LEN),
  );
}

/** One object with the members of all objects of the list; the last of equal names counts. Null when there is none. */
function mergeObjects(list: usize): void {
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

export function mergeAggFinish(agg: usize, state: usize, tag: u8): void {
  mergeObjects(state);
}

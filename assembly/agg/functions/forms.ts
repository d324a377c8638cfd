// The forms of states that agg/aggregates.json names, each with its way of saving and loading. The saved form of a
// state that has not failed begins with a value, whose tag is that of the state.
//
// Loaded bytes may be wrong even where their checks are right. Each property that an aggregate relies on is therefore
// checked here, so that the load fails and not the work on later rows.
import { itemFits } from '../../gen/aggregates';
import { LoadFault } from '../../gen/state-layouts';
import { SLOT_SIZE, SLOT_TAG, Tag, lenOf } from '../../mem/layout';
import { Pool, poolAlloc } from '../../mem/pool';
import { readBool, readFail, readFails, readLength, readU32, readU64, readValue, valueRead } from '../../state/reader';
import { writeBool, writeSlots, writeU32, writeU64, writeValue } from '../../state/writer';
import { Sketch, sketchLoad, sketchSave } from '../state/sketch';
import { averageCount, averageSetInts, averageUpper } from './avg';

export function countFormSave(state: usize, tag: u8): void {
  writeValue(Tag.I64, load<u64>(state));
}

export function countFormLoad(fn: u32, pool: Pool, state: usize, tag: u8, payload: u64): void {
  if (tag != Tag.I64) readFail(LoadFault.DAMAGED);
  store<u64>(state, payload);
}

export function sumFormSave(state: usize, tag: u8): void {
  writeValue(tag, load<u64>(state));
}

export function sumFormLoad(fn: u32, pool: Pool, state: usize, tag: u8, payload: u64): void {
  if (!isSum(tag)) readFail(LoadFault.DAMAGED);
  store<u64>(state, payload);
}

/** True for tags that a sum may have; with another tag, a number would be taken for an address. */
function isSum(tag: u8): bool {
  return tag == Tag.MISSING || tag == Tag.I64 || tag == Tag.F64;
}

/** Flag in a saved count: more values follow than earlier releases wrote; those take such a count for damage. */
const MORE: u64 = 1 << 63;

/** Saves the upper half of a sum of integers only if the sum needs more than 64 bits. */
export function averageFormSave(state: usize, tag: u8): void {
  const isWide = tag == Tag.I64 && averageUpper(state) != load<i64>(state) >> 63;
  writeValue(tag, load<u64>(state));
  writeU64(averageCount(state, tag) | (isWide ? MORE : 0));
  if (isWide) writeU64(<u64>averageUpper(state));
}

export function averageFormLoad(fn: u32, pool: Pool, state: usize, tag: u8, payload: u64): void {
  const mark = readU64();
  const count = mark & ~MORE;
  const upper = mark & MORE ? readU64() : <u64>(<i64>payload >> 63);
  // The sum is divided by the count; for integers the quotient must fit in 64 bits.
  const isQuotient = tag == Tag.I64 ? (<i64>upper < 0 ? ~upper : upper) < count : !(mark & MORE);
  if (!isSum(tag) || ((count == 0 || !isQuotient) && tag != Tag.MISSING)) readFail(LoadFault.DAMAGED);
  if (tag != Tag.I64) {
    store<u64>(state, payload);
    store<u64>(state, count, 8);
    return;
  }
  if (count > u32.MAX_VALUE || <i64>upper != <i64>(<i32>upper)) readFail(LoadFault.DAMAGED);
  averageSetInts(state, payload, <i64>upper, <u32>count);
}

/**
 * Saves the sums with MORE. A state saved without it has the mean, the sum of squared distances from it and the count.
 */
export function momentsFormSave(state: usize, tag: u8): void {
  writeValue(tag, load<u64>(state));
  writeU64(load<u64>(state, 16));
  writeU64(load<u64>(state, 8) | MORE);
  for (let at: usize = 24; at < 48; at += 8) writeU64(load<u64>(state + at));
}

export function momentsFormLoad(fn: u32, pool: Pool, state: usize, tag: u8, payload: u64): void {
  const first = readU64();
  const mark = readU64();
  const count = mark & ~MORE;
  store<u64>(state, payload);
  store<u64>(state, count, 8);
  for (let at: usize = 16; at < 48; at += 8) store<u64>(state + at, mark & MORE && at > 16 ? readU64() : 0);
  store<u64>(state + (mark & MORE ? 16 : 32), first);
  if (tag != Tag.MISSING && (tag != Tag.F64 || count == 0)) readFail(LoadFault.DAMAGED);
}

export function valueFormSave(state: usize, tag: u8): void {
  writeValue(tag, load<u64>(state));
  writeBool(load<u32>(state, 12) != 0);
}

/** As `storeValue` for a value that stands in the pool already. */
export function valueFormLoad(fn: u32, pool: Pool, state: usize, tag: u8, payload: u64): void {
  store<u64>(state, payload);
  store<u32>(state, tag == Tag.STR || tag == Tag.BYTES ? lenOf(payload) : 0, 8);
  store<u32>(state, <u32>readBool(), 12);
}

/** Saves the parameter, then the sketch, if there is one. */
export function sketchFormSave(state: usize, tag: u8): void {
  const sketch = changetype<Sketch>(load<u32>(state));
  writeValue(tag, load<u64>(state, 16));
  writeBool(!!sketch);
  if (sketch) sketchSave(sketch);
}

export function sketchFormLoad(fn: u32, pool: Pool, state: usize, tag: u8, payload: u64): void {
  store<u64>(state, payload, 16);
  if (!readBool()) return;
  store<u32>(state, changetype<u32>(sketchLoad(pool)));
  store<u32>(state, 1, 4);
}

/** Saves the parameter, then the list. */
export function listFormSave(state: usize, tag: u8): void {
  writeValue(tag, load<u64>(state, 16));
  writeU32(load<u32>(state, 12));
  const n = load<u32>(state, 4);
  const slots = <usize>load<u32>(state);
  writeU32(n);
  writeSlots(slots, n);
}

export function listFormLoad(fn: u32, pool: Pool, state: usize, tag: u8, payload: u64): void {
  store<u64>(state, payload, 16);
  const length = readU32();
  const n = readLength();
  if (readFails()) return;
  const size = <u64>n * SLOT_SIZE;
  const slots: usize = size > 0x7fff0000 ? 0 : poolAlloc(pool, <u32>size);
  if (!slots) {
    readFail(LoadFault.MEMORY);
    return;
  }
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const tag = readValue(pool);
    if (!itemFits(fn, tag)) readFail(LoadFault.DAMAGED);
    store<u64>(slots + i * SLOT_SIZE, valueRead);
    store<u64>(slots + i * SLOT_SIZE, <u64>tag, SLOT_TAG);
  }
  if (readFails()) return;
  store<u32>(state, <u32>slots);
  store<u32>(state, n, 4);
  store<u32>(state, n, 8);
  store<u32>(state, length, 12);
}

export function foldedFormSave(state: usize, tag: u8): void {
  writeValue(tag, load<u64>(state));
}

export function foldedFormLoad(fn: u32, pool: Pool, state: usize, tag: u8, payload: u64): void {
  if (tag != Tag.MISSING && tag != Tag.BYTES) readFail(LoadFault.DAMAGED);
  store<u64>(state, payload);
  store<u32>(state, lenOf(payload), 8);
}

export function joinedFormSave(state: usize, tag: u8): void {
  foldedFormSave(state, tag);
}

export function joinedFormLoad(fn: u32, pool: Pool, state: usize, tag: u8, payload: u64): void {
  foldedFormLoad(fn, pool, state, tag, payload);
}

// The set of elements that functions of lists compare with: open addressing over addresses of slots. One set at a time.
import { alloc, free, WORKSPACE } from '../../mem/alloc';
import { Tag } from '../../mem/layout';
import { noMemory } from '../result';
import { give } from '../row-loops';
import { sameHash } from '../../value/same';
import { itemTag, sameItem } from './items';

/** A table larger than this is not kept for the next list. */
const KEPT: u32 = 65536;

let table: usize = 0;
let size: u32 = 0;
let mask: u32 = 0;

/** Starts a set of at most `most` elements. False, and the error given, when memory is exhausted. */
export function setBegin(name: string, most: u32): bool {
  let capacity: u32 = 16;
  while (capacity < most << 1) capacity <<= 1;
  const bytes = capacity << 2;
  if (bytes > size) {
    if (table) free(table, size, WORKSPACE);
    table = alloc(bytes, WORKSPACE);
    size = table ? bytes : 0;
    if (!table) {
      give(Tag.ERROR, noMemory(name));
      return false;
    }
  }
  mask = capacity - 1;
  memory.fill(table, 0, bytes);
  return true;
}

/** Ends the set. */
export function setEnd(): void {
  if (size <= KEPT) return;
  free(table, size, WORKSPACE);
  table = 0;
  size = 0;
}

/** Address of the element's place in the table, which holds an equal element or 0. */
function placeOf(slot: usize): usize {
  const tag = itemTag(slot);
  const val = load<u64>(slot);
  let i = sameHash(tag, val) & mask;
  while (true) {
    const place = table + ((<usize>i) << 2);
    const known = <usize>load<u32>(place);
    if (!known || sameItem(itemTag(known), load<u64>(known), tag, val)) return place;
    i = (i + 1) & mask;
  }
}

/** Adds the element; true when it was not there. A list or object never is, and is not kept. */
export function setAdd(slot: usize): bool {
  if (itemTag(slot) >= Tag.ARRAY) return true;
  const place = placeOf(slot);
  if (load<u32>(place)) return false;
  store<u32>(place, <u32>slot);
  return true;
}

export function setHas(slot: usize): bool {
  return itemTag(slot) < Tag.ARRAY && load<u32>(placeOf(slot)) != 0;
}

/** Forgets an element of the set: the next equal one is new again. */
export function setForget(slot: usize): void {
  store<u32>(placeOf(slot), <u32>FORGOTTEN);
}

/** Stands where an element was forgotten, and equals nothing. */
const FORGOTTEN: usize = memory.data<u64>([0, 8], 16);

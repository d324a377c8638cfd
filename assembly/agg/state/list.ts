// Growing lists of values inside the state of an aggregate: off u32 | count u32 | capacity u32 | length u32, the items
// being slots, so that a list is the content of an ARRAY as it stands. The length is that of ops/result.ts, of lists
// that are bounded.
import { Pool, poolAlloc } from '../../mem/pool';
import { SLOT_SIZE, SLOT_TAG } from '../../mem/layout';

/** Adds a value to the list; what it refers to must live as long as the pool. False when memory is exhausted. */
export function listPush(pool: Pool, list: usize, tag: u8, payload: u64): bool {
  const count = load<u32>(list, 4);
  if (count == load<u32>(list, 8)) {
    const capacity = count ? count << 1 : 4;
    const to = poolAlloc(pool, capacity * SLOT_SIZE);
    if (!to) return false;
    memory.copy(to, <usize>load<u32>(list), count * SLOT_SIZE);
    store<u32>(list, <u32>to);
    store<u32>(list, capacity, 8);
  }
  const slot = <usize>load<u32>(list) + count * SLOT_SIZE;
  store<u64>(slot, payload);
  store<u64>(slot, <u64>tag, SLOT_TAG);
  store<u32>(list, count + 1, 4);
  return true;
}

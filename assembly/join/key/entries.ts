// Entries of a table (partitions/table.ts) by the keys of a batch of rows of two sides. All keys are looked up before
// the rows are worked on one by one: lookups that do not depend on that work wait for memory together.
import { Bind, bindTag, bindVal } from '../../mem/bind';
import { Tag, lenOf, offOf } from '../../mem/layout';
import { findEntry, findNullEntry, lookEntry, nullEntry } from '../../partitions/table';
import { KeyOutcome, keyLen, keyOff, makeKey } from './bytes';
import { PartitionTable } from '../../partitions/table-slots';

/** Bits that say how the key of a row is looked up. */
export namespace KeyWish {
  /** The row is of the right side. */
  export const RIGHT: u8 = 1;
  /** A key without an entry gets one. */
  export const MAKES: u8 = 2;
  /** The key is not looked up. */
  export const SKIPS: u8 = 4;
}

/** Values in the place of an entry, for keys without one. */
export namespace KeyEntry {
  /** No row has brought the key. */
  export const UNKNOWN: u32 = 0;
  /** The key equals no other. */
  export const NONE: u32 = 1;
  /** The key failed: `makeKey` says why. */
  export const FAILED: u32 = 2;
}

// @ts-ignore: decorator
@inline export function isEntry(entry: u32): bool {
  return entry > KeyEntry.FAILED;
}

/**
 * Writes the entry of each of the rows `sel[0 … n)` to `to`, a u32 each, or a KeyEntry; `wishes` has a byte for each.
 * `keys` keys are bound at `lefts` for rows of the left side and at `rights` for those of the right. False when memory
 * is exhausted.
 */
export function keyEntries(
  table: PartitionTable,
  entrySize: u32,
  keys: u32,
  lefts: usize,
  rights: usize,
  wishes: usize,
  sel: usize,
  n: u32,
  to: usize,
  acct: usize,
): bool {
  const before = table.count;
  let unknown: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const entry = entryOf(table, entrySize, keys, lefts, rights, load<u8>(wishes + i), sel + ((<usize>i) << 2), acct);
    if (!entry) {
      if (load<u8>(wishes + i) & KeyWish.MAKES) return false;
      unknown++;
    }
    store<u32>(to + ((<usize>i) << 2), entry);
  }
  if (!unknown || table.count == before) return true;
  // A later row may have brought the key: rows of one time are worked on in another order.
  for (let i: u32 = 0; i < n; i++) {
    const at = to + ((<usize>i) << 2);
    if (load<u32>(at) != KeyEntry.UNKNOWN) continue;
    store<u32>(at, entryOf(table, entrySize, keys, lefts, rights, load<u8>(wishes + i), sel + ((<usize>i) << 2), acct));
  }
  return true;
}

// @ts-ignore: decorator
@inline function entryOf(
  table: PartitionTable,
  entrySize: u32,
  keys: u32,
  lefts: usize,
  rights: usize,
  wish: u8,
  at: usize,
  acct: usize,
): u32 {
  if (wish & KeyWish.SKIPS) return KeyEntry.NONE;
  const isMade = (wish & KeyWish.MAKES) != 0;
  if (keys == 0) return <u32>(isMade ? findNullEntry(table, entrySize, acct) : changetype<usize>(nullEntry(table)));
  const row = load<u32>(at);
  const binds = select<usize>(rights, lefts, (wish & KeyWish.RIGHT) != 0);
  if (keys == 1 && bindTag(changetype<Bind>(binds), row) == Tag.STR) {
    const text = bindVal(changetype<Bind>(binds), row);
    const known = lookEntry(table, offOf(text), lenOf(text));
    return <u32>(
      (known || !isMade ? changetype<usize>(known) : findEntry(table, entrySize, offOf(text), lenOf(text), acct))
    );
  }
  const outcome = makeKey(binds, keys, row);
  if (outcome != KeyOutcome.KEY) return outcome == KeyOutcome.FAILED ? KeyEntry.FAILED : KeyEntry.NONE;
  return <u32>(
    (isMade ? findEntry(table, entrySize, keyOff, keyLen, acct) : changetype<usize>(lookEntry(table, keyOff, keyLen)))
  );
}

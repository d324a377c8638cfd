// Numbers of buckets, among which rows are divided by their keys.
import { Tag } from '../../mem/layout';
import { valueError } from '../../value/error';
import { isAbsent } from '../numeric';
import { give, giveI64, map2 } from '../row-loops';
import { count, readCount, textOf } from '../string/text-of';
import { checksum } from './crc32';
import { Operation } from '../../gen/ops-layouts';

export function convertBucket(op: Operation): void {
  map2(op, (tag: u8, val: u64, tagB: u8, b: u64): void => {
    if (!readCount(tagB, b)) return;
    if (count < 1 || count > <i64>u32.MAX_VALUE) {
      give(Tag.ERROR, valueError('buckets must be from 1 to 4294967295, not ', tagB, b));
      return;
    }
    const buckets = <u64>count;
    if (isAbsent(tag, val)) {
      giveI64(0);
      return;
    }
    // Hashes of tables are secrets of a kernel, and rows of one key come to one bucket in all of them.
    giveI64(<i64>(<u64>checksum(textOf(tag, val)) % buckets));
  });
}

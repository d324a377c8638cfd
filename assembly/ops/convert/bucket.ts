// Numbers of buckets, among which rows are divided by their keys.
import { Tag } from '../../mem/layout';
import { timeInstant } from '../../text/time';
import { valueError } from '../../value/error';
import { isAbsent } from '../numeric';
import { give, giveI64, map2 } from '../row-loops';
import { count, readCount, textOf } from '../string/text-of';
import { checksum } from './crc32';
import { Operation } from '../../gen/ops-layouts';

/** Whole doubles up to this are exact: each has one integer that equals it. */
const MOST_EXACT: f64 = 9007199254740992;

/** One text for all values that `=` takes for equal: it compares numbers as doubles, and times by their instant. */
function keyText(tag: u8, val: u64): u64 {
  if (tag == Tag.I64 || tag == Tag.F64) {
    const x = tag == Tag.I64 ? <f64>(<i64>val) : reinterpret<f64>(val);
    // This is so for -0, too.
    const isExact = abs(x) <= MOST_EXACT && floor(x) == x;
    return isExact ? textOf(Tag.I64, <u64>(<i64>x)) : textOf(Tag.F64, reinterpret<u64>(x));
  }
  if (tag == Tag.TIME) return textOf(tag, <u64>timeInstant(<i64>val));
  return textOf(tag, val);
}

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
    giveI64(<i64>(<u64>checksum(keyText(tag, val)) % buckets));
  });
}

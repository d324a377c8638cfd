// Parts of texts exchanged for others.
import { Tag, lenOf, offOf, span } from '../../mem/layout';
import { bytesFind } from '../../value/bytes';
import { textBytes, textFails } from '../../value/text';
import { isAbsent } from '../numeric';
import { giveText, resultBegin, shortRoom } from '../result';
import { give, giveNull, map3 } from '../row-loops';
import { exchangeInColumn, isByte, isTextColumn } from './columns';
import { textOf } from './text-of';
import { Operation } from '../../gen/ops-layouts';

export function stringReplace(op: Operation): void {
  if (isTextColumn(op.a) && isByte(op.b) && isByte(op.c)) {
    exchangeInColumn(op, giveReplaced);
    return;
  }
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void => {
    if (tagB == Tag.ERROR || tagC == Tag.ERROR) {
      give(Tag.ERROR, tagB == Tag.ERROR ? b : c);
      return;
    }
    if (isAbsent(tagA, a) || isAbsent(tagB, b) || isAbsent(tagC, c)) {
      giveNull();
      return;
    }
    const text = textOf(tagA, a);
    giveReplaced(text, textOf(tagB, b), textOf(tagC, c));
  });
}

/** Exchanges one byte for another one everywhere; false when the text is long. */
function giveExchanged(text: u64, old: u8, fresh: u8): bool {
  const len = lenOf(text);
  const to = shortRoom(len);
  if (!to) return false;
  for (let i: u32 = 0; i < len; i += 16) {
    const v = v128.load(offOf(text) + i);
    const block = v128.bitselect(i8x16.splat(<i8>fresh), v, i8x16.eq(v, i8x16.splat(<i8>old)));
    if (len - i >= 16) v128.store(to + i, block);
    else storePart(to + i, block, len - i);
  }
  give(Tag.STR, span(to, len));
  return true;
}

/** Writes the first `len` bytes, fewer than 16, of a block. */
// @ts-ignore: decorator
@inline function storePart(to: usize, block: v128, len: u32): void {
  let low = <u64>i64x2.extract_lane(block, 0);
  let left = len;
  let at = to;
  if (left >= 8) {
    store<u64>(at, low);
    low = <u64>i64x2.extract_lane(block, 1);
    at += 8;
    left -= 8;
  }
  for (; left > 0; left--, at++, low >>= 8) store<u8>(at, <u8>low);
}

function giveReplaced(text: u64, old: u64, fresh: u64): void {
  const len = lenOf(text);
  let from: u32 = 0;
  let at = lenOf(old) == 0 ? -1 : bytesFind(offOf(text), len, offOf(old), lenOf(old), 0);
  if (at < 0) {
    give(Tag.STR, text);
    return;
  }
  if (lenOf(old) == 1 && lenOf(fresh) == 1 && giveExchanged(text, load<u8>(offOf(old)), load<u8>(offOf(fresh)))) return;
  resultBegin();
  while (at >= 0 && !textFails) {
    textBytes(offOf(text) + from, <u32>at - from);
    textBytes(offOf(fresh), lenOf(fresh));
    from = <u32>at + lenOf(old);
    at = bytesFind(offOf(text), len, offOf(old), lenOf(old), from);
  }
  textBytes(offOf(text) + from, len - from);
  giveText('replace');
}

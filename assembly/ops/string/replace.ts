// Parts of texts exchanged for others.
import { Tag, lenOf, offOf } from '../../mem/layout';
import { bytesFind } from '../../value/bytes';
import { textBytes, textFails } from '../../value/text';
import { isAbsent } from '../numeric';
import { giveText, resultBegin } from '../result';
import { give, giveNull, map3 } from '../row-loops';
import { textOf } from './text-of';

export function stringReplace(op: usize): void {
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

function giveReplaced(text: u64, old: u64, fresh: u64): void {
  const len = lenOf(text);
  let from: u32 = 0;
  let at = lenOf(old) == 0 ? -1 : bytesFind(offOf(text), len, offOf(old), lenOf(old), 0);
  if (at < 0) {
    give(Tag.STR, text);
    return;
  }
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

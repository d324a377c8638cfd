// Reading arrays and objects: a.b, a[b], a[b:c].
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
  isNull,
  lenOf,
  offOf,
  span,
} from '../../mem/layout';
import { bytesEqual } from '../../value/bytes';
import { kindName, putShort, valueError } from '../../value/error';
import { fitsI64 } from '../../value/number';
import { textBegin, textByte, textI64, textLiteral, textTake } from '../../value/text';
import { give, giveNull, map2, map3 } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

/** Address of the member with this key, 0 when there is none. */
export function findMember(object: u64, keyOff: usize, keyLen: u32): usize {
  const n = lenOf(object);
  let member = offOf(object);
  for (let i: u32 = 0; i < n; i++) {
    if (load<u32>(member, MEMBER_KEY_LEN) == keyLen) {
      if (bytesEqual(<usize>load<u32>(member, MEMBER_KEY_OFF), keyOff, keyLen)) return member;
    }
    member += MEMBER_SIZE;
  }
  return 0;
}

function giveMember(object: u64, key: u64): void {
  const member = findMember(object, offOf(key), lenOf(key));
  if (!member) giveNull();
  else give(load<u8>(member, MEMBER_TAG), load<u64>(member));
}

export function nestedMember(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (tagA == Tag.OBJECT) {
      if (tagB == Tag.STR) giveMember(a, b);
      else give(Tag.ERROR, valueError('a member needs a name, but found ', tagB, b));
    } else if (tagA == Tag.ARRAY) {
      textBegin();
      textLiteral('the result ');
      putShort(tagA, a);
      textLiteral(' is not a type of map[string]interface{}');
      give(Tag.ERROR, textTake());
    } else {
      giveNull();
    }
  });
}

// ---- positions -----------------------------------------------------------------------------------------------

let position: i64 = 0;

/** Reads a number into `position`, a fraction cut off; false (and the error given) for anything else. */
function readPosition(what: string, tag: u8, val: u64): bool {
  if (tag == Tag.I64) {
    position = <i64>val;
    return true;
  }
  if (tag == Tag.F64 && fitsI64(reinterpret<f64>(val))) {
    position = <i64>reinterpret<f64>(val);
    return true;
  }
  if (tag == Tag.ERROR) {
    give(tag, val);
    return false;
  }
  textBegin();
  textLiteral(what);
  textByte(0x20);
  putShort(tag, val);
  textLiteral(' is not int');
  give(Tag.ERROR, textTake());
  return false;
}

function giveOutOfRange(text: string, at: i64, n: i64): void {
  textBegin();
  textLiteral(text);
  textI64(at);
  textLiteral(' of ');
  textI64(n);
  give(Tag.ERROR, textTake());
}

function giveNotAccessible(tag: u8): void {
  textBegin();
  textLiteral('[] is an invalid operation for ');
  textLiteral(kindName(tag));
  give(Tag.ERROR, textTake());
}

export function nestedIndex(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNull(tagA)) {
      giveNull();
    } else if (tagA == Tag.OBJECT && tagB == Tag.STR) {
      giveMember(a, b);
    } else if (tagA != Tag.ARRAY) {
      giveNotAccessible(tagA);
    } else if (readPosition('index', tagB, b)) {
      const n = <i64>lenOf(a);
      const at = position < 0 ? position + n : position;
      if (at < 0 || at >= n) {
        giveOutOfRange('out of index: ', position, n);
        return;
      }
      const slot = offOf(a) + ((<usize>at) << 4);
      const tag = load<u8>(slot, SLOT_TAG);
      if (isNull(tag)) giveNull();
      else give(tag, load<u64>(slot));
    }
  });
}

export function nestedSlice(op: Operation): void {
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void => {
    if (isNull(tagA)) {
      giveNull();
      return;
    }
    if (tagA != Tag.ARRAY) {
      giveNotAccessible(tagA);
      return;
    }
    const n = <i64>lenOf(a);
    let start: i64 = 0;
    if (tagB != Tag.MISSING) {
      if (!readPosition('start', tagB, b)) return;
      start = position < 0 ? position + n : position;
      if (start < 0) {
        giveOutOfRange('out of index: ', position, n);
        return;
      }
    }
    if (start >= n) {
      giveOutOfRange('start value is out of index: ', start, n);
      return;
    }
    let end = n;
    if (tagC != Tag.MISSING) {
      if (!readPosition('end', tagC, c)) return;
      end = position < 0 ? position + n : position;
      if (end < 0 || end > n) {
        giveOutOfRange(end < 0 ? 'out of index: ' : 'end value is out of index: ', position, n);
        return;
      }
    }
    // With a negative end the rest may be empty; an end that stands before the start is a mistake.
    if (start > end || (start == end && position >= 0)) {
      textBegin();
      textLiteral('start cannot be greater than end. start:');
      textI64(start);
      textLiteral('  end:');
      textI64(end);
      give(Tag.ERROR, textTake());
      return;
    }
    give(Tag.ARRAY, span(offOf(a) + <usize>start * SLOT_SIZE, <u32>(end - start)));
  });
}

// The printed form of group keys. Values that print alike fall together (1, 1.0 and "1"), null and missing too. A key
// of several parts is each part's length (u32, 0xffffffff for null) and text.
import { Tag, lenOf, offOf } from '../../mem/layout';
import { textAt, textBegin, textBytes, textGrow, textLen, textRoom } from '../../value/text';
import { printKey } from '../../value/print';

export let keyOff: usize = 0;
export let keyLen: u32 = 0;

function finish(): void {
  // Keys are read 16 bytes wide.
  textRoom(16);
  keyOff = textAt();
  keyLen = textLen;
}

/** Prints a value that is neither null nor missing. */
export function keyText(tag: u8, payload: u64): void {
  textBegin();
  printKey(tag, payload);
  finish();
}

export function keyBegin(): void {
  textBegin();
  keyLen = 0;
}

/** Adds a part. */
export function keyAdd(tag: u8, payload: u64): void {
  const room = textRoom(4);
  if (!room) return;
  const at = textLen;
  store<u32>(room, 0xffffffff);
  textGrow(4);
  if (tag > Tag.NULL) {
    if (tag == Tag.STR) textBytes(offOf(payload), lenOf(payload));
    else printKey(tag, payload);
    store<u32>(textAt() + at, textLen - at - 4);
  }
  finish();
}

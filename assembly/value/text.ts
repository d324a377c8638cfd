// A growing buffer in which one text at a time is put together: error messages, printed values, results of text
// functions. `textTake` copies it into the scratch memory of the batch.
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { copyBytes } from '../mem/copy';
import { poolAlloc } from '../mem/pool';
import { span } from '../mem/layout';
import * as ctx from '../batch/context';
import { MAX_I64_TEXT, printI64 } from '../text/i64';

/** Longest text, bytes: a longer one could not be doubled in 32 bits. */
const MAX_TEXT: u32 = 0x40000000;

let buffer: usize = 0;
let size: u32 = 0;
/** Bytes in the buffer. */
export let textLen: u32 = 0;
/** True when a part of the text under way is missing: it would be too long, or memory is exhausted. */
export let textFails: bool = false;
/** True when the text fails for its length. */
export let textTooLong: bool = false;
/** True when a text was taken of which a part is missing; values computed from it are wrong (ops/vm.ts). */
export let textLost: bool = false;
/** Bytes that the text may have. */
let most: u32 = MAX_TEXT;

/** A buffer larger than this is not kept for the next batch. */
const KEEP_BUFFER: u32 = 65536;
const LOST_SIZE: u32 = 19;
const LOST: usize = memory.data(32);

/** Starts a text. */
export function textBegin(): void {
  textLen = 0;
  textFails = false;
  textTooLong = false;
  most = MAX_TEXT;
  if (!buffer) {
    buffer = alloc(1024, WORKSPACE);
    size = buffer ? 1024 : 0;
  }
}

/** Bounds the text under way. */
export function textMax(bytes: u32): void {
  most = bytes;
}

/** Forgets that a text was lost. */
export function textFound(): void {
  textLost = false;
}

/** Gives the memory of a text that was longer than most back. */
export function textTrim(): void {
  if (size <= KEEP_BUFFER) return;
  free(buffer, size, WORKSPACE);
  buffer = 0;
  size = 0;
  textLen = 0;
}

/** Address of the text so far. */
export function textAt(): usize {
  return buffer;
}

/** Cuts the text back to `len` bytes, which must not be more than it has. */
export function textCut(len: u32): void {
  textLen = len;
}

/** Returns where `more` bytes can be written, 0 when the text fails; `textGrow` counts them in. */
export function textRoom(more: u32): usize {
  const need = <u64>textLen + more;
  if (need > size && !grow(need)) return 0;
  return buffer + textLen;
}

function grow(need: u64): bool {
  if (textFails) return false;
  // Writers of numbers ask for more than they write.
  if (need > <u64>most + 1024) {
    textFails = true;
    textTooLong = true;
    return false;
  }
  const wanted = <u32>max((<u64>size) << 1, (need + 1023) & ~1023);
  let next = alloc(wanted, WORKSPACE);
  let got = wanted;
  if (!next) {
    got = <u32>need;
    next = alloc(got, WORKSPACE);
  }
  if (!next) {
    textFails = true;
    return false;
  }
  memory.copy(next, buffer, textLen);
  free(buffer, size, WORKSPACE);
  buffer = next;
  size = got;
  return true;
}

// @ts-ignore: decorator
@inline export function textGrow(written: u32): void {
  textLen += written;
}

export function textByte(c: u32): void {
  const to = textRoom(1);
  if (!to) return;
  store<u8>(to, <u8>c);
  textLen++;
}

export function textBytes(at: usize, len: u32): void {
  const to = textRoom(len);
  if (!to) return;
  copyBytes(to, at, len);
  textLen += len;
}

/** Appends a literal of ASCII characters (static data of the module). */
export function textLiteral(s: string): void {
  const n = <u32>s.length;
  const to = textRoom(n);
  if (!to) return;
  const from = changetype<usize>(s);
  for (let i: u32 = 0; i < n; i++) store<u8>(to + i, load<u8>(from + ((<usize>i) << 1)));
  textLen += n;
}

/** Appends `n` in decimal. */
export function textI64(n: i64): void {
  const to = textRoom(MAX_I64_TEXT);
  if (to) textGrow(<u32>(printI64(to, n) - to));
}

/** The text as payload of a STR or ERROR value in scratch memory; `textLost` when it fails. */
export function textTake(): u64 {
  const to: usize = textFails ? 0 : poolAlloc(ctx.scratch, textLen);
  if (!to) return lost();
  copyBytes(to, buffer, textLen);
  return span(to, textLen);
}

/** As `textTake` for the text of an ERROR, without `textLost`: the text in place of a lost one says so itself. */
export function textTakeError(): u64 {
  const before = textLost;
  const taken = textTake();
  textLost = before;
  return taken;
}

function lost(): u64 {
  textLost = true;
  const text = 'memory is exhausted';
  for (let i: u32 = 0; i < LOST_SIZE; i++) store<u8>(LOST + i, load<u8>(changetype<usize>(text) + ((<usize>i) << 1)));
  return span(LOST, LOST_SIZE);
}

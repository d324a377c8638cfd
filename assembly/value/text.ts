// A growing buffer in which one text at a time is put together: error messages, printed values, results of text
// functions. `textTake` copies it into the scratch memory of the batch.
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { poolAlloc } from '../mem/pool';
import { span } from '../mem/layout';
import * as ctx from '../flow/context';
import { MAX_I64_TEXT, printI64 } from '../text/i64';

let buffer: usize = 0;
let size: u32 = 0;
/** Bytes in the buffer. */
export let textLen: u32 = 0;

/** Starts a text. */
export function textBegin(): void {
  textLen = 0;
  if (!buffer) {
    buffer = alloc(1024, WORKSPACE);
    size = buffer ? 1024 : 0;
  }
}

/** Address of the text so far. */
export function textAt(): usize {
  return buffer;
}

/** Cuts the text back to `len` bytes, which must not be more than it has. */
export function textCut(len: u32): void {
  textLen = len;
}

/** Returns where `more` bytes can be written, 0 when memory is exhausted; `textGrow` counts them in. */
export function textRoom(more: u32): usize {
  if (textLen + more > size) {
    const grown = max(size << 1, (textLen + more + 1023) & ~1023);
    const next = alloc(grown, WORKSPACE);
    if (!next) return 0;
    memory.copy(next, buffer, textLen);
    free(buffer, size, WORKSPACE);
    buffer = next;
    size = grown;
  }
  return buffer + textLen;
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
  memory.copy(to, at, len);
  textLen += len;
}

/** Appends a literal of ASCII characters (static data of the module). */
export function textLiteral(s: string): void {
  const n = <u32>s.length;
  const to = textRoom(n);
  if (!to) return;
  const from = changetype<usize>(s);
  for (let i: u32 = 0; i < n; i++) store<u8>(to + i, load<u8>(from + (<usize>i << 1)));
  textLen += n;
}

/** Appends `n` in decimal. */
export function textI64(n: i64): void {
  const to = textRoom(MAX_I64_TEXT);
  if (to) textGrow(<u32>(printI64(to, n) - to));
}

/** The text as payload of a STR or ERROR value in scratch memory; the empty text when memory is exhausted. */
export function textTake(): u64 {
  const to = poolAlloc(ctx.scratch, textLen);
  if (!to) return 0;
  memory.copy(to, buffer, textLen);
  return span(to, textLen);
}

// Error texts put together from parts, in a buffer that the next one overwrites.
import { printI64 } from './i64';

const CAPACITY: usize = 512;
const BUFFER: usize = memory.data(544, 16);
let at: usize = BUFFER;
/** Address behind the text with which all messages begin. */
let first: usize = BUFFER;

export function messageBegin(): void {
  at = first;
}

/** Sets the bytes with which all messages begin from now on; none when the length is 0. */
export function messagesBeginWith(off: usize, len: u32): void {
  at = BUFFER;
  messageBytes(off, min(len, <u32>CAPACITY / 2));
  first = at;
}

/** Appends bytes, cut to the room left. */
export function messageBytes(off: usize, len: u32): void {
  const n = min(<usize>len, BUFFER + CAPACITY - at);
  memory.copy(at, off, n);
  at += n;
}

/** Appends a literal of ASCII characters; literals are static data, nothing is allocated. */
export function messageText(text: string): void {
  const from = changetype<usize>(text);
  const n = <usize>text.length;
  for (let i: usize = 0; i < n && at < BUFFER + CAPACITY; i++) store<u8>(at++, <u8>load<u16>(from + (i << 1)));
}

export function messageNumber(v: i64): void {
  if (at + 20 <= BUFFER + CAPACITY) at = printI64(at, v);
}

export function messageOff(): usize {
  return BUFFER;
}

export function messageLen(): u32 {
  return <u32>(at - BUFFER);
}

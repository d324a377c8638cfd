// The reason why a row or message failed: set where the failure is found, read by the caller right after. The text
// stays where it is at least until the batch of the source is done.

export let failOff: usize = 0;
export let failLen: u32 = 0;

export function fail(off: usize, len: u32): void {
  // An error without text: there was no memory for it.
  if (len == 0) {
    failNoMemory();
    return;
  }
  failOff = off;
  failLen = len;
}

const TEXT_SIZE: usize = 48;
const NOT_BOOLEAN: usize = memory.data(48);
const NO_MEMORY: usize = memory.data(48);
const NOT_FINITE: usize = memory.data(48);
const NOT_OBJECT: usize = memory.data(48);

/** Reports a literal of ASCII characters; `buffer` is its own, so that two kinds of failure do not mix. */
function failLiteral(buffer: usize, text: string): void {
  const n = min(<usize>text.length, TEXT_SIZE);
  for (let i: usize = 0; i < n; i++) store<u8>(buffer + i, <u8>load<u16>(changetype<usize>(text) + (i << 1)));
  fail(buffer, <u32>n);
}

export function failNotBoolean(): void {
  failLiteral(NOT_BOOLEAN, 'condition is not a boolean');
}

export function failNoMemory(): void {
  failLiteral(NO_MEMORY, 'out of memory');
}

/** Wording of JSON writers everywhere: users search for it. */
export function failNotFinite(value: f64): void {
  if (value != value) failLiteral(NOT_FINITE, 'json: unsupported value: NaN');
  else if (value > 0) failLiteral(NOT_FINITE, 'json: unsupported value: +Inf');
  else failLiteral(NOT_FINITE, 'json: unsupported value: -Inf');
}

/** True when the failure is the one of `failNotObject`. */
export function isNotObject(): bool {
  return failOff == NOT_OBJECT;
}

export function failNotObject(): void {
  failLiteral(NOT_OBJECT, 'row is not an object');
}

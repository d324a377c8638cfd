// An allocator that fails as it is told to, for tests.
let mode: i64 = 0;
function again(n: i32): i32 { return n == -1 ? 0 : again(n + 1) + again(n + 2); }
export function taker_mode(to: i64): i64 { mode = to; return to; }
export function haumea_alloc(size: i32): i32 {
  if (mode == 1) return 0x7fff0000;
  if (mode == 2) unreachable();
  if (mode == 3) while (size != 0) size |= 1;
  if (mode == 4) return again(size);
  return 0;
}
export function letters_taken(text: i32, length: i32): i64 { return length; }

// Finding one range of bytes in another in linear time and no memory, whatever they hold: the two-way algorithm (M.
// Crochemore, D. Perrin, 1991). The needle is cut in two where its local period is that of the whole; the right half is
// compared first.

/** Set by `longestSuffix`: the last byte before the suffix (-1: none), and its period. */
let before: i32 = 0;
let period: i32 = 0;

/** Finds the suffix of the needle that is the largest in the order of bytes, or in the opposite one. */
// @ts-ignore: decorator
@inline function longestSuffix(needle: usize, len: i32, isOpposite: bool): void {
  let best: i32 = -1;
  let from: i32 = 0;
  let k: i32 = 1;
  let p: i32 = 1;
  while (from + k < len) {
    const a = load<u8>(needle + from + k);
    const b = load<u8>(needle + best + k);
    if (a == b) {
      if (k == p) {
        from += p;
        k = 1;
      } else k++;
    } else if (isOpposite ? a > b : a < b) {
      from += k;
      k = 1;
      p = from - best;
    } else {
      best = from;
      from++;
      k = 1;
      p = 1;
    }
  }
  before = best;
  period = p;
}

/** First position of the needle, which has a byte at least, at or after `start`; -1 when there is none. */
export function searchBytes(hay: usize, hayLen: u32, needle: usize, needleLen: u32, start: u32): i32 {
  const n = <i32>needleLen;
  longestSuffix(needle, n, false);
  let cut = before;
  let step = period;
  longestSuffix(needle, n, true);
  if (before > cut) {
    cut = before;
    step = period;
  }
  const isPeriodic = cut + 1 + step <= n && memory.compare(needle, needle + step, cut + 1) == 0;
  if (!isPeriodic) step = max(cut + 1, n - cut - 1) + 1;
  /** Bytes of a periodic needle that are known to be there, less one. */
  let known: i32 = -1;
  const last = <i32>(hayLen - needleLen);
  let at = <i32>start;
  while (at <= last) {
    let i = max(cut, known) + 1;
    while (i < n && load<u8>(needle + i) == load<u8>(hay + at + i)) i++;
    if (i < n) {
      at += i - cut;
      known = -1;
      continue;
    }
    i = cut;
    while (i > known && load<u8>(needle + i) == load<u8>(hay + at + i)) i--;
    if (i <= known) return at;
    at += step;
    known = isPeriodic ? n - step - 1 : -1;
  }
  return -1;
}

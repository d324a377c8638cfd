// Columns of numbers as they are saved: the common part once, then the rest of each in as few bytes as the largest
// needs. Doubles with up to three decimals are saved as whole numbers, with the number of decimals.
//
//   numbers   decimals u8 (AS_IS: not doubles) | width u8 (0, 1, 2, 4, 8) | least i64, unless the width is 8 | n of
//   that width
import { LoadFault } from '../gen/state-layouts';
import { readBlock, readFail, readFails, readI64, readU8, readUpTo } from '../state/reader';
import { writeBlock, writeI64, writeU8 } from '../state/writer';

/**
 * In place of decimals: payloads are saved unchanged. These are whole numbers, times, booleans, and doubles that are no
 * decimals.
 */
const AS_IS: u32 = 4;
/** Powers of ten, by the number of decimals. */
const SCALES: usize = memory.data<f64>([1, 10, 100, 1000]);
const MOST: f64 = 4503599627370496;
/** Doubles as whole numbers. */
const WHOLE: usize = memory.data(8 * 1024, 16);

// @ts-ignore: decorator
@inline function scaleOf(decimals: u32): f64 {
  return load<f64>(SCALES + ((<usize>decimals) << 3));
}

/** Writes the `n` payloads at `vals`, at most 1,024; `areDoubles`: their tag is F64. */
export function numbersSave(vals: usize, n: u32, areDoubles: bool): void {
  const decimals = areDoubles ? decimalsOf(vals, n) : AS_IS;
  if (decimals < AS_IS) {
    const scale = scaleOf(decimals);
    for (let i: usize = 0; i < (<usize>n) << 3; i += 8)
      store<i64>(WHOLE + i, <i64>nearest(load<f64>(vals + i) * scale));
    vals = WHOLE;
  }
  writeU8(decimals);
  let least = i64.MAX_VALUE;
  let most = i64.MIN_VALUE;
  for (let i: usize = 0; i < (<usize>n) << 3; i += 8) {
    const x = load<i64>(vals + i);
    least = min(least, x);
    most = max(most, x);
  }
  const range = <u64>most - <u64>least;
  const width: u32 = range == 0 ? 0 : range <= 0xff ? 1 : range <= 0xffff ? 2 : range <= 0xffffffff ? 4 : 8;
  writeU8(width);
  if (width == 8) memory.copy(writeBlock(n << 3), vals, n << 3);
  else {
    writeI64(least);
    const to = writeBlock(n * width);
    if (width == 1) for (let i: usize = 0; i < n; i++) store<u8>(to + i, <u8>(load<i64>(vals + (i << 3)) - least));
    else if (width == 2)
      for (let i: usize = 0; i < n; i++) store<u16>(to + (i << 1), <u16>(load<i64>(vals + (i << 3)) - least));
    else if (width == 4)
      for (let i: usize = 0; i < n; i++) store<u32>(to + (i << 2), <u32>(load<i64>(vals + (i << 3)) - least));
  }
}

/** Number of decimals with which all doubles can be restored to the bit; AS_IS when there is none. */
function decimalsOf(vals: usize, n: u32): u32 {
  let decimals: u32 = 0;
  let scale: f64 = 1;
  for (let i: usize = 0; i < (<usize>n) << 3; ) {
    const x = load<f64>(vals + i);
    const whole = nearest(x * scale);
    // NaN, infinities and negative zeros fail here.
    if (abs(whole) < MOST && reinterpret<u64>(<f64>(<i64>whole) / scale) == reinterpret<u64>(x)) {
      i += 8;
      continue;
    }
    if (++decimals == AS_IS) break;
    scale = scaleOf(decimals);
    i = 0;
  }
  return decimals;
}

/** Reads `n` payloads, at most 1,024, to `vals`. */
export function numbersLoad(vals: usize, n: u32): void {
  const decimals = readUpTo(AS_IS);
  const width = <u32>readU8();
  const least = width == 8 ? 0 : readI64();
  if (width > 8 || (width & (width - 1)) != 0) readFail(LoadFault.DAMAGED);
  if (readFails()) return;
  const from = readBlock(n * width);
  if (!from) return;
  if (width == 8) memory.copy(vals, from, n << 3);
  else if (width == 4)
    for (let i: usize = 0; i < n; i++) store<i64>(vals + (i << 3), least + <i64>load<u32>(from + (i << 2)));
  else if (width == 2)
    for (let i: usize = 0; i < n; i++) store<i64>(vals + (i << 3), least + <i64>load<u16>(from + (i << 1)));
  else if (width == 1) for (let i: usize = 0; i < n; i++) store<i64>(vals + (i << 3), least + <i64>load<u8>(from + i));
  else for (let i: usize = 0; i < n; i++) store<i64>(vals + (i << 3), least);
  if (decimals == AS_IS) return;
  const scale = scaleOf(decimals);
  for (let i: usize = 0; i < (<usize>n) << 3; i += 8) store<f64>(vals + i, <f64>load<i64>(vals + i) / scale);
}

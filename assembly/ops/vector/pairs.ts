// Products and distances of two vectors.
import { Tag, lenOf, offOf } from '../../mem/layout';
import { toF64 } from '../../value/number';
import { isNumeric } from '../numeric';
import { giveF64, giveNull, map2 } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

/** Set by `measure`. */
let product: f64 = 0;
let squaresA: f64 = 0;
let squaresB: f64 = 0;
let squaresBetween: f64 = 0;

/** Computes products and squares of two vectors; false when they are no lists of as many numbers. */
export function measure(tagA: u8, a: u64, tagB: u8, b: u64): bool {
  if (tagA != Tag.ARRAY || tagB != Tag.ARRAY || lenOf(a) != lenOf(b)) return false;
  product = 0;
  squaresA = 0;
  squaresB = 0;
  squaresBetween = 0;
  let p = offOf(a);
  let q = offOf(b);
  for (let i: u32 = 0; i < lenOf(a); i++, p += 16, q += 16) {
    const kindP = load<u8>(p, 8);
    const kindQ = load<u8>(q, 8);
    if (!isNumeric(kindP) || !isNumeric(kindQ)) return false;
    const x = toF64(kindP, load<u64>(p));
    const y = toF64(kindQ, load<u64>(q));
    product += x * y;
    squaresA += x * x;
    squaresB += y * y;
    squaresBetween += (x - y) * (x - y);
  }
  return true;
}

/** Cosine of the vectors measured last; NaN when one has no length. */
export function cosine(): f64 {
  if (squaresA == 0 || squaresB == 0) return NaN;
  // Rounding must not lead beyond the range of a cosine.
  return max<f64>(-1, min<f64>(1, product / (sqrt(squaresA) * sqrt(squaresB))));
}

export function vectorDot(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (measure(tagA, a, tagB, b)) giveF64(product);
    else giveNull();
  });
}

export function vectorCosine(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    const similarity = measure(tagA, a, tagB, b) ? cosine() : NaN;
    if (isNaN(similarity)) giveNull();
    else giveF64(similarity);
  });
}

export function vectorDistance(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (measure(tagA, a, tagB, b)) giveF64(sqrt(squaresBetween));
    else giveNull();
  });
}

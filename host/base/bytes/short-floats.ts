/** Numbers of fewer than 64 bits. */

/** The number with the fewest digits that is the same as a single. */
export function shortest(single: number): number {
  for (const digits of [7, 8]) {
    const printed = Number(single.toPrecision(digits));
    if (Math.fround(printed) === single) return printed;
  }
  return Number(single.toPrecision(9));
}

/** Value of a half-precision number by its bits. */
export function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The slices of saved state as assembly/state/form.ts draws them, for tests that change them. */

export interface Slice {
  /** All of it, head first. */
  readonly bytes: Buffer;
  readonly payload: Buffer;
}

const headSize = 16;
const spread = 0x9e3779b97f4a7c15n;
const mask = (1n << 64n) - 1n;

/** Cuts state into its slices, which are parts of it. */
export function slicesOf(state: Buffer): Slice[] {
  const slices: Slice[] = [];
  for (let at = 0; at < state.length; ) {
    const end = at + headSize + state.readUInt32LE(at);
    slices.push({ bytes: state.subarray(at, end), payload: state.subarray(at + headSize, end) });
    at = end;
  }
  return slices;
}

function mix(h: bigint, x: bigint): bigint {
  const product = ((h ^ x) * spread) & mask;
  return ((product << 29n) | (product >> 35n)) & mask;
}

export function checkOf(payload: Buffer, number: number): bigint {
  let h = mix((BigInt(number) << 32n) | BigInt(payload.length), spread);
  const whole = payload.length & ~7;
  for (let at = 0; at < whole; at += 8) h = mix(h, payload.readBigUInt64LE(at));
  for (let at = whole; at < payload.length; at++) h = mix(h, BigInt(payload[at]!));
  return mix(h, h >> 32n);
}

export function headCheckOf(slice: Buffer, number: number): number {
  const h = mix(mix(BigInt(number), BigInt(slice.readUInt32LE(0))), BigInt(slice.readUInt16LE(4)));
  return Number((h >> 40n) & 0xffffn);
}

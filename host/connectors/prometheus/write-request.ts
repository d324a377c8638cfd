/** Samples in the form of remote writes: series in protobuf, the request in the block form of Snappy. */

export type Labels = readonly (readonly [name: string, value: string])[];

/** A series with one sample; those of a request follow each other. Labels ascend by name. */
export function seriesBytes(labels: Labels, value: number, timeMs: number): Buffer {
  const parts = labels.map(([name, text]) => field(1, [field(1, [Buffer.from(name)]), field(2, [Buffer.from(text)])]));
  const number = Buffer.allocUnsafe(9);
  number[0] = 0x09;
  number.writeDoubleLE(value, 1);
  const time = Buffer.concat([Buffer.from([0x10]), varint(BigInt.asUintN(64, BigInt(Math.trunc(timeMs))))]);
  return field(1, [...parts, field(2, [number, time])]);
}

/** The name of a metric or label, with `_` in the place of what none may have. */
export function nameOf(text: string, isLabel: boolean): string {
  const name = text.replace(isLabel ? /[^A-Za-z0-9_]/g : /[^A-Za-z0-9_:]/g, '_');
  return /^\d/.test(name) || name === '' ? `_${name}` : name;
}

/** Longest literal whose length two bytes tell. */
const longestLiteral = 65_536;
const twoBytes = 61 << 2;

/** The bytes as Snappy has them, not made smaller: as literals alone. */
export function snappyOf(bytes: Buffer): Buffer {
  const parts: Buffer[] = [varint(BigInt(bytes.length))];
  for (let from = 0; from < bytes.length; from += longestLiteral) {
    const literal = bytes.subarray(from, from + longestLiteral);
    const length = literal.length - 1;
    parts.push(Buffer.from([twoBytes, length & 0xff, length >> 8]), literal);
  }
  return Buffer.concat(parts);
}

/** A field whose value has a length. */
function field(number: number, parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(BigInt(length)), ...parts]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = value;
  while (left > 0x7fn) {
    bytes.push(Number(left & 0x7fn) | 0x80);
    left >>= 7n;
  }
  bytes.push(Number(left));
  return Buffer.from(bytes);
}

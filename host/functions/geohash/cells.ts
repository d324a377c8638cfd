/** Cells of geohashes: 32 bits of the longitude and of the latitude, interleaved; a text has the upper ones. */

/** A cell: the lower bounds of both coordinates as parts of the whole range, and how many bits of them count. */
export interface Cell {
  readonly hash: bigint;
  readonly bits: number;
}

export interface Box {
  readonly MinLat: number;
  readonly MaxLat: number;
  readonly MinLng: number;
  readonly MaxLng: number;
}

const letters = '0123456789bcdefghjkmnpqrstuvwxyz';
const letterBits = 5;
/** Letters of a geohash without a precision. */
const usualLetters = 12;
const allBits = 64;
const range = 2 ** 32;
const [latitudes, longitudes] = [180, 360];

/** Directions of neighbours in their order, with the steps of latitude and longitude. */
const directions: Readonly<Record<string, readonly [number, number]>> = {
  North: [1, 0],
  NorthEast: [1, 1],
  East: [0, 1],
  SouthEast: [-1, 1],
  South: [-1, 0],
  SouthWest: [-1, -1],
  West: [0, -1],
  NorthWest: [1, -1],
};

/** The cell of 64 bits around a place. */
export function cellAt(latitude: number, longitude: number): Cell {
  return { hash: spread(part(latitude, latitudes)) | (spread(part(longitude, longitudes)) << 1n), bits: allBits };
}

/** Place in the range as 32 bits; beyond its end it begins anew. */
function part(degrees: number, whole: number): bigint {
  return BigInt.asUintN(32, BigInt(Math.floor(((degrees + whole / 2) / whole) * range)));
}

/** The cell with fewer bits around this one. */
function wider({ hash, bits }: Cell, fewer: number): Cell {
  return { hash: hash >> BigInt(bits - fewer), bits: fewer };
}

export function lettersOf(cell: Cell): string {
  const count = cell.bits === allBits ? usualLetters : cell.bits / letterBits;
  let { hash } = wider(cell, count * letterBits);
  let text = '';
  for (let i = 0; i < count; i++) {
    text = letters[Number(hash & 31n)] + text;
    hash >>= BigInt(letterBits);
  }
  return text;
}

/** Throws when the text is no geohash. */
export function cellOfLetters(text: string): Cell {
  if (text.length > usualLetters) throw new Error('too long');
  let hash = 0n;
  for (const letter of text) {
    const value = letters.indexOf(letter);
    if (value < 0) throw new Error(`invalid character '${letter}'`);
    hash = (hash << BigInt(letterBits)) | BigInt(value);
  }
  return { hash, bits: text.length * letterBits };
}

export function cellOfInteger(hash: bigint): Cell {
  return { hash: BigInt.asUintN(64, hash), bits: allBits };
}

/** The integer of a cell of 64 bits; those of the eastern half of the world are negative. */
export function integerOf({ hash }: Cell): bigint {
  return BigInt.asIntN(64, hash);
}

export function boxOf({ hash, bits }: Cell): Box {
  const full = hash << BigInt(allBits - bits);
  const latitudeBits = Math.floor(bits / 2);
  const MinLat = (squash(full) / range) * latitudes - latitudes / 2;
  const MinLng = (squash(full >> 1n) / range) * longitudes - longitudes / 2;
  const MaxLat = MinLat + latitudes / 2 ** latitudeBits;
  return { MinLat, MaxLat, MinLng, MaxLng: MinLng + longitudes / 2 ** (bits - latitudeBits) };
}

/** A place in the cell, with few digits. */
export function placeIn(cell: Cell): { Longitude: number; Latitude: number } {
  const { MinLat, MaxLat, MinLng, MaxLng } = boxOf(cell);
  return { Longitude: rounded(MinLng, MaxLng), Latitude: rounded(MinLat, MaxLat) };
}

function rounded(least: number, most: number): number {
  const unit = Number(`1e${Math.floor(Math.log10(most - least))}`);
  return Math.ceil(least / unit) * unit;
}

/** The eight cells around, clockwise from the north. */
export function neighboursOf(cell: Cell): Cell[] {
  const { MinLat, MaxLat, MinLng, MaxLng } = boxOf(cell);
  const [latitude, longitude] = [(MinLat + MaxLat) / 2, (MinLng + MaxLng) / 2];
  return Object.values(directions).map(([north, east]) =>
    wider(cellAt(latitude + north * (MaxLat - MinLat), longitude + east * (MaxLng - MinLng)), cell.bits),
  );
}

/** The cell in a direction; throws when there is no such direction. */
export function neighbourOf(cell: Cell, direction: string): Cell {
  const place = Object.keys(directions).indexOf(direction);
  if (place < 0) throw new Error(`there is no direction ${direction}, there are ${Object.keys(directions).join(', ')}`);
  return neighboursOf(cell)[place] as Cell;
}

/** Puts the bits of a number of 32 bits on the even places of one of 64 bits. */
function spread(value: bigint): bigint {
  let bits = value;
  bits = (bits | (bits << 16n)) & 0x0000ffff0000ffffn;
  bits = (bits | (bits << 8n)) & 0x00ff00ff00ff00ffn;
  bits = (bits | (bits << 4n)) & 0x0f0f0f0f0f0f0f0fn;
  bits = (bits | (bits << 2n)) & 0x3333333333333333n;
  return (bits | (bits << 1n)) & 0x5555555555555555n;
}

/** The bits on the even places. */
function squash(value: bigint): number {
  let bits = value & 0x5555555555555555n;
  bits = (bits | (bits >> 1n)) & 0x3333333333333333n;
  bits = (bits | (bits >> 2n)) & 0x0f0f0f0f0f0f0f0fn;
  bits = (bits | (bits >> 4n)) & 0x00ff00ff00ff00ffn;
  bits = (bits | (bits >> 8n)) & 0x0000ffff0000ffffn;
  return Number((bits | (bits >> 16n)) & 0x00000000ffffffffn);
}

/** Functions over images: the work is done by sharp on threads of its own. */
import sharp, { type Metadata, type Sharp } from 'sharp';
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import type { RowCode } from '../define.js';

/** Most pixels of an image, given or made: a small file may claim any number of them. */
const maxPixels = 50_000_000;
const longestSide = 16_384;
const seconds = 30;
const jpegQuality = 75;

type Size = readonly [width: number, height: number];
type Kind = 'png' | 'jpeg' | 'gif';

export function openImages(): RowCode {
  return {
    atOnce: 4,
    call: async (entry, args) => {
      const image = bytesOf(args[0]);
      const size: Size = [sideOf(args[1], 1), sideOf(args[2], 2)];
      if (entry === 'thumbnail') return thumbnail(image, size);
      const isRaw = args[3] ?? false;
      if (args.length > 3 && typeof args[3] !== 'boolean') throw wrong(args[3], 3, 'bool');
      return isRaw === true ? pixels(image, size) : resized(image, size);
    },
    close: () => {},
  };
}

function opened(image: Uint8Array): Sharp {
  return sharp(image, { limitInputPixels: maxPixels, failOn: 'error', animated: false }).timeout({ seconds });
}

/** Kind and size of an image; throws when it is none, or one of those that are not read. */
async function looked(image: Uint8Array): Promise<{ kind: Kind; size: Size }> {
  let meta: Metadata;
  try {
    meta = await opened(image).metadata();
  } catch {
    throw new Error('image decode error:image: unknown format');
  }
  const { format, width, height } = meta;
  if (format !== 'png' && format !== 'jpeg' && format !== 'gif') {
    throw new Error('image decode error:image: unknown format');
  }
  if (width * height > maxPixels) throw new Error(`the image has more than ${maxPixels} pixels: ${width} x ${height}`);
  return { kind: format, size: [width, height] };
}

/** The size that is meant: a side of 0 keeps the ratio. */
function sizeOf([width, height]: Size, [ownWidth, ownHeight]: Size): Size {
  if (width === 0 && height === 0) return [ownWidth, ownHeight];
  const sides: Size = [
    width === 0 ? Math.max(1, Math.round((ownWidth * height) / ownHeight)) : width,
    height === 0 ? Math.max(1, Math.round((ownHeight * width) / ownWidth)) : height,
  ];
  if (Math.max(...sides) > longestSide || sides[0] * sides[1] > maxPixels) {
    throw new Error(`an image of ${sides[0]} x ${sides[1]} is too large`);
  }
  return sides;
}

function scaled(image: Uint8Array, [width, height]: Size): Sharp {
  return opened(image).resize({ width, height, fit: 'fill', kernel: 'linear' });
}

async function written(made: Sharp, kind: Kind): Promise<Uint8Array> {
  try {
    return await (kind === 'jpeg' ? made.jpeg({ quality: jpegQuality }) : made.toFormat(kind)).toBuffer();
  } catch (error) {
    throw new Error(`image decode error:${reasonOf(error)}`);
  }
}

async function resized(image: Uint8Array, wanted: Size): Promise<Uint8Array> {
  const { kind, size } = await looked(image);
  return written(scaled(image, sizeOf(wanted, size)), kind);
}

async function pixels(image: Uint8Array, wanted: Size): Promise<Uint8Array> {
  const { size } = await looked(image);
  const made = scaled(image, sizeOf(wanted, size)).flatten({ background: '#000' }).toColourspace('srgb');
  try {
    return await made.raw().toBuffer();
  } catch (error) {
    throw new Error(`image decode error:${reasonOf(error)}`);
  }
}

async function thumbnail(image: Uint8Array, [maxWidth, maxHeight]: Size): Promise<Uint8Array> {
  const { kind, size } = await looked(image);
  if (kind === 'gif') throw new Error('gif image type is not currently supported');
  const [width, height] = size;
  if (width <= maxWidth && height <= maxHeight) return written(opened(image), kind);
  const scale = Math.min(maxWidth / width, maxHeight / height);
  const fitting: Size = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  return written(scaled(image, sizeOf(fitting, size)), kind);
}

function bytesOf(value: Value): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw wrong(value, 0, 'bytea');
}

function sideOf(value: Value, place: number): number {
  const side = typeof value === 'bigint' ? Number(value) : value;
  if (typeof side === 'number' && Number.isSafeInteger(side) && side >= 0) return side;
  throw wrong(value, place, 'bigint');
}

function wrong(value: Value, place: number, kind: string): Error {
  const shown = value === null || value === undefined ? '<nil>' : String(value);
  return new Error(`arg[${place}] is not a ${kind}, got ${shown.slice(0, 60)}`);
}

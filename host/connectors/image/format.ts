/** Whether bytes are an image, by what it is made of. */
import { crc32 } from '../../base/files/crc32.js';

const pngStart = Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const scan = 0xda;
const end = 0xd9;

/** Reason why the bytes are no image of the format; undefined when they are one. */
export function imageReason(bytes: Buffer, format: 'jpeg' | 'png'): string | undefined {
  if (bytes.length === 0) return 'it is empty';
  return format === 'jpeg' ? jpegReason(bytes) : pngReason(bytes);
}

function jpegReason(bytes: Buffer): string | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return 'it does not begin as JPEG';
  for (let at = 2; at + 4 <= bytes.length; ) {
    const marker = bytes[at + 1]!;
    if (bytes[at] !== 0xff) return `there is no marker of JPEG at byte ${at}`;
    if (marker === 0xff) at++;
    // What follows is the image itself, up to the end.
    else if (marker === scan) return bytes.lastIndexOf(Buffer.of(0xff, end)) > at ? undefined : 'the JPEG is cut off';
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) at += 2;
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return 'the JPEG is cut off';
}

function pngReason(bytes: Buffer): string | undefined {
  if (!bytes.subarray(0, pngStart.length).equals(pngStart)) return 'it does not begin as PNG';
  for (let at = pngStart.length; at + 12 <= bytes.length; ) {
    const next = at + 12 + bytes.readUInt32BE(at);
    if (next > bytes.length) break;
    if (crc32(bytes.subarray(at + 4, next - 4)) !== bytes.readUInt32BE(next - 4)) return `the PNG is damaged at ${at}`;
    if (bytes.toString('latin1', at + 4, at + 8) === 'IEND') return undefined;
    at = next;
  }
  return 'the PNG is cut off';
}

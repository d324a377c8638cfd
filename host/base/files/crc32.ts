/** CRC-32 as in zip and PNG (polynomial 0xEDB88320), by node:zlib where it has one (from Node 20.15 on). */
import * as zlib from 'node:zlib';

const native = (zlib as { crc32?: (bytes: Uint8Array, before?: number) => number }).crc32;

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Returns the checksum of the bytes as an unsigned 32-bit number; `before` is that of the bytes in front of them. */
export function crc32(bytes: Uint8Array, before = 0): number {
  if (native) return native(bytes, before);
  let crc = before ^ 0xffffffff;
  for (let i = 0; i < bytes.length; i++) {
    crc = (table[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** Compression methods of messages and of SQL functions, by the names that properties use. */
import * as zlib from 'node:zlib';
import { zstdCompressed, zstdDecompressed } from './zstd.js';

export const compressionNames = ['zlib', 'gzip', 'flate', 'zstd'] as const;
export type CompressionName = (typeof compressionNames)[number];

interface Method {
  /** @param level balance between speed and size; the method's own default when left out */
  compress(data: Uint8Array, level?: number): Uint8Array;
  /** Throws for input in another format, and for a result of more than `maxBytes`. */
  decompress(data: Uint8Array, maxBytes: number): Uint8Array;
}

const usualZstdLevel = 3;

// Node.js has zstd since 22.15.
const { zstdCompressSync, zstdDecompressSync, constants } = zlib as unknown as {
  zstdCompressSync?: (data: Uint8Array, options: { params: Record<number, number> }) => Uint8Array;
  zstdDecompressSync?: (data: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
  constants: { ZSTD_c_compressionLevel: number };
};

export const compressions: Readonly<Record<CompressionName, Method>> = {
  zlib: {
    compress: (data, level) => zlib.deflateSync(data, { level }),
    decompress: (data, maxOutputLength) => zlib.inflateSync(data, { maxOutputLength }),
  },
  gzip: {
    compress: (data, level) => zlib.gzipSync(data, { level }),
    decompress: (data, maxOutputLength) => zlib.gunzipSync(data, { maxOutputLength }),
  },
  flate: {
    compress: (data, level) => zlib.deflateRawSync(data, { level }),
    decompress: (data, maxOutputLength) => zlib.inflateRawSync(data, { maxOutputLength }),
  },
  zstd: {
    compress: (data, level = usualZstdLevel) =>
      zstdCompressSync?.(data, { params: { [constants.ZSTD_c_compressionLevel]: level } }) ??
      zstdCompressed(data, level),
    decompress: (data, maxOutputLength) =>
      zstdDecompressSync?.(data, { maxOutputLength }) ?? zstdDecompressed(data, maxOutputLength),
  },
};

export function isCompression(name: unknown): name is CompressionName {
  return compressionNames.some((known) => known === name);
}

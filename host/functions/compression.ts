/** Compression methods of SQL functions, by the names that streams use as well. */
import * as zlib from 'node:zlib';
import { printed } from './printing/printed.js';

/** What a message may unfold to: a value of more is an error of its row anyway (maxValueBytes is 16 MB by default). */
const maxOutputLength = 1 << 30;

interface Method {
  compress: (data: Uint8Array) => Uint8Array;
  decompress: (data: Uint8Array) => Uint8Array;
}

// Node.js has zstd since 22.15.
const { zstdCompressSync, zstdDecompressSync } = zlib as unknown as {
  zstdCompressSync?: (data: Uint8Array) => Uint8Array;
  zstdDecompressSync?: (data: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
};

const methods: Readonly<Record<string, Method | undefined>> = {
  zlib: { compress: zlib.deflateSync, decompress: (data) => zlib.inflateSync(data, { maxOutputLength }) },
  gzip: { compress: zlib.gzipSync, decompress: (data) => zlib.gunzipSync(data, { maxOutputLength }) },
  flate: { compress: zlib.deflateRawSync, decompress: (data) => zlib.inflateRawSync(data, { maxOutputLength }) },
  zstd:
    zstdCompressSync && zstdDecompressSync
      ? { compress: zstdCompressSync, decompress: (data) => zstdDecompressSync(data, { maxOutputLength }) }
      : undefined,
};

/** Compresses a text or bytes. Throws for other data and for unknown methods. */
export function compressed(data: unknown, method: unknown): Uint8Array {
  return methodOf(method).compress(bytesOf(data));
}

/** Reverses `compressed`. Throws for what is not compressed by the method, too. */
export function decompressed(data: unknown, method: unknown): Uint8Array {
  const { decompress } = methodOf(method);
  const bytes = bytesOf(data);
  try {
    return decompress(bytes);
  } catch (error) {
    throw new Error(`cannot decompress by ${printed(method)}: ${error instanceof Error ? error.message : error}`);
  }
}

function methodOf(name: unknown): Method {
  const method = typeof name === 'string' && Object.hasOwn(methods, name) ? methods[name] : undefined;
  if (method !== undefined) return method;
  const known = Object.keys(methods).filter((one) => methods[one] !== undefined);
  throw new Error(`unsupported compression ${printed(name)}, use ${known.join(', ')}`);
}

function bytesOf(data: unknown): Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (typeof data === 'string') return Buffer.from(data);
  throw new Error(`only texts and bytes can be compressed and decompressed, not ${printed(data)}`);
}

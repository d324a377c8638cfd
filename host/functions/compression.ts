/** Compression of SQL functions. */
import { compressionNames, compressions, isCompression } from '../base/bytes/compression.js';
import { printed } from './printing/printed.js';

/**
 * Most bytes that a message may unfold to; a longer value is an error of its row anyway (maxValueBytes is 16 MB by
 * default).
 */
const maxOutputLength = 1 << 30;

/** Compresses a text or bytes. Throws for other data and for unknown methods. */
export function compressed(data: unknown, method: unknown): Uint8Array {
  return methodOf(method).compress(bytesOf(data));
}

/** Reverses `compressed`. Throws for what is not compressed by the method, too. */
export function decompressed(data: unknown, method: unknown): Uint8Array {
  const { decompress } = methodOf(method);
  const bytes = bytesOf(data);
  try {
    return decompress(bytes, maxOutputLength);
  } catch (error) {
    throw new Error(`cannot decompress by ${printed(method)}: ${error instanceof Error ? error.message : error}`);
  }
}

function methodOf(name: unknown): (typeof compressions)['zlib'] {
  if (isCompression(name)) return compressions[name];
  throw new Error(`unsupported compression ${printed(name)}, use ${compressionNames.join(', ')}`);
}

function bytesOf(data: unknown): Uint8Array {
  if (data instanceof Uint8Array) return data;
  if (typeof data === 'string') return Buffer.from(data);
  throw new Error(`only texts and bytes can be compressed and decompressed, not ${printed(data)}`);
}

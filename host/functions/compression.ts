/** Compression of SQL functions. */
import { compressionNames, compressions, isCompression } from '../base/bytes/compression.js';
import { reasonOf } from '../base/errors.js';
import { printed } from './printing/printed.js';

/** Compresses a text or bytes. Throws for other data and for unknown methods. */
export function compressed(data: unknown, method: unknown): Uint8Array {
  return methodOf(method).compress(bytesOf(data));
}

/**
 * Reverses `compressed`. Throws also for what is not compressed by the method, and for what unfolds to more than
 * `longest` bytes: it is not unfolded any further.
 */
export function decompressed(data: unknown, method: unknown, longest: number): Uint8Array {
  const { decompress } = methodOf(method);
  const bytes = bytesOf(data);
  try {
    return decompress(bytes, longest);
  } catch (error) {
    const isTooLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    const reason = isTooLong ? `it unfolds to more than ${longest} bytes (maxValueBytes)` : reasonOf(error);
    throw new Error(`cannot decompress by ${printed(method)}: ${reason}`);
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

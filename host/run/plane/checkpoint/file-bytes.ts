/** Bytes of files, all that were asked for. */
import type { FileHandle } from 'node:fs/promises';
import { HaumeaError } from '../../../base/errors.js';

/** What is wrong with a file. */
export function damaged(reason: string): HaumeaError {
  return new HaumeaError('general', reason);
}

export async function readExactly(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await file.read(bytes, done, length - done, at + done);
    if (bytesRead === 0) throw damaged('it ends too early');
    done += bytesRead;
  }
  return bytes;
}

export async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten;
}

/** Bytes of files, all that were asked for. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { HaumeaError } from '../../../base/errors.js';

/** What is wrong with a file. */
export function damaged(reason: string): HaumeaError {
  return new HaumeaError('general', reason);
}

/** Opens a file for reading; a pipe in its place would be waited for in one of the few threads that all files are read in. */
export async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw damaged('it is no file');
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

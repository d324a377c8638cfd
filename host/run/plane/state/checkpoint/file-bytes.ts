/** Bytes of files, all that were asked for. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { HaumeaError } from '../../../../base/errors.js';

/** The error of a damaged file. */
export function damaged(reason: string): HaumeaError {
  return new HaumeaError('general', reason);
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC, O_NONBLOCK, O_NOFOLLOW } = constants;

/**
 * Opens a file for reading, and none that a link leads to; a pipe in its place would be waited for in one of the few
 * threads that all files are read in.
 */
export async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ELOOP' ? damaged('it is a symbolic link') : error;
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw damaged('it is no file');
}

/** Opens a new file for writing, or an old one that is empty then; none that a link leads to. */
export function createFile(path: string): Promise<FileHandle> {
  return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
}

export function readExactly(file: FileHandle, at: number, length: number): Promise<Buffer> {
  return readInto(Buffer.allocUnsafe(length), file, at);
}

/** Fills the bytes with those of the file from a place on. */
export async function readInto(bytes: Buffer, file: FileHandle, at: number): Promise<Buffer> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, at + done);
    if (bytesRead === 0) throw damaged('it ends too early');
    done += bytesRead;
  }
  return bytes;
}

export async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten;
}

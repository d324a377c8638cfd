/** Files that requests name by `file://` URIs. */
import type { FileHandle } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { HaumeaError } from '../errors.js';
import type { FetchOptions } from '../net/private-net.js';
import type { AllowedPaths } from './allowed-paths.js';
import { fileErrors } from './errors.js';

export interface FilePolicy {
  /** Where they may be. */
  readonly paths: AllowedPaths;
  /** Longest file in bytes. */
  readonly maxBytes?: number;
}

const defaultMaxBytes = 256 * 1024 * 1024;

/** Reads the file a `file://` URI names; throws a `general` error with the URI and the reason. */
export async function readFileUri(uri: string, policy: FilePolicy): Promise<Buffer> {
  const maxBytes = policy.maxBytes ?? defaultMaxBytes;
  const handle = await openFile(uri, policy.paths);
  try {
    if (!(await handle.stat()).isFile()) throw failure(uri, 'it is not a regular file');
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    // The size told before reading is not the truth for files that grow or that the system makes up while reading.
    for await (const chunk of handle.createReadStream({ autoClose: false, end: maxBytes })) {
      sizeBytes += (chunk as Buffer).length;
      if (sizeBytes > maxBytes) throw failure(uri, `it has more than ${maxBytes} bytes`);
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks);
  } finally {
    await handle.close();
  }
}

/** Reads what an http, https or file URI names, each with its own guard. */
export async function readUri(uri: string, options: FetchOptions & FilePolicy): Promise<Buffer> {
  if (/^file:/i.test(uri)) return readFileUri(uri, options);
  if (/^https?:/i.test(uri)) {
    const { fetchGuarded } = await import('../net/private-net.js');
    return (await fetchGuarded(uri, { ...options, file: undefined })).bytes;
  }
  throw failure(uri, 'only the schemes http, https and file are allowed');
}

async function openFile(uri: string, paths: AllowedPaths): Promise<FileHandle> {
  const path = pathOf(uri);
  try {
    return await paths.open(path, 'read');
  } catch (error) {
    if (error instanceof HaumeaError) throw failure(uri, error.message, error);
    const code = (error as NodeJS.ErrnoException).code;
    throw failure(uri, code === 'ENOENT' ? 'there is no such file' : `error ${code}`, error);
  }
}

function pathOf(uri: string): string {
  let url: URL;
  try {
    url = new URL(uri);
  } catch (error) {
    throw failure(uri, 'this is no URI', error);
  }
  if (url.protocol !== 'file:') throw failure(uri, 'this is no file URI');
  if (url.host !== '')
    throw failure(uri, `the path must be absolute (file:///…), ${url.host} stands for another machine`);
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw failure(uri, 'the path is not correctly encoded', error);
  }
}

function failure(uri: string, reason: string, cause?: unknown): HaumeaError {
  return fileErrors.uri(uri, reason, { cause });
}

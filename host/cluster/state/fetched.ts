/** Brings a folder on this machine in line with what NATS has. */
import { createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeFolder, refuseLink } from '../../base/files/folder.js';
import { digestOf, digestOfFile, type KeptFile, storedOf } from './manifest.js';
import type { ObjectStore } from './objects.js';

/** Gets the files that the folder lacks, and removes all others. */
export async function fetchFiles(folder: string, files: readonly KeptFile[], objects: ObjectStore): Promise<void> {
  await refuseLink(folder);
  const names = new Set(files.map(({ name }) => name));
  const present = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const name of present) {
    if (!names.has(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
  if (files.length === 0) return;
  await makeFolder(folder, true);
  for (const file of files) {
    const path = join(folder, file.name);
    if (await isSame(path, file)) continue;
    const part = `${path}.part`;
    await rm(path, { recursive: true, force: true });
    await pipeline(contentOf(file, objects), createWriteStream(part, { mode: 0o600 }));
    await rename(part, path);
  }
}

async function isSame(path: string, { bytes, digest }: KeptFile): Promise<boolean> {
  try {
    const found = await stat(path);
    return found.isFile() && found.size === bytes && (await digestOfFile(path)) === digest;
  } catch {
    return false;
  }
}

function contentOf(file: KeptFile, objects: ObjectStore): Readable {
  const stored = storedOf(file);
  if (stored !== undefined) return Readable.from(objects.get(stored));
  const bytes = Buffer.from(file.data ?? '', 'base64');
  if (bytes.length !== file.bytes || digestOf(bytes) !== file.digest) throw new Error(`${file.name} is damaged there`);
  return Readable.from([bytes]);
}

/** Checksums of the files of a package, beside them: what a disk has damaged since is found, whoever reads it. */
import { createReadStream } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { crc32 } from '../../base/files/crc32.js';

/** No file of a package begins with a dot. */
const fileName = '.checksums';

/** Writes what the files of a folder are now. */
export async function sealPackage(folder: string): Promise<void> {
  const sums: Record<string, number> = {};
  for (const path of (await filesIn(folder, '')).sort()) sums[path] = await checksumOf(join(folder, path));
  await writeFile(join(folder, fileName), JSON.stringify(sums));
}

/**
 * Why a package is not what was written, a clause; undefined when it is, or comes from a release that wrote no
 * checksums.
 */
export async function damageOf(folder: string): Promise<string | undefined> {
  let sums: Record<string, number>;
  try {
    sums = JSON.parse(await readFile(join(folder, fileName), 'utf8')) as Record<string, number>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    return `the file ${join(folder, fileName)} is damaged`;
  }
  for (const [path, sum] of Object.entries(sums)) {
    const file = join(folder, path);
    try {
      if ((await checksumOf(file)) !== sum) return `the file ${file} is damaged`;
    } catch (error) {
      return `the file ${file} can't be read: ${reasonOf(error)}`;
    }
  }
  return undefined;
}

async function filesIn(folder: string, below: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) found.push(...(await filesIn(folder, path)));
    else if (entry.isFile()) found.push(path);
  }
  return found;
}

async function checksumOf(path: string): Promise<number> {
  let sum = 0;
  for await (const bytes of createReadStream(path)) sum = crc32(bytes as Buffer, sum);
  return sum;
}

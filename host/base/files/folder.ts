/** Makes folders, with all missing folders above them. */
import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { lstat, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

// `recursive` of Node never ends where an existing folder denies the existence of what is made in it, as /proc does.

/**
 * Makes a folder and what is missing above it; throws the system's error where that can't be. What `isLasting` is on
 * disk then: without that the files in it may be gone after a loss of power, however well they were written.
 */
export function makeFolderSync(path: string, isLasting = false): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  const above = dirname(path);
  if (above !== path) makeFolderSync(above, isLasting);
  try {
    mkdirSync(path);
  } catch (error) {
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
  if (isLasting) syncFolderSync(above);
}

/** As `makeFolderSync`; rejects with the system's error where that can't be. */
export async function makeFolder(path: string, isLasting = false): Promise<void> {
  if (await isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) await makeFolder(above, isLasting);
  try {
    await mkdir(path);
  } catch (error) {
    if (!(await isFolder(path))) throw error;
  }
  if (isLasting) await syncFolder(above);
}

/** Rejects when a symbolic link has the path: what is read, written and removed in it would be somebody else's. */
export async function refuseLink(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found?.isSymbolicLink()) throw new Error(`${path} is a symbolic link, which is not followed here`);
}

/** Makes new, renamed and removed names of a folder durable, where the system can. */
export async function syncFolder(path: string): Promise<void> {
  let folder: Awaited<ReturnType<typeof open>> | undefined;
  try {
    folder = await open(path, 'r');
    await folder.sync();
  } catch {
    // Windows can't sync folders; there a name is durable by itself.
  } finally {
    await folder?.close();
  }
}

function syncFolderSync(path: string): void {
  let folder: number | undefined;
  try {
    folder = openSync(path, 'r');
    fsyncSync(folder);
  } catch {
    // As above.
  } finally {
    if (folder !== undefined) closeSync(folder);
  }
}

/** Tells whether a folder is there. */
async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isDirectory(),
    () => false,
  );
}

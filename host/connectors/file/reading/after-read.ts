/** What becomes of a file that was read: it stays, is deleted, or is moved to a folder. */
import { copyFile, lstat, rename, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';

export interface AfterRead {
  /** 0 keep the file, 1 delete it, 2 move it. */
  actionAfterRead: number;
  /** Folder of moved files. */
  moveTo: string;
}

export async function endFile(path: string, { actionAfterRead, moveTo }: AfterRead, paths: AllowedPaths) {
  if (actionAfterRead === 0) return;
  // A link itself is removed, its target stays: so the link's own folder must be allowed for writing.
  const name = join(paths.check(dirname(paths.check(path)), 'write'), basename(path));
  if (actionAfterRead === 1) await rm(name);
  else await moveAside(name, paths.check(join(moveTo, basename(path)), 'write'), paths);
}

/** Moves a file; when the target name is taken, the moved file gets the time in its name. */
async function moveAside(path: string, wanted: string, paths: AllowedPaths): Promise<void> {
  const extension = extname(wanted);
  let target = wanted;
  for (let at = Date.now(); target !== path && (await isThere(target)); at++) {
    target = paths.check(`${wanted.slice(0, wanted.length - extension.length)}-${at}${extension}`, 'write');
  }
  await move(path, target);
}

/** Renames a file; to another file system it is copied, under another name until it is whole, and then removed. */
async function move(path: string, target: string): Promise<void> {
  try {
    await rename(path, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    const part = join(dirname(target), `.${basename(target)}.part`);
    try {
      await copyFile(path, part);
      await rename(part, target);
    } catch (failure) {
      await rm(part, { force: true });
      throw failure;
    }
    await rm(path);
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

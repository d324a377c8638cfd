/**
 * Files that belong to stored definitions. Each installation has a folder of its own, whose name its record holds: a
 * record never points to files that are half written or of another version, and a crash leaves at most a folder that
 * nobody names, which `sweep` removes at the next start.
 */
import { randomBytes } from 'node:crypto';
import { open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { asStorageError } from '../../base/errors.js';
import { makeFolder } from '../../base/files/folder.js';
import { isUnsure, storedErrors } from '../errors.js';

/** File systems take names of 255 bytes; the folder adds a suffix to this, its main file an ending. */
const maxNameLength = 240;

/** Packages where all nodes of a cluster find them, by their places below the data folder. */
export interface SharedPackages {
  /** Brings a folder there; rejects with the reason. */
  put(place: string): Promise<void>;
  remove(place: string): Promise<void>;
  /** Whether another node has made the folder, which this one has got. */
  hasCome(place: string): boolean;
}

/** The packages of a kind among those of a cluster. */
export interface SharedKind {
  readonly packages: SharedPackages;
  /** Place of their folders. */
  readonly root: string;
}

export class PackageFolders {
  readonly #root: string;

  /** @param shared left out on a server alone */
  constructor(
    root: string,
    private readonly shared?: SharedKind | undefined,
  ) {
    this.#root = root;
  }

  /** Path of a folder by the name that `add` returned. */
  path(folder: string): string {
    return join(this.#root, folder);
  }

  /**
   * Makes a folder with what `fill` writes to it (`fill` creates it) and resolves with its name when everything is on
   * disk; nothing stays when it fails. Throws a `general` error when no folder can have the name, and a `storage` error
   * when the disk does not take the files.
   */
  async add(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
    if (Buffer.byteLength(name) > maxNameLength) {
      throw storedErrors.longName(name.slice(0, 40), maxNameLength);
    }
    const folder = `${name}@${randomBytes(4).toString('hex')}`;
    const path = this.path(folder);
    try {
      await makeFolder(this.#root);
      await fill(path);
      await (await import('./package-check.js')).sealPackage(path);
      await syncTree(path);
      await syncPath(this.#root);
      await this.shared?.packages.put(`${this.shared.root}/${folder}`);
    } catch (error) {
      await rm(path, { recursive: true, force: true });
      throw asStorageError(error, `the files of ${name} could not be saved`);
    }
    return folder;
  }

  /** Why the files of a folder are not what was written; undefined when they are. */
  async damageOf(folder: string): Promise<string | undefined> {
    return (await import('./package-check.js')).damageOf(this.path(folder));
  }

  async remove(folder: string | undefined): Promise<void> {
    if (!folder) return;
    await this.#removeHere(folder);
    await this.shared?.packages.remove(`${this.shared.root}/${folder}`);
  }

  /** Removes a folder whose record is not stored; where nobody knows that, the next start finds whether it is named. */
  async takeBack(folder: string | undefined, reason: unknown): Promise<void> {
    if (!isUnsure(reason)) await this.remove(folder);
  }

  async #removeHere(folder: string): Promise<void> {
    await rm(this.path(folder), { recursive: true, force: true });
  }

  /** Removes the folders that no record names. */
  async sweep(kept: Iterable<string | undefined>): Promise<void> {
    const names = new Set(kept);
    // A folder that was never made holds nothing.
    const found = await readdir(this.#root).catch(() => []);
    const isComing = (folder: string) => this.shared?.packages.hasCome(`${this.shared.root}/${folder}`) === true;
    for (const folder of found) {
      if (folder.includes('@') && !names.has(folder) && !isComing(folder)) await this.#removeHere(folder);
    }
  }
}

/**
 * Writes a file that is there complete or not at all, also after a crash; throws a `storage` error when it can't be.
 */
export async function writeDurable(path: string, bytes: Uint8Array): Promise<void> {
  const folder = dirname(path);
  const fresh = join(folder, `.new-${randomBytes(6).toString('hex')}`);
  try {
    await makeFolder(folder);
    await writeFile(fresh, bytes);
    await syncPath(fresh);
    await rename(fresh, path);
    await syncPath(folder);
  } catch (error) {
    await rm(fresh, { force: true });
    throw asStorageError(error, `the file ${basename(path)} could not be saved`);
  }
}

async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncTree(path);
    else await syncPath(path);
  }
  await syncPath(folder);
}

async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Files of plugins, schemas and services: a node that installs one brings its folder to the object store before the
 * definition names it, and the others get it before they show the definition.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { makeFolder, syncFolder } from '../../base/files/folder.js';
import { damageOf } from '../../meta/packages/package-check.js';
import type { SharedPackages } from '../../meta/packages/packages.js';
import { clusterErrors } from '../errors.js';
import { encodeName } from '../keys.js';
import type { ObjectStore } from '../state/objects.js';
import { decrypted, encrypted } from './crypt.js';
import { packed, unpack } from './pack.js';

export class SharedFiles implements SharedPackages {
  /** Folders that came from other nodes, whose definitions may not be shown yet. */
  readonly #arrived = new Set<string>();

  constructor(
    private readonly objects: ObjectStore,
    private readonly key: Buffer | undefined,
    /** Data folder of this node. */
    private readonly data: string,
  ) {}

  async put(place: string): Promise<void> {
    if (this.key === undefined) throw clusterErrors.filesKey(nameOf(place));
    const object = encodeName(place);
    try {
      await this.objects.write(object, encrypted(this.key, place, packed(join(this.data, place))));
    } catch (error) {
      throw clusterErrors.notShared(nameOf(place), reasonOf(error), { cause: error });
    }
  }

  remove(place: string): Promise<void> {
    return this.objects.remove([encodeName(place)]);
  }

  hasCome(place: string): boolean {
    return this.#arrived.has(place);
  }

  /** Whether this node has not the files. */
  lacks(place: string): boolean {
    return !existsSync(join(this.data, place));
  }

  /** Gets the files; rejects with the reason, and leaves nothing then. */
  async fetch(place: string): Promise<void> {
    if (this.key === undefined) throw clusterErrors.filesKey(nameOf(place));
    const found = await this.objects.find(encodeName(place));
    if (found === undefined) throw new Error('NATS does not have them');
    const path = join(this.data, place);
    const fresh = join(dirname(path), `.new-${randomBytes(6).toString('hex')}`);
    try {
      await makeFolder(dirname(path));
      await unpack(decrypted(this.key, place, this.objects.get(found)), fresh);
      const damage = await damageOf(fresh);
      if (damage !== undefined) throw new Error(damage);
      this.#arrived.add(place);
      await rename(fresh, path);
      await syncFolder(dirname(path));
    } catch (error) {
      await rm(fresh, { recursive: true, force: true });
      throw error;
    }
  }

  /** Removes the files on this node: another one has taken them from the cluster. */
  async drop(place: string): Promise<void> {
    this.#arrived.delete(place);
    await rm(join(this.data, place), { recursive: true, force: true });
  }
}

/** `schemas/demo@1f2e3d4c` as users know it. */
function nameOf(place: string): string {
  return place.slice(0, place.lastIndexOf('@'));
}

/** Where the state of rules is kept, a folder for each. */
import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RuleDefinition } from '../model/engine.js';
import type { CheckpointOrder } from './link/protocol.js';

/** Names of files are no longer than 255 bytes. */
const maxNameLength = 200;

/** A run that ends may write a last file meanwhile. */
const removing = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 };

export class CheckpointFolders {
  /** @param folder without it no state is kept */
  constructor(private readonly folder: string | undefined) {}

  /** How the state of a rule is to be kept; undefined when it is not. */
  orderOf({ id, options, temp, test }: RuleDefinition): CheckpointOrder | undefined {
    const { qos, checkpointIntervalMs, enableSaveStateBeforeStop } = options;
    // Rules in memory alone do not come back.
    if (this.folder === undefined || temp === true || test !== undefined) return undefined;
    if (qos === 0 && !enableSaveStateBeforeStop) return undefined;
    return { folder: this.#of(this.folder, id), qos, intervalMs: qos > 0 ? checkpointIntervalMs : 0 };
  }

  /** Removes the state of a rule. */
  async clear(id: string): Promise<void> {
    if (this.folder !== undefined) await rm(this.#of(this.folder, id), removing);
  }

  /** Removes what rules have left that are gone or keep nothing any more. */
  async sweep(keeps: (folder: string) => boolean): Promise<void> {
    const { folder } = this;
    if (folder === undefined) return;
    const names = await readdir(folder).catch(() => []);
    for (const name of names) if (!keeps(name)) await rm(join(folder, name), removing);
  }

  /** The folder of a rule; undefined where no state is kept. */
  of(id: string): string | undefined {
    return this.folder === undefined ? undefined : this.#of(this.folder, id);
  }

  /** Name of the folder of a rule. */
  nameOf(id: string): string {
    return id.length <= maxNameLength ? id : createHash('sha256').update(id).digest('hex');
  }

  #of(folder: string, id: string): string {
    return join(folder, this.nameOf(id));
  }
}

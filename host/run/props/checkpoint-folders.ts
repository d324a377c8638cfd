/** Folders of checkpoints, one for each rule. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RuleDefinition } from '../../model/engine.js';
import type { CheckpointOrder, SourceSpec } from '../link/protocol.js';
import type { RuleStates } from '../link/shared-states.js';
import { inputLogFolder } from './access.js';
import { formOf } from './retry-queues.js';

/** Names of files are no longer than 255 bytes. */
const maxNameLength = 200;

/** A run that ends may write a last file meanwhile. */
const removing = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 };
const fileName = (name: string) => encodeURIComponent(name).replaceAll('.', '%2E');
/** Folder of the input logs, beside the checkpoints. */
const logFolder = (folder: string) => join(dirname(folder), inputLogFolder);

export class CheckpointFolders {
  /**
   * @param folder without it no state is kept
   * @param states without them the state stays on this machine
   */
  constructor(
    private readonly folder: string | undefined,
    private readonly states?: RuleStates,
  ) {}

  /** Order for the checkpoints of a rule; undefined when its state is not kept. */
  orderOf({ id, options, temp, test, partOf, common }: RuleDefinition): Omit<CheckpointOrder, 'kept'> | undefined {
    const { qos, checkpointIntervalMs, enableSaveStateBeforeStop } = options;
    // Rules in memory alone do not come back, unless another one does that consists of them.
    if (this.folder === undefined || test !== undefined) return undefined;
    if (partOf === undefined ? temp === true : common === undefined) return undefined;
    if (qos === 0 && !enableSaveStateBeforeStop) return undefined;
    if (common !== undefined) return { folder: this.#of(this.folder, id), qos, intervalMs: 0, common };
    const order = { folder: this.#of(this.folder, id), qos, intervalMs: qos > 0 ? checkpointIntervalMs : 0 };
    return this.states === undefined ? order : { ...order, sharedAs: id };
  }

  /** Folder of the input log by stream, for messages that brokers have acknowledged; undefined without any. */
  inputLogsOf(rule: RuleDefinition, streams: readonly SourceSpec[]): Record<string, string> | undefined {
    const { folder } = this;
    if (folder === undefined) return undefined;
    const isKept = rule.options.qos > 0 && this.orderOf(rule) !== undefined;
    // What only one node of a cluster has is not safe: its messages wait for checkpoints.
    if (isKept && this.states !== undefined) return undefined;
    const logs: Record<string, string> = {};
    for (const stream of streams) {
      const { name, isShared } = stream;
      if (formOf(stream)?.acknowledges !== true) continue;
      const log = isShared
        ? join(logFolder(folder), 'streams', fileName(name))
        : join(this.#logsOf(folder, rule.id), fileName(name));
      // Messages left in the log have to go through any rule that reads the stream.
      if (isKept || existsSync(log)) logs[name] = log;
    }
    return Object.keys(logs).length === 0 ? undefined : logs;
  }

  /** Removes the state of a rule. */
  async clear(id: string): Promise<void> {
    if (this.folder === undefined) return;
    await rm(this.#of(this.folder, id), removing);
    await rm(this.#logsOf(this.folder, id), removing);
    await this.states?.remove(id);
  }

  #logsOf(folder: string, id: string): string {
    return join(logFolder(folder), 'rules', this.nameOf(id));
  }

  /** Removes what rules have left that are gone or keep nothing any more. */
  async sweep(keeps: (folder: string) => boolean): Promise<void> {
    const { folder } = this;
    if (folder === undefined) return;
    for (const parent of [folder, join(logFolder(folder), 'rules')]) {
      const names = await readdir(parent).catch(() => []);
      for (const name of names) if (!keeps(name)) await rm(join(parent, name), removing);
    }
  }

  /** The folder of a rule; undefined where no state is kept. */
  of(id: string): string | undefined {
    return this.folder === undefined ? undefined : this.#of(this.folder, id);
  }

  /** Name of the folder of a rule; that of a long id has a dot, which no id has. */
  nameOf(id: string): string {
    return id.length <= maxNameLength ? id : `long.${createHash('sha256').update(id).digest('hex')}`;
  }

  #of(folder: string, id: string): string {
    return join(folder, this.nameOf(id));
  }
}

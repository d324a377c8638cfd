/**
 * Checkpoints of a rule on disk, a file each: written under another name and made durable before it gets its own, so
 * that each file that is there is whole. The last two are kept.
 *
 *     "HAUMEACP" | format u32 LE | headLen u32 LE | head, JSON | state of the operators | pending input | SHA-256 of
 *     all before (32 bytes)
 *
 * The state is the kernel's own form (assembly/state/form.ts). Large numbers of rows stand in segments beside it
 * (segments.ts), which the head names: format 2. What other rules had sent and the rule had not taken is format 3.
 * Without both the format is 1. Where segments have groups, too, it is 4.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { reasonOf } from '../../../../base/errors.js';
import { makeFolder, refuseLink } from '../../../../base/files/folder.js';
import type { Segment, SegmentedRows } from '../../../link/moving.js';
import { createFile, damaged, openFile, readExactly, readInto, writeAll } from './file-bytes.js';
import { type CheckpointHead, headOf } from './head.js';
import { type Pieces, readSegment, segmentEnding, writeSegment } from './segments.js';

/** A checkpoint that was read. */
export interface ReadCheckpoint {
  readonly path: string;
  readonly head: CheckpointHead;
  readonly state: readonly Buffer[];
  /** Pending input from other rules, by stream. */
  readonly pending: ReadonlyMap<string, Buffer>;
}

const magic = 'HAUMEACP';
const format = 1;
const formatWithRows = 2;
const formatWithPending = 3;
const formatWithGroups = 4;
const formatWithChanges = 5;
const preludeBytes = magic.length + 8;
const digestBytes = 32;
const maxHeadBytes = 16 << 20;
const pieceBytes = 1 << 20;
const ending = '.checkpoint';
const unfinished = '.part';
/** Number of checkpoints that are kept of a rule. */
export const kept = 2;
/** Options of a removal: a folder in the place of a file must not keep newer checkpoints from counting. */
const removing = { recursive: true, force: true };

export class CheckpointFiles {
  /** Segments of the checkpoints that were written or read, by epoch. */
  readonly #needs = new Map<number, readonly Segment[]>();

  constructor(readonly folder: string) {}

  /** Checkpoints of the rule, the newest first. */
  async list(): Promise<{ epoch: number; path: string }[]> {
    await refuseLink(this.folder);
    return this.#checkpointsOf(await this.#names());
  }

  async #names(): Promise<string[]> {
    return readdir(this.folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
  }

  #checkpointsOf(names: readonly string[]): { epoch: number; path: string }[] {
    return names
      .flatMap((name) => {
        const epoch = name.endsWith(ending) ? epochOf(name) : Number.NaN;
        return Number.isSafeInteger(epoch) ? [{ epoch, path: join(this.folder, name) }] : [];
      })
      .sort((a, b) => b.epoch - a.epoch);
  }

  /** Reads a checkpoint; rejects with the fault when it can't be used. */
  async read(path: string): Promise<ReadCheckpoint> {
    const file = await openFile(path);
    try {
      const { size } = await file.stat();
      // A small file is read at once: at the start of a server there are thousands.
      const whole = size <= pieceBytes ? await readExactly(file, 0, size) : undefined;
      const readAt = async (at: number, length: number): Promise<Buffer> => {
        if (whole === undefined) return readExactly(file, at, length);
        if (at + length > size) throw damaged('it ends too early');
        return whole.subarray(at, at + length);
      };
      const prelude = await readAt(0, preludeBytes);
      if (prelude.toString('latin1', 0, magic.length) !== magic) throw damaged('it is no checkpoint');
      const found = prelude.readUInt32LE(magic.length);
      if (found < format || found > formatWithChanges) {
        throw damaged(
          found > formatWithChanges
            ? `a newer release has written it, in format ${found}, and this one knows those up to ${formatWithChanges}`
            : `it has format ${found}, known are ${format} to ${formatWithChanges}`,
        );
      }
      const headLen = prelude.readUInt32LE(magic.length + 4);
      const begin = preludeBytes + headLen;
      const end = size - digestBytes;
      if (headLen > maxHeadBytes || begin > end) throw damaged('it ends too early');
      const head = await readAt(preludeBytes, headLen);
      const digest = createHash('sha256').update(prelude).update(head);
      const rest: Buffer[] = [];
      // The next piece is read while the digest of this one is made. One piece of memory is enough for all.
      const memory = whole === undefined ? Buffer.allocUnsafeSlow(end - begin) : whole.subarray(begin, end);
      const pieceAt = async (at: number): Promise<Buffer | undefined> => {
        const piece = memory.subarray(at, at + pieceBytes);
        if (piece.length === 0) return undefined;
        return whole === undefined ? readInto(piece, file, begin + at) : piece;
      };
      for (let piece = await pieceAt(0), at = 0; piece !== undefined; ) {
        at += piece.length;
        const next = pieceAt(at);
        digest.update(piece);
        rest.push(piece);
        piece = await next;
      }
      if (!digest.digest().equals(await readAt(end, digestBytes))) throw damaged('its bytes are damaged');
      const known = headOf(head);
      if (known.epoch !== epochOf(basename(path))) throw damaged(`it is number ${known.epoch}`);
      this.#needs.set(known.epoch, known.rows?.segments ?? []);
      return { path, head: known, ...partsOf(rest, known.pending) };
    } finally {
      await file.close();
    }
  }

  /** Writes a checkpoint to disk, which counts only when it is published; `state` is followed by the pending input. */
  async write(head: CheckpointHead, state: readonly Uint8Array[]): Promise<void> {
    await refuseLink(this.folder);
    this.#needs.set(head.epoch, head.rows?.segments ?? []);
    const text = Buffer.from(JSON.stringify(head));
    const prelude = Buffer.alloc(preludeBytes);
    prelude.write(magic, 'latin1');
    prelude.writeUInt32LE(formatOf(head), magic.length);
    prelude.writeUInt32LE(text.length, magic.length + 4);
    const digest = createHash('sha256');
    const file = await this.#made(this.unfinished(head.epoch));
    try {
      // One piece is written at a time, since the thread has rows to work on.
      for (const bytes of [Buffer.concat([prelude, text]), ...state]) {
        const written = writeAll(file, bytes);
        digest.update(bytes);
        await written;
      }
      await writeAll(file, digest.digest());
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  /** Opens a new file; the folder is there but for the first time. */
  async #made(path: string): Promise<FileHandle> {
    try {
      return await createFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await makeFolder(this.folder, true);
      return createFile(path);
    }
  }

  /** Writes a segment of that epoch so that it is on disk. */
  async writeSegment(epoch: number, next: (pieces: Pieces) => boolean): Promise<Segment> {
    await refuseLink(this.folder);
    await makeFolder(this.folder, true);
    const file = nameOf(epoch, segmentEnding);
    return { file, ...(await writeSegment(join(this.folder, file), next)) };
  }

  /** Reads the segments of a checkpoint, some whole runs at a time; rejects with the fault of a damaged one. */
  async readSegments({ segments }: SegmentedRows, take: (bytes: Buffer, runs: number) => void): Promise<void> {
    for (const segment of segments) {
      try {
        await readSegment(join(this.folder, basename(segment.file)), segment, take);
      } catch (error) {
        throw damaged(`its rows in ${join(this.folder, segment.file)} are damaged: ${reasonOf(error)}`);
      }
    }
  }

  /**
   * Makes the checkpoint count. Older ones are removed except for the one before, with segments that neither needs.
   * `left` names files that can't be removed now, and are removed later.
   */
  async publish(epoch: number, left: (reason: string) => void = () => {}): Promise<void> {
    await this.name(epoch);
    await this.tidy().catch((error: unknown) => left(`older checkpoints can't be removed: ${reasonOf(error)}`));
  }

  /** Gives a checkpoint its own name. */
  async name(epoch: number): Promise<void> {
    await rename(this.unfinished(epoch), this.named(epoch));
    const folder = await open(this.folder);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  /** Removes all but the last two checkpoints, with what nothing needs any more. */
  async tidy(): Promise<void> {
    const names = await this.#names();
    const all = this.#checkpointsOf(names);
    for (const { path: old } of all.slice(kept)) await rm(old, removing);
    await this.#removeUnneeded(names, all.slice(0, kept));
  }

  /** Removes segments that no checkpoint needs, and files older than all of `staying`, which are the newest first. */
  async #removeUnneeded(names: readonly string[], staying: readonly { epoch: number; path: string }[]): Promise<void> {
    const oldest = staying.at(-1)!.epoch;
    for (const known of this.#needs.keys()) if (known < oldest) this.#needs.delete(known);
    let isKnown = true;
    for (const { epoch, path } of staying) {
      // A checkpoint of an earlier run is read for its segments; those of a damaged one are not known.
      if (!this.#needs.has(epoch))
        isKnown &&= await this.read(path).then(
          () => true,
          () => false,
        );
    }
    const needed = new Set([...this.#needs.values()].flat().map(({ file }) => file));
    for (const name of names) {
      const isOld = name.endsWith(unfinished) && epochOf(name) < oldest;
      // Newer segments belong to a checkpoint that does not count yet.
      const isUnneeded = name.endsWith(segmentEnding) && epochOf(name) <= staying[0]!.epoch && !needed.has(name);
      if (isOld || (isKnown && isUnneeded)) await rm(join(this.folder, name), removing);
    }
  }

  /** Removes all segments up to an epoch but these; later ones belong to what is being written. */
  async keepSegments({ segments }: SegmentedRows, epoch: number): Promise<void> {
    const needed = new Set(segments.map(({ file }) => file));
    for (const name of await this.#names()) {
      const isOld = name.endsWith(segmentEnding) && epochOf(name) <= epoch;
      if (isOld && !needed.has(name)) await rm(join(this.folder, name), removing);
    }
  }

  /** Removes a checkpoint that was written and not published. */
  async abandon(epoch: number): Promise<void> {
    this.#needs.delete(epoch);
    await rm(this.unfinished(epoch), { force: true });
  }

  /** Removes a checkpoint that has its own name. */
  async remove(epoch: number): Promise<void> {
    this.#needs.delete(epoch);
    await rm(this.named(epoch), removing);
  }

  /** Removes a segment that was not written to its end. */
  async abandonSegment(epoch: number): Promise<void> {
    await rm(join(this.folder, nameOf(epoch, segmentEnding)), { force: true });
  }

  /** Removes all checkpoints of the rule. */
  async clear(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  }

  /** Path of a checkpoint until it is published. */
  unfinished(epoch: number): string {
    return this.named(epoch) + unfinished;
  }

  /** Path of a checkpoint that counts. */
  named(epoch: number): string {
    return join(this.folder, nameOf(epoch, ending));
  }

  /**
   * Id of a joint checkpoint that is not published, `damaged` when it is damaged; undefined when it does not exist or
   * counts alone.
   */
  async jointOfUnfinished(epoch: number): Promise<string | undefined> {
    await refuseLink(this.folder);
    try {
      return (await this.read(this.unfinished(epoch))).head.joint?.id;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return undefined;
      if (code === undefined) return 'damaged';
      throw error;
    }
  }

  /** Whether a checkpoint exists and is damaged; reading it tells how. */
  async isDamaged(epoch: number): Promise<boolean> {
    try {
      await this.read(this.named(epoch));
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ENOENT';
    }
  }
}

function formatOf({ rows, pending }: CheckpointHead): number {
  if (rows?.sets !== undefined) return formatWithChanges;
  if (rows?.fresh !== undefined) return formatWithGroups;
  if (pending !== undefined) return formatWithPending;
  return rows === undefined ? format : formatWithRows;
}

/** Takes the pending input off the end of what follows the head. */
function partsOf(
  rest: readonly Buffer[],
  lengths: CheckpointHead['pending'],
): Pick<ReadCheckpoint, 'state' | 'pending'> {
  const pending = new Map<string, Buffer>();
  if (lengths === undefined) return { state: rest, pending };
  const whole = Buffer.concat(rest);
  let at = whole.length - Object.values(lengths).reduce((sum, length) => sum + length, 0);
  if (at < 0) throw damaged('it ends too early');
  const state = [whole.subarray(0, at)];
  for (const [stream, length] of Object.entries(lengths)) {
    pending.set(stream, whole.subarray(at, at + length));
    at += length;
  }
  return { state, pending };
}

function epochOf(name: string): number {
  return Number(name.slice(0, name.indexOf('.')));
}

function nameOf(epoch: number, ending: string): string {
  return `${String(epoch).padStart(12, '0')}${ending}`;
}

/**
 * A checkpoint with its segments in one file, for another machine:
 *
 *     {"haumeaState":1,"files":[{"name","bytes"}, …]} LF | the files, one after the other
 *
 * Each of these has its own digest.
 */
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { reasonOf } from '../../../../base/errors.js';
import { makeFolder } from '../../../../base/files/folder.js';
import { damaged, readExactly, writeAll } from './file-bytes.js';
import { CheckpointFiles } from './files.js';
import type { CheckpointHead } from './head.js';

interface Part {
  readonly name: string;
  readonly bytes: number;
}

const version = 1;
const maxIndexBytes = 1 << 20;
const pieceBytes = 1 << 20;
/** Names of the files in a folder of checkpoints, the checkpoint and its segments. */
const partName = /^\d{12}\.(checkpoint|rows)$/;
const lineFeed = 10;

/** Writes the newest checkpoint of the folder that is whole to a file; returns its head and the length of the file. */
export async function packState(folder: string, file: string): Promise<{ head: CheckpointHead; bytes: number }> {
  const files = new CheckpointFiles(folder);
  let why = 'there is none; rules with qos 1 or 2 have them';
  for (const { path } of await files.list()) {
    try {
      const { head } = await files.read(path);
      return { head, bytes: await pack(folder, [basename(path), ...segmentsOf(head)], file) };
    } catch (error) {
      // The checkpoint of a running rule may be replaced at this moment: then the one before is gone and a newer one
      // there.
      why = `${path}: ${reasonOf(error)}`;
    }
  }
  throw new Error(`no checkpoint in ${folder}: ${why}`);
}

/**
 * Puts the state of a file in the place of what the folder has; throws the reason, and leaves the folder as it is,
 * where it is damaged.
 */
export async function unpackState(file: string, rule: string, folder: string): Promise<CheckpointHead> {
  const fresh = `${folder}.import`;
  await rm(fresh, { recursive: true, force: true });
  try {
    await makeFolder(fresh);
    await unpack(file, fresh);
    const files = new CheckpointFiles(fresh);
    const [newest, ...others] = await files.list();
    if (newest === undefined || others.length > 0) throw damaged('it has not one checkpoint');
    const { head } = await files.read(newest.path);
    if (head.rule !== rule) throw new Error(`it is of rule ${head.rule}`);
    if (head.rows !== undefined) await files.readSegments(head.rows, () => {});
    await makeFolder(dirname(folder));
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
    await syncFolder(dirname(folder));
    return head;
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    throw new Error(`${file}: ${reasonOf(error)}`, { cause: error });
  }
}

function segmentsOf({ rows }: CheckpointHead): string[] {
  return (rows?.segments ?? []).map((segment) => basename(segment.file));
}

async function pack(folder: string, names: readonly string[], file: string): Promise<number> {
  const parts: Part[] = [];
  for (const name of names) parts.push({ name, bytes: (await stat(join(folder, name))).size });
  const out = await open(`${file}.part`, 'w', 0o600);
  try {
    await writeAll(out, Buffer.from(`${JSON.stringify({ haumeaState: version, files: parts })}\n`));
    for (const { name, bytes } of parts) {
      let left = bytes;
      for await (const chunk of createReadStream(join(folder, name), { highWaterMark: pieceBytes })) {
        await writeAll(out, chunk as Buffer);
        left -= (chunk as Buffer).length;
      }
      if (left !== 0) throw new Error(`${name} changed while it was read`);
    }
    await out.datasync();
    const { size } = await out.stat();
    await rename(`${file}.part`, file);
    return size;
  } catch (error) {
    await rm(`${file}.part`, { force: true });
    throw error;
  } finally {
    await out.close();
  }
}

async function unpack(file: string, folder: string): Promise<void> {
  const input = await open(file);
  try {
    const { size } = await input.stat();
    const begin = await readExactly(input, 0, Math.min(size, maxIndexBytes));
    const end = begin.indexOf(lineFeed);
    let at = end + 1;
    for (const { name, bytes } of indexOf(begin.subarray(0, Math.max(0, end)))) {
      if (at + bytes > size) throw damaged('it ends too early');
      const out = await open(join(folder, name), 'wx', 0o600);
      try {
        for (const last = at + bytes; at < last; ) {
          const piece = await readExactly(input, at, Math.min(pieceBytes, last - at));
          await writeAll(out, piece);
          at += piece.length;
        }
        await out.datasync();
      } finally {
        await out.close();
      }
    }
    if (at !== size) throw damaged('it goes on behind its end');
    await syncFolder(folder);
  } finally {
    await input.close();
  }
}

function indexOf(line: Buffer): readonly Part[] {
  let index: { haumeaState?: unknown; files?: unknown };
  try {
    index = JSON.parse(line.toString());
  } catch {
    throw damaged('it is no state of a rule');
  }
  if (index?.haumeaState !== version || !Array.isArray(index.files)) throw damaged('it is no state of a rule');
  const isPart = (part: Part) =>
    typeof part?.name === 'string' && partName.test(part.name) && Number.isSafeInteger(part.bytes) && part.bytes >= 0;
  if (!index.files.every(isPart)) throw damaged('its list of files is none');
  return index.files;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

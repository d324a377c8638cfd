/**
 * A copy of the database's content that is read in a few milliseconds, because loading SQLite takes a hundred. It
 * belongs to exactly one content of the database file, told by size and checksum: a file that somebody changed with
 * other tools is read itself.
 *
 *     line 1   { size, crc } of the database file, { length, check } of the rest, generation
 *     line 2   [[kind, [[key, value], …]], …]
 */
import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { crc32 } from '../../base/files/crc32.js';
import type { DatabaseContent, Kinds } from './database-content.js';

interface Head {
  size: number;
  crc: number;
  length: number;
  check: number;
  generation: number;
}

function imagePath(path: string): string {
  return `${path}.image`;
}

/**
 * Content of the database whose file has these bytes; undefined when the copy is absent, of another content or torn.
 */
export function readImage(path: string, database: Uint8Array): DatabaseContent | undefined {
  const found = readWhole(path, ({ size, crc }) => size === database.length && crc === crc32(database));
  return found && { ...found, isAsWritten: true };
}

/**
 * Content of the database when it was last written, for a file that can't be read any more. With the journals from its
 * generation on, which are kept until the copy is there, it is complete. Undefined when the copy is absent or torn.
 */
export function readLastImage(path: string): DatabaseContent | undefined {
  return readWhole(path, () => true);
}

function readWhole(path: string, isWanted: (head: Head) => boolean): DatabaseContent | undefined {
  try {
    const bytes = readFileSync(imagePath(path));
    const end = bytes.indexOf(10);
    const head = JSON.parse(bytes.toString('utf8', 0, end)) as Head;
    const rest = bytes.subarray(end + 1);
    if (!isWanted(head) || head.length !== rest.length || head.check !== crc32(rest)) return undefined;
    const kinds: Kinds = new Map();
    for (const [kind, rows] of JSON.parse(rest.toString()) as [string, [string, string][]][]) {
      kinds.set(kind, new Map(rows));
    }
    return { kinds, generation: head.generation, isOwn: true };
  } catch {
    // Without a usable copy the database itself is read.
    return undefined;
  }
}

/** Writes the copy that belongs to the database file just written. */
export async function writeImage(path: string, database: Uint8Array, kinds: Kinds, generation: number): Promise<void> {
  const rest = Buffer.from(JSON.stringify(Array.from(kinds, ([kind, rows]) => [kind, [...rows]])));
  const head: Head = {
    size: database.length,
    crc: crc32(database),
    length: rest.length,
    check: crc32(rest),
    generation,
  };
  const temporary = `${imagePath(path)}.tmp`;
  try {
    await writeFile(temporary, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), rest]), { mode: 0o600 });
    await rename(temporary, imagePath(path));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Where a file source is: the file and how much of it was passed on. */
import type { Stats } from 'node:fs';

export interface FilePosition {
  readonly path: string;
  /** Inode of the file, which tells it from a later file of the same name. */
  readonly ino: number;
  /** When it was changed, ms: files of a folder are read in this order. */
  readonly changed: number;
  /** Bytes passed on, unpacked and up to the end of a line; of files that are passed on by messages: 0. */
  readonly bytes: number;
  /** Messages passed on, of files that are passed on by messages; else 0. */
  readonly messages: number;
  /** Files read to their end before, in this run of the source. */
  readonly read: number;
  /** Files of the folder that were changed up to this time, ms, were found before those among which this one was. */
  readonly since?: number;
  /** Files changed later, ms, were found later. */
  readonly until?: number;
}

/** Reads a position that was saved, or that a user gives; throws when it is none. */
export function readPosition(given: unknown): FilePosition {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Error('a position must be an object');
  const known = given as Record<string, unknown>;
  const text = (name: string): string => {
    const value = known[name] ?? '';
    if (typeof value !== 'string') throw new Error(`${name} must be a text`);
    return value;
  };
  const number = (name: string): number => {
    const value = known[name] ?? 0;
    if (typeof value === 'number' && value >= 0) return value;
    throw new Error(`${name} must be a number that is not negative`);
  };
  const count = (name: string): number => {
    const value = number(name);
    if (Number.isSafeInteger(value)) return value;
    throw new Error(`${name} must be a whole number`);
  };
  return {
    path: text('path'),
    ino: number('ino'),
    changed: number('changed'),
    bytes: count('bytes'),
    messages: count('messages'),
    read: 0,
    ...(known.until === undefined ? {} : { since: number('since'), until: number('until') }),
  };
}

/** True when the first is read before the second. */
export function isBefore(one: FilePosition, other: FilePosition): boolean {
  const { until = 0 } = one;
  if (other.until !== undefined && until !== 0 && until !== other.until) return until < other.until;
  if (one.path !== other.path) return isEarlier(one, other);
  return one.bytes < other.bytes || one.messages < other.messages;
}

/** The order in which files of a folder are read. */
export function isEarlier(
  one: { readonly changed: number; readonly path: string },
  other: { readonly changed: number; readonly path: string },
): boolean {
  return one.changed === other.changed ? one.path < other.path : one.changed < other.changed;
}

/** Why a position in a file means nothing any more; undefined when it holds. */
export function staleReason({ ino, bytes }: FilePosition, file: Stats, isPacked: boolean): string | undefined {
  if (ino !== 0 && ino !== file.ino) return 'another file has its name now';
  return !isPacked && bytes > file.size ? `it has only ${file.size} bytes now` : undefined;
}

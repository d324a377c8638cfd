/**
 * The one rule for paths that requests name: they lie in the data folder or in a folder the operator allows, after all
 * symbolic links are followed, and are none of the server's own files. Relative paths begin in the data folder.
 *
 * A path is looked at twice: before the file is opened, and again when it is open, by what the system says it opened.
 * So a link put in its place in between gains nothing. A refusal is the same whether there is such a file or not.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { HaumeaError } from '../errors.js';
import { fileErrors } from './errors.js';

/** The allowed paths as plain data, which other threads can be given. */
export interface PathRules {
  /** Folder in which relative paths begin, absolute; allowed itself. */
  readonly base: string;
  /** Further folders, absolute. */
  readonly folders: readonly string[];
  /** Files and folders of the server itself, absolute; a `*` at the end stands for all names that begin so. */
  readonly own: readonly string[];
  /** Folders of resources, absolute: open for reading only, even where everything else is open. */
  readonly readOnly?: readonly string[];
  /** Every path is allowed but the server's own (`basic.allowExternalFileAccess`). */
  readonly isOpen: boolean;
  /** Text in refusals that names the allowed folders. */
  readonly allowed?: string;
}

/** Ways to open a file. Neither waits for another process: pipes are refused. */
export type OpenMode = 'read' | 'append';

/** Intended use of a path; `write` includes deleting and moving. */
export type PathUse = 'read' | 'write';

/** Time for which followed links to allowed folders and to the server's own files are remembered, ms. */
const followedMs = 1000;

const defaultAllowed = 'the data folder and the folders of basic.allowedPaths';

export class AllowedPaths {
  /**
   * Where folders and own files really are, since `#followedAt`: thousands of rules are looked at one after the other.
   */
  readonly #followed = new Map<string, string | undefined>();
  #followedAt = Number.NEGATIVE_INFINITY;

  constructor(readonly rules: PathRules) {}

  /** Any path, relative ones in the working folder: where no server gave rules, as in tests of parts. */
  static any(): AllowedPaths {
    return new AllowedPaths({ base: resolve('.'), folders: [], own: [], isOpen: true });
  }

  /** Returns the absolute path; throws a `config` error when it is not allowed. The file need not be there. */
  check(path: string, use: PathUse = 'read'): string {
    const absolute = this.#absolute(path);
    this.#real(absolute, path, use);
    return absolute;
  }

  /** Tells whether there is such a file or folder; throws as `check` does. */
  has(path: string): boolean {
    return lstatSync(this.check(path), { throwIfNoEntry: false }) !== undefined;
  }

  /** Opens a file; throws as `check` does, and as the system does. */
  async open(path: string, mode: OpenMode): Promise<FileHandle> {
    const use = useOf(mode);
    const handle = await open(this.#real(this.#absolute(path), path, use), flagsOf[mode]);
    try {
      this.#checkOpened(handle.fd, path, use);
      checkKind(await handle.stat(), path, mode);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return handle;
  }

  /** As `open`; the caller closes the descriptor. */
  openSync(path: string, mode: OpenMode): number {
    const use = useOf(mode);
    const descriptor = openSync(this.#real(this.#absolute(path), path, use), flagsOf[mode]);
    try {
      this.#checkOpened(descriptor, path, use);
      checkKind(fstatSync(descriptor), path, mode);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    return descriptor;
  }

  #absolute(path: string): string {
    if (path.includes('\0')) throw fileErrors.zeroByte();
    return resolve(this.rules.base, path);
  }

  /** Follows all links of a path and checks the result; missing parts are kept below the deepest existing folder. */
  #real(absolute: string, shown: string, use: PathUse): string {
    const real = realOf(absolute);
    this.#checkReal(real, shown, use);
    return real as string;
  }

  #checkReal(real: string | undefined, shown: string, use: PathUse): void {
    if (real === undefined || !this.#isAllowed(real)) throw this.#refusal(shown);
    const { readOnly = [] } = this.rules;
    if (use === 'read' || !readOnly.some((folder) => this.#isOwn(real, folder))) return;
    throw fileErrors.readOnly(shown);
  }

  #isAllowed(real: string): boolean {
    const { base, folders, own, isOpen } = this.rules;
    if (own.some((path) => this.#isOwn(real, path))) return false;
    return isOpen || [base, ...folders].some((folder) => isWithin(real, this.#follow(folder)));
  }

  #isOwn(real: string, own: string): boolean {
    if (!own.endsWith('*')) return isWithin(real, this.#follow(own));
    const folder = this.#follow(dirname(own));
    return folder !== undefined && real.startsWith(join(folder, basename(own).slice(0, -1)));
  }

  /** Real path of a path of the rules, remembered for a while; paths of requests are followed each time. */
  #follow(path: string): string | undefined {
    const now = performance.now();
    if (now - this.#followedAt > followedMs) {
      this.#followed.clear();
      this.#followedAt = now;
    }
    if (!this.#followed.has(path)) this.#followed.set(path, realOf(path));
    return this.#followed.get(path);
  }

  #checkOpened(descriptor: number, path: string, use: PathUse): void {
    this.#checkReal(openedPath(descriptor) ?? samePath(descriptor, this.#absolute(path)), path, use);
  }

  #refusal(path: string): HaumeaError {
    const { allowed = defaultAllowed } = this.rules;
    return fileErrors.denied(path, allowed);
  }
}

const useOf = (mode: OpenMode): PathUse => (mode === 'append' ? 'write' : 'read');

/** Flags for opening. After links were followed the last name is no link, unless somebody has just put one there. */
const flagsOf: Readonly<Record<OpenMode, number>> = {
  read: constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  append: constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK,
};

/**
 * Throws a `config` error for what is no file: reading a pipe or a terminal would wait in one of the few threads that
 * all file access of the process goes through. Devices may be written to, and folders get the system's own refusal.
 */
function checkKind(info: Stats, path: string, mode: OpenMode): void {
  const reason = kindReason(info, mode);
  if (reason !== undefined) throw fileErrors.kind(path, reason);
}

/** Reason why this can't be opened as a file; undefined when it can. */
export function kindReason(info: Stats, mode: OpenMode): string | undefined {
  if (info.isFile() || (mode === 'read' ? info.isDirectory() : info.isCharacterDevice())) return undefined;
  return `is ${info.isDirectory() ? 'a folder' : info.isFIFO() ? 'a pipe' : 'no regular file'}, a file is needed`;
}

/** The path with all links followed; undefined for a link that leads nowhere. */
function realOf(absolute: string): string | undefined {
  const missing: string[] = [];
  for (let at = absolute; ; at = dirname(at)) {
    try {
      return join(realpathSync.native(at), ...missing);
    } catch {
      if (isLink(at)) return undefined;
    }
    if (dirname(at) === at) return absolute;
    missing.unshift(basename(at));
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

function isWithin(path: string, folder: string | undefined): boolean {
  if (folder === undefined) return false;
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Path of an open descriptor, as the system reports it; undefined where the system does not. */
function openedPath(descriptor: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}

/** Real path of the opened file, if the path still leads to it; else undefined. */
function samePath(descriptor: number, absolute: string): string | undefined {
  const real = realOf(absolute);
  if (real === undefined) return undefined;
  const [opened, now] = [fstatSync(descriptor), statSync(real, { throwIfNoEntry: false })];
  return now !== undefined && opened.dev === now.dev && opened.ino === now.ino ? real : undefined;
}

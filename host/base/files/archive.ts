/**
 * Zip archives from outside, read with limits: the whole directory is checked before anything is unpacked, and what is
 * unpacked is held against it. Errors are of kind `general` and name the entry.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Entry, ZipFile } from 'yauzl';
import { HaumeaError, reasonOf } from '../errors.js';
import { archiveErrors } from './archive-errors.js';
import { crc32 } from './crc32.js';
import { makeFolder } from './folder.js';

export interface ArchiveLimits {
  readonly maxEntries: number;
  /** Longest unpacked entry in bytes. */
  readonly maxEntryBytes: number;
  /** All entries unpacked, in bytes. */
  readonly maxTotalBytes: number;
  /** Unpacked size over packed size of an entry, looked at from one megabyte on. */
  readonly maxRatio: number;
}

const archiveLimits: ArchiveLimits = {
  maxEntries: 10_000,
  maxEntryBytes: 512 * 1024 * 1024,
  maxTotalBytes: 1024 * 1024 * 1024,
  maxRatio: 200,
};

export interface ArchiveEntry {
  /** Path with slashes, without leading or trailing ones; never leaves the folder it is unpacked to. */
  readonly name: string;
  readonly isFolder: boolean;
  readonly isExecutable: boolean;
  readonly sizeBytes: number;
}

/** An archive whose directory has been checked. */
export interface Archive {
  readonly entries: readonly ArchiveEntry[];
  /** Returns the content of a file; throws when there is none of that name. */
  read(name: string): Promise<Buffer>;
  /** Unpacks the files chosen (all by default) to a folder that must not exist. */
  unpack(folder: string, choose?: (entry: ArchiveEntry) => boolean): Promise<void>;
}

const ratioFromBytes = 1024 * 1024;
const maxNameLength = 1024;
const fileTypeMask = 0xf000;
const regularFile = 0x8000;
const directory = 0x4000;
/** Systems that keep file modes in the upper half of the attributes: Unix and macOS. */
const unixSystems: ReadonlySet<number> = new Set([3, 19]);

/** Opens a zip file (path or bytes), checks its directory and passes it on; closes it afterwards. */
export async function withArchive<T>(
  source: string | Buffer,
  use: (archive: Archive) => Promise<T>,
  limits: Partial<ArchiveLimits> = {},
): Promise<T> {
  // Loaded when first used: most servers never see an archive.
  const { default: yauzl } = await import('yauzl');
  const options = { autoClose: false, decodeStrings: false, validateEntrySizes: true };
  let zip: ZipFile;
  try {
    zip = await (typeof source === 'string'
      ? yauzl.openPromise(source, options)
      : yauzl.fromBufferPromise(source, options));
  } catch (error) {
    throw archiveErrors.invalid(reasonOf(error), { cause: error });
  }
  try {
    const sizeBytes = typeof source === 'string' ? (await stat(source)).size : source.length;
    const checked = { ...archiveLimits, ...limits };
    return await use(new CheckedArchive(zip, await readDirectory(zip, yauzl.getFileNameLowLevel, sizeBytes, checked)));
  } finally {
    zip.close();
  }
}

/**
 * Unpacks a zip file to a folder in one step: the folder has the complete new content or, after a failure, is as it
 * was. Returns the entries.
 */
export async function unpackArchive(
  source: string | Buffer,
  folder: string,
  limits: Partial<ArchiveLimits> = {},
): Promise<readonly ArchiveEntry[]> {
  const mark = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const fresh = join(dirname(folder), `.${basename(folder)}.new-${mark}`);
  const old = join(dirname(folder), `.${basename(folder)}.old-${mark}`);
  try {
    return await withArchive(
      source,
      async (archive) => {
        await archive.unpack(fresh);
        const hadOld = existsSync(folder);
        if (hadOld) await rename(folder, old);
        try {
          await rename(fresh, folder);
        } catch (error) {
          if (hadOld) await rename(old, folder);
          throw error;
        }
        return archive.entries;
      },
      limits,
    );
  } finally {
    await rm(fresh, { recursive: true, force: true });
    if (existsSync(folder)) await rm(old, { recursive: true, force: true });
  }
}

interface CheckedEntry extends ArchiveEntry {
  readonly raw: Entry;
}

type NameOf = (flag: number, name: Buffer, extra: Entry['extraFields'], isStrict: boolean) => string;

async function readDirectory(zip: ZipFile, nameOf: NameOf, sizeBytes: number, limits: ArchiveLimits) {
  const entries = new Map<string, CheckedEntry>();
  let total = 0;
  let packed = 0;
  try {
    if (zip.entryCount > limits.maxEntries) throw refusal(`more than ${limits.maxEntries} entries`);
    for await (const raw of zip.eachEntry()) {
      const given = nameOf(raw.generalPurposeBitFlag, raw.fileNameRaw, raw.extraFields, false);
      const entry = checkEntry(raw, given, limits);
      // The folder itself, as some programs pack it.
      if (entry.name === '' && entry.isFolder) continue;
      if (entries.has(entry.name)) throw refusal('it is there twice', given);
      entries.set(entry.name, entry);
      total += entry.sizeBytes;
      packed += raw.compressedSize;
      if (total > limits.maxTotalBytes) throw refusal(`more than ${limits.maxTotalBytes} bytes unpacked`);
    }
  } catch (error) {
    throw error instanceof HaumeaError ? error : refusal(reasonOf(error), undefined, error);
  }
  // Entries that share their bytes make a small archive huge.
  if (packed > sizeBytes) throw refusal('entries overlap');
  for (const name of entries.keys()) {
    for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) {
      if (entries.get(name.slice(0, at))?.isFolder === false) throw refusal('a part of its path is a file', name);
    }
  }
  return entries;
}

function checkEntry(raw: Entry, given: string, limits: ArchiveLimits): CheckedEntry {
  const reason = nameReason(given);
  if (reason !== undefined) throw refusal(reason, given);
  const mode = unixSystems.has(raw.versionMadeBy >> 8) ? raw.externalFileAttributes >>> 16 : 0;
  const type = mode & fileTypeMask;
  if (type !== 0 && type !== regularFile && type !== directory) throw refusal('links and devices are refused', given);
  const sizeBytes = raw.uncompressedSize;
  const isFolder = given.endsWith('/') || type === directory;
  if (isFolder && sizeBytes > 0) throw refusal('a folder with content', given);
  if (raw.isEncrypted()) throw refusal('it is encrypted', given);
  if (raw.compressionMethod !== 0 && raw.compressionMethod !== 8) {
    throw refusal(`unknown compression method ${raw.compressionMethod}`, given);
  }
  if (sizeBytes > limits.maxEntryBytes) throw refusal(`more than ${limits.maxEntryBytes} bytes unpacked`, given);
  if (sizeBytes > ratioFromBytes && sizeBytes > raw.compressedSize * limits.maxRatio) {
    throw refusal(`packed more than ${limits.maxRatio} to 1`, given);
  }
  const name = segmentsOf(given).join('/');
  if (name === '' && !isFolder) throw refusal('the name is empty', given);
  return { name, isFolder, isExecutable: (mode & 0o111) !== 0, sizeBytes, raw };
}

/** Why a name is refused; backslashes have become slashes before. */
function nameReason(name: string): string | undefined {
  if (name === '') return 'the name is empty';
  if (name.length > maxNameLength) return `the name has more than ${maxNameLength} characters`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(name)) return 'the name has control characters';
  if (name.startsWith('/') || /^[a-z]:/i.test(name)) return 'the path is absolute';
  if (name.split('/').includes('..')) return 'the path leaves the folder';
  return undefined;
}

function segmentsOf(name: string): string[] {
  return name.split('/').filter((segment) => segment !== '' && segment !== '.');
}

function refusal(reason: string, entry?: string, cause?: unknown): HaumeaError {
  const where = entry === undefined ? '' : `entry ${JSON.stringify(entry.slice(0, 200))}: `;
  return archiveErrors.invalid(where + reason, { cause });
}

class CheckedArchive implements Archive {
  readonly entries: readonly ArchiveEntry[];

  constructor(
    private readonly zip: ZipFile,
    private readonly checked: ReadonlyMap<string, CheckedEntry>,
  ) {
    this.entries = [...checked.values()].map(({ raw: _raw, ...entry }) => entry);
  }

  async read(name: string): Promise<Buffer> {
    const entry = this.checked.get(name);
    if (entry === undefined || entry.isFolder) throw archiveErrors.noFile(name);
    const chunks: Buffer[] = [];
    for await (const chunk of this.content(entry)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async unpack(folder: string, choose: (entry: ArchiveEntry) => boolean = () => true): Promise<void> {
    await mkdir(folder);
    for (const entry of this.checked.values()) {
      if (!choose(entry)) continue;
      const path = join(folder, entry.name);
      if (entry.isFolder) {
        await makeFolder(path);
        continue;
      }
      await makeFolder(dirname(path));
      // 'wx': two names that are one on this file system don't overwrite each other.
      const file = await open(path, 'wx', entry.isExecutable ? 0o755 : 0o644).catch((error: unknown) => {
        throw refusal(`can't be written (${(error as NodeJS.ErrnoException).code})`, entry.name, error);
      });
      try {
        for await (const chunk of this.content(entry)) await file.write(chunk);
      } finally {
        await file.close();
      }
    }
  }

  /** The bytes of an entry, counted and summed on the way: the directory of an archive may lie about its content. */
  private async *content(entry: CheckedEntry): AsyncGenerator<Buffer> {
    let size = 0;
    let sum = 0;
    try {
      for await (const chunk of await this.zip.openReadStreamPromise(entry.raw)) {
        size += (chunk as Buffer).length;
        if (size > entry.sizeBytes) break;
        sum = crc32(chunk as Buffer, sum);
        yield chunk as Buffer;
      }
    } catch (error) {
      throw refusal(reasonOf(error), entry.name, error);
    }
    if (size !== entry.sizeBytes) throw refusal('its size is not the one announced', entry.name);
    if (sum !== entry.raw.crc32) throw refusal('its checksum is wrong', entry.name);
  }
}

/**
 * A folder as one run of bytes:
 *
 *     {"files":[{"path","bytes","isExecutable"}, …],"folders":["…"]} LF | the files, one after the other
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

interface Packed {
  readonly path: string;
  readonly bytes: number;
  readonly isExecutable: boolean;
}

interface Index {
  readonly files: readonly Packed[];
  readonly folders: readonly string[];
}

const maxIndexBytes = 8 << 20;
/** Bounds of what archives of plugins may unpack to (base/files/archive.ts), and what is made beside it. */
const maxEntries = 10_100;
const maxTotalBytes = 2 * 1024 * 1024 * 1024;
const pieceBytes = 256 * 1024;
const lineFeed = 10;
const executable = 0o111;

export async function* packed(folder: string): AsyncGenerator<Uint8Array> {
  const index = { files: [] as Packed[], folders: [] as string[] };
  await gather(folder, '', index);
  index.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  yield Buffer.from(`${JSON.stringify(index)}\n`);
  for (const { path, bytes } of index.files) {
    let left = bytes;
    for await (const piece of createReadStream(join(folder, path), { highWaterMark: pieceBytes })) {
      left -= (piece as Buffer).length;
      yield piece as Buffer;
    }
    if (left !== 0) throw new Error(`${path} changed while it was read`);
  }
}

async function gather(root: string, below: string, index: { files: Packed[]; folders: string[] }): Promise<void> {
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      index.folders.push(path);
      await gather(root, path, index);
    } else if (entry.isFile()) {
      const { size, mode } = await stat(join(root, path));
      index.files.push({ path, bytes: size, isExecutable: (mode & executable) !== 0 });
    } else throw new Error(`${path} is no file`);
  }
}

/** Writes what `packed` has made to a folder that is not there. */
export async function unpack(pieces: AsyncIterable<Buffer>, folder: string): Promise<void> {
  let head: Buffer | undefined = Buffer.alloc(0);
  let index: Index | undefined;
  let out: Writer | undefined;
  for await (const piece of pieces) {
    let bytes = piece;
    if (head !== undefined) {
      head = Buffer.concat([head, piece]);
      const end = head.indexOf(lineFeed);
      if (end < 0 && head.length > maxIndexBytes) throw new Error('its list of files is too long');
      if (end < 0) continue;
      index = indexOf(head.subarray(0, end));
      bytes = head.subarray(end + 1);
      head = undefined;
      await mkdir(folder, { recursive: true });
      for (const path of index.folders) await mkdir(join(folder, path));
      out = new Writer(folder, index.files);
    }
    await out!.write(bytes);
  }
  if (out === undefined) throw new Error('it ends too early');
  await out.end();
}

class Writer {
  #next = 0;
  #left = 0;
  #file: FileHandle | undefined;

  constructor(
    private readonly folder: string,
    private readonly files: readonly Packed[],
  ) {}

  async write(bytes: Buffer): Promise<void> {
    for (let rest = bytes; rest.length > 0; ) {
      if (this.#file === undefined && !(await this.#open())) throw new Error('it goes on behind its end');
      const count = Math.min(this.#left, rest.length);
      if (count > 0) await this.#file!.writeFile(rest.subarray(0, count));
      this.#left -= count;
      rest = rest.subarray(count);
      if (this.#left === 0) await this.#close();
    }
  }

  async end(): Promise<void> {
    // Files without bytes come last, or between others.
    while (this.#file === undefined && (await this.#open())) if (this.#left === 0) await this.#close();
    if (this.#file === undefined) return;
    await this.#file.close();
    throw new Error('it ends too early');
  }

  async #open(): Promise<boolean> {
    const file = this.files[this.#next++];
    if (file === undefined) return false;
    this.#file = await open(join(this.folder, file.path), 'wx', file.isExecutable ? 0o755 : 0o644);
    this.#left = file.bytes;
    return true;
  }

  async #close(): Promise<void> {
    const file = this.#file!;
    this.#file = undefined;
    await file.datasync();
    await file.close();
  }
}

function indexOf(line: Buffer): Index {
  const index = JSON.parse(line.toString()) as Index;
  const { files, folders } = index;
  if (!Array.isArray(files) || !Array.isArray(folders) || files.length + folders.length > maxEntries) {
    throw new Error('its list of files is none');
  }
  const isRight = ({ path, bytes }: Packed) => isWithin(path) && Number.isSafeInteger(bytes) && bytes >= 0;
  if (!files.every(isRight) || !folders.every(isWithin)) throw new Error('its list of files is none');
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) > maxTotalBytes) throw new Error('it is too large');
  return index;
}

function isWithin(path: unknown): boolean {
  if (typeof path !== 'string' || path.includes('\0') || path.includes('\\')) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

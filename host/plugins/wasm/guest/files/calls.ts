/**
 * Calls of the system interface over the files of a plugin: they are opened, read and listed below `/`, which is open
 * from the start as descriptor 3. What would write is refused, as on a disk that is mounted read-only.
 */
import { Errno } from '../errno.js';
import type { WasiMemory } from '../wasi-memory.js';
import type { FileTree, FolderNode, Node } from './tree.js';

/** Descriptor of the root. */
const rootFd = 3;
const maxOpen = 256;
const maxPathBytes = 4096;
const fileType = { folder: 3, file: 4 } as const;
/** Rights of a descriptor: to read, to seek, to tell, to advise and to look at; of a folder to list and to open. */
const fileRights = (1n << 1n) | (1n << 2n) | (1n << 5n) | (1n << 7n) | (1n << 21n);
const folderRights = (1n << 13n) | (1n << 14n) | (1n << 18n) | (1n << 21n);
const writeRight = 1n << 6n;
const openFlag = { create: 1, folder: 2, exclusive: 4, truncate: 8 } as const;
const direntBytes = 24;

interface Opened {
  readonly node: Node;
  at: number;
}

type Call = (...args: never[]) => number;

/** Answer of a look-up by path: what is there, or the number of an error. */
type Found = Node | number;

export class FileCalls {
  readonly #open = new Map<number, Opened>();

  /** @param charge takes fuel for so many bytes */
  constructor(
    tree: FileTree,
    private readonly memory: WasiMemory,
    private readonly charge: (bytes: number) => void,
  ) {
    this.#open.set(rootFd, { node: tree.root, at: 0 });
  }

  /** Calls of files, in place of those that know none; `others` has the descriptors of input and output. */
  over(others: Readonly<Record<string, Call>>): Record<string, Call> {
    const own: Record<string, Call> = {
      fd_prestat_get: (fd: number, at: number) => this.#prestat(fd, at),
      fd_prestat_dir_name: (fd: number, at: number, length: number) => this.#prestatName(fd, at, length),
      fd_read: (fd: number, parts: number, count: number, read: number) => this.#read(fd, parts, count, read),
      fd_pread: (fd: number, parts: number, count: number, from: bigint, read: number) =>
        this.#read(fd, parts, count, read, from),
      fd_seek: (fd: number, by: bigint, whence: number, at: number) => this.#seek(fd, by, whence, at),
      fd_tell: (fd: number, at: number) => this.#seek(fd, 0n, 1, at),
      fd_close: (fd: number) => (this.#open.delete(fd) ? Errno.ok : Errno.badFile),
      fd_readdir: (fd: number, at: number, length: number, from: bigint, used: number) =>
        this.#list(fd, at, length, from, used),
      fd_fdstat_get: (fd: number, at: number) => this.#descriptor(fd, at),
      fd_fdstat_set_flags: (fd: number) => (this.#open.has(fd) ? Errno.ok : Errno.badFile),
      fd_filestat_get: (fd: number, at: number) => {
        const opened = this.#open.get(fd);
        return opened === undefined ? Errno.badFile : this.#describe(opened.node, at);
      },
    };
    const ofFiles = Object.entries(own).map(([name, call]): [string, Call] => {
      const other = others[name];
      const chosen = (fd: number) => (other !== undefined && fd < rootFd ? other : call);
      return [name, (...args: never[]) => chosen(args[0] as unknown as number)(...args)];
    });
    return {
      ...Object.fromEntries(ofFiles),
      fd_advise: (fd: number) => (this.#open.has(fd) ? Errno.ok : Errno.badFile),
      path_open: (...args: [number, number, number, number, number, bigint, bigint, number, number]) =>
        this.#openPath(...args),
      path_filestat_get: (fd: number, _flags: number, path: number, length: number, at: number) => {
        const found = this.#find(fd, path, length);
        return typeof found === 'number' ? found : this.#describe(found, at);
      },
      // Nothing is a link.
      path_readlink: () => Errno.invalid,
      ...Object.fromEntries(writing.map((name) => [name, () => Errno.readOnly])),
    };
  }

  #prestat(fd: number, at: number): number {
    if (fd !== rootFd) return Errno.badFile;
    this.memory.put32(at, 0);
    return this.memory.put32(at + 4, 1);
  }

  #prestatName(fd: number, at: number, length: number): number {
    if (fd !== rootFd) return Errno.badFile;
    if (length < 1) return Errno.nameTooLong;
    this.memory.bytes(at, 1)[0] = 0x2f;
    return Errno.ok;
  }

  #openPath(
    ...[fd, , path, length, flags, rights, , , openedAt]: [
      number,
      number,
      number,
      number,
      number,
      bigint,
      bigint,
      number,
      number,
    ]
  ): number {
    const node = this.#find(fd, path, length);
    if (node === Errno.noEntry && (flags & openFlag.create) !== 0) return Errno.readOnly;
    if (typeof node === 'number') return node;
    const isFile = node.kind === 'file';
    if ((flags & openFlag.folder) !== 0 && isFile) return Errno.noFolder;
    if ((flags & (openFlag.truncate | openFlag.exclusive)) !== 0) return Errno.readOnly;
    if (isFile && (rights & writeRight) !== 0n) return Errno.readOnly;
    if (this.#open.size >= maxOpen) return Errno.tooManyOpen;
    let next = rootFd + 1;
    while (this.#open.has(next)) next++;
    this.memory.put32(openedAt, next);
    this.#open.set(next, { node, at: 0 });
    return Errno.ok;
  }

  /** Finds what a path names below an open folder. */
  #find(fd: number, at: number, length: number): Found {
    const from = this.#open.get(fd)?.node;
    if (from === undefined) return Errno.badFile;
    if (from.kind === 'file') return Errno.noFolder;
    if (length >>> 0 > maxPathBytes) return Errno.nameTooLong;
    this.charge(length);
    const path = Buffer.from(this.memory.bytes(at, length)).toString();
    let node: Node = from;
    for (const name of path.split('/')) {
      if (node.kind === 'file') return Errno.noFolder;
      if (name === '' || name === '.') continue;
      const next: Node | undefined = name === '..' ? node.parent : node.entries.get(name);
      if (next === undefined) return name === '..' ? Errno.notCapable : Errno.noEntry;
      node = next;
    }
    return node;
  }

  /** Reads at the place of the descriptor, which moves on, or at another one. */
  #read(fd: number, partsAt: number, count: number, readAt: number, from?: bigint): number {
    const opened = this.#open.get(fd);
    if (opened === undefined) return Errno.badFile;
    const { node } = opened;
    if (node.kind === 'folder') return Errno.isFolder;
    const parts = this.memory.parts(partsAt, count);
    if (parts === undefined) return Errno.invalid;
    const first = from === undefined ? opened.at : Number(BigInt.asUintN(64, from));
    let at = Math.min(first, node.bytes.length);
    const begin = at;
    for (const part of parts) {
      const bytes = node.bytes.subarray(at, at + part.length);
      this.charge(bytes.length);
      part.set(bytes);
      at += bytes.length;
      if (bytes.length < part.length) break;
    }
    if (from === undefined) opened.at = Math.max(at, first);
    return this.memory.put32(readAt, at - begin);
  }

  #seek(fd: number, by: bigint, whence: number, at: number): number {
    const opened = this.#open.get(fd);
    if (opened === undefined) return Errno.badFile;
    if (opened.node.kind === 'folder') return Errno.isFolder;
    const begin = [0, opened.at, opened.node.bytes.length][whence];
    if (begin === undefined) return Errno.invalid;
    const next = BigInt(begin) + by;
    if (next < 0n || next > BigInt(Number.MAX_SAFE_INTEGER)) return Errno.invalid;
    opened.at = Number(next);
    return this.memory.put64(at, next);
  }

  /** Writes entries from the one with number `from` on; one that does not fit is cut off, as the interface has it. */
  #list(fd: number, at: number, length: number, from: bigint, usedAt: number): number {
    const node = this.#open.get(fd)?.node;
    if (node === undefined) return Errno.badFile;
    if (node.kind === 'file') return Errno.noFolder;
    const to = this.memory.bytes(at, length);
    let used = 0;
    const all = entriesOf(node);
    for (let i = Number(BigInt.asUintN(64, from)); i < all.length && used < to.length; i++) {
      const [name, entry] = all[i] as [string, Node];
      const bytes = Buffer.from(name);
      const record = Buffer.alloc(direntBytes + bytes.length);
      record.writeBigUInt64LE(BigInt(i + 1), 0);
      record.writeBigUInt64LE(BigInt(entry.inode), 8);
      record.writeUInt32LE(bytes.length, 16);
      record.writeUInt8(fileType[entry.kind], 20);
      record.set(bytes, direntBytes);
      const fits = record.subarray(0, to.length - used);
      this.charge(fits.length);
      to.set(fits, used);
      used += fits.length;
    }
    return this.memory.put32(usedAt, used);
  }

  #descriptor(fd: number, at: number): number {
    const node = this.#open.get(fd)?.node;
    if (node === undefined) return Errno.badFile;
    this.memory.bytes(at, 24).fill(0)[0] = fileType[node.kind];
    this.memory.put64(at + 8, node.kind === 'folder' ? folderRights : fileRights);
    return this.memory.put64(at + 16, node.kind === 'folder' ? folderRights | fileRights : 0n);
  }

  #describe(node: Node, at: number): number {
    this.memory.bytes(at, 64).fill(0)[16] = fileType[node.kind];
    this.memory.put64(at + 8, BigInt(node.inode));
    this.memory.put64(at + 24, 1n);
    return this.memory.put64(at + 32, BigInt(node.kind === 'file' ? node.bytes.length : 0));
  }
}

function entriesOf(folder: FolderNode): [string, Node][] {
  return [['.', folder], ['..', folder.parent ?? folder], ...folder.entries];
}

/** Calls that would change something. */
const writing = [
  ...['fd_allocate', 'fd_filestat_set_size', 'fd_filestat_set_times', 'fd_pwrite'],
  ...['path_create_directory', 'path_filestat_set_times', 'path_link', 'path_remove_directory', 'path_rename'],
  ...['path_symlink', 'path_unlink_file'],
];

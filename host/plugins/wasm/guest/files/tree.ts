/** Files of a plugin in memory: a tree that is never written to. On disk they are one file, an index first. */

/** A file, with its path below the root: `tables/places.csv`. */
export interface GivenFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface FileNode {
  readonly kind: 'file';
  readonly inode: number;
  readonly bytes: Uint8Array;
}

export interface FolderNode {
  readonly kind: 'folder';
  readonly inode: number;
  readonly parent: FolderNode | undefined;
  readonly entries: Map<string, Node>;
}

export type Node = FileNode | FolderNode;

const countBytes = 4;

/** All files as one piece of bytes. */
export function packFiles(files: readonly GivenFile[]): Buffer {
  const index = Buffer.from(JSON.stringify(files.map(({ path, bytes }) => [path, bytes.length])));
  const head = Buffer.alloc(countBytes);
  head.writeUInt32LE(index.length);
  return Buffer.concat([head, index, ...files.map(({ bytes }) => bytes)]);
}

/** What `packFiles` was given; the bytes are views. */
export function unpackFiles(packed: Buffer): GivenFile[] {
  const bytesAt = countBytes + packed.readUInt32LE(0);
  const index = JSON.parse(packed.toString('utf8', countBytes, bytesAt)) as [path: string, size: number][];
  let end = bytesAt;
  return index.map(([path, size]) => {
    const from = end;
    end += size;
    return { path, bytes: packed.subarray(from, end) };
  });
}

export class FileTree {
  readonly root: FolderNode = { kind: 'folder', inode: 1, parent: undefined, entries: new Map() };
  /** Bytes of all files. */
  readonly sizeBytes: number;
  #inodes = 1;

  constructor(files: readonly GivenFile[]) {
    let sum = 0;
    for (const { path, bytes } of files) {
      const names = path.split('/');
      const last = names.pop() as string;
      let folder = this.root;
      for (const name of names) folder = this.#folderIn(folder, name);
      folder.entries.set(last, { kind: 'file', inode: ++this.#inodes, bytes });
      sum += bytes.length;
    }
    this.sizeBytes = sum;
  }

  #folderIn(folder: FolderNode, name: string): FolderNode {
    const known = folder.entries.get(name);
    if (known?.kind === 'folder') return known;
    const made: FolderNode = { kind: 'folder', inode: ++this.#inodes, parent: folder, entries: new Map() };
    folder.entries.set(name, made);
    return made;
  }
}

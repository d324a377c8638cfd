/** Writes zip archives as they are sent to a server: files are not compressed, so that no limit on ratios is met. */
import { crc32 } from './crc32.js';

export interface ZipFile {
  /** Path with slashes. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

const version = 20;
/** Names are UTF-8. */
const utf8Flag = 0x800;
/** 1 January 1980: the same files make the same archive. */
const date = 0x21;
const headerBytes = 30;
const entryBytes = 46;
const endBytes = 22;

/** An archive of the files, fewer than 65,536 and less than 4 GiB. */
export function zipOf(files: readonly ZipFile[]): Buffer {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const { name, bytes } of files) {
    const path = Buffer.from(name);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(version, 0);
    facts.writeUInt16LE(utf8Flag, 2);
    facts.writeUInt16LE(date, 8);
    facts.writeUInt32LE(crc32(bytes) >>> 0, 10);
    facts.writeUInt32LE(bytes.length, 14);
    facts.writeUInt32LE(bytes.length, 18);
    facts.writeUInt16LE(path.length, 22);
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32LE(0x04034b50, 0);
    header.set(facts, 4);
    const entry = Buffer.alloc(entryBytes);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(version, 4);
    entry.set(facts, 6);
    entry.writeUInt32LE(at, 42);
    parts.push(header, path, bytes);
    directory.push(entry, path);
    at += headerBytes + path.length + bytes.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const end = Buffer.alloc(endBytes);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...directory, end]);
}

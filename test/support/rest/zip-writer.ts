/** Writes zip archives for tests, in particular ones that lie. */
import { deflateRawSync } from 'node:zlib';
import { crc32 } from '../../../host/base/files/crc32.js';

export interface ZipItem {
  readonly name: string;
  readonly content?: Buffer | string;
  /** Unix mode with the file type. */
  readonly mode?: number;
  readonly isStored?: boolean;
  /** What the directory announces instead of the truth. */
  readonly announced?: {
    readonly size?: number;
    readonly crc?: number;
    readonly method?: number;
    readonly flags?: number;
  };
  /** Points to the data of the item before instead of its own. */
  readonly sharesData?: boolean;
}

/** Returns the bytes of an archive. */
export function writeZip(items: readonly ZipItem[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  let start = 0;
  for (const { name, content = '', mode = 0o100644, isStored = false, announced = {}, sharesData } of items) {
    const bytes = Buffer.from(content);
    const packed = isStored ? bytes : deflateRawSync(bytes);
    const names = Buffer.from(name);
    const fields = (head: Buffer, at: number) => {
      head.writeUInt16LE(announced.flags ?? 0x800, at);
      head.writeUInt16LE(announced.method ?? (isStored ? 0 : 8), at + 2);
      head.writeUInt32LE(announced.crc ?? crc32(bytes), at + 8);
      head.writeUInt32LE(packed.length, at + 12);
      head.writeUInt32LE(announced.size ?? bytes.length, at + 16);
      head.writeUInt16LE(names.length, at + 20);
    };
    if (!sharesData) {
      start = offset;
      const local = Buffer.alloc(30);
      local.writeUInt32LE(0x04034b50, 0);
      fields(local, 6);
      parts.push(local, names, packed);
      offset += 30 + names.length + packed.length;
    }
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE((3 << 8) | 20, 4);
    fields(central, 8);
    central.writeUInt32LE((mode << 16) >>> 0, 38);
    central.writeUInt32LE(start, 42);
    directory.push(central, names);
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(items.length, 8);
  end.writeUInt16LE(items.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}

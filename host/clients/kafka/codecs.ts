/** Compression of batches, by the names and numbers that Kafka has. */
import { compressionsAlgorithms } from '@platformatic/kafka';
import { compressions } from '../../base/bytes/compression.js';
import { lz4Size, snappySize } from './content-size.js';

export const codecNames = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
export type CodecName = (typeof codecNames)[number];

/** Largest content of one batch, bytes. */
const mostBytes = 256 << 20;

/** Begin of the frames that Java's clients put around blocks of Snappy. */
const xerial = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);
const xerialHead = 16;
/** Bytes before compression in one block of such a frame. */
const blockBytes = 32 << 10;

export function compressed(codec: CodecName, records: Buffer): Uint8Array {
  switch (codec) {
    case 'none':
      return records;
    case 'snappy':
      return snappyFrame(records);
    case 'lz4':
      return compressionsAlgorithms.lz4.compressSync(records);
    default:
      return compressions[codec].compress(records);
  }
}

/** Throws for a number that names no codec, for content that is not of the codec, and for more than `mostBytes`. */
export function decompressed(codec: number, records: Buffer): Buffer {
  const name = codecNames[codec];
  switch (name) {
    case undefined:
      throw new RangeError(`unknown compression ${codec}`);
    case 'none':
      return records;
    case 'snappy':
      return snappyContent(records);
    case 'lz4':
      return lz4Content(records);
    default:
      return asBuffer(compressions[name].decompress(records, mostBytes));
  }
}

function snappyFrame(records: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.concat([xerial, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])])];
  for (let at = 0; at < records.length; at += blockBytes) {
    const block = compressionsAlgorithms.snappy.compressSync(records.subarray(at, at + blockBytes));
    const length = Buffer.allocUnsafe(4);
    length.writeInt32BE(block.length);
    parts.push(length, Buffer.from(block));
  }
  return Buffer.concat(parts);
}

function lz4Content(records: Buffer): Buffer {
  bound(lz4Size(records));
  return decoded('lz4', records);
}

/** Other clients than those of Java write one block without a frame. */
function snappyContent(records: Buffer): Buffer {
  const blocks = records.subarray(0, xerial.length).equals(xerial) ? xerialBlocks(records) : [records];
  bound(blocks.reduce((size, block) => size + snappySize(block), 0));
  return Buffer.concat(blocks.map((block) => decoded('snappy', block)));
}

function xerialBlocks(records: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = xerialHead; at < records.length; ) {
    const end = at + 4 + records.readUInt32BE(at);
    blocks.push(records.subarray(at + 4, end));
    at = end;
  }
  return blocks;
}

/** The library tells no reason: bad content ends its code. */
function decoded(codec: 'lz4' | 'snappy', content: Buffer): Buffer {
  try {
    return compressionsAlgorithms[codec].decompressSync(content) as Buffer;
  } catch (cause) {
    throw new RangeError(`the content is not valid ${codec}`, { cause });
  }
}

function bound(size: number): void {
  if (size > mostBytes) throw new RangeError(`the content has up to ${size} bytes, more than the ${mostBytes} allowed`);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

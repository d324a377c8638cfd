/** Size of compressed content before it is decompressed: found from its heads, so that no memory is taken for it. */

/** Most bytes that one byte stands for: a length of LZ4 grows by 255 with each, a copy of Snappy takes three for 64. */
const mostRatio = { lz4: 255, snappy: 64 };

/** Number that frames of LZ4 begin with; those of its first form have another, and blocks of one size. */
const lz4Magic = 0x184d2204;
const lz4Legacy = 0x184c2102;
const lz4LegacyBlock = 8 << 20;

const plainBit = 0x8000_0000;
const sizeMask = 0x7fff_ffff;

/** Bytes that a frame of LZ4 has at most, by its content size if it has one, and by its blocks. */
export function lz4Size(frame: Buffer): number {
  const magic = frame.length < 7 ? 0 : frame.readUInt32LE(0);
  if (magic === lz4Legacy) return lz4Blocks(frame, 4, lz4LegacyBlock, 0);
  if (magic !== lz4Magic) throw new RangeError('the content is no frame of LZ4');
  const flags = frame[4]!;
  const hasSize = (flags & 0b1000) !== 0;
  const head = 7 + (hasSize ? 8 : 0) + (flags & 1) * 4;
  const blockBytes = 1 << (8 + 2 * ((frame[5]! >> 4) & 0b111));
  const blocks = lz4Blocks(frame, head, blockBytes, (flags & 0b1_0000) === 0 ? 0 : 4);
  return hasSize ? Math.max(blocks, Number(frame.readBigUInt64LE(6))) : blocks;
}

function lz4Blocks(frame: Buffer, head: number, blockBytes: number, checksumBytes: number): number {
  let size = 0;
  for (let at = head; at + 4 <= frame.length; ) {
    const word = frame.readUInt32LE(at);
    const length = word & sizeMask;
    if (length === 0) break;
    const isPlain = blockBytes !== lz4LegacyBlock && word >= plainBit;
    size += isPlain ? length : Math.min(blockBytes, length * mostRatio.lz4);
    at += 4 + length + checksumBytes;
  }
  return size;
}

/** Bytes that a block of Snappy declares at its begin. */
export function snappySize(block: Buffer): number {
  let size = 0;
  for (let i = 0; i < 5 && i < block.length; i++) {
    size += (block[i]! & 0x7f) * 2 ** (7 * i);
    if (block[i]! >= 0x80) continue;
    if (size > block.length * mostRatio.snappy) {
      throw new RangeError(`a block of ${block.length} bytes declares ${size} bytes, more than it can hold`);
    }
    return size;
  }
  throw new RangeError('the content is no block of Snappy');
}

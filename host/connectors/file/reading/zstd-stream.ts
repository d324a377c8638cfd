/**
 * Decompresses zstd as it is read. Small frames, as this engine's own sinks write them, go whole to the fast library;
 * larger ones to one that works on blocks, so that memory is bounded by the window of a frame.
 */
import { Decompress } from 'fzstd';
import { compressions } from '../../../base/bytes/compression.js';

const magic = 0xfd2fb528;
const skippable = 0x184d2a50;
/** Largest result of a frame that is decompressed at once, bytes. */
const mostAtOnce = 4 * 1024 * 1024;
/** Largest compressed size that such a frame can have by its declared size. */
const mostPacked = mostAtOnce + 64 * 1024;
/** Largest window, as the command zstd takes it without further options. */
const mostWindow = 128 * 1024 * 1024;
/** Longest header of a frame. */
const headBytes = 18;
const blockHeadBytes = 3;
const nothing = Buffer.alloc(0);

interface Frame {
  readonly headBytes: number;
  readonly hasChecksum: boolean;
  /** Size of the result; undefined where the header has none. */
  readonly size: number | undefined;
  readonly window: number;
}

export async function* unzstd(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const input = new Input(chunks[Symbol.asyncIterator]());
  while (await input.has(1)) {
    if (!(await input.has(4))) throw cutOff();
    const first = input.bytes.readUInt32LE(0);
    if ((first & 0xfffffff0) >>> 0 === skippable) {
      if (!(await input.has(8))) throw cutOff();
      await input.skip(8 + input.bytes.readUInt32LE(4));
      continue;
    }
    if (first !== magic) throw new Error('it is no zstd');
    await input.has(headBytes);
    const frame = readHead(input.bytes);
    if (frame.size !== undefined && frame.size <= mostAtOnce) yield await small(input, frame);
    else yield* large(input, frame);
  }
}

async function small(input: Input, frame: Frame): Promise<Buffer> {
  let end = frame.headBytes;
  for (let isLast = false; !isLast; ) {
    if (!(await input.has(end + blockHeadBytes))) throw cutOff();
    const block = readBlock(input.bytes, end);
    ({ isLast } = block);
    end += block.bytes;
    if (end > mostPacked) throw new Error('a frame is longer than it says');
  }
  if (frame.hasChecksum) end += 4;
  if (!(await input.has(end))) throw cutOff();
  const result = compressions.zstd.decompress(input.bytes.subarray(0, end), mostAtOnce);
  input.drop(end);
  return Buffer.from(result.buffer, result.byteOffset, result.length);
}

async function* large(input: Input, frame: Frame): AsyncGenerator<Buffer> {
  if (frame.window > mostWindow) throw new Error(`it needs a window of ${frame.window} bytes`);
  let made: Buffer[] = [];
  const decompress = new Decompress((data) => {
    // A view of what the next block is written over.
    if (data.length > 0) made.push(Buffer.from(data));
  });
  let end = frame.headBytes;
  for (let isLast = false; !isLast; ) {
    if (!(await input.has(end + blockHeadBytes))) throw cutOff();
    const block = readBlock(input.bytes, end);
    ({ isLast } = block);
    end += block.bytes + (isLast && frame.hasChecksum ? 4 : 0);
    if (!(await input.has(end))) throw cutOff();
    decompress.push(Buffer.from(input.bytes.subarray(0, end)), isLast);
    input.drop(end);
    end = 0;
    yield* made;
    made = [];
  }
}

function readHead(bytes: Buffer): Frame {
  const flags = bytes[4];
  if (flags === undefined || bytes.length < 6) throw cutOff();
  const isSingle = (flags & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 3]!;
  const sizeBytes = flags >> 6 === 0 ? (isSingle ? 1 : 0) : 1 << (flags >> 6);
  const at = (isSingle ? 5 : 6) + dictionaryBytes;
  if (bytes.length < at + sizeBytes) throw cutOff();
  if (dictionaryBytes > 0) throw new Error('it needs a dictionary');
  const size = sizeOf(bytes, at, sizeBytes);
  const exponent = 2 ** (10 + (bytes[5]! >> 3));
  const window = isSingle ? (size ?? 0) : exponent + (exponent / 8) * (bytes[5]! & 7);
  return { headBytes: at + sizeBytes, hasChecksum: (flags & 4) !== 0, size, window };
}

function sizeOf(bytes: Buffer, at: number, sizeBytes: number): number | undefined {
  switch (sizeBytes) {
    case 0:
      return undefined;
    case 1:
      return bytes[at];
    case 2:
      return bytes.readUInt16LE(at) + 256;
    case 4:
      return bytes.readUInt32LE(at);
    default:
      return Number(bytes.readBigUInt64LE(at));
  }
}

function readBlock(bytes: Buffer, at: number): { readonly isLast: boolean; readonly bytes: number } {
  const head = bytes.readUIntLE(at, blockHeadBytes);
  const isRepeated = ((head >> 1) & 3) === 1;
  return { isLast: (head & 1) === 1, bytes: blockHeadBytes + (isRepeated ? 1 : head >> 3) };
}

function cutOff(): Error {
  return new Error('it is cut off: unexpected end of zstd');
}

/** Bytes of the input that were read and not used yet. */
class Input {
  bytes: Buffer = nothing;

  constructor(private readonly chunks: AsyncIterator<Buffer>) {}

  /** Reads on until there are so many bytes; false when there are not. */
  async has(count: number): Promise<boolean> {
    if (this.bytes.length >= count) return true;
    const parts = [this.bytes];
    let length = this.bytes.length;
    while (length < count) {
      const { done, value } = await this.chunks.next();
      if (done === true) break;
      // The chunk's memory is used again by the reader.
      parts.push(Buffer.from(value));
      length += value.length;
    }
    this.bytes = Buffer.concat(parts);
    return length >= count;
  }

  drop(count: number): void {
    this.bytes = this.bytes.subarray(count);
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) {
      if (!(await this.has(1))) throw cutOff();
      const dropped = Math.min(left, this.bytes.length);
      this.drop(dropped);
      left -= dropped;
    }
  }
}

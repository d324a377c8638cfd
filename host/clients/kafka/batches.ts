/** Batches of records as a broker gives them: what is not for the reader is left out, the rest is decompressed. */
import { ByteReader, int64At } from './bytes.js';
import { decompressed } from './codecs.js';

/** Records of one batch; offsets and times are relative to its first. */
export interface Batch {
  readonly firstOffset: number;
  readonly firstTime: number;
  readonly count: number;
  /** The records, one after the other. */
  readonly records: Buffer;
}

/** A transaction that was aborted, and the first offset of it that may be among the records. */
export interface Aborted {
  readonly producerId: number;
  readonly firstOffset: number;
}

/** Bytes before the length of the batch is over, and before its records. */
const lengthEnd = 12;
export const batchHead = 61;

const at = { magic: 16, attributes: 21, lastDelta: 23, firstTime: 27, maxTime: 35, producer: 43, count: 57 };
const codecBits = 0b111;
const appendTimeBit = 0b1000;
const transactionalBit = 0b1_0000;
const controlBit = 0b10_0000;

/** Offset behind the last whole batch; undefined when there is none. Throws for an answer that is no list of them. */
export function offsetBehind(bytes: Buffer): number | undefined {
  let behind: number | undefined;
  for (let from = 0; from + batchHead <= bytes.length; ) {
    const end = endOf(bytes, from);
    if (end > bytes.length) break;
    behind = lastOffset(bytes, from) + 1;
    from = end;
  }
  return behind;
}

/**
 * Calls `take` with each whole batch, in order, and `failed` with the reason for each that can't be read: it begins at
 * that offset. Markers of transactions and what was aborted are left out.
 */
export function readBatches(
  bytes: Buffer,
  aborted: readonly Aborted[],
  take: (batch: Batch) => void,
  failed: (reason: string, offset: number) => void,
): void {
  const waiting = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset);
  const void_ = new Set<number>();
  for (let from = 0; from + batchHead <= bytes.length; ) {
    const end = endOf(bytes, from);
    if (end > bytes.length) break;
    const last = lastOffset(bytes, from);
    while (waiting.length > 0 && waiting[0]!.firstOffset <= last) void_.add(waiting.shift()!.producerId);
    try {
      const batch = readBatch(bytes, from, end, void_);
      if (batch !== undefined) take(batch);
    } catch (error) {
      failed((error as Error).message, int64At(bytes, from));
    }
    from = end;
  }
}

function readBatch(bytes: Buffer, from: number, end: number, void_: Set<number>): Batch | undefined {
  const magic = bytes[from + at.magic]!;
  if (magic !== 2) throw new RangeError(`records of version ${magic} are not supported`);
  const attributes = bytes.readInt16BE(from + at.attributes);
  const producer = int64At(bytes, from + at.producer);
  const records = bytes.subarray(from + batchHead, end);
  if ((attributes & controlBit) !== 0) {
    if (isAbort(records)) void_.delete(producer);
    return undefined;
  }
  if ((attributes & transactionalBit) !== 0 && void_.has(producer)) return undefined;
  const isAppendTime = (attributes & appendTimeBit) !== 0;
  return {
    firstOffset: int64At(bytes, from),
    firstTime: int64At(bytes, from + (isAppendTime ? at.maxTime : at.firstTime)),
    count: bytes.readInt32BE(from + at.count),
    records: decompressed(attributes & codecBits, records),
  };
}

/** Whether the record of a marker ends its transaction in vain: the type in its key is 0. */
function isAbort(records: Buffer): boolean {
  const reader = new ByteReader(records);
  reader.varint();
  reader.int8();
  reader.varint();
  reader.varint();
  reader.varint();
  reader.int16();
  return reader.int16() === 0;
}

/** Throws for a batch without room for its own head: what stands behind it can't be found. */
function endOf(bytes: Buffer, from: number): number {
  const length = bytes.readInt32BE(from + 8);
  if (length < batchHead - lengthEnd) throw new RangeError(`the answer has a batch with a length of ${length} bytes`);
  return from + lengthEnd + length;
}

function lastOffset(bytes: Buffer, from: number): number {
  return int64At(bytes, from) + bytes.readInt32BE(from + at.lastDelta);
}

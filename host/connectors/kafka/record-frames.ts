/**
 * Records of a batch as frames. Metadata is the text of an object: topic, partition, offset and timestamp, and key and
 * headers where there are any; a key or header that is no text is base64.
 */
import { isUtf8 } from 'node:buffer';
import type { Batch } from '../../clients/kafka/batches.js';
import { ByteReader } from '../../clients/kafka/bytes.js';
import type { Place } from '../../clients/kafka/reader.js';
import { FrameBuffer } from '../messages/frames.js';

const firstRoom = 512;
/** Bytes of a record without key, value and headers, behind its length. */
const leastRecord = 6;
/** Room for the numbers and names of metadata besides its begin, bytes. */
const numbersRoom = 96;

export class RecordFrames {
  readonly frames = new FrameBuffer();
  #meta = Buffer.allocUnsafe(firstRoom);
  /** Begin of the metadata of one partition, and its length in `#meta`. */
  #begin = '';
  #beginEnd = 0;

  /** Adds the records of a batch that are wanted of the place. */
  add({ topic, partition, position, limit }: Place, batch: Batch): void {
    this.#setBegin(`{"topic":${JSON.stringify(topic)},"partition":${partition},"offset":`);
    const reader = new ByteReader(batch.records);
    for (let i = 0; i < batch.count; i++) {
      const length = reader.varint();
      const end = reader.at + length;
      if (length < leastRecord || end > batch.records.length) throw new RangeError(`a record has ${length} bytes`);
      reader.at++;
      const timestamp = batch.firstTime + reader.varint();
      const offset = batch.firstOffset + reader.varint();
      if (offset >= position && offset < limit) this.#record(reader, offset, timestamp, end);
      reader.at = end;
    }
  }

  #setBegin(begin: string): void {
    if (begin === this.#begin) return;
    this.#begin = begin;
    this.#reserve(Buffer.byteLength(begin));
    this.#beginEnd = this.#meta.write(begin);
  }

  #record(reader: ByteReader, offset: number, timestamp: number, recordEnd: number): void {
    const { bytes } = reader;
    const keyLength = reader.varint();
    const key = reader.at;
    if (keyLength > 0) reader.at += keyLength;
    const valueLength = Math.max(0, reader.varint());
    const value = reader.at;
    reader.at += valueLength;
    if (reader.at >= recordEnd) throw new RangeError('a record ends in the middle of its value');
    const headers = reader.varint();
    const meta = this.#meta;
    let end = this.#beginEnd;
    end += meta.write(String(offset), end, 'latin1');
    end += meta.write(`,"timestamp":${timestamp}`, end, 'latin1');
    if (keyLength >= 0) end = this.#append(end, `,"key":${textOf(bytes.subarray(key, key + keyLength))}`);
    if (headers > 0) end = this.#append(end, `,"headers":${headersOf(reader, headers)}`);
    this.#meta[end++] = 0x7d;
    this.frames.addSlice(bytes, value, value + valueLength, this.#meta, end);
  }

  #append(end: number, text: string): number {
    this.#reserve(end + Buffer.byteLength(text));
    return end + this.#meta.write(text, end);
  }

  #reserve(bytes: number): void {
    if (bytes + numbersRoom <= this.#meta.length) return;
    const grown = Buffer.allocUnsafe((bytes + numbersRoom) * 2);
    this.#meta.copy(grown);
    this.#meta = grown;
  }
}

function headersOf(reader: ByteReader, count: number): string {
  const parts: string[] = [];
  const text = () => {
    const length = Math.max(0, reader.varint());
    const from = reader.at;
    reader.at += length;
    return textOf(reader.bytes.subarray(from, reader.at));
  };
  for (let i = 0; i < count; i++) parts.push(`${text()}:${text()}`);
  return `{${parts.join(',')}}`;
}

/** The bytes as a JSON text. */
function textOf(bytes: Buffer): string {
  return JSON.stringify(bytes.toString(isUtf8(bytes) ? 'utf8' : 'base64'));
}

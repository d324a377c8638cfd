/** A batch of records under way to one partition: messages are written into it as they come. */
import { crc32c } from '@platformatic/kafka';
import { batchHead } from './batches.js';
import { ByteReader } from './bytes.js';
import { type CodecName, codecNames, compressed } from './codecs.js';

/** A message; headers are those of `headersOf`. */
export interface Record {
  readonly key: Uint8Array | null;
  readonly headers: Uint8Array;
  readonly value: Uint8Array;
}

/** Who writes the batch, and the number of its first record in the partition; null outside of transactions. */
export interface Numbering {
  readonly producerId: number;
  readonly epoch: number;
  readonly sequence: number;
}

/** Most bytes of the lengths and numbers of one record. */
const recordHead = 40;
const transactionalBit = 0b1_0000;
/** Bytes that the checksum does not cover. */
const crcEnd = 21;

export class BatchBuilder {
  count = 0;
  /** Credit that goes back when the broker has it. */
  credit = 0;
  /** Attempts to send it. */
  attempts = 0;
  readonly madeAt = Date.now();
  #lastTime = this.madeAt;
  #bytes: Buffer;
  #length = batchHead;
  #encoded: Buffer | undefined;

  constructor(room: number) {
    this.#bytes = Buffer.allocUnsafe(batchHead + room);
  }

  /** Size before compression. */
  get sizeBytes(): number {
    return this.#length;
  }

  /** It was encoded: nothing may be added. */
  get isClosed(): boolean {
    return this.#encoded !== undefined;
  }

  add({ key, headers, value }: Record, time: number, credit: number): void {
    const delta = Math.max(0, time - this.madeAt);
    this.#lastTime = Math.max(this.#lastTime, this.madeAt + delta);
    const keyBytes = key === null ? 1 : varintBytes(key.length) + key.length;
    const body =
      1 +
      varintBytes(delta) +
      varintBytes(this.count) +
      keyBytes +
      varintBytes(value.length) +
      value.length +
      headers.length;
    this.#room(body + recordHead);
    this.#varint(body);
    this.#bytes[this.#length++] = 0;
    this.#varint(delta);
    this.#varint(this.count);
    if (key === null) this.#bytes[this.#length++] = 1;
    else this.#block(key);
    this.#block(value);
    this.#bytes.set(headers, this.#length);
    this.#length += headers.length;
    this.count++;
    this.credit += credit;
  }

  /** The batch as it is sent; the same bytes each time. */
  encode(codec: CodecName, numbering: Numbering | null): Buffer {
    this.#encoded ??= this.#encode(codec, numbering);
    return this.#encoded;
  }

  /** Two batches with a part of the messages each. */
  halves(): [BatchBuilder, BatchBuilder] {
    const halves: [BatchBuilder, BatchBuilder] = [new BatchBuilder(this.#length), new BatchBuilder(this.#length)];
    this.each((record, credit, place, time) => halves[place < this.count >> 1 ? 0 : 1].add(record, time, credit));
    return halves;
  }

  /** Calls back with each message, a view, its share of the credit and its place. */
  each(take: (record: Record, credit: number, place: number, time: number) => void): void {
    const reader = new ByteReader(this.#bytes.subarray(0, this.#length), batchHead);
    const block = () => {
      const length = reader.varint();
      if (length < 0) return null;
      reader.at += length;
      return this.#bytes.subarray(reader.at - length, reader.at);
    };
    let { credit } = this;
    for (let i = 0; i < this.count; i++) {
      const end = reader.varint() + reader.at;
      reader.at++;
      const time = this.madeAt + reader.varint();
      reader.varint();
      const [key, value] = [block(), block() ?? none];
      const headers = this.#bytes.subarray(reader.at, end);
      reader.at = end;
      const own = i === this.count - 1 ? credit : Math.min(credit, value.length);
      credit -= own;
      take({ key, headers, value }, own, i, time);
    }
  }

  #encode(codec: CodecName, numbering: Numbering | null): Buffer {
    const records = this.#bytes.subarray(batchHead, this.#length);
    const content = compressed(codec, records);
    const isPlain = content === records;
    const bytes = isPlain
      ? this.#bytes.subarray(0, this.#length)
      : Buffer.concat([this.#bytes.subarray(0, batchHead), content]);
    const attributes = codecNames.indexOf(codec) | (numbering === null ? 0 : transactionalBit);
    bytes.writeBigInt64BE(0n, 0);
    bytes.writeInt32BE(bytes.length - 12, 8);
    bytes.writeInt32BE(-1, 12);
    bytes.writeInt8(2, 16);
    bytes.writeInt16BE(attributes, 21);
    bytes.writeInt32BE(this.count - 1, 23);
    bytes.writeBigInt64BE(BigInt(this.madeAt), 27);
    bytes.writeBigInt64BE(BigInt(this.#lastTime), 35);
    bytes.writeBigInt64BE(BigInt(numbering?.producerId ?? -1), 43);
    bytes.writeInt16BE(numbering?.epoch ?? -1, 51);
    bytes.writeInt32BE(numbering?.sequence ?? -1, 53);
    bytes.writeInt32BE(this.count, 57);
    bytes.writeUInt32BE(crc32c(bytes.subarray(crcEnd)), 17);
    return bytes;
  }

  #block(bytes: Uint8Array): void {
    this.#varint(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Writes a number from 0 to 2^30. */
  #varint(value: number): void {
    let rest = value * 2;
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  #room(more: number): void {
    const least = this.#length + more;
    if (least <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(least, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

const none = Buffer.alloc(0);
/** A record without headers. */
export const noHeaders = Buffer.from([0]);

/** Headers in the form that they have in a record. */
export function headersOf(headers: Readonly<{ [name: string]: string }>): Buffer {
  const entries = Object.entries(headers);
  const parts = [varint(entries.length)];
  for (const pair of entries) {
    for (const text of pair) {
      const bytes = Buffer.from(text);
      parts.push(varint(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value * 2;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}

/** Bytes of a number from 0 to 2^30 in the zigzag form. */
function varintBytes(value: number): number {
  return value < 0x40 ? 1 : value < 0x2000 ? 2 : value < 0x10_0000 ? 3 : value < 0x800_0000 ? 4 : 5;
}

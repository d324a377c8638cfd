/** Asks a broker for records (Fetch, version 11). */
import type { Aborted } from './batches.js';
import { type ByteReader, ByteWriter } from './bytes.js';
import type { OwnRequest } from './client.js';

export interface Wanted {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface Fetched {
  readonly topic: string;
  readonly partition: number;
  readonly code: number;
  /** First offset that the partition still has, and the one behind the last that may be read; -1 when unknown. */
  readonly begin: number;
  readonly end: number;
  readonly aborted: readonly Aborted[];
  /** Batches; a view. */
  readonly records: Buffer;
}

/** How long the broker may wait for records, ms. */
const maxWaitMs = 500;

/** @param isolation 1 leaves out what is in open and aborted transactions */
export function fetchRequest(wanted: readonly Wanted[], maxBytes: number, isolation: 0 | 1): OwnRequest {
  const body = new ByteWriter().int32(-1).int32(maxWaitMs).int32(1).int32(maxBytes).int8(isolation);
  // No session: each request names all partitions.
  body.int32(0).int32(-1);
  const topics = byTopic(wanted);
  body.int32(topics.size);
  for (const [topic, partitions] of topics) {
    body.text(topic).int32(partitions.length);
    for (const { partition, offset } of partitions) {
      body.int32(partition).int32(-1).int64(offset).int64(-1).int32(maxBytes);
    }
  }
  body.int32(0).text('');
  return { key: 1, version: 11, body: body.bytes, isAnswered: true };
}

function byTopic(wanted: readonly Wanted[]): Map<string, Wanted[]> {
  const topics = new Map<string, Wanted[]>();
  for (const one of wanted) topics.set(one.topic, [...(topics.get(one.topic) ?? []), one]);
  return topics;
}

export function fetchAnswer(reader: ByteReader): Fetched[] {
  const fetched: Fetched[] = [];
  reader.int32();
  const code = reader.int16();
  reader.int32();
  reader.list(() => {
    const topic = reader.text();
    reader.list(() => fetched.push(partitionAnswer(reader, topic, code)));
  });
  return fetched;
}

function partitionAnswer(reader: ByteReader, topic: string, whole: number): Fetched {
  const partition = reader.int32();
  const own = reader.int16();
  reader.int64();
  const end = reader.int64();
  const begin = reader.int64();
  const aborted = reader.list(() => ({ producerId: reader.int64(), firstOffset: reader.int64() }));
  reader.int32();
  return { topic, partition, code: whole === 0 ? own : whole, begin, end, aborted, records: reader.block() };
}

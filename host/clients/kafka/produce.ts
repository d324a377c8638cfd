/** Gives batches to a broker (Produce, version 8). */
import { type ByteReader, ByteWriter } from './bytes.js';
import type { OwnRequest } from './client.js';

/** Encoded batches by topic and partition; one for each. */
export type Produced = ReadonlyMap<string, ReadonlyMap<number, Buffer>>;

export interface Acknowledged {
  readonly topic: string;
  readonly partition: number;
  readonly code: number;
  /** What the broker adds to the code. */
  readonly text: string;
}

/** How long the broker may wait for its replicas, ms. */
const timeoutMs = 15_000;

export function produceRequest(produced: Produced, acks: number, transactionalId: string | null): OwnRequest {
  const body = new ByteWriter().text(transactionalId).int16(acks).int32(timeoutMs).int32(produced.size);
  for (const [topic, partitions] of produced) {
    body.text(topic).int32(partitions.size);
    for (const [partition, batch] of partitions) body.int32(partition).int32(batch.length).raw(batch);
  }
  return { key: 0, version: 8, body: body.bytes, isAnswered: acks !== 0 };
}

export function produceAnswer(reader: ByteReader): Acknowledged[] {
  const acknowledged: Acknowledged[] = [];
  reader.list(() => {
    const topic = reader.text();
    reader.list(() => {
      const partition = reader.int32();
      const code = reader.int16();
      reader.int64();
      reader.int64();
      reader.int64();
      const texts = reader.list(() => {
        reader.int32();
        return reader.text();
      });
      const whole = reader.text();
      acknowledged.push({ topic, partition, code, text: texts[0] || whole });
    });
  });
  return acknowledged;
}

/** What members of a consumer group tell each other: their topics, and who reads what. */
import { ByteReader, ByteWriter } from './bytes.js';

/** Partitions by topic. */
export type Assignment = ReadonlyMap<string, readonly number[]>;

export interface Member {
  readonly id: string;
  readonly topics: readonly string[];
}

export const assignors = ['range', 'roundrobin'] as const;

export function subscription(topics: readonly string[]): Buffer {
  const writer = new ByteWriter().int16(0).int32(topics.length);
  for (const topic of topics) writer.text(topic);
  return writer.int32(-1).bytes;
}

export function topicsOf(subscribed: Buffer): string[] {
  const reader = new ByteReader(subscribed);
  reader.int16();
  return reader.list(() => reader.text());
}

export function assignmentBytes(assignment: Assignment): Buffer {
  const writer = new ByteWriter().int16(0).int32(assignment.size);
  for (const [topic, partitions] of assignment) {
    writer.text(topic).int32(partitions.length);
    for (const partition of partitions) writer.int32(partition);
  }
  return writer.int32(-1).bytes;
}

export function assignmentOf(bytes: Buffer): Assignment {
  if (bytes.length === 0) return new Map();
  const reader = new ByteReader(bytes);
  reader.int16();
  return new Map(reader.list(() => [reader.text(), reader.list(() => reader.int32())] as const));
}

/** Shares the partitions out; `counts` has the number of partitions of each topic. */
export function assign(
  assignor: string,
  members: readonly Member[],
  counts: ReadonlyMap<string, number>,
): ReadonlyMap<string, Assignment> {
  const sorted = [...members].sort((a, b) => (a.id < b.id ? -1 : 1));
  const shares = new Map(sorted.map(({ id }) => [id, new Map<string, number[]>()]));
  const give = ({ id }: Member, topic: string, partition: number) => {
    const share = shares.get(id)!;
    share.set(topic, [...(share.get(topic) ?? []), partition]);
  };
  let turn = 0;
  for (const [topic, count] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const takers = sorted.filter(({ topics }) => topics.includes(topic));
    if (takers.length === 0) continue;
    if (assignor === 'range') {
      const [each, more] = [Math.floor(count / takers.length), count % takers.length];
      for (let partition = 0; partition < count; partition++) {
        const inLarger = (each + 1) * more;
        const taker =
          partition < inLarger ? Math.floor(partition / (each + 1)) : more + Math.floor((partition - inLarger) / each);
        give(takers[taker]!, topic, partition);
      }
    } else {
      for (let partition = 0; partition < count; partition++) give(takers[turn++ % takers.length]!, topic, partition);
    }
  }
  return shares;
}

/** Places in partitions. */
import { type KafkaClient, untilReady } from './client.js';
import { kafkaErrors } from './errors.js';

/** Offset of the next record by topic and partition. */
export interface Offsets {
  [topic: string]: { [partition: string]: number };
}

/** Position of a source. */
export interface KafkaPosition {
  readonly offsets: Offsets;
  /** Name of the source among the members of its group. */
  readonly member?: string;
}

/** Reads what `position` gave; throws for anything else. */
export function positionOf(position: unknown): KafkaPosition {
  if (typeof position !== 'object' || position === null) throw kafkaErrors.position();
  const { offsets, member } = position as Record<string, unknown>;
  if (typeof offsets !== 'object' || offsets === null) throw kafkaErrors.position();
  return { offsets: offsetsOf(offsets), ...(typeof member === 'string' && { member }) };
}

function offsetsOf(given: object): Offsets {
  const offsets: Offsets = {};
  for (const [topic, partitions] of Object.entries(given)) {
    if (typeof partitions !== 'object' || partitions === null) throw kafkaErrors.position();
    offsets[topic] = {};
    for (const [partition, offset] of Object.entries(partitions as Record<string, unknown>)) {
      if (typeof offset !== 'number' || !Number.isSafeInteger(offset)) throw kafkaErrors.position();
      offsets[topic][partition] = offset;
    }
  }
  return offsets;
}

/** Enters an offset. */
export function note(offsets: Offsets, topic: string, partition: string | number, offset: number): void {
  offsets[topic] ??= {};
  offsets[topic][partition] = offset;
}

/** The earlier offset of each partition that either has. */
export function earliest(one: Offsets, other: Offsets): Offsets {
  const both: Offsets = structuredClone(one);
  for (const [topic, partitions] of Object.entries(other)) {
    for (const [partition, offset] of Object.entries(partitions)) {
      note(both, topic, partition, Math.min(both[topic]?.[partition] ?? offset, offset));
    }
  }
  return both;
}

/** The offsets of other partitions than these. */
export function without(offsets: Offsets, places: readonly { topic: string; partition: number }[]): Offsets {
  const others = structuredClone(offsets);
  for (const { topic, partition } of places) delete others[topic]?.[partition];
  return others;
}

/** Begin or end of a partition, as far as it may be read. */
export async function edgeOf(
  client: KafkaClient,
  place: { topic: string; partition: number },
  edge: 'begin' | 'end',
  isolation: 0 | 1,
): Promise<number> {
  interface Listed {
    topics: { partitions: { offset: bigint }[] }[];
  }
  const { topic, partition } = place;
  const timestamp = edge === 'begin' ? -2n : -1n;
  const wanted = [{ name: topic, partitions: [{ partitionIndex: partition, currentLeaderEpoch: -1, timestamp }] }];
  for (let attempt = 1; ; attempt++) {
    const { leaders } = await client.topic(topic, true);
    const leader = leaders[partition];
    if (leader === undefined) throw kafkaErrors.noPartition(topic, partition, leaders.length);
    try {
      const { topics } = await client.ask<Listed>(leader, 'ListOffsets', [-1, isolation, wanted]);
      return Number(topics[0]!.partitions[0]!.offset);
    } catch (error) {
      client.forget(topic);
      // The leader of a partition that was just created hears of it a little later.
      await untilReady(error, attempt);
    }
  }
}

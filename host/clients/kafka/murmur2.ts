/** The hash of keys by which Kafka's clients choose partitions. */

const seed = 0x9747b28c;
const factor = 0x5bd1e995;

/** Partition of a key among so many. */
export function partitionOf(key: Uint8Array, count: number): number {
  return (murmur2(key) & 0x7fffffff) % count;
}

function murmur2(key: Uint8Array): number {
  const { length } = key;
  const words = length >> 2;
  let hash = seed ^ length;
  for (let i = 0; i < words; i++) {
    const at = i * 4;
    let word = key[at]! | (key[at + 1]! << 8) | (key[at + 2]! << 16) | (key[at + 3]! << 24);
    word = Math.imul(word, factor);
    word = Math.imul(word ^ (word >>> 24), factor);
    hash = Math.imul(hash, factor) ^ word;
  }
  const rest = words * 4;
  const left = length & 3;
  if (left === 3) hash ^= key[rest + 2]! << 16;
  if (left >= 2) hash ^= key[rest + 1]! << 8;
  if (left >= 1) hash = Math.imul(hash ^ key[rest]!, factor);
  hash = Math.imul(hash ^ (hash >>> 13), factor);
  return hash ^ (hash >>> 15);
}

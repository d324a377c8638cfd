/** Finds nodes that do the same work, so that one of them is enough. */
import { createHash } from 'node:crypto';
import type { NodeImage } from './node-image.js';

/** Bytes of a digest: with 192 bits no two of all nodes are ever alike by chance. */
const digestBytes = 24;
const parentBytes = 4;

/** Key of a node that is equal for the same work on the same input; each node keeps one, so it is short. */
export function sharingKey(parent: number, image: NodeImage): string {
  image.digest ??= digestOf(image);
  const key = Buffer.allocUnsafe(parentBytes + digestBytes);
  key.writeUInt32LE(parent >>> 0);
  key.write(image.digest, parentBytes, 'latin1');
  // A sum of two texts would keep both, and a third that joins them.
  return key.toString('latin1');
}

/** Digest of the work: programs are long, and rules are many. */
function digestOf({ kind, sendsErrors, program, spec }: NodeImage): string {
  const digest = createHash('sha256').update(`${kind}:${sendsErrors ? 1 : 0}:${program?.length ?? -1}:`);
  if (program !== null) digest.update(program);
  // Of all forms of text this one takes the least memory.
  return digest.update(spec).digest().toString('latin1', 0, digestBytes);
}

/** The key of a node whose rule goes on at a place of its own; see `LinkedNode`. */
export function keyAt(key: string | null, place: string | undefined): string | null {
  return key === null || place === undefined ? key : `${key} ${place}`;
}

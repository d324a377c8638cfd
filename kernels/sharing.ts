/** Finds nodes that do the same work, so that one of them is enough. */
import { createHash } from 'node:crypto';
import type { NodeImage } from './node-image.js';

/** Key of a node that is equal for the same work on the same input. */
export function sharingKey(parent: number, image: NodeImage): string {
  image.digest ??= digestOf(image);
  return `${parent}:${image.digest}`;
}

/** Digest of the work: programs are long, and rules are many. */
function digestOf({ kind, sendsErrors, program, spec }: NodeImage): string {
  const digest = createHash('sha256').update(`${kind}:${sendsErrors ? 1 : 0}:${program?.length ?? -1}:`);
  if (program !== null) digest.update(program);
  // Of all forms of text this one takes the least memory.
  return digest.update(spec).digest().toString('latin1');
}

/** The key of a node whose rule goes on at a place of its own; see `LinkedNode`. */
export function keyAt(key: string | null, place: string | undefined): string | null {
  return key === null || place === undefined ? key : `${key} ${place}`;
}

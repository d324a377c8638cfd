/** Finds nodes that do the same work, so that one of them is enough. */
import { createHash } from 'node:crypto';
import type { NodeImage } from './node-image.js';

/**
 * Key of a node that is equal for the same work on the same input. It is a digest, since programs are long and rules
 * are many.
 */
export function sharingKey(parent: number, { kind, sendsErrors, program, spec }: NodeImage): string {
  const head = `${parent}:${kind}:${sendsErrors ? 1 : 0}:${program?.length ?? -1}:`;
  const digest = createHash('sha256').update(head);
  if (program !== null) digest.update(program);
  // Of all forms of text this one takes the least memory.
  return digest.update(spec).digest().toString('latin1');
}

/** The key of a node whose rule goes on at a place of its own; see `LinkedNode`. */
export function keyAt(key: string | null, place: string | undefined): string | null {
  return key === null || place === undefined ? key : `${key} ${place}`;
}

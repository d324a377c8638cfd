/** What NATS says of a rule's last checkpoint: an entry that names its files, written by the revision that was seen. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { StoredObject } from './objects.js';

/** A file of a checkpoint: small ones stand in the entry itself, others are objects. */
export interface KeptFile {
  readonly name: string;
  readonly bytes: number;
  /** SHA-256, base64url. */
  readonly digest: string;
  readonly object?: string;
  /** Base64. */
  readonly data?: string;
}

export interface Manifest {
  /** Revision of the lease of the node that may write: no node with an older one may. */
  readonly lease: number;
  readonly node: string;
  /** Tells this writing from any other. */
  readonly id: string;
  readonly files: readonly KeptFile[];
}

/** Reads an entry; undefined when it is none. */
export function manifestOf(text: string | undefined): Manifest | undefined {
  if (text === undefined) return undefined;
  try {
    const manifest = JSON.parse(text) as Manifest;
    const isFile = ({ name, bytes, digest }: KeptFile) =>
      /^\d{12}\.(checkpoint|rows)$/.test(name) && Number.isSafeInteger(bytes) && typeof digest === 'string';
    const isRight = Number.isSafeInteger(manifest.lease) && manifest.files.every(isFile);
    return isRight ? manifest : undefined;
  } catch {
    return undefined;
  }
}

/** Objects that an entry needs. */
export function objectsOf(manifest: Manifest | undefined): string[] {
  return (manifest?.files ?? []).flatMap(({ object }) => object ?? []);
}

export function storedOf({ object, bytes, digest }: KeptFile): StoredObject | undefined {
  return object === undefined ? undefined : { object, bytes, digest };
}

export async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(piece as Buffer);
  return hash.digest('base64url');
}

export function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

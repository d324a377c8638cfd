/** Where services keep files, and where they may take them from. */
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '../../base/config/config.js';
import { asKind, HaumeaError } from '../../base/errors.js';
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import { readUri } from '../../base/files/file-uri.js';

/** Brings uploads to the other nodes of a cluster, and takes them away there; rejects with the reason. */
export interface SharedUploads {
  put(name: string, bytes: Buffer): Promise<void>;
  remove(name: string): Promise<void>;
}

export interface ResourceFiles {
  /** Data folder of the server. */
  readonly data: string;
  /** Folder of uploaded files. */
  readonly uploads: string;
  /** Requests to loopback and private addresses are allowed. */
  readonly allowPrivate: boolean;
  /** Where files that URIs name may be. */
  readonly paths: AllowedPaths;
  /** Uploads of all nodes of a cluster; left out on a server alone. */
  readonly shared?: SharedUploads | undefined;
  /** Uploads of a running import by path, not written yet: its other items may refer to them. */
  readonly pending: Map<string, Buffer>;
}

/** Where resources keep their files and what they may fetch. */
export function resourceFilesOf(
  { basic }: Config,
  data: string,
  paths: AllowedPaths,
  shared: SharedUploads | undefined,
): ResourceFiles {
  const folder = resolve(data);
  const { enablePrivateNet: allowPrivate } = basic;
  return { data: folder, uploads: join(folder, 'uploads'), allowPrivate, paths, shared, pending: new Map() };
}

/** Reads what a URI of a request names, by the rules of the server; more than `maxBytes` are refused. */
export async function readResource(uri: string, files: ResourceFiles, maxBytes?: number): Promise<Buffer> {
  const { allowPrivate, paths, pending } = files;
  for (const [path, bytes] of pending) if (uri === pathToFileURL(path).href) return bytes;
  try {
    return await readUri(uri, { allowPrivate, paths, ...(maxBytes === undefined ? {} : { maxBytes }) });
  } catch (error) {
    // Whatever the reason, it is the request that names something unavailable.
    if (error instanceof HaumeaError) throw asKind('general', error);
    throw error;
  }
}

/** Tells a zip archive by its first bytes. */
export function isZip(bytes: Buffer): boolean {
  return bytes.length >= 4 && (bytes.readUInt32LE(0) === 0x04034b50 || bytes.readUInt32LE(0) === 0x06054b50);
}

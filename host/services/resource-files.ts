/** Where services keep files, and where they may take them from. */
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '../base/config/config.js';
import { asKind, HaumeaError } from '../base/errors.js';
import type { AllowedPaths } from '../base/files/allowed-paths.js';
import { readUri } from '../base/files/file-uri.js';
import { bodyErrors } from './errors/body.js';

export interface ResourceFiles {
  /** Data folder of the server. */
  readonly data: string;
  /** Folder of uploaded files. */
  readonly uploads: string;
  /** Requests to loopback and private addresses are allowed. */
  readonly allowPrivate: boolean;
  /** Where files that URIs name may be. */
  readonly paths: AllowedPaths;
  /** Uploads by path that an import has checked but not written yet: what it brings besides may refer to them. */
  readonly pending: Map<string, Buffer>;
}

/** Where resources keep their files and what they may fetch. */
export function resourceFilesOf({ basic }: Config, data: string, paths: AllowedPaths): ResourceFiles {
  const folder = resolve(data);
  const { enablePrivateNet: allowPrivate } = basic;
  return { data: folder, uploads: join(folder, 'uploads'), allowPrivate, paths, pending: new Map() };
}

/** Reads what a URI of a request names, by the rules of the server; more than `maxBytes` are refused. */
export async function readResource(uri: string, files: ResourceFiles, maxBytes?: number): Promise<Buffer> {
  const { allowPrivate, paths, pending } = files;
  for (const [path, bytes] of pending) if (uri === pathToFileURL(path).href) return bytes;
  try {
    return await readUri(uri, { allowPrivate, paths, ...(maxBytes === undefined ? {} : { maxBytes }) });
  } catch (error) {
    // Whatever the reason, the request names something that can't be had.
    if (error instanceof HaumeaError) throw asKind('general', error);
    throw error;
  }
}

/** Tells a zip archive by its first bytes. */
export function isZip(bytes: Buffer): boolean {
  return bytes.length >= 4 && (bytes.readUInt32LE(0) === 0x04034b50 || bytes.readUInt32LE(0) === 0x06054b50);
}

/** Reads an optional text member of a body. */
export function textOf(body: Record<string, unknown>, name: string): string {
  const value = body[name];
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  throw bodyErrors.notText(name, JSON.stringify(value).slice(0, 60));
}

/** Reads a text member of a body as base64; white space in it does not matter. */
export function bytesOf(body: Record<string, unknown>, name: string): Buffer {
  const compact = textOf(body, name).replace(/\s/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact)) throw bodyErrors.notBase64(name);
  return Buffer.from(compact, 'base64');
}

/** Reads an optional list of texts of a body. */
export function textsOf(body: Record<string, unknown>, name: string): string[] {
  const value = body[name];
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
  throw bodyErrors.notTexts(name);
}

/** Reads a text as a JSON object; `what` names it in errors. */
export function objectOf(text: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw bodyErrors.textNotJson(what, error instanceof Error ? error.message : '', {
      cause: error,
    });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw bodyErrors.textNotObject(what);
}

/** Checks that a body names the same resource as the path; a body without a name takes the one of the path. */
export function checkSameName(given: string, expected: string, field = 'name'): void {
  if (given !== '' && given !== expected) {
    throw bodyErrors.otherName(field, given, expected);
  }
}

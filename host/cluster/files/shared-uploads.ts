/**
 * Uploads of all nodes: a bucket has an entry for each, the object store its bytes. Each node has them all in its
 * folder. A file in the folder says which of them came from the cluster: what is not there any more was deleted while
 * this node was away, and what is not in that file was there before the node joined.
 */
import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { nuid } from '@nats-io/transport-node';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { writeDurable } from '../../meta/packages/packages.js';
import { type Bucket, type BucketEntry, WriteFailure } from '../bucket.js';
import { clusterErrors } from '../errors.js';
import { decodeName, encodeName } from '../keys.js';
import type { ObjectStore, StoredObject } from '../state/objects.js';
import { decrypted, encrypted } from './crypt.js';

export interface SharedUploadsOptions {
  readonly bucket: Bucket;
  readonly objects: ObjectStore;
  readonly key: Buffer | undefined;
  /** Data folder of this node. */
  readonly data: string;
  readonly log: Logger;
}

interface Upload extends StoredObject {
  /** Tells contents apart, and nothing of them to who has not the key. */
  readonly mark: string;
}

interface Known {
  readonly revision: number;
  readonly upload: Upload | undefined;
}

const foldersName = 'uploads';
/** Names that `nuid` makes. */
const objectName = /^[0-9A-Z]{22}$/;
/** Name of the list, which no upload can have. */
const listName = '.of-cluster';
/** Largest upload: what a request may bring (rest/route/body.ts), and a URI. */
const maxBytes = 1024 * 1024 * 1024;
const tries = 20;
const pauseMs = 250;

export class SharedUploads {
  readonly #known = new Map<string, Known>();
  /** Uploads that were here when this node left the cluster, while it joins again. */
  #former: ReadonlySet<string> | undefined;
  /** Changes of other nodes, one after the other. */
  #turn: Promise<void> = Promise.resolve();

  private constructor(private readonly options: SharedUploadsOptions) {}

  /** Brings the folder in line with the cluster, and follows it from then on. */
  static async open(options: SharedUploadsOptions): Promise<SharedUploads> {
    const uploads = new SharedUploads(options);
    const former = await uploads.#listed();
    uploads.#former = former;
    await options.bucket.watch((entry) => uploads.#take(entry));
    await uploads.#turn;
    uploads.#former = undefined;
    await uploads.#settle(former);
    return uploads;
  }

  /** Objects with the bytes of the uploads that are there. */
  objects(): ReadonlySet<string> {
    return new Set([...this.#known.values()].flatMap(({ upload }) => upload?.object ?? []));
  }

  /** Whether the name of an object is that of an upload, which is there or is not. */
  isObject(object: string): boolean {
    return objectName.test(object);
  }

  /** Brings a file to the other nodes; rejects with the reason. */
  async put(name: string, bytes: Buffer): Promise<void> {
    const { bucket, objects, key } = this.options;
    if (key === undefined) throw clusterErrors.filesKey(name);
    const known = this.#known.get(name);
    const mark = markOf(key, name, bytes);
    if (known?.upload?.mark === mark) return;
    const object = nuid.next();
    try {
      const stored = await objects.write(object, encrypted(key, object, piecesOf(bytes)));
      const upload: Upload = { ...stored, mark };
      const write = { key: encodeName(name), text: JSON.stringify(upload), after: known?.revision ?? 0 };
      this.#note(name, await bucket.write(write), upload);
    } catch (error) {
      // Where NATS did not answer, its entry may be there and name the object.
      const isUnsure = error instanceof WriteFailure && error.kind === 'unsure';
      if (!isUnsure) void objects.remove([object]);
      throw refusalOf(error, name);
    }
    if (known?.upload !== undefined) void objects.remove([known.upload.object]);
    await this.#list();
  }

  /** Takes a file from all other nodes; rejects with the reason. */
  async remove(name: string): Promise<void> {
    const { bucket, objects } = this.options;
    const known = this.#known.get(name);
    if (known?.upload === undefined) return;
    try {
      const write = { key: encodeName(name), text: undefined, after: known.revision };
      this.#note(name, await bucket.write(write), undefined);
    } catch (error) {
      throw refusalOf(error, name);
    }
    void objects.remove([known.upload.object]);
    await this.#list();
  }

  #take({ key, revision, text }: BucketEntry): void {
    const name = decodeName(key);
    if ((this.#known.get(name)?.revision ?? 0) >= revision) return;
    const upload = uploadOf(text);
    if (!isPlain(name) || (text !== undefined && upload === undefined)) {
      this.options.log.error(`the entry ${key} of the uploads in NATS is damaged: it is passed over`);
      return;
    }
    this.#note(name, revision, upload);
    this.#turn = this.#turn.then(() => this.#follow(name, upload));
  }

  /** Does on this node what another one has done. */
  async #follow(name: string, upload: Upload | undefined): Promise<void> {
    const { log, key } = this.options;
    for (let i = 1; ; i++) {
      // A later change is on its way.
      if (this.#known.get(name)?.upload !== upload) return;
      try {
        if (upload === undefined) await this.#removeHere(name);
        else await this.#fetch(name, upload);
        await this.#list();
        return;
      } catch (error) {
        if (i < tries && key !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs));
        else {
          log.error(`the upload ${name} could not follow its change at another node: ${reasonOf(error)}`);
          return;
        }
      }
    }
  }

  async #fetch(name: string, { mark, ...stored }: Upload): Promise<void> {
    const { key, objects } = this.options;
    if (key === undefined) throw clusterErrors.filesKey(name);
    const path = this.#path(name);
    const isThere = existsSync(path);
    if (isThere && markOf(key, name, await readFile(path)) === mark) return;
    if (isThere && this.#former?.has(name) === false) {
      this.options.log.warn(`the upload ${name} of this node is replaced by that of the cluster`);
    }
    if (stored.bytes > maxBytes) throw new Error(`it has ${stored.bytes} bytes, ${maxBytes} at most`);
    const pieces: Buffer[] = [];
    for await (const piece of decrypted(key, stored.object, objects.get(stored))) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    if (markOf(key, name, bytes) !== mark) throw new Error('it is not what was uploaded');
    await writeDurable(path, bytes);
  }

  async #removeHere(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
    for (let folder = posix.dirname(name); folder !== '.'; folder = posix.dirname(folder)) {
      const isEmpty = await rmdir(this.#path(folder)).then(
        () => true,
        () => false,
      );
      if (!isEmpty) return;
    }
  }

  /** What the folder has beside the uploads of the cluster goes to it, or was deleted while this node was away. */
  async #settle(former: ReadonlySet<string>): Promise<void> {
    const { log, key } = this.options;
    for (const name of await this.#present()) {
      if (this.#known.get(name)?.upload !== undefined) continue;
      if (former.has(name)) await this.#removeHere(name);
      else if (key === undefined) log.warn(`the upload ${name} stays on this node, which has no key to share it`);
      else await this.put(name, await readFile(this.#path(name))).catch((error) => log.error(reasonOf(error)));
    }
    await this.#list();
  }

  async #present(): Promise<string[]> {
    const root = this.#path('');
    const entries = await readdir(root, { withFileTypes: true, recursive: true }).catch(() => []);
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
      .filter(isPlain);
  }

  async #listed(): Promise<ReadonlySet<string>> {
    try {
      return new Set(JSON.parse(await readFile(this.#path(listName), 'utf8')) as string[]);
    } catch {
      return new Set();
    }
  }

  /** Notes the uploads that are here because the cluster has them. */
  async #list(): Promise<void> {
    const names = [...this.#known].flatMap(([name, { upload }]) => (upload === undefined ? [] : [name]));
    if (names.length === 0 && !existsSync(this.#path(listName))) return;
    await writeDurable(this.#path(listName), Buffer.from(JSON.stringify(names.sort())));
  }

  #note(name: string, revision: number, upload: Upload | undefined): void {
    if ((this.#known.get(name)?.revision ?? 0) <= revision) this.#known.set(name, { revision, upload });
  }

  #path(name: string): string {
    return join(this.options.data, foldersName, name);
  }
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  const pieceBytes = 256 * 1024;
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

function markOf(key: Buffer, name: string, bytes: Buffer): string {
  return createHmac('sha256', key).update(`${name}\n`).update(bytes).digest('base64url');
}

function uploadOf(text: string | undefined): Upload | undefined {
  if (text === undefined) return undefined;
  try {
    const upload = JSON.parse(text) as Upload;
    const { object, bytes, digest, mark } = upload;
    const isRight = [object, digest, mark].every((one) => typeof one === 'string') && Number.isSafeInteger(bytes);
    return isRight ? upload : undefined;
  } catch {
    return undefined;
  }
}

/** The name comes from outside: it must not lead elsewhere. */
function isPlain(name: string): boolean {
  return !/[\\\0]/.test(name) && name.split('/').every((part) => part !== '' && !part.startsWith('.'));
}

function refusalOf(error: unknown, name: string): Error {
  const options = { cause: error };
  if (error instanceof WriteFailure && error.kind === 'changed')
    return clusterErrors.changed(`upload ${name}`, options);
  return clusterErrors.notShared(`upload ${name}`, reasonOf(error), options);
}

/**
 * An object store of NATS: objects in chunks, each with a record of its length and digest. Its form is that of NATS, so
 * that its own tools show it. Objects are written once under names that nobody else has, and never changed.
 */
import { createHash } from 'node:crypto';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { headers, nuid } from '@nats-io/transport-node';
import { reasonOf } from '../../base/errors.js';
import { natsReason } from '../../clients/nats/client.js';
import { isAway } from '../away.js';
import { clusterErrors } from '../errors.js';
import type { ClusterLink } from '../link.js';

/** An object as who has written it knows it. */
export interface StoredObject {
  readonly object: string;
  readonly bytes: number;
  /** SHA-256, base64url. */
  readonly digest: string;
}

const chunkBytes = 128 * 1024;
/** Chunks whose confirmation is waited for at once. */
const mostAtOnce = 8;
const timeoutMs = 5000;
/** A follower may not have yet what the leader has confirmed: it is asked so often, with a pause between, ms. */
const readTries = 40;
const readPauseMs = 50;

export class ObjectStore {
  private constructor(
    private readonly link: ClusterLink,
    private readonly manager: JetStreamManager,
    readonly name: string,
  ) {}

  /** Opens the store, which is made when it is not there; throws a `config` error. */
  static async open(link: ClusterLink, name: string, replicas: number): Promise<ObjectStore> {
    try {
      const manager = await jetstreamManager(link.connection, { checkAPI: false });
      const stream = `OBJ_${name}`;
      const known = await manager.streams.info(stream).catch(() => undefined);
      if (known === undefined) {
        await manager.streams.add({
          name: stream,
          subjects: [`$O.${name}.C.>`, `$O.${name}.M.>`],
          discard: 'new',
          allow_direct: true,
          allow_rollup_hdrs: true,
          num_replicas: replicas,
        });
      }
      return new ObjectStore(link, manager, name);
    } catch (error) {
      throw (isAway(error) ? clusterErrors.noBucket : clusterErrors.bucket)(name, natsReason(error), { cause: error });
    }
  }

  /** Writes an object under a name that is made of `group` and `label`. */
  put(group: string, label: string, pieces: AsyncIterable<Uint8Array>): Promise<StoredObject> {
    return this.write(`${group}.${label}-${nuid.next()}`, pieces);
  }

  /** Writes an object under a name that no other has. What a failure leaves is removed. */
  async write(object: string, pieces: AsyncIterable<Uint8Array>): Promise<StoredObject> {
    const hash = createHash('sha256');
    let bytes = 0;
    let chunks = 0;
    const underWay = new Set<Promise<void>>();
    let failure: { readonly error: unknown } | undefined;
    try {
      for await (const chunk of chunked(pieces)) {
        hash.update(chunk);
        bytes += chunk.length;
        chunks++;
        const sent: Promise<void> = this.#publish(this.#chunks(object), chunk)
          .catch((error: unknown) => {
            failure = { error };
          })
          .finally(() => underWay.delete(sent));
        underWay.add(sent);
        while (underWay.size >= mostAtOnce) await Promise.race(underWay);
        if (failure !== undefined) break;
      }
      await Promise.all(underWay);
      if (failure !== undefined) throw failure.error;
      const digest = hash.digest('base64url');
      const info = {
        ...{ name: object, bucket: this.name, nuid: object, size: bytes, chunks, digest: `SHA-256=${digest}` },
        ...{ mtime: new Date().toISOString(), options: { max_chunk_size: chunkBytes } },
      };
      await this.#publish(this.#record(object), Buffer.from(JSON.stringify(info)));
      return { object, bytes, digest };
    } catch (error) {
      await Promise.all(underWay);
      void this.remove([object]);
      throw new Error(`NATS did not take it: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** Reads an object; throws when it is not there, or not as it was written. */
  async *get({ object, bytes, digest }: StoredObject): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    let done = 0;
    for (let after = 0; done < bytes; ) {
      const { data, sequence } = await this.#next(this.#chunks(object), after + 1);
      after = sequence;
      hash.update(data);
      done += data.length;
      yield data;
    }
    if (done !== bytes || hash.digest('base64url') !== digest) throw new Error(`the object ${object} is damaged`);
  }

  /** An object by its name; undefined when there is none. */
  async find(object: string): Promise<StoredObject | undefined> {
    const query = { last_by_subj: this.#record(object) };
    const stored = await this.manager.streams.getMessage(`OBJ_${this.name}`, query);
    if (stored === null) return undefined;
    const { size, digest } = stored.json<{ size: number; digest: string }>();
    return { object, bytes: size, digest: digest.slice('SHA-256='.length) };
  }

  /** Names of the objects of a group. */
  async list(group: string): Promise<string[]> {
    const filter = this.#chunks(`${group}.>`);
    const { state } = await this.manager.streams.info(`OBJ_${this.name}`, { subjects_filter: filter });
    return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(this.#chunks('').length));
  }

  /** Names of the objects that are in no group, also of those that are written now. */
  async names(): Promise<string[]> {
    const filter = this.#chunks('*');
    const { state } = await this.manager.streams.info(`OBJ_${this.name}`, { subjects_filter: filter });
    return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(this.#chunks('').length));
  }

  /** Time since the last piece of each object was written, by the clock of NATS, ms; of those that are there. */
  async ages(objects: readonly string[]): Promise<Map<string, number>> {
    const ages = new Map<string, number>();
    if (objects.length === 0) return ages;
    const { ts = '' } = (await this.manager.streams.info(`OBJ_${this.name}`)) as { ts?: string };
    for (const object of objects) {
      const query = { last_by_subj: this.#chunks(object) };
      const stored = await this.manager.streams.getMessage(`OBJ_${this.name}`, query);
      const age = Date.parse(ts) - (stored?.time.getTime() ?? Number.NaN);
      if (!Number.isNaN(age)) ages.set(object, age);
    }
    return ages;
  }

  /** Removes objects; one that can't be removed now is found by `list` later. */
  async remove(objects: readonly string[]): Promise<void> {
    for (const object of objects) {
      for (const filter of [this.#record(object), this.#chunks(object)]) {
        await this.manager.streams.purge(`OBJ_${this.name}`, { filter }).catch(() => {});
      }
    }
  }

  async #publish(subject: string, bytes: Uint8Array): Promise<void> {
    if (this.link.away !== undefined) throw new Error(this.link.away);
    const answer = await this.link.connection.request(subject, bytes, { timeout: timeoutMs, headers: headers() });
    const { error } = answer.json<{ error?: { description?: string } }>();
    if (error !== undefined) throw new Error(error.description ?? 'no reason was given');
  }

  /** The first message of a subject from a sequence number on. */
  async #next(subject: string, seq: number): Promise<{ data: Buffer; sequence: number }> {
    const query = JSON.stringify({ seq, next_by_subj: subject });
    for (let i = 0; i < readTries; i++) {
      const stored = await this.link.connection.request(`$JS.API.DIRECT.GET.OBJ_${this.name}`, query, {
        timeout: timeoutMs,
      });
      const sequence = stored.headers?.get('Nats-Sequence') ?? '';
      if (sequence !== '') return { data: Buffer.from(stored.data), sequence: Number(sequence) };
      await new Promise((resolve) => setTimeout(resolve, readPauseMs));
    }
    throw new Error(`a part of ${subject} is missing in NATS`);
  }

  #chunks(object: string): string {
    return `$O.${this.name}.C.${object}`;
  }

  #record(object: string): string {
    return `$O.${this.name}.M.${Buffer.from(object).toString('base64url')}`;
  }
}

/** The bytes in chunks of one size, the last one shorter. */
async function* chunked(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    rest = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece]);
    let at = 0;
    for (; rest.length - at >= chunkBytes; at += chunkBytes) yield rest.subarray(at, at + chunkBytes);
    rest = rest.subarray(at);
  }
  if (rest.length > 0) yield rest;
}

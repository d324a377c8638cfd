/**
 * The store of a cluster: definitions stand in a bucket of NATS, and in the memory of each node, which follows the
 * bucket. A change is written by the revision that this node has seen last, so that of two changes at the same time one
 * is refused. What concerns this node alone, as its losses, stays in the store on its disk.
 */
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log/log.js';
import { storedErrors } from '../meta/errors.js';
import { kinds as names } from '../meta/kinds.js';
import type { OnLost, Store, StoreChange } from '../meta/store.js';
import { ValueStore } from '../meta/values.js';
import { type Bucket, type BucketEntry, type BucketWrite, maxBatch, WriteFailure } from './bucket.js';
import { clusterErrors } from './errors.js';
import { placeOf } from './files/places.js';
import type { SharedFiles } from './files/shared-files.js';
import { decodeName, encodeName, maxKeyBytes } from './keys.js';
import { isSealed, type Seal } from './seal.js';

export interface BucketStoreOptions {
  readonly bucket: Bucket;
  readonly seal: Seal;
  /** What the node keeps for itself. */
  readonly local: Store;
  /** Files of plugins, schemas and services. */
  readonly files: SharedFiles;
  readonly holdsSecret: (kind: string, key: string, text: string) => boolean;
  readonly log: Logger;
}

/** Kinds that each node has of its own. */
const localKinds: ReadonlySet<string> = new Set([names.loss, names.importStatus]);
/** Key of the fingerprint of the key that secrets are encrypted with. */
const fingerprintKey = 'cluster.key';
/** Longest wait until the bucket tells of the change that was first, ms. */
const tellMs = 1000;
/** Longest time for which entries wait for files that can't be got, ms. */
const fetchMs = 5000;
/** How often the fingerprint is tried: another node may write it at the same time. */
const fingerprintTries = 3;

/** The newest that is known of an entry. */
interface Known {
  readonly revision: number;
  readonly text: string | null;
}

/** A change on its way to the bucket. */
interface Part {
  readonly key: string;
  readonly text: string | null;
  /** Revision that it follows; undefined: the last one when it is written. */
  readonly after: number | undefined;
}

/** A change that is in the bucket. */
interface Done {
  readonly key: string;
  readonly before: string | null;
  readonly revision: number;
}

const nouns: Readonly<Record<string, string>> = {
  [names.source]: 'stream or table',
  [names.rule]: 'rule',
  [names.ruleState]: 'the state of rule',
  [names.ruleHistory]: 'the earlier texts of rule',
  [names.confKey]: 'configuration key',
  [names.connection]: 'connection',
  [names.schema]: 'schema',
  [names.service]: 'service',
  [names.plugin]: 'plugin',
  [names.script]: 'function',
};

export class BucketStore extends ValueStore {
  readonly #options: BucketStoreOptions;
  /** Entries of the bucket as they are there, by key. */
  readonly #known = new Map<string, Known>();
  /** Writes under way: one that follows for the same key waits. */
  readonly #writing = new Map<string, Promise<unknown>>();
  #isRead = false;
  /** Files of entries on their way; later entries are shown after them. */
  #arriving: Promise<void> | undefined;

  /** Hears of changes that other nodes made. */
  onChange: (kind: string, key: string, before: string | null) => void = () => {};

  private constructor(options: BucketStoreOptions) {
    super(new Map());
    this.#options = options;
  }

  /** Reads the bucket; throws a `config` error when this node has another key than the definitions. */
  static async open(options: BucketStoreOptions): Promise<BucketStore> {
    const store = new BucketStore(options);
    await options.bucket.watch((entry) => store.#take(entry));
    try {
      // With another key nothing that came could be read.
      await store.#checkKey();
    } catch (error) {
      store.isClosed = true;
      throw error;
    }
    await store.#arriving;
    store.#isRead = true;
    return store;
  }

  override get(kind: string, key: string): string | undefined {
    if (localKinds.has(kind)) return this.#options.local.get(kind, key);
    const text = super.get(kind, key);
    // Throws with the reason: a definition that can't be read must not look like one that is not there.
    return text === undefined || !isSealed(text) ? text : this.#options.seal.open(nameOf(kind, key), text);
  }

  override list(kind: string): [string, string][] {
    return localKinds.has(kind) ? this.#options.local.list(kind) : super.list(kind);
  }

  override keys(kind: string): string[] {
    return localKinds.has(kind) ? this.#options.local.keys(kind) : super.keys(kind);
  }

  override version(kind: string): number {
    return localKinds.has(kind) ? this.#options.local.version(kind) : super.version(kind);
  }

  override async batch(changes: readonly StoreChange[], onLost?: OnLost): Promise<void> {
    const local = changes.filter(([kind]) => localKinds.has(kind));
    const shared = changes.filter(([kind]) => !localKinds.has(kind));
    // Readers see both at once.
    await Promise.all([this.#options.local.batch(local, onLost), super.batch(shared, onLost)]);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.allSettled(this.#writing.values());
    await this.#options.local.close();
  }

  /** Definitions that this node can't read, by their names: it lacks the key. */
  sealed(): string[] {
    return [...this.kinds].flatMap(([kind, rows]) =>
      [...rows].flatMap(([key, text]) => (isSealed(text) ? [nameOf(kind, key)] : [])),
    );
  }

  protected async write(changes: readonly StoreChange[]): Promise<void> {
    const last = new Map(changes.map((change) => [entryKey(change[0], change[1]), change]));
    const keys = [...last.keys()];
    const before = new Map(keys.map((key) => [key, this.#known.get(key)?.revision]));
    const parts = [...last].map(([key, [kind, name, text]]): Part => {
      // The change is made upon what is seen now; upon a change of this node that is under way, its outcome.
      const after = this.#writing.has(key) ? undefined : (before.get(key) ?? 0);
      return { key, text: this.#closed(kind, name, text), after };
    });
    this.apply([...last.values()]);
    let failure: unknown;
    try {
      await this.#inTurn(keys, () => this.#writeParts(parts));
    } catch (error) {
      failure = (await this.#isSame(last, before, error)) ? undefined : error;
    }
    for (const [key, [kind, name]] of last) {
      if (this.#writing.has(key)) continue;
      // What another node wrote meanwhile was not told; on success it came after the change of this node.
      const isForeign = failure === undefined || this.#known.get(key)?.revision !== before.get(key);
      if (isForeign) this.#showInOrder(kind, name, key);
      else this.#show(kind, name, key, false);
    }
    const [[kind, name]] = changes as [StoreChange];
    const what = changes.length === 1 ? nameOf(kind, name) : `${nameOf(kind, name)}, or what belongs to it,`;
    if (failure !== undefined) throw refusalOf(failure, what);
  }

  /** Whether another node made the same changes at the same time, as nodes that start together do. */
  async #isSame(
    changes: ReadonlyMap<string, StoreChange>,
    before: ReadonlyMap<string, number | undefined>,
    error: unknown,
  ): Promise<boolean> {
    if (!(error instanceof WriteFailure) || error.kind !== 'changed') return false;
    const isTold = () => [...before].some(([key, revision]) => this.#known.get(key)?.revision !== revision);
    const end = performance.now() + tellMs;
    while (!isTold() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
    // Earlier texts have the time at which they were replaced, which is that of one node.
    return [...changes].every(
      ([key, [kind, name, text]]) => kind === names.ruleHistory || this.#opened(kind, name, key) === text,
    );
  }

  async #writeParts(parts: readonly Part[]): Promise<void> {
    const done: Done[] = [];
    for (let at = 0; at < parts.length; at += maxBatch) {
      try {
        await this.#writeSome(parts.slice(at, at + maxBatch), done);
      } catch (error) {
        // What came before is taken back, so that all or none is there.
        await this.#takeBack(done);
        throw error;
      }
    }
  }

  async #writeSome(parts: readonly Part[], done: Done[]): Promise<void> {
    // What is deleted and was never there needs no entry.
    const changed = parts.filter(({ key, text }) => text !== null || (this.#known.get(key)?.text ?? null) !== null);
    const writes = changed.map(({ key, text, after = this.#known.get(key)?.revision ?? 0 }): BucketWrite => {
      return { key, text: text ?? undefined, after };
    });
    const before = changed.map(({ key }) => this.#known.get(key)?.text ?? null);
    const first = await this.#options.bucket.writeAll(writes);
    for (const [i, { key, text }] of changed.entries()) {
      done.push({ key, before: before[i] ?? null, revision: first + i });
      this.#note(key, first + i, text);
    }
  }

  /** Takes back what this node has written; what another one has made of it since stays. */
  async #takeBack(done: readonly Done[]): Promise<void> {
    const writes = done.map(({ key, before, revision: after }) => ({ key, text: before ?? undefined, after }));
    const revisions = await this.#options.bucket.writeEach(writes);
    for (const [i, revision] of revisions.entries()) {
      const { key, before } = done[i]!;
      if (typeof revision === 'number') this.#note(key, revision, before);
    }
  }

  /** Notes what this node has written; the bucket may have told of that, or of a later one, meanwhile. */
  #note(key: string, revision: number, text: string | null): void {
    if ((this.#known.get(key)?.revision ?? 0) < revision) this.#known.set(key, { revision, text });
  }

  /** Runs a write when those before it of the same keys have ended. */
  async #inTurn(keys: readonly string[], step: () => Promise<void>): Promise<void> {
    const before = keys.flatMap((key) => this.#writing.get(key) ?? []);
    const turn = Promise.allSettled(before).then(step);
    for (const key of keys) this.#writing.set(key, turn);
    try {
      await turn;
    } finally {
      for (const key of keys) if (this.#writing.get(key) === turn) this.#writing.delete(key);
    }
  }

  /** Takes an entry as the bucket tells it. */
  #take({ key, revision, text }: BucketEntry): void {
    const known = this.#known.get(key);
    if (known !== undefined && known.revision >= revision) return;
    this.#known.set(key, { revision, text: text ?? null });
    const [kind, name] = nameIn(key);
    // A write of this node is under way and visible; whether it holds, its answer tells.
    if (kind !== undefined && !this.#writing.has(key)) this.#showInOrder(kind, name, key);
  }

  /** Makes an entry visible when its files have come; those after it wait for it. */
  #showInOrder(kind: string, name: string, key: string): void {
    const { files } = this.#options;
    const isTold = this.#isRead;
    const lacking = () => {
      const place = placeOf(kind, name, this.#opened(kind, name, key));
      return place !== undefined && files.lacks(place) ? place : undefined;
    };
    if (this.#arriving === undefined && lacking() === undefined) {
      this.#show(kind, name, key, isTold);
      return;
    }
    const before = this.#arriving;
    const step = async () => {
      await before;
      for (let place = lacking(); place !== undefined; place = lacking()) {
        if (!(await this.#fetch(place, nameOf(kind, name)))) break;
      }
      if (!this.#writing.has(key)) this.#show(kind, name, key, isTold);
      if (this.#arriving === mine) this.#arriving = undefined;
    };
    const mine = step();
    this.#arriving = mine;
  }

  /** Gets files; false when that is not possible, which the log tells. */
  async #fetch(place: string, what: string): Promise<boolean> {
    const end = performance.now() + fetchMs;
    for (;;) {
      try {
        await this.#options.files.fetch(place);
        return true;
      } catch (error) {
        if (performance.now() < end && !this.isClosed && this.#options.seal.hasKey) {
          await new Promise((resolve) => setTimeout(resolve, 250));
          continue;
        }
        this.#options.log.error(`the files of ${what} can't be got from NATS: ${reasonOf(error)}`);
        return false;
      }
    }
  }

  /** Makes visible what is known of an entry. */
  #show(kind: string, name: string, key: string, isTold: boolean): void {
    const before = super.get(kind, name) ?? null;
    const next = this.#opened(kind, name, key);
    if (before === next) return;
    this.apply([[kind, name, next]]);
    if (isTold) this.onChange(kind, name, before);
  }

  /** The value of an entry as readers get it; one that this node can't decrypt stays encrypted. */
  #opened(kind: string, name: string, key: string): string | null {
    const text = this.#known.get(key)?.text ?? null;
    if (text === null || !isSealed(text) || !this.#options.seal.hasKey) return text;
    try {
      return this.#options.seal.open(nameOf(kind, name), text);
    } catch (error) {
      this.#options.log.error(String(error instanceof Error ? error.message : error));
      return text;
    }
  }

  #closed(kind: string, name: string, text: string | null): string | null {
    const bytes = entryKey(kind, name).length;
    if (bytes > maxKeyBytes) throw clusterErrors.tooLong(`${nounOf(kind)} ${name.slice(0, 40)}…`, bytes);
    if (text === null || !this.#options.holdsSecret(kind, name, text)) return text;
    return this.#options.seal.close(nameOf(kind, name), text);
  }

  async #checkKey(): Promise<void> {
    const { bucket, seal } = this.#options;
    for (let i = 0; i < fingerprintTries; i++) {
      const { text, revision } = this.#known.get(fingerprintKey) ?? { text: null, revision: 0 };
      if (seal.fingerprint === undefined) return;
      if (text !== null && text !== seal.fingerprint) throw clusterErrors.otherKey();
      if (text !== null) return;
      try {
        await bucket.write({ key: fingerprintKey, text: seal.fingerprint, after: revision });
        return;
      } catch (error) {
        if (!(error instanceof WriteFailure) || error.kind !== 'changed') throw refusalOf(error, 'the key');
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }
}

function entryKey(kind: string, name: string): string {
  return `definition.${kind}.${encodeName(name)}`;
}

function nameIn(key: string): readonly [kind: string, name: string] | readonly [undefined] {
  const [word, kind, name] = key.split('.');
  return word === 'definition' && kind !== undefined && name !== undefined ? [kind, decodeName(name)] : [undefined];
}

function nounOf(kind: string): string {
  return nouns[kind] ?? kind;
}

function nameOf(kind: string, name: string): string {
  return `${nounOf(kind)} ${name}`;
}

function refusalOf(error: unknown, what: string): unknown {
  if (!(error instanceof WriteFailure)) return error;
  const { kind, message } = error;
  if (kind === 'changed') return clusterErrors.changed(what, { cause: error });
  if (kind === 'away') return clusterErrors.away(message, { cause: error });
  return kind === 'unsure'
    ? storedErrors.unsure(`NATS did not answer (${message})`, { cause: error })
    : storedErrors.notSaved(message, { cause: error });
}

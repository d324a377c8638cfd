/**
 * Removes files from NATS that nobody names: those of a node that was killed before it wrote the definition, and of a
 * write whose outcome was never known. A definition comes some seconds after its files, so what is a day old by the
 * clock of NATS and has none gets none any more.
 */
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { kinds } from '../../meta/kinds.js';
import type { Store } from '../../meta/store.js';
import { decodeName, encodeName } from '../keys.js';
import type { ObjectStore } from '../state/objects.js';
import { isPlace, placeOf } from './places.js';
import type { SharedUploads } from './shared-uploads.js';

/** Least time since an object was written until it may be removed, ms. */
const leastAgeMs = 24 * 3_600_000;
/** Time between two sweeps of a node, ms. */
const intervalMs = 6 * 3_600_000;
const kindsWithFiles = [kinds.schema, kinds.service, kinds.plugin];

export interface FileSweepOptions {
  readonly objects: Pick<ObjectStore, 'names' | 'ages' | 'remove'>;
  /** Definitions, and the names of those that this node can't read. */
  readonly store: Pick<Store, 'list'> & { sealed(): string[] };
  readonly uploads: Pick<SharedUploads, 'objects' | 'isObject'>;
  readonly hasKey: boolean;
  readonly log: Logger;
}

export class FileSweep {
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: FileSweepOptions) {}

  start(): void {
    // Nodes that started together sweep one after the other.
    this.#later(Math.random() * intervalMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Removes what no definition and no upload names; resolves with the names of the objects. */
  async sweep(ageMs = leastAgeMs): Promise<string[]> {
    const { objects, store, hasKey } = this.options;
    // Who can't read all definitions does not know what they name.
    if (!hasKey || store.sealed().length > 0) return [];
    const unnamed = this.#unnamed(await objects.names());
    const ages = await objects.ages(unnamed);
    const left = this.#unnamed(unnamed).filter((object) => (ages.get(object) ?? -1) >= ageMs);
    await objects.remove(left);
    return left;
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => void this.#turn(), ms).unref();
  }

  async #turn(): Promise<void> {
    const { log } = this.options;
    try {
      const { length } = await this.sweep();
      if (length > 0) log.info(`${length} files in NATS that no definition names are removed`);
    } catch (error) {
      log.debug(`files in NATS that no definition names are looked for later: ${reasonOf(error)}`);
    }
    if (this.#timer !== undefined) this.#later(intervalMs);
  }

  /** Those that nothing names. One of a kind that this release does not know may be named. */
  #unnamed(objects: readonly string[]): string[] {
    const { store, uploads } = this.options;
    const places = kindsWithFiles.flatMap((kind) =>
      store.list(kind).flatMap(([key, text]) => placeOf(kind, key, text) ?? []),
    );
    const named = new Set([...places.map(encodeName), ...uploads.objects()]);
    const isKnown = (object: string) => uploads.isObject(object) || isPlace(decodeName(object));
    return objects.filter((object) => isKnown(object) && !named.has(object));
  }
}

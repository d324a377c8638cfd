/**
 * Definitions kept as JSON objects, one for each name: what schemas, services, connections, plugins and scripts share.
 */
import { storedErrors } from '../errors.js';
import type { OnLost, Store, StoreChange } from '../store.js';

/** Types of the members that a record can't do without. */
export type RecordShape<T> = { readonly [K in keyof T & string]?: 'text' | 'list' | 'object' };

export class RecordRepository<T extends object> {
  readonly #store: Store;
  readonly #kind: string;
  readonly #shape: RecordShape<T>;
  /** Leads the key of every record, so that several repositories can share a kind. */
  readonly #prefix: string;
  /** Records that `list` has read, with their texts: of thousands only the changed ones are read again. */
  readonly #read = new Map<string, { readonly text: string; readonly record: T }>();
  #list: { readonly version: number; readonly items: readonly (readonly [name: string, record: T])[] } | undefined;

  constructor(store: Store, kind: string, shape: RecordShape<T>, prefix = '') {
    this.#store = store;
    this.#kind = kind;
    this.#shape = shape;
    this.#prefix = prefix;
  }

  /** Names of all records, ordered. */
  names(): string[] {
    const keys = this.#store.keys(this.#kind);
    if (this.#prefix === '') return keys;
    return keys.filter((key) => key.startsWith(this.#prefix)).map((key) => key.slice(this.#prefix.length));
  }

  has(name: string): boolean {
    return this.#store.get(this.#kind, this.#prefix + name) !== undefined;
  }

  /** Returns a record; throws a `general` error that names it when it can't be read. */
  get(name: string): T | undefined {
    const text = this.#store.get(this.#kind, this.#prefix + name);
    if (text === undefined) return undefined;
    try {
      const record: unknown = JSON.parse(text);
      if (this.#fits(record)) return record;
    } catch {
      // Told below, together with JSON of another shape.
    }
    throw storedErrors.damaged(name);
  }

  #fits(record: unknown): record is T {
    if (typeof record !== 'object' || record === null) return false;
    const members = record as Record<string, unknown>;
    return Object.entries(this.#shape).every(([name, type]) => typeOf(members[name]) === type);
  }

  /** Changes whenever a record does. */
  get version(): number {
    return this.#store.version(this.#kind);
  }

  /**
   * All records that can be read, ordered by name: one damaged record must not hide the others. Nobody changes them.
   */
  list(): readonly (readonly [name: string, record: T])[] {
    const { version } = this;
    if (this.#list?.version === version) return this.#list.items;
    const names = this.names();
    const items = names.flatMap((name): (readonly [string, T])[] => {
      const record = this.#recordOf(name);
      return record === undefined ? [] : [[name, record]];
    });
    if (this.#read.size > names.length) {
      const kept = new Set(names);
      for (const name of this.#read.keys()) if (!kept.has(name)) this.#read.delete(name);
    }
    this.#list = { version, items };
    return items;
  }

  #recordOf(name: string): T | undefined {
    const text = this.#store.get(this.#kind, this.#prefix + name);
    const read = this.#read.get(name);
    if (read !== undefined && read.text === text) return read.record;
    try {
      const record = this.get(name);
      if (record !== undefined && text !== undefined) this.#read.set(name, { text, record });
      return record;
    } catch {
      this.#read.delete(name);
      return undefined;
    }
  }

  /** The change that stores a record over one of the same name, or deletes it (null). */
  change(name: string, record: T | null): StoreChange {
    return [this.#kind, this.#prefix + name, record === null ? null : JSON.stringify(record)];
  }

  /** Applies a change to the store; resolves when it is on disk. */
  async put(name: string, record: T, onLost?: OnLost): Promise<void> {
    await this.#store.batch([this.change(name, record)], onLost);
  }

  async delete(name: string, onLost?: OnLost): Promise<void> {
    await this.#store.batch([this.change(name, null)], onLost);
  }
}

function typeOf(value: unknown): 'text' | 'list' | 'object' | undefined {
  if (typeof value === 'string') return 'text';
  if (Array.isArray(value)) return 'list';
  return typeof value === 'object' && value !== null ? 'object' : undefined;
}

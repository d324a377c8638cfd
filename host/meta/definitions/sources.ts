/** Stored streams and tables. Both share one name space. */
import { asKind, HaumeaError } from '../../base/errors.js';
import type { CreateSource } from '../../sql/ast.js';
import { parseCreate } from '../../sql/parser.js';
import { defineSource, type StreamDefinition } from '../../sql/source-def.js';
import { storedErrors } from '../errors.js';
import { kinds } from '../kinds.js';
import { nothingToUndo, type Store, type StoreChange } from '../store.js';

/** The stored form; version 1 of the interface stored the statement alone. */
interface SourceRecord {
  readonly streamType: 0 | 1;
  /** `scan` or `lookup` for tables, otherwise empty. */
  readonly streamKind: string;
  readonly statement: string;
}

/** A definition and the record that it was read of. */
interface ParsedRecord {
  readonly text: string;
  readonly source: StoredSource;
}

export interface StoredSource {
  readonly create: CreateSource;
  readonly definition: StreamDefinition;
  readonly statement: string;
}

/** The record of a table by version 1 of eKuiper: its statement alone. */
const oldTable = /^\s*create\s+table\b/i;

export class SourceRepository {
  readonly #store: Store;
  /** Parsed definitions; where an import is checked that of now and its own. */
  readonly #parsed = new Map<string, readonly ParsedRecord[]>();
  /** Definitions that are kept in memory only (option TEMP). */
  readonly #temporary = new Map<string, StoredSource>();

  /** Hears of each definition that has come, changed or gone. */
  onChange: (name: string) => Promise<void> | void = () => {};

  constructor(store: Store) {
    this.#store = store;
  }

  /** Parses and checks a CREATE statement; throws `stream` errors. */
  static read(statement: string): StoredSource {
    try {
      const create = parseCreate(statement);
      return { create, definition: defineSource(create), statement };
    } catch (error) {
      if (error instanceof HaumeaError) throw asKind('stream', error);
      throw error;
    }
  }

  /** Returns a stored definition; throws a `stream` error when the record can't be read. */
  get(name: string): StoredSource | undefined {
    const temporary = this.#temporary.get(name);
    if (temporary !== undefined) return temporary;
    const text = this.#store.get(kinds.source, name);
    if (text === undefined) return undefined;
    const known = this.#parsed.get(name) ?? [];
    const found = known.find((one) => one.text === text);
    if (found !== undefined) return found.source;
    const source = SourceRepository.read(readRecord(name, text).statement);
    this.#parsed.set(name, [{ text, source }, ...known.slice(0, 1)]);
    return source;
  }

  has(name: string): boolean {
    return this.#temporary.has(name) || this.#store.get(kinds.source, name) !== undefined;
  }

  /** Names of all streams or all tables, ordered; tables may be narrowed to a kind. */
  names(target: 'stream' | 'table', tableKind?: 'scan' | 'lookup'): string[] {
    const wanted = target === 'table' ? 1 : 0;
    const stored = this.#store
      .list(kinds.source)
      .filter(([, text]) => {
        const record = recordOf(text);
        // A record that can't be read is listed, so that it can be found and deleted.
        if (record === undefined) return wanted === (oldTable.test(text) ? 1 : 0) && tableKind === undefined;
        return record.streamType === wanted && (tableKind === undefined || record.streamKind === tableKind);
      })
      .map(([name]) => name);
    const temporary = [...this.#temporary.values()]
      .filter(({ definition }) => definition.kind === target)
      .filter(({ definition }) => tableKind === undefined || definition.options.tableKind === tableKind)
      .map(({ definition }) => definition.name);
    return [...stored, ...temporary].sort();
  }

  /**
   * Names of the streams and tables of a type that name the configuration key; those that can't be read are left out.
   */
  usersOfKey(type: string, key: string): string[] {
    return [...this.names('stream'), ...this.names('table')].filter((name) => {
      try {
        const options = this.get(name)?.definition.options;
        return options?.type === type && (options.confKey === key || options.confKey?.toLowerCase() === key);
      } catch {
        return false;
      }
    });
  }

  /** Stores a definition over one of the same name; resolves when it is on disk. */
  async put(source: StoredSource): Promise<void> {
    const { name, options } = source.definition;
    if (options.temp) {
      this.#temporary.set(name, source);
    } else await this.#store.batch([this.change(source)], nothingToUndo);
    await this.onChange(name);
  }

  /** Change that stores a definition that is not temporary. */
  change({ definition: { name, kind, options }, statement }: StoredSource): StoreChange {
    const record: SourceRecord = {
      streamType: kind === 'table' ? 1 : 0,
      streamKind: options.tableKind ?? '',
      statement,
    };
    return [kinds.source, name, JSON.stringify(record)];
  }

  /** Throws when a definition can't take the place of the one of its name. */
  checkReplaces(next: StoredSource): void {
    const { name, kind, options } = next.definition;
    if (!this.has(name)) return;
    const old = this.get(name)?.definition ?? next.definition;
    const refuse = (what: string) => storedErrors.fixed(name, what);
    if (old.kind !== kind) throw refuse(`the ${old.kind} ${name}`);
    if (old.options.shared !== options.shared) throw refuse('SHARED');
    if (old.options.temp !== options.temp) throw refuse('TEMP');
    const version = options.version ?? '';
    if (old.options.version && !(version > old.options.version)) {
      throw storedErrors.oldVersion(name, version, old.options.version);
    }
  }

  async delete(name: string): Promise<void> {
    if (!this.#temporary.delete(name)) {
      this.#parsed.delete(name);
      await this.#store.batch([this.removal(name)], nothingToUndo);
    }
    await this.onChange(name);
  }

  /** Change that deletes a stored definition. */
  removal(name: string): StoreChange {
    return [kinds.source, name, null];
  }

  /** Removes definitions that are kept in memory only. */
  forgetTemporary(names: readonly string[]): void {
    for (const name of names) this.#temporary.delete(name);
  }
}

function readRecord(name: string, text: string): SourceRecord {
  const record = recordOf(text);
  if (record === undefined) {
    throw storedErrors.damagedSource(name);
  }
  return record;
}

function recordOf(text: string): SourceRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<SourceRecord> | null;
    return typeof record?.statement === 'string' ? (record as SourceRecord) : undefined;
  } catch {
    return undefined;
  }
}

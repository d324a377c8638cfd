/** Configuration keys: named sets of connector properties, registered by clients over those that come with the program. */
import { HaumeaError } from '../base/errors.js';
import type { DefaultKeys } from './default-keys.js';
import { kinds } from './kinds.js';
import { nothingToUndo, type Store, type StoreChange } from './store.js';

export type KeyOwner = 'sources' | 'sinks' | 'connections';
type Properties = Record<string, unknown>;

export class ConfKeyRepository {
  readonly #store: Store;
  readonly #defaults: DefaultKeys;

  constructor(store: Store, defaults: DefaultKeys) {
    this.#store = store;
    this.#defaults = defaults;
  }

  /** Keys of a connector with their properties; undefined when there are none. */
  list(owner: KeyOwner, connector: string): Record<string, Properties> | undefined {
    const keys = new Map(Object.entries(this.#given(owner, connector)));
    const prefix = `${owner}.${connector}.`;
    for (const [name, text] of this.#store.list(kinds.confKey)) {
      if (!name.startsWith(prefix)) continue;
      const key = name.slice(prefix.length);
      keys.set(key, { ...keys.get(key), ...propertiesOf(name, text) });
    }
    return keys.size === 0 ? undefined : Object.fromEntries(keys);
  }

  /** Keys of all sources, with those that come with the program. */
  sources(): Record<string, Record<string, Properties>> {
    const given = [...this.#defaults.keys()].filter((name) => name.startsWith('sources.'));
    const connectors = new Set([
      ...given.map((name) => name.slice('sources.'.length)),
      ...this.registered('sources').map(([name]) => name),
    ]);
    return Object.fromEntries([...connectors].sort().map((name) => [name, this.list('sources', name) ?? {}]));
  }

  /** Properties of a key: those registered over those that came with the program. */
  get(owner: KeyOwner, connector: string, key: string): Properties | undefined {
    const given = this.#given(owner, connector);
    const base = Object.hasOwn(given, key) ? given[key] : undefined;
    const name = `${owner}.${connector}.${key}`;
    const text = this.#store.get(kinds.confKey, name);
    return text === undefined ? base : { ...base, ...propertiesOf(name, text) };
  }

  /** Properties a stream gets that names the key: those of the key over those of `default`. */
  resolve(connector: string, key: string): Properties | undefined {
    const own = this.get('sources', connector, key) ?? this.get('sources', connector, key.toLowerCase());
    const common = this.get('sources', connector, 'default');
    if (own === undefined) return undefined;
    return key === 'default' ? own : { ...common, ...own };
  }

  /** Registered keys of all connectors: connector, key, properties; those that can't be read are left out. */
  registered(owner: KeyOwner): [connector: string, key: string, properties: Properties][] {
    return this.#store.list(kinds.confKey).flatMap(([name, text]): [string, string, Properties][] => {
      const [word, connector, ...key] = name.split('.');
      if (word !== owner || connector === undefined || key.length === 0) return [];
      try {
        return [[connector, key.join('.'), propertiesOf(name, text)]];
      } catch {
        return [];
      }
    });
  }

  /** What stores the properties of a key, or deletes it when there are none. */
  change(owner: KeyOwner, connector: string, key: string, properties: Properties | null): StoreChange {
    const text = properties === null ? null : JSON.stringify(properties);
    return [kinds.confKey, `${owner}.${connector}.${key}`, text];
  }

  /** Replaces the properties of a key. */
  async put(owner: KeyOwner, connector: string, key: string, properties: Properties): Promise<void> {
    await this.#store.batch([this.change(owner, connector, key, properties)], nothingToUndo);
  }

  /** Returns false when the key was not registered. */
  async delete(owner: KeyOwner, connector: string, key: string): Promise<boolean> {
    const name = `${owner}.${connector}.${key}`;
    if (this.#store.get(kinds.confKey, name) === undefined) return false;
    await this.#store.delete(kinds.confKey, name, nothingToUndo);
    return true;
  }

  /** Keys that come with the program and its etc folder. */
  #given(owner: KeyOwner, connector: string): Readonly<Record<string, Properties>> {
    return this.#defaults.get(`${owner}.${connector}`) ?? {};
  }
}

function propertiesOf(name: string, text: string): Properties {
  try {
    return JSON.parse(text) as Properties;
  } catch (error) {
    throw new HaumeaError('config', `error unmarshall ${name}, the data in db may be corrupted`, { cause: error });
  }
}

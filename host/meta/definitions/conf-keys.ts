/**
 * Configuration keys: named sets of connector properties, registered by clients over those that come with the program.
 */

import { storedErrors } from '../errors.js';
import { kinds } from '../kinds.js';
import { nothingToUndo, type Store, type StoreChange } from '../store.js';
import type { DefaultKeys } from './default-keys.js';

export type KeyOwner = 'sources' | 'sinks' | 'connections';
type Properties = Record<string, unknown>;
type KeysByName = Readonly<Record<string, Properties>>;

/** Keys that a plugin brings, by connector. */
export type ProvidedKeys = Readonly<Record<'sources' | 'sinks', Readonly<Record<string, KeysByName>>>>;

export class ConfKeyRepository {
  readonly #store: Store;
  readonly #defaults: DefaultKeys;
  /** Keys of sources and sinks that plugins bring, by plugin. */
  readonly #ofPlugins = new Map<string, ProvidedKeys>();

  constructor(store: Store, defaults: DefaultKeys) {
    this.#store = store;
    this.#defaults = defaults;
  }

  /** Takes the keys that come with a plugin, in the place of its former ones; those of files go before them. */
  provide(plugin: string, keys: ProvidedKeys | null): void {
    if (keys === null) this.#ofPlugins.delete(plugin);
    else this.#ofPlugins.set(plugin, keys);
  }

  /** Keys of a connector with their properties, without those that can't be read; undefined when there are none. */
  list(owner: KeyOwner, connector: string): Record<string, Properties> | undefined {
    const keys = new Map(Object.entries(this.#given(owner, connector)));
    for (const [name, key, properties] of this.registered(owner)) {
      if (name === connector) keys.set(key, { ...keys.get(key), ...properties });
    }
    return keys.size === 0 ? undefined : Object.fromEntries(keys);
  }

  /** Keys of all sources, with those that come with the program. */
  sources(): Record<string, Record<string, Properties>> {
    const given = [...this.#defaults.keys()].filter((name) => name.startsWith('sources.'));
    const connectors = new Set([
      ...[...this.#ofPlugins.values()].flatMap(({ sources }) => Object.keys(sources)),
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

  /** Layers that `resolve` puts together, the lowest first: properties of the program, and registered ones. */
  layers(connector: string, key: string): { key: string; props: Properties; isGiven: boolean }[] {
    const own = this.get('sources', connector, key) === undefined ? key.toLowerCase() : key;
    return [...new Set(['default', own])].flatMap((name) => {
      const given = this.#given('sources', connector);
      const text = this.#store.get(kinds.confKey, `sources.${connector}.${name}`);
      return [
        { key: name, props: Object.hasOwn(given, name) ? (given[name] ?? {}) : {}, isGiven: true },
        { key: name, props: text === undefined ? {} : propertiesOf(name, text), isGiven: false },
      ];
    });
  }

  /** Names of the registered keys of all connectors. */
  names(owner: KeyOwner): [connector: string, key: string][] {
    return this.#store.keys(kinds.confKey).flatMap((name): [string, string][] => {
      const [word, connector, ...key] = name.split('.');
      return word !== owner || connector === undefined || key.length === 0 ? [] : [[connector, key.join('.')]];
    });
  }

  /** Registered keys of all connectors with their properties; those that can't be read are left out. */
  registered(owner: KeyOwner): [connector: string, key: string, properties: Properties][] {
    return this.names(owner).flatMap(([connector, key]): [string, string, Properties][] => {
      const name = `${owner}.${connector}.${key}`;
      try {
        return [[connector, key, propertiesOf(name, this.#store.get(kinds.confKey, name) ?? '')]];
      } catch {
        return [];
      }
    });
  }

  /** Change that stores the properties of a key, or deletes the key when they are null. */
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
    return { ...this.#ofPlugin(owner, connector), ...this.#defaults.get(`${owner}.${connector}`) };
  }

  #ofPlugin(owner: KeyOwner, connector: string): KeysByName | undefined {
    if (owner === 'connections') return undefined;
    for (const { [owner]: keys } of this.#ofPlugins.values()) {
      if (Object.hasOwn(keys, connector)) return keys[connector];
    }
    return undefined;
  }
}

function propertiesOf(name: string, text: string): Properties {
  try {
    const properties: unknown = JSON.parse(text);
    if (typeof properties === 'object' && properties !== null && !Array.isArray(properties)) {
      return properties as Properties;
    }
  } catch {
    // Told below, together with JSON that is no object.
  }
  throw storedErrors.damagedKeys(name);
}

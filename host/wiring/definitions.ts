/** Definitions as they are stored, and the catalog that rules look them up in. */
import { join } from 'node:path';
import { sourceKeys } from '../connectors/index.js';
import { reservedNames } from '../functions/registry.js';
import { ConfKeyRepository } from '../meta/definitions/conf-keys.js';
import { loadDefaultKeys } from '../meta/definitions/default-keys.js';
import { provideConnections } from '../meta/definitions/provided-connections.js';
import { RecordRepository } from '../meta/definitions/records.js';
import { RuleRepository } from '../meta/definitions/rules.js';
import { SourceRepository } from '../meta/definitions/sources.js';
import { kinds } from '../meta/kinds.js';
import type { Access, Catalog } from '../model/engine.js';
import { findLibraryFunction, libraryFunctions } from '../plugins/library/functions.js';
import { accessOf, sinkCacheFolder } from '../run/props/access.js';
import { scriptLimitsOf } from '../services/installed/scripts.js';
import { UserFunctions } from '../services/installed/user-functions.js';
import { type ConnectionRecord, connectionShape } from '../services/sources/connections.js';
import type { Start } from './start.js';

export interface Definitions {
  readonly sources: SourceRepository;
  readonly confKeys: ConfKeyRepository;
  readonly connections: RecordRepository<ConnectionRecord>;
  readonly rules: RuleRepository;
  /** Functions of plugins, services and scripts. */
  readonly functions: UserFunctions;
  readonly access: Access;
}

/** Opens the repositories; what the folder of the configuration provides is among their content. */
export async function openDefinitions(start: Start): Promise<Definitions> {
  const { store, folders, env, log } = start;
  const confKeys = new ConfKeyRepository(store, await loadDefaultKeys(folders.etc, env, sourceKeys()));
  const connections = new RecordRepository(store, kinds.connection, connectionShape);
  await provideConnections({ connections, etc: folders.etc, env, log });
  return {
    sources: new SourceRepository(store),
    confKeys,
    connections,
    rules: new RuleRepository(store),
    functions: new UserFunctions(reservedNames()),
    access: accessOf(start),
  };
}

/** Catalog in which rules look up definitions; `formats` finds codecs of plugins and schemas. */
export function catalogOf(
  { config, folders, store, cluster }: Start,
  definitions: Definitions,
  formats: Pick<Catalog, 'codec' | 'messages' | 'program' | 'schemaText'>,
): Catalog {
  const { sources, confKeys, connections, functions, access } = definitions;
  const uploads = join(folders.data, 'uploads');
  return {
    source: (name) => sources.get(name)?.definition,
    sourceNames: () => [...sources.names('stream'), ...sources.names('table')],
    confKey: (source, key) => confKeys.resolve(source, key),
    confKeyLayers: (source, key) => confKeys.layers(source, key),
    sinkKey: (sink, key) => confKeys.get('sinks', sink, key) ?? confKeys.get('sinks', sink, key.toLowerCase()),
    confKeyNames: (source) => Object.keys(confKeys.list('sources', source) ?? {}),
    version: () => store.version(kinds.confKey) + connections.version,
    connection: (id) => connections.get(id),
    brought: Object.assign((name: string) => functions.find(name) ?? findLibraryFunction(name, uploads), {
      names: () => [...functions.names(), ...libraryFunctions.map(({ name }) => name)],
    }),
    ...formats,
    scriptLimits: scriptLimitsOf(config.plugin.javascript),
    access,
    sinkCaches: {
      folder: join(folders.data, sinkCacheFolder),
      defaults: config.sink,
      minFreeBytes: config.basic.minFreeDisk,
      isOfNode: cluster !== undefined,
    },
  };
}

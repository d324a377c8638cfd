/** Resources that clients install: schemas, files, connections, plugins, services, scripts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../base/log/log.js';
import { allConnectors } from '../connectors/index.js';
import type { ConfKeyRepository } from '../meta/definitions/conf-keys.js';
import type { Catalog, Engine } from '../model/engine.js';
import type { Loss } from '../model/losses.js';
import { portableNoun } from '../plugins/portable/code.js';
import { type ResourceFiles, resourceFilesOf } from '../services/files/resource-files.js';
import type { PortableHost } from '../services/installed/portable-plugins.js';
import { schemaUsers } from '../services/schemas/schema-users.js';
import { codecFinder } from '../services/wasm/codecs.js';
import type { Definitions } from './definitions.js';
import type { Start } from './start.js';
import { checkStored, createStoredServices, type StoredServices, sweepStored } from './stored.js';

export interface InstalledPart {
  readonly files: ResourceFiles;
  readonly codec: NonNullable<Catalog['codec']>;
  readonly program: NonNullable<Catalog['program']>;
  readonly schemaText: NonNullable<Catalog['schemaText']>;
  readonly messages: NonNullable<Catalog['messages']>;
  readonly services: StoredServices;
  /** Tidies up what a crash left, and takes modules that lie in the data folder. */
  open(): Promise<void>;
  /** Notes what a disk has damaged. */
  check(note: (loss: Loss) => void): Promise<void>;
}

/** What runs the portable plugins, as their service sees it. */
function portableHost(engine: Engine, confKeys: ConfKeyRepository, log: Logger): PortableHost {
  return {
    states: async () => (await engine.portableStates?.()) ?? [],
    aggregatesOf: async (code) => (await engine.portableAggregates?.(code)) ?? [],
    changed: async (name, code, keys, functions) => {
      const { addPlugin, removePlugin } = await import('../connectors/portable/manifests.js');
      if (code === null) removePlugin(name);
      else addPlugin(code);
      confKeys.provide(name, code === null ? null : keys);
      engine.portableChanged?.(name, code);
      engine.functionsChanged?.(`${portableNoun} ${name}`, functions);
    },
    replanned: async (rules) => {
      for (const id of rules) await engine.restart(id);
    },
    warn: (line) => log.warn(line),
  };
}

export function installedPart(start: Start, definitions: Definitions, engine: Engine): InstalledPart {
  const { config, folders, store, log } = start;
  const { functions, connections, access, sources, rules } = definitions;
  const files = resourceFilesOf(config, folders.data, access.paths, start.cluster?.uploads);
  const services = createStoredServices({
    store,
    files,
    functions,
    connections,
    connectors: allConnectors(),
    access,
    uses: () => engine.connectionUses(),
    renewed: (id) => engine.renewConnection?.(id),
    schemaUsers: () => schemaUsers(sources, rules),
    portables: {
      host: portableHost(engine, definitions.confKeys, log),
      settings: { portable: config.portable, allowsScripts: config.basic.allowInstallScripts },
    },
    userCodeBytes: async (owner) => (await engine.userCodeBytes?.(owner)) ?? 0,
    plugin: config.plugin,
    packages: start.cluster?.files,
    log,
  });
  const { wasmPlugins, externalServices } = services;
  for (const service of [wasmPlugins, externalServices]) {
    service.onChange = (owner, list) => engine.functionsChanged?.(owner, list);
  }
  externalServices.called = async () => (await engine.serviceFigures?.()) ?? [];
  return {
    files,
    codec: codecFinder(services.schemas, wasmPlugins),
    program: (name) => wasmPlugins.program(name),
    schemaText: (type, name) => services.schemas.text(type, name),
    messages: (schemaId) => services.schemas.protobuf.types(schemaId),
    services,
    open: async () => {
      await sweepStored(services, files);
      const plugins = services.portablePlugins.all();
      if (plugins.length > 0) {
        const { addPlugin } = await import('../connectors/portable/manifests.js');
        for (const { code, keys } of plugins) {
          addPlugin(code);
          definitions.confKeys.provide(code.name, keys);
        }
        services.portablePlugins.askLate();
      }
      if (!existsSync(join(folders.data, 'plugins', 'wasm'))) return;
      const { loadWasmFolder } = await import('../services/wasm/folder.js');
      const { maxModuleBytes: maxBytes } = config.plugin.wasm;
      await loadWasmFolder(wasmPlugins, { data: folders.data, maxBytes, isOfNode: start.cluster !== undefined, log });
    },
    check: (note) => checkStored(services, note),
  };
}

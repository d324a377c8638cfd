/** The services of what clients install: schemas, files, connections, plugins, services, scripts. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../base/config/config.js';
import type { Logger } from '../base/log/log.js';
import { lazy } from '../base/structures/lazy.js';
import type { Connector } from '../connectors/define.js';
import { RecordRepository, type RecordShape } from '../meta/definitions/records.js';
import { kinds } from '../meta/kinds.js';
import { PackageFolders, type SharedPackages } from '../meta/packages/packages.js';
import type { Store } from '../meta/store.js';
import type { Access, ConnectionUse } from '../model/engine.js';
import type { Loss } from '../model/losses.js';
import { ExternalServices, serviceShape } from '../services/external/services.js';
import type { ResourceFiles } from '../services/files/resource-files.js';
import { NativePlugins, nativeShape } from '../services/installed/native-plugins.js';
import type { NativeKind } from '../services/installed/native-record.js';
import { type PortableHost, PortablePlugins, type PortableSettings } from '../services/installed/portable-plugins.js';
import { portableShape } from '../services/installed/portable-record.js';
import { ScriptService, scriptShape } from '../services/installed/scripts.js';
import type { UserFunctions } from '../services/installed/user-functions.js';
import type { SchemaUser } from '../services/schemas/schema-users.js';
import { SchemaService, schemaShape } from '../services/schemas/schemas.js';
import { type ConnectionRecord, ConnectionService } from '../services/sources/connections.js';
import { checkCodecs } from '../services/wasm/codecs.js';
import { WasmPlugins, wasmShape } from '../services/wasm/plugins.js';

export type StoredServices = ReturnType<typeof createStoredServices>;

export interface StoredOptions {
  readonly store: Store;
  readonly files: ResourceFiles;
  /** Functions of all plugins, services and scripts register here. */
  readonly functions: UserFunctions;
  readonly connections: RecordRepository<ConnectionRecord>;
  readonly connectors: readonly Connector[];
  readonly access: Access;
  readonly uses: () => readonly ConnectionUse[];
  readonly renewed: (id: string) => void;
  readonly schemaUsers: () => readonly SchemaUser[];
  readonly portables: { readonly host: PortableHost; readonly settings: PortableSettings };
  /** Memory that the code of an owner has at work, bytes. */
  readonly userCodeBytes: (owner: string) => Promise<number>;
  readonly log: Logger;
  /** Packages of a cluster; undefined on a server alone. */
  readonly packages: SharedPackages | undefined;
  /** Limits of plugins and scripts, from the configuration. */
  readonly plugin: Config['plugin'];
}

/** Makes the services of what clients install; each kind keeps its files in a folder of its own. */
export function createStoredServices(options: StoredOptions) {
  const { store, files, functions, connections, connectors, access, uses, renewed, portables } = options;
  const { plugin, userCodeBytes, schemaUsers, log, packages } = options;
  const folders = (...path: string[]) =>
    new PackageFolders(join(files.data, ...path), packages && { packages, root: path.join('/') });
  const installed = <T extends object>(kind: string, shape: RecordShape<T>, prefix: string, ...path: string[]) => ({
    store,
    functions,
    records: new RecordRepository<T>(store, kind, shape, prefix),
    folders: folders(...path),
  });
  const native = (part: NativeKind) =>
    new NativePlugins(part, installed(kinds.plugin, nativeShape, `${part}/`, 'plugins', part), files);
  const nativePlugins = { sources: native('sources'), sinks: native('sinks'), functions: native('functions') };
  const portablePlugins = new PortablePlugins(
    installed(kinds.plugin, portableShape, 'portables/', 'plugins', 'portable'),
    files,
    portables.host,
    portables.settings,
  );
  const wasmPlugins = new WasmPlugins(
    { ...installed(kinds.plugin, wasmShape, 'wasm/', 'plugins', 'wasm'), noun: 'wasm plugin' },
    files,
    plugin.wasm,
    userCodeBytes,
  );
  return {
    schemas: new SchemaService(
      store,
      new RecordRepository(store, kinds.schema, schemaShape),
      folders('schemas'),
      files,
      (name) => checkCodecs(wasmPlugins, name),
      schemaUsers,
      log,
    ),
    uploads: lazy(async () => {
      const { UploadService } = await import('../services/files/uploads.js');
      return new UploadService(files);
    }),
    connections: new ConnectionService({ connections, connectors, access, uses, renewed }),
    externalServices: new ExternalServices(
      { ...installed(kinds.service, serviceShape, '', 'services'), noun: 'service' },
      files,
    ),
    nativePlugins,
    portablePlugins,
    wasmPlugins,
    udfs: lazy(async () => {
      const { UdfService } = await import('../services/installed/udfs.js');
      return new UdfService(nativePlugins.functions, portablePlugins, wasmPlugins);
    }),
    scripts: new ScriptService(
      { ...installed(kinds.script, scriptShape, '', 'scripts'), noun: 'javascript function', nameField: 'id' },
      plugin.javascript,
      userCodeBytes,
    ),
  };
}

/** Notes what a disk has damaged of the files beside the records; everything else goes on meanwhile. */
export async function checkStored(services: StoredServices, note: (loss: Loss) => void): Promise<void> {
  const { schemas, externalServices, portablePlugins, wasmPlugins } = services;
  const all = [
    ['schema', '', schemas],
    ['service', '', externalServices],
    ['plugin', 'portables/', portablePlugins],
    ['plugin', 'wasm/', wasmPlugins],
  ] as const;
  for (const [resource, prefix, service] of all) {
    for (const [name, reason] of await service.damaged()) {
      note({ resource, name: `${prefix}${name}`, what: 'files', reason });
    }
  }
}

/** Removes files that a crash left beside the records. */
export async function sweepStored(services: StoredServices, files: ResourceFiles): Promise<void> {
  const { schemas, uploads, externalServices, portablePlugins, wasmPlugins } = services;
  for (const service of [schemas, externalServices, portablePlugins, wasmPlugins]) await service.sweep();
  if (existsSync(files.uploads)) await (await uploads()).sweep();
}

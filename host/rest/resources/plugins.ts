/** Routes of plugins. */
import type { NativePlugins } from '../../services/installed/native-plugins.js';
import type { NativeKind } from '../../services/installed/native-record.js';
import type { PortablePlugins } from '../../services/installed/portable-plugins.js';
import type { UdfService } from '../../services/installed/udfs.js';
import type { SystemService } from '../../services/server/system.js';
import type { WasmPlugins } from '../../services/wasm/plugins.js';
import {
  anything,
  changed,
  either,
  gives,
  keptDone,
  list,
  made,
  map,
  names,
  object,
  objectOfAnything,
  orMissing,
  ref,
  string,
} from '../route/contract.js';
import { defineResource, Reply, type RestRequest, type Route } from '../route/route.js';
import { warningHeader } from '../route/warnings.js';

interface PluginServices {
  readonly system: SystemService;
  readonly nativePlugins: Readonly<Record<NativeKind, NativePlugins>>;
  readonly portablePlugins: PortablePlugins;
  readonly wasmPlugins: WasmPlugins;
  readonly udfs: () => Promise<UdfService>;
}

/** Contracts that native and portable plugins share. */
const packages = {
  create: made(ref('Package')),
  list: gives(list(either(string, objectOfAnything))),
  describe: orMissing(gives(objectOfAnything)),
  replace: orMissing(changed(ref('Package'))),
  delete: orMissing({ ...keptDone, query: { stop: '1 ends the server afterwards' } }),
};

/** The routes of one kind of native plugins. */
function nativeRoutes(kind: NativeKind): readonly Route<PluginServices>[] {
  const plugins = (services: PluginServices) => services.nativePlugins[kind];
  return [
    {
      method: 'GET',
      path: `/plugins/${kind}/prebuild`,
      doc: 'Prebuilt native plugins: none fit this server',
      contract: gives(map(anything)),
      handle: () => ({}),
    },
    {
      method: 'POST',
      path: `/plugins/${kind}`,
      doc: 'Registers a native plugin',
      status: 201,
      contract: packages.create,
      handle: (request, services) => plugins(services).create(request.object()),
    },
    {
      method: 'GET',
      path: `/plugins/${kind}`,
      doc: 'Names',
      contract: packages.list,
      handle: (_request, services) => plugins(services).names(),
    },
    {
      method: 'GET',
      path: `/plugins/${kind}/:name`,
      doc: 'Name and version',
      contract: packages.describe,
      handle: (request, services) => plugins(services).describe(request.id('name')),
    },
    {
      method: 'PUT',
      path: `/plugins/${kind}/:name`,
      doc: 'Replaces a native plugin',
      contract: packages.replace,
      handle: (request, services) => plugins(services).replace(request.id('name'), request.object()),
    },
    {
      method: 'DELETE',
      path: `/plugins/${kind}/:name`,
      doc: 'Deletes a native plugin',
      contract: packages.delete,
      handle: (request, services) =>
        afterwards(request, services, plugins(services).remove(request.id('name'), isStopping(request))),
    },
  ];
}

function isStopping(request: RestRequest): boolean {
  return request.query.stop === '1';
}

/** Ends the server after the deletion when the client asks for that. */
async function afterwards(
  request: RestRequest,
  { system }: PluginServices,
  deletion: Promise<string>,
): Promise<string> {
  const text = await deletion;
  if (isStopping(request)) system.stop();
  return text;
}

export const plugins = defineResource<PluginServices>({
  routes: [
    ...nativeRoutes('sources'),
    ...nativeRoutes('sinks'),
    ...nativeRoutes('functions'),
    {
      method: 'POST',
      path: '/plugins/functions/:name/register',
      doc: 'Names the functions of a native plugin',
      contract: orMissing(changed(object({ functions: names }, true))),
      handle: (request, { nativePlugins }) => nativePlugins.functions.register(request.id('name'), request.object()),
    },
    {
      method: 'GET',
      path: '/plugins/udfs',
      doc: 'Functions of all plugins; details=true: with the plugins',
      contract: gives(either(names, list(object({ name: string, plugin: string, kind: string }))), {
        details: 'true gives each function with its plugin and the kind of that',
      }),
      handle: async (request, { udfs }) => {
        const functions = await udfs();
        return request.flag('details') ? functions.list() : functions.names();
      },
    },
    {
      method: 'GET',
      path: '/plugins/udfs/:name',
      doc: 'The plugin of a function',
      contract: orMissing(gives(object({ name: string, plugin: string }))),
      handle: async (request, { udfs }) => (await udfs()).describe(request.id('name')),
    },
    {
      method: 'GET',
      path: '/plugins/portables/prebuild',
      doc: 'Prebuilt portable plugins: there are none',
      contract: gives(list(anything)),
      handle: () => [],
    },
    {
      method: 'POST',
      path: '/plugins/portables',
      doc: 'Installs a portable plugin',
      status: 201,
      contract: packages.create,
      handle: (request, { portablePlugins }) => portablePlugins.create(request.object()),
    },
    {
      method: 'GET',
      path: '/plugins/portables',
      doc: 'Names',
      contract: packages.list,
      handle: (_request, { portablePlugins }) => portablePlugins.names(),
    },
    {
      method: 'GET',
      path: '/plugins/portables/:name',
      doc: 'Description and status',
      contract: packages.describe,
      handle: (request, { portablePlugins }) => portablePlugins.describe(request.id('name')),
    },
    {
      method: 'GET',
      path: '/plugins/portables/:name/status',
      doc: 'Status of the process',
      contract: orMissing(gives(objectOfAnything)),
      handle: (request, { portablePlugins }) => portablePlugins.status(request.id('name')),
    },
    {
      method: 'PUT',
      path: '/plugins/portables/:name',
      doc: 'Replaces a portable plugin',
      contract: packages.replace,
      handle: (request, { portablePlugins }) => portablePlugins.replace(request.id('name'), request.object()),
    },
    {
      method: 'DELETE',
      path: '/plugins/portables/:name',
      doc: 'Deletes a portable plugin',
      contract: packages.delete,
      handle: (request, services) => afterwards(request, services, services.portablePlugins.delete(request.id('name'))),
    },
    {
      method: 'POST',
      path: '/plugins/wasm',
      doc: 'Installs a WebAssembly module',
      status: 201,
      contract: { request: ref('Package'), answers: { 201: ref('WasmPlugin') }, isKept: true },
      handle: async (request, { wasmPlugins }) => {
        const made = await wasmPlugins.install(request.object());
        return new Reply(made, undefined, undefined, warningHeader(made.warnings ?? []));
      },
    },
    {
      method: 'GET',
      path: '/plugins/wasm',
      doc: 'Modules with their functions',
      contract: gives(list(ref('WasmPlugin'))),
      handle: (_request, { wasmPlugins }) => wasmPlugins.list(),
    },
    {
      method: 'GET',
      path: '/plugins/wasm/:name',
      doc: 'Functions with their types, imports, memory and limits of a module',
      contract: orMissing(gives(ref('WasmPluginDescription'))),
      handle: (request, { wasmPlugins }) => wasmPlugins.describe(request.id('name')),
    },
    {
      method: 'PUT',
      path: '/plugins/wasm/:name',
      doc: 'Replaces a module; running rules go on with the new one',
      contract: orMissing(changed(ref('Package'))),
      handle: (request, { wasmPlugins }) => wasmPlugins.update(request.id('name'), request.object()),
    },
    {
      method: 'DELETE',
      path: '/plugins/wasm/:name',
      doc: 'Deletes a module and its functions',
      contract: orMissing(keptDone),
      handle: (request, { wasmPlugins }) => wasmPlugins.delete(request.id('name')),
    },
  ],
  schemas: async () => (await import('../schemas/plugins.js')).schemas,
});

import type { NativeKind } from '../../services/installed/native-plugins.js';
import { defineRoutes, Reply, type RestRequest, type Route } from '../route/route.js';
import { warningHeader } from '../route/warnings.js';
import type { Services } from '../services.js';

/** The routes of one kind of native plugins. */
function nativeRoutes(kind: NativeKind): readonly Route[] {
  const plugins = (services: Services) => services.nativePlugins[kind];
  return defineRoutes(
    {
      method: 'GET',
      path: `/plugins/${kind}/prebuild`,
      doc: 'Prebuilt native plugins: none fit this server',
      handle: () => ({}),
    },
    {
      method: 'POST',
      path: `/plugins/${kind}`,
      doc: 'Registers a native plugin',
      status: 201,
      handle: (request, services) => plugins(services).create(request.object()),
    },
    {
      method: 'GET',
      path: `/plugins/${kind}`,
      doc: 'Names',
      handle: (_request, services) => plugins(services).names(),
    },
    {
      method: 'GET',
      path: `/plugins/${kind}/:name`,
      doc: 'Name and version',
      handle: (request, services) => plugins(services).describe(request.id('name')),
    },
    {
      method: 'PUT',
      path: `/plugins/${kind}/:name`,
      doc: 'Replaces a native plugin',
      handle: (request, services) => plugins(services).replace(request.id('name'), request.object()),
    },
    {
      method: 'DELETE',
      path: `/plugins/${kind}/:name`,
      doc: 'Deletes a native plugin',
      handle: (request, services) =>
        afterwards(request, services, plugins(services).remove(request.id('name'), isStopping(request))),
    },
  );
}

function isStopping(request: RestRequest): boolean {
  return request.query.stop === '1';
}

/** Ends the server after the deletion where the client asks for it. */
async function afterwards(request: RestRequest, { system }: Services, deletion: Promise<string>): Promise<string> {
  const text = await deletion;
  if (isStopping(request)) system.stop();
  return text;
}

export const plugins = [
  ...nativeRoutes('sources'),
  ...nativeRoutes('sinks'),
  ...nativeRoutes('functions'),
  ...defineRoutes(
    {
      method: 'POST',
      path: '/plugins/functions/:name/register',
      doc: 'Names the functions of a native plugin',
      handle: (request, { nativePlugins }) => nativePlugins.functions.register(request.id('name'), request.object()),
    },
    {
      method: 'GET',
      path: '/plugins/udfs',
      doc: 'Functions of all plugins; details=true: with the plugins',
      handle: (request, { udfs }) => (request.flag('details') ? udfs.list() : udfs.names()),
    },
    {
      method: 'GET',
      path: '/plugins/udfs/:name',
      doc: 'The plugin of a function',
      handle: (request, { udfs }) => udfs.describe(request.id('name')),
    },
    {
      method: 'POST',
      path: '/plugins/portables',
      doc: 'Installs a portable plugin',
      status: 201,
      handle: (request, { portablePlugins }) => portablePlugins.create(request.object()),
    },
    {
      method: 'GET',
      path: '/plugins/portables',
      doc: 'Names',
      handle: (_request, { portablePlugins }) => portablePlugins.names(),
    },
    {
      method: 'GET',
      path: '/plugins/portables/:name',
      doc: 'Description and status',
      handle: (request, { portablePlugins }) => portablePlugins.describe(request.id('name')),
    },
    {
      method: 'GET',
      path: '/plugins/portables/:name/status',
      doc: 'Status of the process',
      handle: (request, { portablePlugins }) => portablePlugins.status(request.id('name')),
    },
    {
      method: 'PUT',
      path: '/plugins/portables/:name',
      doc: 'Replaces a portable plugin',
      handle: (request, { portablePlugins }) => portablePlugins.replace(request.id('name'), request.object()),
    },
    {
      method: 'DELETE',
      path: '/plugins/portables/:name',
      doc: 'Deletes a portable plugin',
      handle: (request, services) => afterwards(request, services, services.portablePlugins.delete(request.id('name'))),
    },
    {
      method: 'POST',
      path: '/plugins/wasm',
      doc: 'Installs a WebAssembly module',
      status: 201,
      handle: async (request, { wasmPlugins }) => {
        const made = await wasmPlugins.install(request.object());
        return new Reply(made, undefined, undefined, warningHeader(made.warnings ?? []));
      },
    },
    {
      method: 'GET',
      path: '/plugins/wasm',
      doc: 'Modules with their functions',
      handle: (_request, { wasmPlugins }) => wasmPlugins.list(),
    },
    {
      method: 'GET',
      path: '/plugins/wasm/:name',
      doc: 'Functions with their types, imports, memory and limits of a module',
      handle: (request, { wasmPlugins }) => wasmPlugins.describe(request.id('name')),
    },
    {
      method: 'PUT',
      path: '/plugins/wasm/:name',
      doc: 'Replaces a module; running rules go on with the new one',
      handle: (request, { wasmPlugins }) => wasmPlugins.update(request.id('name'), request.object()),
    },
    {
      method: 'DELETE',
      path: '/plugins/wasm/:name',
      doc: 'Deletes a module and its functions',
      handle: (request, { wasmPlugins }) => wasmPlugins.delete(request.id('name')),
    },
  ),
];

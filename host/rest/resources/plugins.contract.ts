/** What the routes of plugins take and give. */
import {
  anything,
  boolean,
  type Contract,
  changed,
  defineContracts,
  either,
  gives,
  integer,
  keptDone,
  list,
  made,
  map,
  names,
  object,
  objectOfAnything,
  orMissing,
  orNull,
  ref,
  string,
} from '../route/contract.js';

function packages(kind: string): Record<string, Contract> {
  return {
    [`POST /plugins/${kind}`]: made(ref('Package')),
    [`GET /plugins/${kind}`]: gives(list(either(string, objectOfAnything))),
    [`GET /plugins/${kind}/:name`]: orMissing(gives(objectOfAnything)),
    [`PUT /plugins/${kind}/:name`]: orMissing(changed(ref('Package'))),
    [`DELETE /plugins/${kind}/:name`]: orMissing({ ...keptDone, query: { stop: '1 ends the server afterwards' } }),
  };
}

function native(kind: string): Record<string, Contract> {
  return { ...packages(kind), [`GET /plugins/${kind}/prebuild`]: gives(map(anything)) };
}

export const plugins = defineContracts(
  {
    ...native('sources'),
    ...native('sinks'),
    ...native('functions'),
    ...packages('portables'),
    'GET /plugins/portables/:name/status': orMissing(gives(objectOfAnything)),
    'POST /plugins/functions/:name/register': orMissing(changed(object({ functions: names }, true))),
    'GET /plugins/udfs': gives(either(names, list(object({ name: string, plugin: string, kind: string }))), {
      details: 'true gives each function with its plugin and the kind of that',
    }),
    'GET /plugins/udfs/:name': orMissing(gives(object({ name: string, plugin: string }))),
    'POST /plugins/wasm': { request: ref('Package'), answers: { 201: ref('WasmPlugin') }, isKept: true },
    'GET /plugins/wasm': gives(list(ref('WasmPlugin'))),
    'GET /plugins/wasm/:name': orMissing(gives(ref('WasmPluginDescription'))),
    'PUT /plugins/wasm/:name': orMissing(changed(ref('Package'))),
    'DELETE /plugins/wasm/:name': orMissing(keptDone),
  },
  {
    Package: object(
      {
        'name?': string,
        'file?': string,
        'bytecode?': string,
        'functions?': list(string),
        'limits?': objectOfAnything,
        'wasi?': objectOfAnything,
        'isolate?': boolean,
      },
      true,
    ),
    WasmPlugin: object(
      { name: string, functions: list(string), 'codecs?': list(string), 'warnings?': list(string) },
      true,
    ),
    WasmPluginDescription: object(
      {
        name: string,
        functions: list(string),
        'codecs?': list(string),
        file: string,
        sizeBytes: integer,
        manifest: objectOfAnything,
        notCallable: list(object({ name: string, reason: string })),
        warnings: list(string),
        imports: list(string),
        exports: list(string),
        memory: orNull(object({ minBytes: integer, maxBytes: orNull(integer) })),
        tables: list(object({ min: integer, max: orNull(integer) })),
        hasStart: boolean,
        limits: object({ maxMemoryBytes: integer, callFuel: integer, batchFuel: integer }),
        wasi: objectOfAnything,
        isolate: boolean,
        memoryBytes: integer,
      },
      true,
    ),
  },
);

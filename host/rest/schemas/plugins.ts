/** Schemas that the contracts of plugins refer to; read with the OpenAPI document. */
import { boolean, integer, list, object, objectOfAnything, orNull, type Schema, string } from '../route/contract.js';

export const schemas: Readonly<Record<string, Schema>> = {
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
    {
      name: string,
      functions: list(string),
      'codecs?': list(string),
      'program?': boolean,
      'warnings?': list(string),
    },
    true,
  ),
  WasmPluginDescription: object(
    {
      name: string,
      functions: list(string),
      'codecs?': list(string),
      'program?': boolean,
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
      'files?': list(object({ path: string, sizeBytes: integer })),
      memoryBytes: integer,
    },
    true,
  ),
};

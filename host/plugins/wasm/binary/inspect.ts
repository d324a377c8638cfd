/** A module seen from outside: its imports, its exports, its size. */
import { defaultLimits, type ModuleLimits } from './limits.js';
import { type ExternalKind, readModule, type WasmModule } from './module.js';
import type { GlobalType, Range, Signature, TableType } from './types.js';

/** An import or export of a module, with its type. */
export type External =
  | { readonly kind: 'function'; readonly signature: Signature }
  | { readonly kind: 'table'; readonly table: TableType }
  | { readonly kind: 'memory'; readonly memory: Range }
  | { readonly kind: 'global'; readonly global: GlobalType };

export type ModuleImport = { readonly module: string; readonly name: string } & External;
export type ModuleExport = { readonly name: string } & External;

export interface ModuleShape {
  readonly sizeBytes: number;
  readonly imports: readonly ModuleImport[];
  readonly exports: readonly ModuleExport[];
  /** Pages of 64 KiB; undefined when the module has no memory. */
  readonly memory: (Range & { readonly isImported: boolean }) | undefined;
  readonly tables: readonly TableType[];
  /** Whether the module has a start function, which runs at instantiation. */
  readonly hasStart: boolean;
  /** Number of functions that the module defines. */
  readonly functionCount: number;
  readonly codeBytes: number;
  readonly dataBytes: number;
  readonly largestFunctionBytes: number;
  readonly customSections: readonly { readonly name: string; readonly bytes: Uint8Array }[];
}

/**
 * Looks at the outside of a module without compiling it: malformed parts, proposals that are not supported and what is
 * more than `limits` are a `WasmError`. Whether the code is valid, `meter` says.
 */
export function inspect(bytes: Uint8Array, limits: ModuleLimits = defaultLimits): ModuleShape {
  const module = readModule(bytes, limits);
  const bodySizes = module.bodies.map(({ from, to }) => to - from);
  const imported = module.imports.some(({ kind }) => kind === 'memory');
  const [memory] = module.memories;
  return {
    sizeBytes: bytes.length,
    imports: module.imports.map((one) => ({ module: one.module, name: one.name, ...importOf(module, one) })),
    exports: module.exports.map(({ name, kind, index }) => ({ name, ...externalOf(module, kind, index) })),
    memory: memory && { ...memory, isImported: imported },
    tables: module.tables,
    hasStart: module.start !== undefined,
    functionCount: module.bodies.length,
    codeBytes: bodySizes.reduce((sum, size) => sum + size, 0),
    dataBytes: module.dataBytes,
    largestFunctionBytes: bodySizes.reduce((most, size) => Math.max(most, size), 0),
    customSections: module.customSections.map(({ name, from, to }) => ({ name, bytes: bytes.subarray(from, to) })),
  };
}

function importOf(module: WasmModule, one: WasmModule['imports'][number]): External {
  if (one.kind === 'function') return { kind: one.kind, signature: module.types[one.type] as Signature };
  if (one.kind === 'table') return { kind: one.kind, table: one.table };
  if (one.kind === 'memory') return { kind: one.kind, memory: one.memory };
  return { kind: one.kind, global: one.global };
}

/** Indexes were checked when the module was read. */
function externalOf(module: WasmModule, kind: ExternalKind, index: number): External {
  switch (kind) {
    case 'function':
      return { kind, signature: module.types[module.functions[index] as number] as Signature };
    case 'table':
      return { kind, table: module.tables[index] as TableType };
    case 'memory':
      return { kind, memory: module.memories[index] as Range };
    case 'global':
      return { kind, global: module.globals[index] as GlobalType };
  }
}

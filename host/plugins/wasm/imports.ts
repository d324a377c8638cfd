/** What modules of users may import: what the run time of AssemblyScript asks for, and a system without a machine (wasi.ts). */
import type { CodeHost, WasmCode } from '../define.js';
import type { ModuleShape } from './binary/inspect.js';
import { type Wasi, wasiImports, wasiModule } from './wasi.js';

/** Names of what a module may import, by the module that they are asked of. */
const known: Readonly<Record<string, ReadonlySet<string>>> = {
  env: new Set(['abort', 'trace', 'seed']),
  [wasiModule]: wasiImports,
};

/** What a module asks for and nobody gives: `env.read`. */
export function unknownImports({ imports }: ModuleShape): string[] {
  return imports
    .filter(({ module, name, kind }) => kind !== 'function' || known[module]?.has(name) !== true)
    .map(({ module, name }) => `${module}.${name}`);
}

export function importsOf({ name }: WasmCode, host: CodeHost, wasi: Wasi): Record<string, Record<string, unknown>> {
  return {
    env: {
      // Texts lie in the memory of the module in a form of its own.
      abort: (_message: number, _file: number, line: number, column: number) => {
        throw new Error(`abort at ${line}:${column}`);
      },
      trace: () => host.log(`${name}: trace`),
      // Without a source of chance a module is the same in each run.
      seed: () => 0,
    },
    [wasiModule]: wasi.imports,
  };
}

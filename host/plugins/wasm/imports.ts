/** What modules of users may import: what their run times and development kits ask for, and a system without a machine (wasi.ts). */
import type { CodeHost, WasmCode } from '../define.js';
import type { ModuleShape } from './binary/inspect.js';
import { type Fuel, fuelOfCall, fuelOfShortCall, spend } from './fuel.js';
import { extismModule } from './functions.js';
import { type Kit, kitImports } from './kit.js';
import { type Wasi, wasiImports, wasiModule } from './wasi.js';

/** Names of what a module may import, by the module that they are asked of. */
const known: Readonly<Record<string, ReadonlySet<string>>> = {
  env: new Set(['abort', 'trace', 'seed']),
  haumea: new Set(['fail', 'null', 'is_null', 'log']),
  [extismModule]: kitImports,
  [wasiModule]: wasiImports,
};

/** What a module asks for and nobody gives: `env.read`. */
export function unknownImports({ imports }: ModuleShape): string[] {
  return imports
    .filter(({ module, name, kind }) => kind !== 'function' || known[module]?.has(name) !== true)
    .map(({ module, name }) => `${module}.${name}`);
}

/** What the guest has said of the call under way, beside its result. */
export interface Outcome {
  /** State of the result (kernels/cells.ts), 0: as it comes. A global of 32 bits, so that callers see it. */
  readonly state: { value: number };
  /** Takes the text of its error. */
  failed: (message: string) => void;
  /** Says that argument i of the call under way is null. */
  isNull: (i: number) => boolean;
}

/** What imports reach of the guest that they are given to. */
interface Reach {
  readonly memory: () => WebAssembly.Memory;
  /** What the call under way may still run. */
  readonly fuel: () => Fuel;
  readonly outcome: Outcome;
  readonly kit: Kit | undefined;
  readonly wasi: Wasi;
}

/** Longest message of an error, longest line for the log. */
const maxTextBytes = 4096;

export function importsOf(
  { name }: WasmCode,
  host: CodeHost,
  { memory, fuel, outcome, kit, wasi }: Reach,
): Record<string, Record<string, unknown>> {
  const text = (off: number, length: number) => {
    spend(fuel(), fuelOfCall + Math.min(length >>> 0, maxTextBytes));
    const bytes = Buffer.from(memory().buffer);
    const from = off >>> 0;
    const most = Math.min(length >>> 0, maxTextBytes);
    if (from + most > bytes.length) throw new Error('a text lies outside of its memory');
    return bytes.toString('utf8', from, from + most);
  };
  return {
    env: {
      abort: (message: number, _file: number, line: number, column: number) => {
        const said = stringOf(memory(), message);
        throw new Error(said === '' ? `abort at ${line}:${column}` : `${said} (${line}:${column})`);
      },
      trace: (message: number) => {
        spend(fuel(), fuelOfCall + maxTextBytes);
        host.log(`${name}: ${stringOf(memory(), message)}`);
      },
      // Without a source of chance a module is the same in each run.
      seed: () => 0,
    },
    haumea: {
      fail: (off: number, length: number) => {
        outcome.failed(text(off, length));
        outcome.state.value = 2;
      },
      null: () => {
        spend(fuel(), fuelOfShortCall);
        outcome.state.value = 1;
      },
      is_null: (i: number) => {
        spend(fuel(), fuelOfShortCall);
        return outcome.isNull(i) ? 1 : 0;
      },
      log: (off: number, length: number) => host.log(text(off, length)),
    },
    [wasiModule]: wasi.imports,
    ...(kit === undefined ? {} : { [extismModule]: kit.imports }),
  };
}

/** A string of AssemblyScript's run time: UTF-16, its length in bytes in front of it. */
function stringOf(memory: WebAssembly.Memory | undefined, at: number): string {
  if (memory === undefined || at >>> 0 < 4) return '';
  const bytes = Buffer.from(memory.buffer);
  const from = at >>> 0;
  if (from > bytes.length) return '';
  const length = Math.min(bytes.readUInt32LE(from - 4), maxTextBytes);
  return bytes.toString('utf16le', from, Math.min(from + length, bytes.length));
}

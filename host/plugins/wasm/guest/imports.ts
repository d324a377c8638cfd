/**
 * Imports of users' modules: functions for their run times and development kits, and a system without a machine
 * (wasi.ts).
 */
import type { CodeHost, WasmCode } from '../../define.js';
import type { ModuleShape } from '../binary/inspect.js';
import { type Signature, signatureOf, signatureText } from '../binary/types.js';
import { extismModule } from '../exports/functions.js';
import { type Fuel, fuelOfCall, fuelOfShortCall, spend } from './fuel.js';
import { type Kit, kitSignatures } from './kit.js';
import { type Wasi, wasiModule, wasiSignatures } from './wasi.js';

/** Functions that a module may import, by import module; null: any signature is taken, and the call fails. */
const known: ReadonlyMap<string, ReadonlyMap<string, Signature | null>> = new Map([
  [
    'env',
    new Map([
      ['abort', signatureOf('iiii')],
      ['trace', signatureOf('iifffff')],
      ['seed', signatureOf('', 'f')],
    ]),
  ],
  [
    'haumea',
    new Map([
      ['fail', signatureOf('ii')],
      ['null', signatureOf('')],
      ['is_null', signatureOf('i', 'i')],
      ['log', signatureOf('ii')],
    ]),
  ],
  [extismModule, kitSignatures],
  [wasiModule, wasiSignatures],
]);

/**
 * Throws when a module asks for what nobody gives (`env.read`), or for a function with other parameters: numbers of
 * another type would be none that addresses and lengths are looked at as.
 */
export function checkImports({ imports }: ModuleShape): void {
  const unknown = imports.filter(({ module, name, kind }) => kind !== 'function' || !known.get(module)?.has(name));
  if (unknown.length > 0) {
    const names = unknown.map(({ module, name }) => `${module}.${name}`);
    throw new Error(`it imports what is not given to plugins: ${names.join(', ')}`);
  }
  for (const one of imports) {
    const wanted = known.get(one.module)?.get(one.name);
    if (one.kind !== 'function' || !wanted) continue;
    const [is, must] = [signatureText(one.signature), signatureText(wanted)];
    if (is !== must) throw new Error(`it imports ${one.module}.${one.name} as ${is}, it is ${must}`);
  }
}

/** Outcome of the current call, as the guest reports it beside its result. */
export interface Outcome {
  /** State of the result (kernels/calls/cells.ts), 0: as it comes. A global of 32 bits, so that callers see it. */
  readonly state: { value: number };
  /** Takes the text of the call's error. */
  failed: (message: string) => void;
  /** Tells whether argument i of the current call is null. */
  isNull: (i: number) => boolean;
}

/** Parts of a guest that its imports use. */
interface Reach {
  readonly memory: () => WebAssembly.Memory;
  /** Fuel left for the current call. */
  readonly fuel: () => Fuel;
  readonly outcome: Outcome;
  readonly kit: Kit | undefined;
  readonly wasi: Wasi;
}

/** Longest message of an error, longest line for the log. */
const maxTextBytes = 4096;

export function importsOf(
  { name }: Pick<WasmCode, 'name'>,
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

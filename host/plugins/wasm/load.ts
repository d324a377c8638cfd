/** WebAssembly modules of users at work: each function in the way that its arguments and results ask for. */
import { readFile } from 'node:fs/promises';
import type { DirectColumns, HostColumns } from '../../../kernels/api.js';
import { argumentCounts, type CodeHost, type LoadedCode, type WasmCode } from '../define.js';
import { AggregateFunction } from './aggregate.js';
import { inspect, type ModuleShape } from './binary/inspect.js';
import { noLimits } from './binary/limits.js';
import { fuelExport } from './binary/meter.js';
import { freeFunctions, type PureFunction, pureFunctions } from './binary/pure.js';
import type { Signature } from './binary/types.js';
import { codecFunctions } from './codecs.js';
import { extismModule, isNumeric, pluginOf } from './functions.js';
import { Guest } from './guest.js';
import { type Convention, type PluginFunction, type StateExports, stateExportsOf } from './manifest.js';
import { NumericFunction } from './numeric.js';
import { StateFunction } from './states.js';
import { TypedFunction } from './typed.js';

/** Resolves with a module that is ready to be called. `path` is what `meter` made of it. */
export async function loadModule(code: WasmCode, host: CodeHost): Promise<LoadedCode> {
  const bytes = new Uint8Array(await readFile(code.path));
  const shape = inspect(bytes, noLimits);
  const module = await WebAssembly.compile(bytes);
  const short: ShortFunctions = {
    pure: pureFunctions(bytes, noLimits),
    free: freeFunctions(bytes, fuelExport, noLimits),
  };
  return new LoadedModule(code, module, bytes.length, shape, short, host);
}

/** Functions that need less than others to be called for each row, by their exports. */
interface ShortFunctions {
  readonly pure: ReadonlyMap<string, PureFunction>;
  readonly free: ReadonlySet<string>;
}

interface Callable {
  call(columns: HostColumns, direct: DirectColumns): void;
  reset(): void;
}

class LoadedModule implements LoadedCode {
  readonly #guest: Guest;
  readonly #convention: Convention;
  readonly #functions: ReadonlyMap<string, PluginFunction>;
  readonly #signatures: ReadonlyMap<string, Signature>;
  readonly #callables = new Map<string, Callable>();
  /** It tells the engine of errors and nulls beside its results. */
  readonly #speaks: boolean;

  constructor(
    private readonly code: WasmCode,
    module: WebAssembly.Module,
    bytes: number,
    shape: ModuleShape,
    private readonly short: ShortFunctions,
    host: CodeHost,
  ) {
    // Records of before have no manifest.
    const manifest = code.manifest ?? pluginOf(shape).manifest;
    this.#convention = manifest.convention ?? 'pointers';
    const all = [...manifest.functions, ...codecFunctions(manifest).map(([fn]) => fn)];
    this.#functions = new Map(all.map((one) => [one.name, one]));
    this.#signatures = new Map(
      shape.exports.flatMap((one) => (one.kind === 'function' ? [[one.name, one.signature] as const] : [])),
    );
    const usesKit = shape.imports.some((one) => one.module === extismModule);
    this.#speaks = shape.imports.some((one) => one.module === 'haumea' && one.name !== 'log');
    this.#guest = new Guest(code, module, bytes, usesKit || this.#convention === 'extism', host, code.limits);
    this.#guest.onRestart = () => {
      for (const one of this.#callables.values()) one.reset();
    };
  }

  call(entry: string, columns: HostColumns): void {
    const { direct } = columns;
    if (direct === undefined) throw new Error('the columns are not in the memory of a kernel');
    const fn = this.#functions.get(entry);
    if (fn === undefined) throw new Error(`wasm plugin ${this.code.name} has no function ${entry}`);
    const { min, max } = argumentCounts(fn);
    const { argCount } = columns;
    if (this.#stateExportsOf(fn) === undefined && (argCount < min || (max !== null && argCount > max))) {
      throw new Error(`function ${entry} takes ${min} arguments since it was replaced, not ${argCount}`);
    }
    let callable = this.#callables.get(entry);
    if (callable === undefined) {
      callable = this.#callableOf(fn);
      this.#callables.set(entry, callable);
    }
    callable.call(columns, direct);
  }

  close(): void {
    this.#callables.clear();
  }

  /** On a thread of its own it is given rows. */
  #stateExportsOf(fn: PluginFunction): StateExports | undefined {
    return this.code.isolate === undefined ? stateExportsOf(fn) : undefined;
  }

  #callableOf(fn: PluginFunction): Callable {
    const convention = this.#convention;
    const title = `function ${fn.name} of ${this.code.name}`;
    const exports = this.#stateExportsOf(fn);
    if (exports !== undefined) {
      return new StateFunction(this.#guest, fn, convention, exports, (name) => this.#signatureOf(name), title);
    }
    const { aggregate } = fn;
    if (aggregate !== undefined) {
      const signatures = {
        accumulate: this.#signatureOf(aggregate.accumulate),
        finish: this.#signatureOf(aggregate.finish),
      };
      return new AggregateFunction(this.#guest, { ...fn, aggregate }, convention, signatures, title);
    }
    const signature = this.#signatureOf(fn.export);
    if (convention !== 'extism' && isNumeric(fn) && !this.#speaks) {
      const how = { pure: this.short.pure.get(fn.export), isFree: this.short.free.has(fn.export) };
      return new NumericFunction(this.#guest, fn.name, fn.export, signature, how, title);
    }
    return new TypedFunction(this.#guest, fn, convention, signature, title);
  }

  #signatureOf(name: string): Signature {
    const signature = this.#signatures.get(name);
    if (signature === undefined) throw new Error(`wasm plugin ${this.code.name} has no function ${name}`);
    return signature;
  }
}

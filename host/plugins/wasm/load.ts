/** WebAssembly modules of users at work: each function in the way that its arguments and results ask for. */
import { readFile } from 'node:fs/promises';
import type { DirectColumns, HostColumns } from '../../../kernels/api.js';
import { argumentCounts, type CodeHost, type LoadedCode, type WasmCode } from '../define.js';
import {
  type Convention,
  type PluginFunction,
  type PluginManifest,
  type StateExports,
  stateExportsOf,
} from '../manifest.js';
import { inspect, type ModuleShape } from './binary/inspect.js';
import { noLimits } from './binary/limits.js';
import type { Signature } from './binary/types.js';
import { AggregateFunction } from './calls/aggregate.js';
import { NumericFunction } from './calls/numeric.js';
import { StateFunction } from './calls/states.js';
import { TypedFunction } from './calls/typed.js';
import { codecFunctions } from './exports/codecs.js';
import { extismModule, isNumeric, pluginOf } from './exports/functions.js';
import { FileTree, unpackFiles } from './guest/files/tree.js';
import { Guest } from './guest/guest.js';
import { passes, runPasses, unpassed } from './passes/list.js';
import type { Pass, PassModule } from './passes/pass.js';

/** Resolves with a module that is ready to be called; `path` of the code is one that was prepared. */
export async function loadModule(code: WasmCode, host: CodeHost, list: readonly Pass[] = passes): Promise<LoadedCode> {
  const bytes = new Uint8Array(await readFile(code.path));
  const shape = inspect(bytes, noLimits);
  // Records of earlier versions have no manifest.
  const manifest = code.manifest ?? pluginOf(shape).manifest;
  const numeric = isOverNumbers(manifest, shape) ? manifest.functions.filter(isNumeric) : [];
  const made = runPasses('load', unpassed(bytes, { rowFunctions: numeric.map((fn) => fn.export) }), list);
  const module = await WebAssembly.compile(made.bytes);
  const files = code.files === undefined ? undefined : new FileTree(unpackFiles(await readFile(code.files)));
  return new LoadedModule({ ...code, manifest }, module, bytes.length, shape, made, host, files);
}

/** Tells that functions of numbers are called from the kernel's columns: a module says nothing beside their results. */
function isOverNumbers({ convention }: PluginManifest, { imports }: ModuleShape): boolean {
  const speaks = imports.some((one) => one.module === 'haumea' && one.name !== 'log');
  return convention !== 'extism' && !speaks;
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
  readonly #isOverNumbers: boolean;

  constructor(
    private readonly code: WasmCode & { readonly manifest: PluginManifest },
    module: WebAssembly.Module,
    length: number,
    shape: ModuleShape,
    private readonly made: PassModule,
    host: CodeHost,
    files: FileTree | undefined,
  ) {
    const { manifest } = code;
    this.#convention = manifest.convention ?? 'pointers';
    const all = [...manifest.functions, ...codecFunctions(manifest).map(([fn]) => fn)];
    this.#functions = new Map(all.map((one) => [one.name, one]));
    this.#signatures = new Map(
      shape.exports.flatMap((one) => (one.kind === 'function' ? [[one.name, one.signature] as const] : [])),
    );
    const usesKit = shape.imports.some((one) => one.module === extismModule);
    this.#isOverNumbers = isOverNumbers(manifest, shape);
    this.#guest = new Guest(code, module, length, made.memory, usesKit || this.#convention === 'extism', host, files);
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
    this.#checkMemory(entry, columns);
  }

  close(): void {
    this.#callables.clear();
  }

  /** Checks the memory after a call: small growth within the call is noticed only here. */
  #checkMemory(entry: string, columns: HostColumns): void {
    const refusal = this.#guest.memoryRefusal();
    if (refusal === undefined) return;
    const reason = `function ${entry} of ${this.code.name}: ${refusal}`;
    this.#guest.host.fault(reason);
    this.#guest.restart();
    // States that the engine keeps are whole: an error in their place would lose them.
    if (columns.part !== undefined) this.#guest.host.log(reason);
    else for (let k = 0; k < columns.count; k++) columns.fail(k, reason);
  }

  /** Exports for states that the engine keeps; on a thread of its own aggregates have none: they are given rows. */
  #stateExportsOf(fn: PluginFunction): StateExports | undefined {
    return this.code.isolate === undefined || fn.analytic !== undefined ? stateExportsOf(fn) : undefined;
  }

  #callableOf(fn: PluginFunction): Callable {
    const convention = this.#convention;
    const title = `function ${fn.name} of ${this.code.name}`;
    const exports = this.#stateExportsOf(fn);
    if (convention === 'extism' && exports !== undefined) {
      const typed = new TypedFunction(this.#guest, fn, convention, this.#signatureOf(fn.export), title);
      return { call: (columns, direct) => typed.callGroups(columns, direct), reset: () => typed.reset() };
    }
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
    if (this.#isOverNumbers && isNumeric(fn)) {
      const { inlined, uncharged, hasDenseLoop, unrolled } = this.made;
      const name = fn.export;
      const how = {
        inlined: inlined.get(name),
        isUncharged: uncharged.has(name),
        hasDenseLoop,
        unrolled: unrolled.get(name),
      };
      return new NumericFunction(this.#guest, fn.name, name, signature, how, title);
    }
    return new TypedFunction(this.#guest, fn, convention, signature, title);
  }

  #signatureOf(name: string): Signature {
    const signature = this.#signatures.get(name);
    if (signature === undefined) throw new Error(`wasm plugin ${this.code.name} has no function ${name}`);
    return signature;
  }
}

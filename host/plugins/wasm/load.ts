/**
 * WebAssembly modules of users at work. Each function over numbers is called row by row by a wrapper that is WebAssembly
 * as well (binary/wrapper.ts): JavaScript sees a batch, and the rows whose call failed.
 */
import { readFile } from 'node:fs/promises';
import type { DirectColumns, HostColumns } from '../../../kernels/api.js';
import { reasonOf } from '../../base/errors.js';
import type { CallLimits, CodeHost, LoadedCode, WasmCode } from '../define.js';
import { inspect } from './binary/inspect.js';
import { noLimits } from './binary/limits.js';
import { fuelExport } from './binary/meter.js';
import { type PureFunction, pureFunctions } from './binary/pure.js';
import type { Signature } from './binary/types.js';
import { Misfit, markOf, type WrapperExports, wrapperFor } from './binary/wrapper.js';
import { importsOf } from './imports.js';
import { startsOf, Wasi, WasiExit } from './wasi.js';

/** Resolves with a module that is ready to be called. `path` is what `meter` made of it. */
export async function loadModule(code: WasmCode, host: CodeHost): Promise<LoadedCode> {
  const bytes = new Uint8Array(await readFile(code.path));
  const signatures = new Map(
    inspect(bytes, noLimits).exports.flatMap((one) =>
      one.kind === 'function' ? [[one.name, one.signature] as const] : [],
    ),
  );
  const module = await WebAssembly.compile(bytes);
  return new LoadedModule(code, module, signatures, pureFunctions(bytes, noLimits), host, code.limits);
}

interface Instance {
  readonly exports: Record<string, unknown>;
  /** What it may still run; below zero when a call was ended by it. */
  readonly fuel: { value: bigint };
}

class LoadedModule implements LoadedCode {
  #instance: Instance;
  readonly #wrappers = new Map<string, WrapperExports>();

  constructor(
    private readonly code: WasmCode,
    private readonly module: WebAssembly.Module,
    private readonly signatures: ReadonlyMap<string, Signature>,
    private readonly pure: ReadonlyMap<string, PureFunction>,
    private readonly host: CodeHost,
    private readonly limits: CallLimits,
  ) {
    this.#instance = this.#open();
  }

  call(entry: string, columns: HostColumns): void {
    const { direct } = columns;
    if (direct === undefined) throw new Error('the columns are not in the memory of a kernel');
    const { params } = this.#signatureOf(entry);
    if (params.length !== columns.argCount) {
      throw new Error(
        `function ${entry} takes ${params.length} arguments since it was replaced, not ${columns.argCount}`,
      );
    }
    const { callFuel, batchFuel } = this.limits;
    let left = batchFuel;
    for (let from = 0; from < columns.count; ) {
      const wrapper = this.#wrapperOf(entry, direct.memory);
      wrapper.callFuel.value = callFuel;
      wrapper.batchFuel.value = left;
      try {
        const marked = wrapper.run(from, columns.count, direct.sel, direct.table, direct.vals, direct.tags);
        direct.written(from, columns.count);
        if (marked > 0) this.#explain(entry, columns, direct, from, columns.count);
        return;
      } catch (error) {
        const row = wrapper.at.value;
        left = wrapper.batchFuel.value;
        direct.written(from, row);
        this.#explain(entry, columns, direct, from, row);
        const reason = this.#reasonOf(error, left);
        columns.fail(row, `function ${entry} of ${this.code.name}: ${reason}`);
        if (this.#isExhausted(error)) this.host.fault(`function ${entry}: ${reason}`);
        // What a call leaves behind that was cut off in the middle is nobody's state.
        this.#instance = this.#open();
        this.#wrappers.clear();
        from = row + 1;
      }
    }
  }

  close(): void {
    this.#wrappers.clear();
  }

  /** Writes the errors of rows whose arguments do not fit. */
  #explain(entry: string, columns: HostColumns, direct: DirectColumns, from: number, to: number): void {
    const { params } = this.#signatureOf(entry);
    for (let k = from; k < to; k++) {
      const mark = direct.mark(k);
      const found = mark === undefined ? undefined : markOf(mark);
      if (found === undefined) continue;
      const type = params[found.argument] as string;
      const why =
        found.misfit === Misfit.fraction
          ? `is no whole number, which ${type} needs`
          : found.misfit === Misfit.range
            ? `does not fit ${type}`
            : `is no number for ${type}`;
      columns.fail(k, `function ${entry}: argument ${found.argument + 1} ${why}`);
    }
  }

  /** It took more than it may: to go on with such calls would cost others their share. */
  #isExhausted(error: unknown): boolean {
    return this.#instance.fuel.value < 0n || error instanceof RangeError;
  }

  #reasonOf(error: unknown, left: bigint): string {
    if (this.#instance.fuel.value < 0n) {
      return left <= 0n ? 'the calls for a batch took more fuel than they may' : 'the call took more fuel than it may';
    }
    if (error instanceof RangeError) return 'the stack is exhausted';
    return reasonOf(error);
  }

  #signatureOf(entry: string): Signature {
    const signature = this.signatures.get(entry);
    if (signature === undefined) throw new Error(`wasm plugin ${this.code.name} has no function ${entry}`);
    return signature;
  }

  #wrapperOf(entry: string, memory: WebAssembly.Memory): WrapperExports {
    let wrapper = this.#wrappers.get(entry);
    if (wrapper === undefined) {
      const signature = this.#signatureOf(entry);
      const { exports, fuel } = this.#instance;
      const guest = { call: exports[entry], fuel };
      const made = new WebAssembly.Instance(new WebAssembly.Module(wrapperFor(signature, this.pure.get(entry))), {
        kernel: { memory },
        guest,
      });
      wrapper = made.exports as unknown as WrapperExports;
      this.#wrappers.set(entry, wrapper);
    }
    return wrapper;
  }

  #open(): Instance {
    const wasi = new Wasi(
      {
        name: this.code.name,
        memory: () => instance.exports.memory as WebAssembly.Memory,
        fuel: () => instance.fuel,
      },
      this.code.wasi ?? {},
      this.host,
    );
    const { exports } = new WebAssembly.Instance(this.module, importsOf(this.code, this.host, wasi));
    const instance: Instance = { exports, fuel: exports[fuelExport] as { value: bigint } };
    for (const name of startsOf(exports)) {
      instance.fuel.value = this.limits.batchFuel;
      try {
        (exports[name] as () => void)();
      } catch (error) {
        // A program that ends by itself has made its functions ready.
        if (error instanceof WasiExit && error.code === 0) continue;
        const reason = instance.fuel.value < 0n ? 'it took more fuel than it may' : reasonOf(error);
        throw new Error(`wasm plugin ${this.code.name}: the start function failed: ${reason}`);
      }
    }
    return instance;
  }
}

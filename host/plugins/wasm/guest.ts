/** A module of a user that is instantiated, with its fuel; it begins anew when a call was cut off. */
import { reasonOf } from '../../base/errors.js';
import type { CallLimits, CodeHost, WasmCode } from '../define.js';
import type { CallerExports, CallerShape } from './binary/caller.js';
import { fuelExport } from './binary/meter.js';
import { freeName } from './functions.js';
import { importsOf, type Outcome } from './imports.js';
import { Kit } from './kit.js';
import { startsOf, Wasi, WasiExit } from './wasi.js';

/** So long calls of a batch in which some trap may run with full fuel, ms. */
const slowMs = 500;

/** The types of Node leave it out. */
const { Global } = WebAssembly as unknown as { Global: new (type: object, value: number) => { value: number } };

type Exports = Readonly<Record<string, unknown>>;
export type GuestFunction = (...args: unknown[]) => unknown;

interface Running {
  readonly exports: Exports;
  /** What it may still run; below zero when a call was ended by it. */
  readonly fuel: { value: bigint };
  readonly kit: Kit | undefined;
}

export class Guest {
  readonly outcome: Outcome = {
    state: new Global({ value: 'i32', mutable: true }, 0),
    failed: () => {},
    isNull: () => false,
  };
  /** Told when it begins anew: what belonged to the former instance is worthless. */
  onRestart: () => void = () => {};
  #running: Running;
  #since = 0;
  #spentMs = 0;
  /** What start functions took the last time. */
  #startFuel = 0n;

  /**
   * @param bytes length of the module
   * @param usesKit it is a guest of Extism's development kits
   */
  constructor(
    private readonly code: WasmCode,
    private readonly module: WebAssembly.Module,
    private readonly bytes: number,
    private readonly usesKit: boolean,
    readonly host: CodeHost,
    readonly limits: CallLimits,
  ) {
    this.#running = this.#open();
  }

  get exports(): Exports {
    return this.#running.exports;
  }

  get fuel(): { value: bigint } {
    return this.#running.fuel;
  }

  get kit(): Kit {
    const { kit } = this.#running;
    if (kit === undefined) throw new Error(`wasm plugin ${this.code.name} does not use the development kit`);
    return kit;
  }

  /** Where its texts lie. */
  get memory(): WebAssembly.Memory {
    return this.#running.kit?.memory ?? (this.exports.memory as WebAssembly.Memory);
  }

  /** A function that the module exports. */
  exported(name: string): GuestFunction {
    const found = this.exports[name];
    if (typeof found !== 'function') throw new Error(`wasm plugin ${this.code.name} has no function ${name}`);
    return found as GuestFunction;
  }

  /** Calls a function with the fuel of one call. */
  call(name: string, ...args: unknown[]): unknown {
    this.fuel.value = this.limits.callFuel;
    return this.exported(name)(...args);
  }

  /** A module that calls one of the functions for each row (binary/caller.ts). */
  caller(bytes: Uint8Array<ArrayBuffer>, name: string, { kind, frees = false }: CallerShape): CallerExports {
    const { memory, fuel } = this;
    const runTime =
      kind === 'assemblyscript'
        ? { new: this.exported('__new'), pin: this.exported('__pin'), unpin: this.exported('__unpin') }
        : {};
    const guest = {
      ...(kind === 'extism' ? this.kit.io : {}),
      ...runTime,
      ...(frees ? { free: this.exported(freeName) } : {}),
      memory,
      fuel,
      outcome: this.outcome.state,
      call: this.exported(name),
    };
    const made = new WebAssembly.Instance(new WebAssembly.Module(bytes), { guest });
    return made.exports as unknown as CallerExports;
  }

  /** What a call leaves behind that was cut off in the middle is nobody's state. Returns the fuel that beginning anew took. */
  restart(): bigint {
    this.outcome.state.value = 0;
    this.#startFuel = 0n;
    try {
      this.#running = this.#open();
    } catch (error) {
      this.host.fault(reasonOf(error));
      throw error;
    }
    this.onRestart();
    return this.#startFuel + BigInt(this.bytes >> 2);
  }

  /** Why a call ended; `left` is the fuel of the batch. */
  reasonOf(error: unknown, left: bigint): string {
    if (this.fuel.value < 0n) {
      return left <= 0n ? 'the calls for a batch took more fuel than they may' : 'the call took more fuel than it may';
    }
    if (error instanceof RangeError) return 'the stack is exhausted';
    return reasonOf(error);
  }

  /** It took more than it may: to go on with such calls would cost others their share. */
  isExhausted(error: unknown): boolean {
    return this.fuel.value < 0n || error instanceof RangeError;
  }

  /** The calls for a batch begin. */
  startBatch(): bigint {
    this.#spentMs = 0;
    return this.limits.batchFuel;
  }

  /** Calls begin that may be cut off. */
  enter(): void {
    this.#since = performance.now();
  }

  /**
   * What the calls for the rest of a batch may take after one was cut off, before the guest begins anew. `left` is without what that
   * call was given. Others wait meanwhile, and where one call does not come to an end, the next will hardly do: then it is a
   * quarter. So it is where calls that trap take long: how much they took, fuel does not tell.
   */
  leftAfter(error: unknown, left: bigint): bigint {
    this.#spentMs += performance.now() - this.#since;
    if (this.isExhausted(error)) return left / 4n;
    const all = left + this.fuel.value;
    return this.#spentMs > slowMs ? all / 4n : all;
  }

  #open(): Running {
    const { code, host } = this;
    const fuel = () => this.fuel;
    const kit = this.usesKit ? new Kit(code, host, fuel) : undefined;
    const memory = () => this.exports.memory as WebAssembly.Memory;
    const wasi = new Wasi({ name: code.name, memory, fuel }, code.wasi ?? {}, host);
    const imports = importsOf(code, host, { memory, fuel, outcome: this.outcome, kit, wasi });
    const { exports } = new WebAssembly.Instance(this.module, imports);
    const running = { exports, fuel: exports[fuelExport] as { value: bigint }, kit };
    this.#running = running;
    for (const name of startsOf(exports)) {
      running.fuel.value = this.limits.batchFuel;
      try {
        (exports[name] as () => void)();
        this.#startFuel += this.limits.batchFuel - running.fuel.value;
      } catch (error) {
        this.#startFuel += this.limits.batchFuel - running.fuel.value;
        // A program that ends by itself has made its functions ready.
        if (error instanceof WasiExit && error.code === 0) continue;
        const reason = running.fuel.value < 0n ? 'it took more fuel than it may' : reasonOf(error);
        throw new Error(`wasm plugin ${code.name}: the start function failed: ${reason}`);
      }
    }
    return running;
  }
}

/** An instance of a user's module with its fuel; a new instance replaces it after a call that was cut off. */
import { reasonOf } from '../../../base/errors.js';
import { Stopwatch } from '../../../base/time/thread-time.js';
import type { CallLimits, CodeHost, WasmCode } from '../../define.js';
import type { CellCallerExports, CellCallerShape } from '../adapters/cell-caller.js';
import { refuelFunction } from '../adapters/refuel.js';
import { freeName } from '../exports/functions.js';
import { fuelExport, refuelExport } from '../passes/meter.js';
import type { FileTree } from './files/tree.js';
import type { Fuel } from './fuel.js';
import { importsOf, type Outcome } from './imports.js';
import { Kit } from './kit.js';
import type { KitVariables } from './kit-variables.js';
import { startsOf, Wasi, WasiExit } from './wasi.js';

/** Fuel of one part; after each part the host looks at the time. */
const partFuel = 131_072n;
/** Longest time of a part, ms; code that misses the caches gets smaller parts. */
const longPartMs = 2;
const leastPart = 8192n;
/** Longest time of the start functions, ms of the processor. */
const startMs = 500;

/** Calls that are under way. */
export interface Account {
  /** Number of the call under way. */
  call(): number;
  /** Fuel left for the batch, without that of the call under way. */
  readonly batch: { value: bigint };
}

/** A loop over rows that returns when it has used a part of the fuel. */
interface Pausing {
  readonly batchFuel: { value: bigint };
  readonly pauseAt: { value: bigint };
}

const noFuel = 'the call took more fuel than it may';

/** Longest time of a batch with traps before its fuel is cut, ms. */
const slowMs = 500;

/** Node's types leave out `WebAssembly.Global`. */
const { Global } = WebAssembly as unknown as { Global: new (type: object, value: number) => { value: number } };

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

type Exports = Readonly<Record<string, unknown>>;
export type GuestFunction = (...args: unknown[]) => unknown;

interface Running {
  readonly exports: Exports;
  /** Fuel until the guest asks for more; below zero when it has ended a call. */
  readonly fuel: { value: bigint };
  /** Whether the guest asks for more fuel; modules made ready by early versions do not. */
  readonly asks: boolean;
  readonly kit: Kit | undefined;
}

export class Guest {
  readonly outcome: Outcome = {
    state: new Global({ value: 'i32', mutable: true }, 0),
    failed: () => {},
    isNull: () => false,
  };
  readonly limits: CallLimits;
  /** Called when a new instance has replaced the former. */
  onRestart: () => void = () => {};
  /** Variables that a guest of a development kit has in the place of its own: the state of a group. */
  variables: KitVariables | undefined;
  #running: Running;
  #since = 0;
  #spentMs = 0;
  /** Fuel that start functions took the last time. */
  #startFuel = 0n;
  /** Fuel that the current call may take, and the part of it that was given so far. */
  #limit = 0n;
  #given = 0n;
  #part = partFuel;
  #partSince = 0;
  #account: Account = { call: () => 0, batch: { value: 0n } };
  #call = 0;
  readonly #batchTime = new Stopwatch();
  readonly #callTime = new Stopwatch();
  /** Longest times of a call and of a batch, ms; without bounds on a thread of its own, which is ended instead. */
  readonly #most: { readonly callMs: number; readonly batchMs: number };
  #isStarting = false;
  /** Why the memory that the guest has grown to is too much. */
  #refusal: string | undefined;
  /** Bytes that the guest holds of the memory of all users' code. */
  #held = 0;
  /** Time limit that was exceeded. */
  #overdue: 'call' | 'batch' | undefined;

  /**
   * @param bytes length of the module
   * @param memoryName the export that is its memory
   * @param usesKit whether it is a guest of Extism's development kits
   * @param files of the plugin, the same for all its instances
   */
  constructor(
    private readonly code: WasmCode,
    private readonly module: WebAssembly.Module,
    private readonly bytes: number,
    private readonly memoryName: string | undefined,
    private readonly usesKit: boolean,
    readonly host: CodeHost,
    private readonly files: FileTree | undefined,
  ) {
    this.limits = code.limits;
    const { callMs = Number.POSITIVE_INFINITY, batchMs = Number.POSITIVE_INFINITY } =
      code.isolate === undefined ? code.limits : {};
    this.#most = { callMs, batchMs };
    this.#running = this.#open();
  }

  get exports(): Exports {
    return this.#running.exports;
  }

  get fuel(): { value: bigint } {
    return this.#running.fuel;
  }

  /** Fuel that a call is given before it asks for more. */
  get firstFuel(): bigint {
    const { callFuel } = this.limits;
    return this.#running.asks && partFuel < callFuel ? partFuel : callFuel;
  }

  get kit(): Kit {
    const { kit } = this.#running;
    if (kit === undefined) throw new Error(`wasm plugin ${this.code.name} does not use the development kit`);
    return kit;
  }

  /** The memory that holds texts of arguments and results. */
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
    this.give(this.limits.callFuel);
    return this.exported(name)(...args);
  }

  /** Starts a call that the host makes itself, with so much fuel. */
  give(limit: bigint): void {
    const first = this.#running.asks && partFuel < limit ? partFuel : limit;
    this.#account = { call: () => 0, batch: { value: limit - first } };
    this.#call = 0;
    this.#limit = limit;
    this.#given = first;
    this.#callTime.start();
    this.fuel.value = first;
  }

  /** Fuel that the call after `give` has taken. */
  get used(): bigint {
    return this.#given - this.fuel.value;
  }

  /** A module that calls one of the functions for each row (adapters/cell-caller.ts). */
  caller(bytes: Uint8Array<ArrayBuffer>, name: string, { kind, frees = false }: CellCallerShape): CellCallerExports {
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
    return made.exports as unknown as CellCallerExports;
  }

  /** Replaces the instance, whose state is undefined after a call that was cut off; returns the fuel that this took. */
  restart(): bigint {
    this.#overdue = undefined;
    this.#refusal = undefined;
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
    if (this.#refusal !== undefined) return this.#refusal;
    if (this.#overdue === 'batch') return 'the calls for a batch took longer than they may';
    if (this.#overdue === 'call') return 'the call took longer than it may';
    if (this.fuel.value < 0n) {
      return left <= 0n ? 'the calls for a batch took more fuel than they may' : 'the call took more fuel than it may';
    }
    if (error instanceof RangeError) return 'the stack is exhausted';
    return reasonOf(error);
  }

  /** Tells that a call has passed one of its bounds, so that others had to wait for it. */
  isExhausted(error: unknown): boolean {
    return (
      this.#overdue !== undefined || this.#refusal !== undefined || this.fuel.value < 0n || error instanceof RangeError
    );
  }

  /** Starts the calls for a batch; returns their fuel. */
  startBatch(): bigint {
    this.#spentMs = 0;
    this.#batchTime.start();
    return this.limits.batchFuel;
  }

  /** Starts the clock of calls that may be cut off. */
  enter(): void {
    this.#since = performance.now();
  }

  /** Starts calls of an adapter, which gives each its first fuel. */
  begin(account: Account): void {
    this.#account = account;
    this.#call = -1;
    this.#limit = this.limits.callFuel;
  }

  /** Has a loop return when it has used a part of its fuel; throws when time or memory of the batch are used up. */
  pause({ batchFuel, pauseAt }: Pausing): void {
    this.#checkMemory();
    if (this.#batchTime.isOver(this.#most.batchMs)) this.#end('batch');
    pauseAt.value = batchFuel.value - partFuel;
  }

  /** Counts the guest's memory as memory of users' code; returns a reason to restart when that has no room. */
  memoryRefusal(): string | undefined {
    const { exports, kit } = this.#running;
    const own = this.memoryName === undefined ? undefined : (exports[this.memoryName] as WebAssembly.Memory);
    const bytes = (own?.buffer.byteLength ?? 0) + (kit?.memory.buffer.byteLength ?? 0) + (this.files?.sizeBytes ?? 0);
    if (bytes !== this.#held) {
      this.#refusal = this.host.memory?.holds(bytes);
      if (this.#refusal === undefined) this.#held = bytes;
    }
    return this.#refusal;
  }

  #checkMemory(): void {
    const refusal = this.memoryRefusal();
    if (refusal !== undefined) throw new Error(refusal);
  }

  /** Gives the next part to a guest without fuel, or throws. */
  #refuel(): void {
    // Growing costs so much fuel that large steps ask here before the memory is touched.
    this.#checkMemory();
    const { fuel } = this;
    const account = this.#account;
    const call = account.call();
    if (call !== this.#call) {
      this.#call = call;
      this.#given = this.firstFuel;
      this.#callTime.start();
    } else this.#fit();
    const missing = -fuel.value;
    const allowed = this.#limit - this.#given;
    const most = smaller(allowed, account.batch.value);
    if (missing > most) throw new Error(noFuel);
    if (this.#isStarting) {
      if (this.#callTime.isOver(startMs)) this.#end('call');
    } else if (this.#callTime.isOver(this.#most.callMs)) this.#end('call');
    else if (this.#batchTime.isOver(this.#most.batchMs)) this.#end('batch');
    const next = missing > this.#part ? smaller(missing, most) : smaller(this.#part, most);
    this.#given += next;
    account.batch.value -= next;
    fuel.value += next;
    this.#partSince = performance.now();
  }

  /** Adapts the size of the next part to the time of the last one. */
  #fit(): void {
    const tookMs = performance.now() - this.#partSince;
    if (tookMs > longPartMs) this.#part = this.#part >> 3n > leastPart ? this.#part >> 3n : leastPart;
    else if (this.#part < partFuel) this.#part <<= 1n;
  }

  #end(what: 'call' | 'batch'): never {
    this.#overdue = what;
    throw new Error(`the ${what} took too long`);
  }

  /**
   * Fuel for the rest of a batch after a call was cut off; `left` is without the fuel of that call. Where one call does
   * not end, the next will hardly do, and other rules wait: then it is a quarter. So it is where traps have taken long,
   * since fuel does not tell how long.
   */
  leftAfter(error: unknown, left: bigint): bigint {
    this.#spentMs += performance.now() - this.#since;
    if (this.#overdue === 'batch') return 0n;
    if (this.isExhausted(error)) return left / 4n;
    const all = left + this.fuel.value;
    return this.#spentMs > slowMs ? all / 4n : all;
  }

  #open(): Running {
    const { code, host } = this;
    const spent: Fuel = {
      take: (units) => {
        this.fuel.value -= units;
        if (this.fuel.value < 0n) this.#refuel();
      },
    };
    const fuel = () => spent;
    const given = () => ({
      variables: this.#isStarting ? undefined : this.variables,
      call: this.#account.call(),
    });
    const kit = this.usesKit ? new Kit(code, host, fuel, given) : undefined;
    const memory = () => this.exports.memory as WebAssembly.Memory;
    const wasi = new Wasi({ name: code.name, memory, fuel }, code.wasi ?? {}, host, { files: this.files });
    const imports = importsOf(code, host, { memory, fuel, outcome: this.outcome, kit, wasi });
    const { exports } = new WebAssembly.Instance(this.module, imports);
    const table = exports[refuelExport] as { set(at: number, refuel: () => void): void } | undefined;
    table?.set(
      0,
      refuelFunction(() => this.#refuel()),
    );
    const running = { exports, fuel: exports[fuelExport] as { value: bigint }, asks: table !== undefined, kit };
    this.#running = running;
    const refusal = this.memoryRefusal();
    if (refusal !== undefined) throw new Error(`wasm plugin ${code.name}: ${refusal}`);
    for (const name of startsOf(exports)) {
      this.give(this.limits.batchFuel);
      this.#isStarting = true;
      try {
        (exports[name] as () => void)();
        this.#startFuel += this.used;
      } catch (error) {
        this.#startFuel += this.used;
        // A program that exits with 0 has made its functions ready.
        if (error instanceof WasiExit && error.code === 0) continue;
        const isOut = running.fuel.value < 0n && this.#overdue === undefined && this.#refusal === undefined;
        const reason = isOut ? 'it took more fuel than it may' : reasonOf(error);
        throw new Error(`wasm plugin ${code.name}: the start function failed: ${reason}`);
      } finally {
        this.#isStarting = false;
        this.#overdue = undefined;
      }
    }
    return running;
  }
}

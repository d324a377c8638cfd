/**
 * A module on a thread of its own, which takes batches one after the other. A batch that takes too long ends with the
 * thread, and the next one gets a new thread.
 */
import type { Worker } from 'node:worker_threads';
import { type CarriedColumns, checkCarried } from '../../../../kernels/values/carried.js';
import { reasonOf } from '../../../base/errors.js';
import { threadEntry } from '../../../base/program/bundle.js';
import { startThread } from '../../../base/program/heap.js';
import type { CodeHost, MemoryRoom, WasmCode } from '../../define.js';

/** A batch for the thread. */
export interface ToIsolated {
  readonly batch: number;
  readonly entry: string;
  readonly args: CarriedColumns;
  /** The columns have states behind the rows, which the function takes and gives (assembly/ops/call/states.ts). */
  readonly hasStates?: boolean | undefined;
  /** Bytes by which the memory of the module may grow. */
  readonly room?: MemoryRoom | undefined;
}

/** First data of the thread. */
export interface IsolatedStart {
  readonly code: WasmCode;
  readonly room?: MemoryRoom | undefined;
}

/** A message of the thread. */
export interface FromIsolated {
  /** Number of the batch that is done; undefined: the module is loaded. */
  readonly batch?: number;
  /** The column of results. */
  readonly results?: CarriedColumns;
  /** Why there are no results. */
  readonly failure?: string;
  readonly lines: readonly string[];
  /** Number of dropped lines. */
  readonly linesLost: number;
  readonly faults: readonly string[];
  /** Bytes of the module's memory. */
  readonly memoryBytes: number;
}

interface Batch extends ToIsolated {
  readonly signal: AbortSignal;
  done(results: CarriedColumns): void;
  fail(error: Error): void;
}

/** Batches that the thread has at once, so that it works while results of the last one are read. */
const ahead = 2;
/** Longest start of a thread with its module. */
const loadMs = 30_000;
/** Heap of JavaScript of the thread for JSON of arguments and results, MB. */
const heapMb = 512;

export class IsolatedModule {
  #worker: Worker | undefined;
  #isLoaded = false;
  /** Resolves when the module is loaded for the first time; rejects when it does not load. */
  readonly loaded: Promise<void>;
  #settle: (failure: string | undefined) => void = () => {};
  /** Why the module does not load; it is not tried again. */
  #broken: string | undefined;
  /** Batches in order; the thread has the first of them. */
  #batches: Batch[] = [];
  #sent = 0;
  #numbers = 0;
  #timer: NodeJS.Timeout | undefined;
  #since = 0;
  #isClosing = false;

  constructor(
    private readonly code: WasmCode,
    private readonly host: CodeHost,
    private readonly timeoutMs: number,
  ) {
    this.loaded = new Promise((resolve, reject) => {
      this.#settle = (failure) => (failure === undefined ? resolve() : reject(new Error(failure)));
    });
    // Without a listener a rejection would end the process.
    this.loaded.catch(() => {});
    this.#start();
  }

  get name(): string {
    return this.code.name;
  }

  /** Calls a function for each row; resolves with a column of results and errors, rejects when all rows fail. */
  ask(entry: string, args: CarriedColumns, signal: AbortSignal, hasStates?: boolean): Promise<CarriedColumns> {
    if (this.#broken !== undefined) return Promise.reject(new Error(this.#broken));
    return new Promise((done, fail) => {
      this.#batches.push({ batch: ++this.#numbers, entry, args, hasStates, signal, done, fail });
      this.#send();
    });
  }

  /** Ends the thread when all batches that are still wanted have their results. */
  close(): void {
    this.#isClosing = true;
    this.#batches = this.#batches.filter(({ signal }, i) => i < this.#sent || !signal.aborted);
    if (this.#batches.every(({ signal }) => signal.aborted)) this.#end();
  }

  #start(): void {
    const worker = startThread(threadEntry('isolate-worker.mjs', 'host/plugins/wasm/isolate/worker.ts'), {
      workerData: { code: this.code, room: this.host.memory?.room() } satisfies IsolatedStart,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#worker = worker;
    this.#isLoaded = false;
    this.#sent = 0;
    worker.unref();
    worker.on('message', (message: FromIsolated) => {
      if (this.#worker === worker) this.#take(message);
    });
    const lost = (reason: string) => {
      if (this.#worker === worker) this.#lose(reason, performance.now() - this.#since);
    };
    worker.on('error', (error) => lost(`its thread ended: ${reasonOf(error)}`));
    worker.on('exit', () => lost('its thread ended'));
    this.#watch(loadMs);
  }

  #end(): void {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
    this.host.memory?.holds(0);
  }

  /** Sends batches until the thread has its number. */
  #send(): void {
    if (!this.#isLoaded || this.#worker === undefined) return;
    for (; this.#sent < Math.min(ahead, this.#batches.length); this.#sent++) {
      const { batch, entry, args, hasStates } = this.#batches[this.#sent] as Batch;
      // A copy is sent, since the next thread gets the batch again when this one is ended.
      const room = this.host.memory?.room();
      this.#worker.postMessage({ batch, entry, args, hasStates, room } satisfies ToIsolated);
      if (this.#sent === 0) this.#watch(this.timeoutMs);
    }
  }

  #watch(ms: number): void {
    this.#since = performance.now();
    this.#arm(ms, ms);
  }

  #arm(ms: number, leftMs: number): void {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#timer = setTimeout(() => {
      // Results may have come that this thread, busy itself, has not read yet.
      setImmediate(() => setImmediate(() => this.#isLate(worker, ms)));
    }, leftMs);
    this.#timer.unref();
  }

  #isLate(worker: Worker | undefined, ms: number): void {
    if (this.#worker !== worker || worker === undefined || (this.#isLoaded && this.#sent === 0)) return;
    const tookMs = performance.now() - this.#since;
    // A timer counts from the begin of the turn in which it was set, so it may come too early.
    if (tookMs < ms) this.#arm(ms, Math.ceil(ms - tookMs));
    else this.#lose(`it took longer than ${ms} ms and was ended`, tookMs);
  }

  #take({ batch, results, failure, lines, linesLost, faults, memoryBytes }: FromIsolated): void {
    for (const line of lines) this.host.log(line);
    if (linesLost > 0) this.host.log(`${linesLost} lines were left out`);
    // Other plugins have grown meanwhile.
    const refusal = this.host.memory?.holds(memoryBytes);
    if (refusal !== undefined) {
      this.#lose(refusal, 0);
      return;
    }
    if (batch === undefined) {
      clearTimeout(this.#timer);
      this.#isLoaded = true;
      if (failure !== undefined) this.#break(failure);
      else this.#settle(undefined);
    } else {
      const first = this.#batches.shift() as Batch;
      this.#sent--;
      clearTimeout(this.#timer);
      if (this.#sent > 0) this.#watch(this.timeoutMs);
      if (results === undefined) first.fail(new Error(failure));
      else give(first, results);
    }
    // The callbacks may close this module.
    for (const fault of faults) this.host.fault(fault);
    if (this.#isClosing && this.#batches.length === 0) this.#end();
    this.#send();
  }

  /** Replaces the thread: its first batch fails, the others go to the new thread. */
  #lose(reason: string, tookMs: number): void {
    const wasLoaded = this.#isLoaded;
    this.#end();
    if (!wasLoaded) {
      this.#break(reason);
      return;
    }
    const first = this.#sent > 0 ? this.#batches.shift() : undefined;
    first?.fail(new Error(reason));
    if (!this.#isClosing || this.#batches.length > 0) this.#start();
    this.host.fault(first === undefined ? reason : `function ${first.entry}: ${reason}`, tookMs);
  }

  #break(reason: string): void {
    this.#broken = reason;
    this.#settle(reason);
    this.#end();
    for (const { fail } of this.#batches.splice(0)) fail(new Error(reason));
  }
}

function give({ args, done, fail }: Batch, results: CarriedColumns): void {
  try {
    checkCarried(results, 1, args.count);
  } catch (error) {
    fail(new Error(`its thread gave no column: ${reasonOf(error)}`));
    return;
  }
  done(results);
}

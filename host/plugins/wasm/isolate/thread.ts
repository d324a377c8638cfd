/**
 * A module on a thread of its own: batches go to it one after the other, and so do results come back. A batch that
 * takes too long is ended with the thread, and the next one finds a new thread.
 */
import type { Worker } from 'node:worker_threads';
import { type CarriedColumns, checkCarried } from '../../../../kernels/values/carried.js';
import { reasonOf } from '../../../base/errors.js';
import { threadEntry } from '../../../base/program/bundle.js';
import { startThread } from '../../../base/program/heap.js';
import type { CodeHost, MemoryRoom, WasmCode } from '../../define.js';

/** What the thread is to do. */
export interface ToIsolated {
  readonly batch: number;
  readonly entry: string;
  readonly args: CarriedColumns;
  /** What its memory may grow by. */
  readonly room?: MemoryRoom | undefined;
}

/** What the thread begins with. */
export interface IsolatedStart {
  readonly code: WasmCode;
  readonly room?: MemoryRoom | undefined;
}

/** What the thread tells. */
export interface FromIsolated {
  /** The batch that is done; undefined: the module is loaded. */
  readonly batch?: number;
  /** A column. */
  readonly results?: CarriedColumns;
  /** Why there are none. */
  readonly failure?: string;
  readonly lines: readonly string[];
  /** Lines that were left out. */
  readonly linesLost: number;
  readonly faults: readonly string[];
  /** Of its memory. */
  readonly memoryBytes: number;
}

interface Batch extends ToIsolated {
  readonly signal: AbortSignal;
  done(results: CarriedColumns): void;
  fail(error: Error): void;
}

/** Batches that the thread has: it begins the next one while the results of the last are taken. */
const ahead = 2;
/** Longest start of a thread with its module. */
const loadMs = 30_000;
/** JavaScript of the thread, MB: JSON on its way in and out. */
const heapMb = 512;

export class IsolatedModule {
  #worker: Worker | undefined;
  #isLoaded = false;
  /** Resolves when it is loaded for the first time; rejects with the reason when it does not load. */
  readonly loaded: Promise<void>;
  #settle: (failure: string | undefined) => void = () => {};
  /** Why it does not load; it is not tried again. */
  #broken: string | undefined;
  /** In order; the first of them are with the thread. */
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
    // Not everybody waits for it.
    this.loaded.catch(() => {});
    this.#start();
  }

  get name(): string {
    return this.code.name;
  }

  /**
   * Calls a function for each row; resolves with a column of results and errors, rejects with what all rows failed of.
   */
  ask(entry: string, args: CarriedColumns, signal: AbortSignal): Promise<CarriedColumns> {
    if (this.#broken !== undefined) return Promise.reject(new Error(this.#broken));
    return new Promise((done, fail) => {
      this.#batches.push({ batch: ++this.#numbers, entry, args, signal, done, fail });
      this.#send();
    });
  }

  /** Ends the thread once all have their results that still want them. */
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

  /** Gives the thread what it may have. */
  #send(): void {
    if (!this.#isLoaded || this.#worker === undefined) return;
    for (; this.#sent < Math.min(ahead, this.#batches.length); this.#sent++) {
      const { batch, entry, args } = this.#batches[this.#sent] as Batch;
      // What is sent is a copy: when the thread is ended for the batch before, the next one gets it again.
      this.#worker.postMessage({ batch, entry, args, room: this.host.memory?.room() } satisfies ToIsolated);
      if (this.#sent === 0) this.#watch(this.timeoutMs);
    }
  }

  #watch(ms: number): void {
    this.#since = performance.now();
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#timer = setTimeout(() => {
      // Results may lie here that this thread, busy itself, has not come to look at.
      setImmediate(() => setImmediate(() => this.#isLate(worker, ms)));
    }, ms);
    this.#timer.unref();
  }

  #isLate(worker: Worker | undefined, ms: number): void {
    const tookMs = performance.now() - this.#since;
    if (this.#worker !== worker || worker === undefined || tookMs < ms) return;
    if (!this.#isLoaded || this.#sent > 0) this.#lose(`it took longer than ${ms} ms and was ended`, tookMs);
  }

  #take({ batch, results, failure, lines, linesLost, faults, memoryBytes }: FromIsolated): void {
    for (const line of lines) this.host.log(line);
    if (linesLost > 0) this.host.log(`${linesLost} lines were left out`);
    // Others have grown meanwhile.
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
    // What they do may close this.
    for (const fault of faults) this.host.fault(fault);
    if (this.#isClosing && this.#batches.length === 0) this.#end();
    this.#send();
  }

  /** The thread is gone, or is to go: the batch that it was at fails, the others go to a new one. */
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

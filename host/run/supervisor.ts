/**
 * Owns the thread of the data plane: starts it when the first rule needs it, carries messages, watches its heartbeat,
 * and ends a thread that hangs. Its death never reaches the control plane: it is reported, and a new one is made when needed.
 */
import { Worker } from 'node:worker_threads';
import type { PathRules } from '../base/allowed-paths.js';
import { threadEntry } from '../base/bundle.js';
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { Heartbeat } from './heartbeat.js';
import type { RuleLatencies } from './latencies.js';
import type { Control, Report, RunStatus, RunTrouble, WorkerSettings } from './protocol.js';
import type { TableRow } from './tables.js';
import type { TraceRecord } from './trace.js';

export interface SupervisorOptions {
  log: Logger;
  coalesceMs: number;
  flushTimeoutMs: number;
  /** See `WorkerSettings`. */
  maxReconnectMs: number;
  /** See `WorkerSettings`. */
  maxMemoryBytes: number;
  /** See `WorkerSettings`. */
  maxValueBytes?: number;
  /** See `WorkerSettings`. */
  measuresAll: boolean;
  /** See `WorkerSettings`. */
  paths: PathRules;
  /** A thread without a heartbeat for so long counts as hung, ms. */
  hangMs: number;
  /** Takes what rules that are traced went through. */
  traced: (trace: TraceRecord) => void;
  /** Takes reports about runs. */
  report: (report: Report) => void;
  /** All runs of the thread are gone. `atWork` is the rule at whose work it happened, if it was one. */
  lost: (reason: string, atWork: { run: number; sharers: number } | undefined) => void;
}

interface Thread {
  worker: Worker;
  heartbeat: Heartbeat;
  watch: NodeJS.Timeout;
  exited: Promise<void>;
}

/** Chunks and reports die young; more room for them costs memory and gains no time. */
const resourceLimits = { maxYoungGenerationSizeMb: 12 };
const statusTimeoutMs = 3000;
/** A thread that starts may be silent so long, ms: on a busy machine loading its code takes seconds. */
const startMs = 30_000;

export class Supervisor {
  #thread: Thread | undefined;
  #waiting: Control[] = [];
  #seq = 0;
  readonly #asked = new Map<number, (answer: unknown) => void>();
  #isClosing = false;

  constructor(readonly options: SupervisorOptions) {}

  /** Sends a message; those of one turn of the event loop go together. */
  post(control: Control): void {
    if (this.#waiting.length === 0) {
      setImmediate(() => {
        const batch = this.#waiting;
        this.#waiting = [];
        if (!this.#isClosing) this.#running().worker.postMessage(batch);
      });
    }
    this.#waiting.push(control);
  }

  /** Asks for the figures of a run; undefined when the run is gone or the thread does not answer in time. */
  status(run: number): Promise<RunStatus | undefined> {
    return this.#ask((seq) => ({ kind: 'status', seq, run }));
  }

  /** Asks for the CPU time of all runs, µs; undefined when there is no thread or it does not answer in time. */
  cpuTimes(): Promise<[run: number, us: number][] | undefined> {
    return this.#ask((seq) => ({ kind: 'usage', seq }));
  }

  /** Asks for the memory that all runs hold, bytes; undefined as with `cpuTimes`. */
  memory(): Promise<[run: number, bytes: number][] | undefined> {
    return this.#ask((seq) => ({ kind: 'memory', seq }));
  }

  /** Asks for the times that the operators of all rules took; undefined as with `cpuTimes`. */
  latencies(): Promise<RuleLatencies[] | undefined> {
    return this.#ask((seq) => ({ kind: 'latencies', seq }));
  }

  /** Asks for what the scan tables of a run hold; undefined as with `metrics`. */
  tableRows(run: number): Promise<TableRow[] | undefined> {
    return this.#ask((seq) => ({ kind: 'tables', seq, run }));
  }

  /** Asks what went wrong in all runs, and is wrong now; undefined as above. */
  failures(): Promise<[run: number, trouble: RunTrouble][] | undefined> {
    return this.#ask((seq) => ({ kind: 'failures', seq }));
  }

  /** Ends the thread; its rules get the time given to send what they have. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosing = true;
    const thread = this.#thread;
    if (thread === undefined) return;
    clearInterval(thread.watch);
    thread.worker.postMessage([...this.#waiting.splice(0), { kind: 'close' } satisfies Control]);
    const timer = setTimeout(() => void thread.worker.terminate(), timeoutMs);
    await thread.exited;
    clearTimeout(timer);
  }

  /** Thread id of the data plane, for tests and tools; undefined when it does not run. */
  get threadId(): number | undefined {
    return this.#thread?.worker.threadId;
  }

  /** Ends the thread at once, as a crash would. */
  async kill(): Promise<void> {
    await this.#thread?.worker.terminate();
  }

  #running(): Thread {
    this.#thread ??= this.#start();
    return this.#thread;
  }

  #start(): Thread {
    const memory = Heartbeat.allocate();
    const { coalesceMs, flushTimeoutMs, maxReconnectMs, maxMemoryBytes, maxValueBytes, measuresAll, paths, log } =
      this.options;
    const settings: WorkerSettings = {
      heartbeat: memory,
      coalesceMs,
      flushTimeoutMs,
      maxReconnectMs,
      maxMemoryBytes,
      maxValueBytes,
      measuresAll,
      paths,
    };
    const worker = new Worker(threadEntry('worker.mjs', 'host/run/worker.ts'), {
      workerData: settings,
      resourceLimits,
    });
    const heartbeat = new Heartbeat(memory);
    let reason = 'the data plane ended unexpectedly';
    let exited = () => {};
    const thread: Thread = {
      worker,
      heartbeat,
      watch: this.#watch(worker, heartbeat, (ms) => {
        reason = `the data plane did not answer for ${ms} ms`;
      }),
      exited: new Promise((resolve) => {
        exited = resolve;
      }),
    };
    worker.on('message', (batch: Report[]) => {
      for (const report of batch) this.#take(report);
    });
    worker.on('error', (error) => {
      reason = `the data plane failed: ${reasonOf(error)}`;
    });
    worker.on('exit', () => {
      clearInterval(thread.watch);
      this.#thread = undefined;
      for (const seq of [...this.#asked.keys()]) this.#answer(seq, undefined);
      exited();
      if (this.#isClosing) return;
      log.error(reason);
      // What was sent to the dead thread is known to the rules, which start anew.
      this.#waiting = [];
      this.options.lost(reason, heartbeat.atWork);
    });
    return thread;
  }

  #watch(worker: Worker, heartbeat: Heartbeat, hung: (ms: number) => void): NodeJS.Timeout {
    const { hangMs } = this.options;
    let beats = -1;
    let since = performance.now();
    return setInterval(
      () => {
        const now = performance.now();
        if (heartbeat.beats !== beats) {
          beats = heartbeat.beats;
          since = now;
        } else if (now - since >= (beats === 0 ? Math.max(hangMs, startMs) : hangMs)) {
          hung(Math.round(now - since));
          void worker.terminate();
        }
      },
      Math.max(50, hangMs / 10),
    ).unref();
  }

  #take(report: Report): void {
    if (report.kind === 'status') this.#answer(report.seq, report.status);
    else if (report.kind === 'usage') this.#answer(report.seq, report.cpu);
    else if (report.kind === 'failures') this.#answer(report.seq, report.failures);
    else if (report.kind === 'memory') this.#answer(report.seq, report.bytes);
    else if (report.kind === 'latencies') this.#answer(report.seq, report.rules);
    else if (report.kind === 'tables') this.#answer(report.seq, report.rows);
    else if (report.kind === 'trace') this.options.traced(report.trace);
    else this.options.report(report);
  }

  /** Sends a question; the thread's answer to it is of the type that the caller expects. */
  #ask<T>(question: (seq: number) => Control): Promise<T | undefined> {
    if (this.#thread === undefined) return Promise.resolve(undefined);
    const seq = ++this.#seq;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#answer(seq, undefined), statusTimeoutMs);
      this.#asked.set(seq, (answer) => {
        clearTimeout(timer);
        resolve(answer as T | undefined);
      });
      this.post(question(seq));
    });
  }

  #answer(seq: number, answer: unknown): void {
    this.#asked.get(seq)?.(answer);
    this.#asked.delete(seq);
  }
}

/** One run of a program, from the side of the data plane: its pipes, its bounds and its end. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { reasonOf } from '../../../base/errors.js';
import { threadEntry } from '../../../base/program/bundle.js';
import { startThread } from '../../../base/program/heap.js';
import type { ProgramEnd, ProgramOptions, RunningProgram } from '../../../base/structures/piped-program.js';
import { ringMemory } from '../../../base/structures/ring.js';
import type { CommandCode } from '../../define.js';
import { Pipe } from './pipe.js';
import { CommandState } from './state.js';
import type { CommandStart, FromCommand } from './worker.js';

interface ThreadHost {
  log(line: string): void;
  /** Counts the memory of the threads; returns a reason when that has no room. */
  holds(): string | undefined;
  over(): void;
}

const pipeBytes = 1 << 18;
/** Longest start of a thread with its module. */
const loadMs = 30_000;
/** Pause between two looks at a thread, at most. */
const lookMs = 1000;
/** Time without output after which the data plane is woken by the next one, and pause between two looks before, ms. */
const quietMs = 5;
const lookAgainMs = 1;
/** Time that a program without further input gets to end, ms. */
const retireMs = 3000;
/** Heap of JavaScript of the thread, MB. */
const heapMb = 64;

export class CommandThread implements RunningProgram {
  /** Resolves when the program runs; rejects with the reason when it does not load. */
  readonly loaded: Promise<void>;
  end: ProgramEnd | undefined;
  readonly #worker: Worker;
  readonly #state = new CommandState();
  readonly #input: Pipe;
  readonly #output: Pipe | undefined;
  readonly #title: string;
  readonly #timer: NodeJS.Timeout;
  #isLoaded = false;
  #settle: (failure: string | undefined) => void = () => {};
  #wake: () => void = () => {};
  #readAt = 0;
  #handled = 0;
  #handledCount = 0;
  #seenCalls = -1;
  #seenAt = performance.now();

  constructor(
    private readonly code: CommandCode,
    private readonly options: ProgramOptions,
    private readonly host: ThreadHost,
  ) {
    this.#title = `wasm plugin ${code.name}`;
    this.loaded = new Promise((resolve, reject) => {
      this.#settle = (failure) => (failure === undefined ? resolve() : reject(new Error(failure)));
    });
    const [input, output] = [ringMemory(pipeBytes), options.hasOutput ? ringMemory(pipeBytes) : undefined];
    this.#input = new Pipe(input);
    this.#output = output && new Pipe(output);
    // A source gets nothing.
    if (options.hasOutput) this.#input.end();
    const { args } = options;
    const workerData = { code, args, input, output, state: this.#state.shared } satisfies CommandStart;
    this.#worker = startThread(threadEntry('command-worker.mjs', 'host/plugins/wasm/command/worker.ts'), {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    this.#worker.unref();
    this.#worker.on('message', (message: FromCommand) => this.#take(message));
    this.#worker.on('error', (error) => this.finish(`its thread ended: ${reasonOf(error)}`));
    this.#worker.on('exit', () => this.finish('its thread ended'));
    this.#timer = setInterval(() => this.#look(), Math.min(lookMs, code.timeoutMs)).unref();
  }

  get memoryBytes(): number {
    return this.end === undefined ? this.#state.memoryBytes : 0;
  }

  read(): Uint8Array {
    const bytes = new Uint8Array(this.#output?.available ?? 0);
    this.#output?.readInto(bytes);
    this.#readAt = performance.now();
    return bytes;
  }

  async whenOutput(): Promise<boolean> {
    for (;;) {
      const isQuiet = performance.now() - this.#readAt >= quietMs;
      if (isQuiet) this.#output?.await();
      if ((this.#output?.available ?? 0) > 0) return true;
      if (this.end !== undefined) return false;
      // A message for each line would cost more than the line: one that prints much is looked at now and then.
      if (!isQuiet) await pause(lookAgainMs);
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  write(bytes: Uint8Array): number {
    // Asked before: the program may have read all of it by the time that the write is over.
    this.#input.await();
    return this.end === undefined ? this.#input.write(bytes) : 0;
  }

  get handled(): number {
    this.#input.await();
    const now = this.#input.handled;
    this.#handled += (now - this.#handledCount) | 0;
    this.#handledCount = now;
    return this.#handled;
  }

  endInput(): void {
    this.#input.end();
  }

  stop(): void {
    this.finish('it was stopped');
  }

  /** Ends its input, and the thread for this reason when it does not end by that. */
  retire(reason: string): void {
    this.#input.end();
    if (this.options.hasOutput) this.finish(reason);
    else setTimeout(() => this.finish(reason), retireMs).unref();
  }

  /** Ends the thread, for this reason if it has not ended yet. */
  finish(reason: string, isOrderly = false): void {
    if (this.end !== undefined) return;
    this.end = { reason: `${this.#title}: ${reason}`, isOrderly };
    clearInterval(this.#timer);
    void this.#worker.terminate();
    this.#settle(this.#isLoaded ? undefined : this.end.reason);
    this.host.over();
    this.#wake();
    this.options.progressed?.();
  }

  #take({ line, linesLost, isLoaded, exit, failure }: FromCommand): void {
    if (this.end !== undefined) return;
    if (line !== undefined) this.host.log(line);
    else if (linesLost !== undefined) this.host.log(`${linesLost} lines were left out`);
    else if (isLoaded) {
      this.#isLoaded = true;
      this.#settle(undefined);
    } else if (exit !== undefined) this.finish(`it has ended itself with exit code ${exit}`, exit === 0);
    else if (failure !== undefined) this.finish(failure);
    else {
      this.#wake();
      this.options.progressed?.();
    }
  }

  /** Ends a thread that takes too much memory, or computes for too long without a call of the system. */
  #look(): void {
    const refusal = this.host.holds();
    if (refusal !== undefined) {
      this.finish(refusal);
      return;
    }
    const { calls, isWaiting } = this.#state;
    const now = performance.now();
    if (isWaiting || calls !== this.#seenCalls) {
      [this.#seenCalls, this.#seenAt] = [calls, now];
      return;
    }
    const longest = this.#isLoaded ? this.code.timeoutMs : Math.max(loadMs, this.code.timeoutMs);
    if (now - this.#seenAt <= longest) return;
    this.finish(
      this.#isLoaded
        ? `it neither read nor wrote for ${longest} ms and was ended (plugin.wasm.isolateTimeout)`
        : `it did not start within ${longest} ms`,
    );
  }
}

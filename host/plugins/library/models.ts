/** Functions over models of ONNX: a thread of its own runs them, since a model may take its time. */
import type { Worker } from 'node:worker_threads';
import type { Value } from '../../../kernels/values/value.js';
import { threadEntry } from '../../base/program/bundle.js';
import { startThread } from '../../base/program/heap.js';
import type { RowCode } from '../define.js';
import type { FromModels, ToModels } from './models-worker.js';

/** Longest run of a model before its thread is ended, ms. */
const longestRunMs = 30_000;

interface Call {
  readonly args: readonly Value[];
  readonly done: (value: Value) => void;
  readonly failed: (reason: Error) => void;
}

/** Resolves when the thread has loaded the runtime; rejects as the import of the runtime does. */
export async function openModels(folder: string): Promise<RowCode> {
  const models = new Models(folder);
  await models.loaded;
  return {
    atOnce: 64,
    call: (_entry, args) => models.call(args),
    close: () => models.close(),
  };
}

class Models {
  #worker: Worker | undefined;
  /** Calls in the order in which the thread runs them. */
  readonly #calls = new Map<number, Call>();
  #number = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly loaded: Promise<void>;

  constructor(private readonly folder: string) {
    this.loaded = this.#start();
  }

  #start(): Promise<void> {
    const worker = startThread(threadEntry('models-worker.mjs', 'host/plugins/library/models-worker.ts'), {
      workerData: { folder: this.folder },
    });
    this.#worker = worker;
    worker.unref();
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromModels) => {
        if (message.kind === 'loaded') resolve();
        else if (message.kind === 'missing') reject(Object.assign(new Error(message.reason), { code: message.code }));
        else this.#answered(message);
      });
      worker.on('error', (error) => this.#lost(worker, error.message));
      worker.on('exit', () => {
        reject(new Error('the thread of models has ended'));
        this.#lost(worker, 'the thread of models has ended');
      });
    });
  }

  call(args: readonly Value[]): Promise<Value> {
    if (this.#isClosed) return Promise.reject(new Error('the models are closed'));
    if (this.#worker === undefined) this.#start().catch(() => {});
    return new Promise((done, failed) => {
      const number = ++this.#number;
      this.#calls.set(number, { args, done, failed });
      this.#worker?.postMessage({ number, args } satisfies ToModels);
      if (this.#calls.size === 1) this.#watch();
    });
  }

  #answered(message: Extract<FromModels, { kind: 'value' | 'failed' }>): void {
    const call = this.#calls.get(message.number);
    this.#calls.delete(message.number);
    this.#watch();
    if (message.kind === 'value') call?.done(message.value);
    else call?.failed(new Error(message.reason));
  }

  /** Ends the thread when the first of its calls takes too long. */
  #watch(): void {
    clearTimeout(this.#timer);
    if (this.#calls.size === 0) return;
    this.#timer = setTimeout(() => {
      const worker = this.#worker;
      if (worker === undefined) return;
      this.#lost(worker, `the model took longer than ${longestRunMs / 1000} s`);
      void worker.terminate();
    }, longestRunMs);
  }

  /** The thread is of no use any more: its first call fails, another thread gets the others. */
  #lost(worker: Worker, reason: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    clearTimeout(this.#timer);
    const [first, ...others] = this.#calls.values();
    this.#calls.clear();
    first?.failed(new Error(reason));
    for (const { args, done, failed } of others) this.call(args).then(done, failed);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = undefined;
    for (const { failed } of this.#calls.values()) failed(new Error('the models are closed'));
    this.#calls.clear();
    void worker?.terminate();
  }
}

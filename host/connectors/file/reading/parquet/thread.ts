/**
 * The thread that reads Parquet files. What is hostile in a file costs that file alone: a loop ends at a time limit,
 * and memory that runs out is that of the thread.
 */
import type { Worker } from 'node:worker_threads';
import { threadEntry } from '../../../../base/program/bundle.js';
import { startThread } from '../../../../base/program/heap.js';

/** More than the values of a row group may take. */
const mostHeapMb = 4096;
/** Limit of the time that a row group takes, ms. */
const usualMs = 120_000;

/** A file to read from a row on, or the order to go on with it. */
export type ToParquet = { readonly fd: number; readonly size: number; readonly from: number } | 'more';

/** Rows one after the other, and the place at which each ends. */
export interface ParquetPart {
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
}

export type FromParquet = ParquetPart | { readonly isOver: true } | { readonly failure: string };

interface Asked {
  take(answer: FromParquet): void;
  fail(error: Error): void;
}

export class ParquetThread {
  #worker: Worker | undefined;
  #asked: Asked | undefined;

  constructor(readonly timeoutMs = usualMs) {}

  /**
   * Rows of an open file from a number on. It may be closed when they end. @param until waits for an event, or until
   * no more rows are wanted
   */
  async *rows(
    fd: number,
    size: number,
    from: number,
    until: (event: Promise<void>) => Promise<void>,
  ): AsyncGenerator<Iterable<Uint8Array>> {
    for (let order: ToParquet = { fd, size, from }; ; order = 'more') {
      let answer: FromParquet | undefined;
      const asked = this.#ask(order).then((given) => {
        answer = given;
      });
      // It fails when the thread ends, whether or not somebody waits.
      asked.catch(() => {});
      await until(asked);
      // Nothing reads in a file that is closed.
      if (answer === undefined) await this.end();
      if (answer === undefined || 'isOver' in answer) return;
      if ('failure' in answer) throw new Error(answer.failure);
      yield rowsIn(answer);
    }
  }

  /** The next file that is read starts another thread. */
  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#asked?.fail(new Error('reading was stopped'));
    this.#asked = undefined;
    await worker?.terminate();
  }

  async #ask(order: ToParquet): Promise<FromParquet> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<FromParquet>((resolve, reject) => {
        this.#asked = { take: resolve, fail: reject };
        timer = setTimeout(() => reject(new Error(`reading took more than ${this.timeoutMs} ms`)), this.timeoutMs);
        this.#worker ??= this.#start();
        this.#worker.postMessage(order);
      });
    } catch (error) {
      await this.end();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #start(): Worker {
    const entry = threadEntry('parquet-worker.mjs', 'host/connectors/file/reading/parquet/worker.ts');
    const worker = startThread(entry, { resourceLimits: { maxOldGenerationSizeMb: mostHeapMb } });
    worker.on('message', (answer: FromParquet) => this.#asked?.take(answer));
    const fail = (error: Error) => {
      if (this.#worker === worker) this.#asked?.fail(error);
    };
    worker.once('error', (error) => {
      const isFull = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      fail(isFull ? new Error(`reading takes more than ${mostHeapMb} MB of memory`, { cause: error }) : error);
    });
    worker.once('exit', () => fail(new Error('the thread that reads the file ended')));
    return worker;
  }
}

function* rowsIn({ bytes, ends }: ParquetPart): Generator<Uint8Array> {
  let from = 0;
  for (const end of ends) {
    yield bytes.subarray(from, end);
    from = end;
  }
}

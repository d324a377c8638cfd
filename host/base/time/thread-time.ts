/**
 * Time that the processor has worked for one thing, which a busy machine does not make longer as it does that of the
 * clock.
 */
import { openSync, readSync } from 'node:fs';

/** File of Linux whose first number is the run time of this thread, nanoseconds. */
const counter = '/proc/thread-self/schedstat';
/** Part of a limit for which the clock alone is trusted, since reading the counter takes some microseconds. */
const unlooked = 1 / 8;

let file: number | undefined | null;
const text = Buffer.alloc(64);

/** Run time of this thread, ms; where the system has no counter, the run time of the process. */
function threadMs(): number {
  if (file === undefined) {
    try {
      file = openSync(counter, 'r');
    } catch {
      file = null;
    }
  }
  if (file !== null) {
    const length = readSync(file, text, 0, text.length, 0);
    const nanos = Number.parseInt(text.toString('latin1', 0, length), 10);
    if (nanos > 0) return nanos / 1e6;
  }
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export class Stopwatch {
  #began = 0;
  #counted: number | undefined;

  start(): void {
    this.#began = performance.now();
    this.#counted = undefined;
  }

  /** Tells that this thread has worked for `limitMs` since the start; it should be asked several times until then. */
  isOver(limitMs: number): boolean {
    const passed = performance.now() - this.#began;
    if (passed < limitMs * unlooked) return false;
    if (this.#counted === undefined) {
      this.#counted = threadMs();
      return false;
    }
    return passed >= limitMs && threadMs() - this.#counted >= limitMs * (1 - unlooked);
  }
}

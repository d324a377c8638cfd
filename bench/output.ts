/** Reads a growing result file and gives its complete lines to a checker. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { pause } from './process.js';
import type { Checker } from './workloads/workload.js';

const CHUNK = 4 << 20;

/** Bytes in the file, 0 when it does not exist yet. */
export function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}

/** Waits until the file has not grown for `quietMs`; returns when it grew last (performance.now()). */
export async function lastGrowth(file: string, quietMs: number): Promise<number> {
  let size = sizeOf(file);
  let at = performance.now();
  while (performance.now() - at < quietMs) {
    await pause(10);
    const now = sizeOf(file);
    if (now !== size) {
      size = now;
      at = performance.now();
    }
  }
  return at;
}

/** Reads a result file from its start, again and again as it grows. */
export class ResultFile {
  private fd = -1;
  private buffer = Buffer.allocUnsafe(CHUNK);
  private kept = 0;

  constructor(private readonly file: string) {}

  /** Feeds new lines to the checker until it accounts for `count` messages, or `settleMs` pass without growth. */
  async feed(checker: Checker, count: number, settleMs: number): Promise<void> {
    let quietSince = performance.now();
    for (;;) {
      if (this.fd < 0 && existsSync(this.file)) this.fd = openSync(this.file, 'r');
      if (this.readInto(checker)) quietSince = performance.now();
      else {
        if (this.kept === 0 && checker.accounted >= count) return;
        if (performance.now() - quietSince > settleMs) return;
        await pause(20);
      }
    }
  }

  /** Feeds a last line that has no line feed, and closes the file. */
  close(checker: Checker): void {
    if (this.kept > 0) {
      this.buffer[this.kept] = 10;
      checker.lines(this.buffer.subarray(0, this.kept + 1));
    }
    if (this.fd >= 0) closeSync(this.fd);
    this.fd = -1;
  }

  /** Reads one piece; false when there is nothing new. */
  private readInto(checker: Checker): boolean {
    if (this.fd < 0) return false;
    if (this.kept + 1 >= this.buffer.length) {
      const larger = Buffer.allocUnsafe(this.buffer.length * 2);
      this.buffer.copy(larger, 0, 0, this.kept);
      this.buffer = larger;
    }
    const got = readSync(this.fd, this.buffer, this.kept, this.buffer.length - this.kept - 1, null);
    if (got === 0) return false;
    const filled = this.kept + got;
    const end = this.buffer.lastIndexOf(10, filled - 1) + 1;
    if (end > 0) checker.lines(this.buffer.subarray(0, end));
    this.buffer.copy(this.buffer, 0, end, filled);
    this.kept = filled - end;
    return true;
  }
}

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

/** Feeds the file to the checker until it accounts for `count` messages, or `settleMs` pass without growth. */
export async function checkFile(file: string, checker: Checker, count: number, settleMs: number): Promise<void> {
  while (!existsSync(file)) {
    if (settleMs <= 0) return;
    await pause(50);
    settleMs -= 50;
  }
  const fd = openSync(file, 'r');
  try {
    let buffer = Buffer.allocUnsafe(CHUNK);
    let kept = 0;
    let quietSince = performance.now();
    for (;;) {
      if (kept === buffer.length) {
        const larger = Buffer.allocUnsafe(buffer.length * 2);
        buffer.copy(larger, 0, 0, kept);
        buffer = larger;
      }
      const got = readSync(fd, buffer, kept, buffer.length - kept, null);
      if (got === 0) {
        if (kept === 0 && checker.accounted >= count) return;
        if (performance.now() - quietSince > settleMs) return;
        await pause(20);
        continue;
      }
      quietSince = performance.now();
      const end = buffer.lastIndexOf(10, kept + got - 1) + 1;
      if (end > 0) checker.lines(buffer.subarray(0, end));
      buffer.copy(buffer, 0, end, kept + got);
      kept = kept + got - end;
    }
  } finally {
    closeSync(fd);
  }
}

/** Other processes that use a file, where the system tells them (Linux); nobody elsewhere. */
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

/** The system tells which processes have a file open. */
export const seesProcesses = existsSync('/proc/self/fd');

export interface Holder {
  readonly pid: number;
  /** Name of its program. */
  readonly name: string;
}

/** Processes that have the file open. Those of other users are seen by root alone. */
export function openersOf(path: string): Holder[] {
  const holders: Holder[] = [];
  for (const pid of numbersIn('/proc')) {
    if (pid === process.pid) continue;
    const isOpen = numbersIn(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === path);
    if (isOpen) holders.push({ pid, name: nameOf(pid) });
  }
  return holders;
}

/** Whether this process has the file open more than once: in another thread, as well. */
export function isOpenTwice(path: string): boolean {
  return numbersIn('/proc/self/fd').filter((fd) => linkOf(`/proc/self/fd/${fd}`) === path).length > 1;
}

/** The process that has a native lock on the file: it is within a transaction. */
export function lockerOf(path: string): Holder | undefined {
  const inode = statSync(path, { throwIfNoEntry: false })?.ino;
  if (inode === undefined) return undefined;
  let table: string;
  try {
    table = readFileSync('/proc/locks', 'utf8');
  } catch {
    return undefined;
  }
  for (const line of table.split('\n')) {
    // 1: POSIX ADVISORY WRITE pid major:minor:inode start end
    const [, , , , pid, file] = line.trim().split(/\s+/);
    if (file?.split(':')[2] === String(inode) && Number(pid) !== process.pid)
      return { pid: Number(pid), name: nameOf(Number(pid)) };
  }
  return undefined;
}

function numbersIn(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

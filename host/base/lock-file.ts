/** A lock on a folder: one process at a time, named by its pid; a lock left behind by a dead process is taken over. */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { HaumeaError, reasonOf } from './errors.js';

export interface FolderLock {
  close(): void;
}

interface Holder {
  readonly pid: number;
  /** When the process started, in the system's own form; tells a reused pid from the process that took the lock. */
  readonly started: string;
}

/** Takes the lock `path`; throws a `general` error with the pid of the process that holds it, or why none can be taken. */
export function lockFolder(path: string): FolderLock {
  const own: Holder = { pid: process.pid, started: startOf(process.pid) };
  const text = JSON.stringify(own);
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, text);
    while (!linked(temporary, path)) removeStale(path);
  } catch (error) {
    if (error instanceof HaumeaError) throw error;
    throw new HaumeaError('general', `the data folder can't be locked: ${reasonOf(error)}`, { cause: error });
  } finally {
    rmSync(temporary, { force: true });
  }
  return {
    close: () => {
      if (readLock(path)?.text === text) rmSync(path, { force: true });
    },
  };
}

/** A hard link appears with its content in one step, or not at all when the name is taken. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function removeStale(path: string): void {
  const lock = readLock(path);
  if (lock === undefined) return;
  const { holder } = lock;
  if (holder !== undefined && isAlive(holder)) {
    throw new HaumeaError('general', `the data folder is in use by process ${holder.pid} (lock file ${path})`);
  }
  // Renaming decides between two processes that find the same stale lock.
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  // Somebody took over between reading and renaming: give the lock back.
  if (readFileSync(aside, 'utf8') !== lock.text) linked(aside, path);
  rmSync(aside, { force: true });
}

function readLock(path: string): { text: string; holder: Holder | undefined } | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { pid, started } = JSON.parse(text) as Partial<Holder>;
    return { text, holder: typeof pid === 'number' && typeof started === 'string' ? { pid, started } : undefined };
  } catch {
    return { text, holder: undefined };
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    // EPERM: there is such a process, it belongs to somebody else.
    if (codeOf(error) !== 'EPERM') return false;
  }
  return startOf(holder.pid) === holder.started;
}

/** Start time of a process where the system tells it (clock ticks since boot, field 22 of stat), otherwise empty. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

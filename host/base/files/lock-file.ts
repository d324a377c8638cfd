/**
 * A lock on a folder: one process at a time, named by its pid; a lock left behind by a dead process is taken over. A
 * process that is dead but not yet collected by its parent (a zombie) holds nothing; one that is just ending is waited
 * for, for as long as it says in its lock that it may take.
 */
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { HaumeaError, reasonOf } from '../errors.js';
import { fileErrors } from './errors.js';

export interface FolderLock {
  /** Notes in the lock that this process stops within `maxMs`, so that others may wait for it. */
  stopping(maxMs: number): void;
  close(): void;
}

interface Holder {
  readonly pid: number;
  /** When the process started, in the system's own form; tells a reused pid from the process that took the lock. */
  readonly started: string;
  /** Longest time that the stop of the process may take, ms; set while it is stopping. */
  readonly stopMs?: number;
}

export interface LockOptions {
  /** Longest wait for the holder of the lock, ms; added to the time that a stopping holder may take. */
  readonly waitMs?: number;
  /** Called once before waiting, and when the holder begins to stop, with the longest time that it may take, ms. */
  readonly onWait?: (pid: number, stopMs?: number) => void;
}

/** Pause between two looks at the holder, ms. */
const lookMs = 50;

/**
 * Takes the lock `path`. Throws a `general` error with the pid of the process that holds it after the time to wait, or
 * why none can be taken.
 */
export async function lockFolder(path: string, { waitMs = 0, onWait }: LockOptions = {}): Promise<FolderLock> {
  const own: Holder = { pid: process.pid, started: statOf(process.pid).started };
  const begin = performance.now();
  let text = JSON.stringify(own);
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, text);
    let end = begin + waitMs;
    let told: string | undefined;
    while (!linked(temporary, path)) {
      const holder = removeStale(path);
      if (holder === undefined) continue;
      const { pid, stopMs } = holder;
      const state = `${pid} ${stopMs}`;
      if (stopMs !== undefined && state !== told) end = Math.max(end, performance.now() + stopMs + waitMs);
      // The holder may be this process, which can't end while it waits here.
      if (pid === process.pid || performance.now() >= end) throw inUse(path, holder, end - begin);
      if (state !== told) onWait?.(pid, stopMs);
      told = state;
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  } catch (error) {
    if (error instanceof HaumeaError) throw error;
    throw fileErrors.notLocked(reasonOf(error), { cause: error });
  } finally {
    rmSync(temporary, { force: true });
  }
  return {
    stopping: (maxMs) => {
      if (readLock(path)?.text !== text) return;
      text = JSON.stringify({ ...own, stopMs: maxMs });
      try {
        writeFileSync(temporary, text);
        renameSync(temporary, path);
      } finally {
        rmSync(temporary, { force: true });
      }
    },
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

function inUse(path: string, { pid }: Holder, waitMs: number): HaumeaError {
  const waited = waitMs > 0 ? `, which did not end within ${Number((waitMs / 1000).toFixed(1))} s` : '';
  return fileErrors.inUse(pid, waited, path);
}

/** Removes a lock that nobody holds any more; returns the holder of a lock that is held. */
function removeStale(path: string): Holder | undefined {
  const lock = readLock(path);
  if (lock === undefined) return undefined;
  const { holder } = lock;
  if (holder !== undefined && isAlive(holder)) return holder;
  // Renaming decides between two processes that find the same stale lock.
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  // Somebody took over between reading and renaming: give the lock back.
  if (readFileSync(aside, 'utf8') !== lock.text) linked(aside, path);
  rmSync(aside, { force: true });
  return undefined;
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
    const { pid, started, stopMs } = JSON.parse(text) as Partial<Holder>;
    if (typeof pid !== 'number' || typeof started !== 'string') return { text, holder: undefined };
    return { text, holder: { pid, started, ...(typeof stopMs === 'number' ? { stopMs } : {}) } };
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
  const { started, state } = statOf(holder.pid);
  return started === holder.started && !(deadStates.includes(state) && threadsOf(holder.pid) <= 1);
}

/**
 * Zombies, and what is left of a process for a moment: they have no files open any more, unless a thread is still
 * ending.
 */
const deadStates = ['Z', 'X', 'x'];

function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length;
  } catch {
    return 0;
  }
}

/** State and start time of a process (clock ticks since boot) where the system tells them, otherwise empty. */
function statOf(pid: number): { state: string; started: string } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before may hold blanks and brackets; fields 3 and 22 of the line.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', started: fields[19] ?? '' };
  } catch {
    return { state: '', started: '' };
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

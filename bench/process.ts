/** Processes of a benchmark: started pinned to a core where the system allows, watched through /proc. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

const canPin = process.platform === 'linux' && cpus().length > 1 && spawnSync('taskset', ['--version']).status === 0;

/** Core of the engine under test, and the cores of everything else; null where pinning is not possible. */
export const cores = canPin ? { engine: cpus().length - 1, others: `0-${cpus().length - 2}` } : null;

/** Starts `node` with the arguments on the core given, or wherever the system likes. */
export function startNode(
  args: string[],
  core: 'engine' | 'others' | 'anywhere',
  env: Record<string, string>,
  withIpc: boolean,
): ChildProcess {
  const command =
    cores && core !== 'anywhere'
      ? ['taskset', '-c', core === 'engine' ? String(cores.engine) : cores.others, process.execPath, ...args]
      : [process.execPath, ...args];
  return spawn(command[0] as string, command.slice(1), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(withIpc ? (['ipc'] as const) : [])],
  });
}

/** Milliseconds of CPU that the process has used, all threads; NaN where /proc does not tell. */
export function cpuMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return Number.NaN;
  }
}

/** As `cpuMs`, of the main thread alone; more exact than the sum. */
export function mainThreadMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return Number.NaN;
  }
}

/** Resident memory now and at its peak, bytes. */
export function memoryOf(pid: number): { now: number; peak: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kib = (key: string): number => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN);
    return { now: kib('VmRSS') * 1024, peak: kib('VmHWM') * 1024 };
  } catch {
    return { now: Number.NaN, peak: Number.NaN };
  }
}

/** Ends the process, by force after three seconds. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), 3000);
  await ended;
  clearTimeout(force);
}

/** Resolves after so many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

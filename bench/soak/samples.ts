/** Samples taken every few seconds from outside: the system's figures of the process, its folder, its metrics. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ChaosEngine } from '../chaos/engine.js';
import { cpuMs, memoryOf } from '../process.js';
import type { BlockFigure, Bound } from './trend.js';

/** Figures of one look, NaN where the system does not tell. */
export type Sample = Readonly<Record<string, number>>;

const mb = 1 << 20;
/** Measures that must not grow. */
export const measures: readonly {
  readonly name: string;
  readonly title: string;
  readonly unit: 'MB' | 'ms' | '';
  readonly figure: BlockFigure;
  readonly bound: Bound;
}[] = [
  { name: 'rss', title: 'resident memory', unit: 'MB', figure: 'mean', bound: { part: 0.03, least: 4 * mb } },
  { name: 'heapControl', title: 'heap, control plane', unit: 'MB', figure: 'low', bound: { part: 0.03, least: mb } },
  { name: 'heapData', title: 'heap, data plane', unit: 'MB', figure: 'low', bound: { part: 0.03, least: mb } },
  {
    name: 'buffersControl',
    title: 'buffers, control plane',
    unit: 'MB',
    figure: 'low',
    bound: { part: 0.1, least: mb },
  },
  { name: 'buffersData', title: 'buffers, data plane', unit: 'MB', figure: 'low', bound: { part: 0.1, least: mb } },
  { name: 'kernel', title: 'kernel, in use', unit: 'MB', figure: 'mean', bound: { part: 0.03, least: mb / 4 } },
  { name: 'kernelTotal', title: 'kernel, memory', unit: 'MB', figure: 'mean', bound: { part: 0.03, least: mb } },
  { name: 'threads', title: 'threads', unit: '', figure: 'mean', bound: { part: 0, least: 1 } },
  { name: 'files', title: 'open files', unit: '', figure: 'mean', bound: { part: 0.05, least: 2 } },
  { name: 'diskFiles', title: 'files on disk', unit: '', figure: 'mean', bound: { part: 0.05, least: 4 } },
  { name: 'disk', title: 'bytes on disk', unit: 'MB', figure: 'mean', bound: { part: 0.05, least: mb } },
  { name: 'late', title: 'windows, late by', unit: 'ms', figure: 'mean', bound: { part: 0.25, least: 20 } },
  { name: 'rest', title: 'REST, answer after', unit: 'ms', figure: 'mean', bound: { part: 0.25, least: 20 } },
];

/** Sizes of the files in a folder and below, by path. */
export function filesIn(folder: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // Meanwhile the file may have been removed.
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (size !== undefined) sizes.set(path, size);
  }
  return sizes;
}

/** Takes a sample of the engine; figures that can't be had now are NaN. */
export async function look(
  engine: ChaosEngine,
  folder: string,
): Promise<{ sample: Sample; sizes: Map<string, number> }> {
  const began = performance.now();
  const metrics = await engine.call('GET', '/ping').then(
    () => performance.now() - began,
    () => Number.NaN,
  );
  const text = await engine.call('GET', '/metrics').catch(() => '');
  const { pid } = engine.process;
  const sizes = sizesIn(folder);
  const of = (name: string, thread: string) => {
    const [, value] = new RegExp(`^${name}\\{thread="${thread}"\\} (\\S+)$`, 'm').exec(text) ?? [];
    return Number(value ?? Number.NaN);
  };
  const sample: Sample = {
    rss: memoryOf(pid).now,
    heapControl: of('kuiper_heap_bytes', 'control'),
    heapData: of('kuiper_heap_bytes', 'data_0'),
    buffersControl: of('kuiper_buffer_bytes', 'control'),
    buffersData: of('kuiper_buffer_bytes', 'data_0'),
    kernel: of('kuiper_kernel_used_bytes', 'data_0'),
    kernelTotal: of('kuiper_kernel_memory_bytes', 'data_0'),
    threads: countIn(`/proc/${pid}/task`),
    files: countIn(`/proc/${pid}/fd`),
    diskFiles: sizes.size,
    disk: [...sizes.values()].reduce((sum, size) => sum + size, 0),
    rest: metrics,
    cpuMs: cpuMs(pid),
  };
  return { sample, sizes };
}

function sizesIn(folder: string): Map<string, number> {
  try {
    return filesIn(folder);
  } catch {
    // A folder went away while it was read.
    return new Map();
  }
}

function countIn(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return Number.NaN;
  }
}

/** Load of the machine, of all that runs on it. */
export function loadOfMachine(): number {
  try {
    return Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[0]);
  } catch {
    return Number.NaN;
  }
}

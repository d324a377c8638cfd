/** What the lines of the benchmark do, and what comes of a turn. */
import { fileURLToPath } from 'node:url';

export interface Job {
  readonly name: string;
  readonly kind: 'function' | 'source' | 'sink';
  /** Rows of a turn. */
  readonly rows: number;
  /** Calls of the function that are under way at once. */
  readonly callsAtOnce?: number;
  /** Rows a second that are aimed at. */
  readonly atLeast?: number;
}

export const jobs: readonly Job[] = [
  { name: 'python function', kind: 'function', rows: 40_000, atLeast: 20_000 },
  { name: 'python function, 4 calls at once', kind: 'function', rows: 40_000, callsAtOnce: 4, atLeast: 20_000 },
  { name: 'python source', kind: 'source', rows: 100_000, atLeast: 50_000 },
  { name: 'python sink', kind: 'sink', rows: 100_000 },
];

/** Rows a second of wall time, processor time of a row. */
export interface Figures {
  readonly perSecond: number;
  readonly engineUs: number;
  /** Of the plugin. */
  readonly pluginUs: number;
}

export const pluginProgram = fileURLToPath(new URL('plugin.py', import.meta.url));

/** Names that the plugin has; the SDK makes the paths of its sockets of them. */
export const names = {
  plugin: 'bench_portable',
  function: 'bench_twice',
  source: 'bench_count',
  sink: 'bench_total',
} as const;

export function sourceProps({ rows }: Job): Record<string, unknown> {
  return { rows };
}

export function sinkRow(n: number): string {
  return `{"n":${n},"device":"d1","temperature":21.5}`;
}

/** What is known of a run: the figures that a data plane collects and the control plane shows. */
import type { Histogram } from '../../kernels/values/histogram.js';

export { type Histogram, latencyBounds } from '../../kernels/values/histogram.js';

/** Totals, and figures of each operator, by the names that the status shows. */
export type Metrics = Record<string, number | string>;

/** How a run does. */
export interface RunStatus {
  readonly metrics: Metrics;
  /** What keeps it waiting, and whom it keeps waiting; empty when nothing does. */
  readonly message: string;
  /** What is wrong with it now, a sentence each. */
  readonly troubles: readonly string[];
}

/** Why an operator failed last, and how often it has. */
export interface Failure {
  reason: string;
  total: number;
}

/** What went wrong in a run, and what is wrong now. */
export interface RunTrouble {
  readonly failure: Failure | undefined;
  /** A sentence each. */
  readonly troubles: readonly string[];
}

/** What a source or sink exchanged with the other side. */
export interface IoFigures {
  /** Connector. */
  readonly type: string;
  readonly io: 'source' | 'sink';
  /** Name of the operator in the status. */
  readonly operator: string;
  /** Messages. */
  readonly done: number;
  readonly failed: number;
}

/** Times that the operators of a rule took, and what its sources and sinks exchanged with the world outside. */
export interface RuleLatencies {
  readonly run: number;
  /** By operator, named as in the status; of a sink: from taking output to having passed it on. */
  readonly operators: [name: string, times: Histogram][];
  readonly io: IoFigures[];
  /** How long the caches of sinks took to write and to read, by the operators they belong to. */
  readonly caches?: [name: string, work: 'flush' | 'load', times: Histogram][];
}

/** Memory of the code of users in a thread that runs rules. */
export interface UserCodeMemory {
  /** Bytes that all of it may have together. */
  readonly maxBytes: number;
  /** Those that have any, as errors name them: `wasm plugin scale`. */
  readonly owners: readonly [owner: string, bytes: number][];
}

/** What a thread that runs rules holds, bytes. */
export interface ThreadMemory {
  /** Objects of JavaScript. */
  readonly heapBytes: number;
  /** Buffers outside of the kernel. */
  readonly bufferBytes: number;
  /** Memory of its kernel, and what of it is in use. */
  readonly kernelBytes: number;
  readonly kernelUsedBytes: number;
  /** Beside the kernel. */
  readonly userCode: UserCodeMemory;
}

/** A row of a scan table. */
export interface TableRow {
  emitter: string;
  /** JSON text of an object: the columns that the rule reads. */
  content: string;
}

/** Of the operators in the figures of a run, the one that failed last; undefined when none ever did. */
export function failureIn(metrics: Metrics): Failure | undefined {
  const ending = '_last_exception_time';
  let latest = 0;
  let operator: string | undefined;
  for (const [name, at] of Object.entries(metrics)) {
    if (typeof at !== 'number' || at <= latest || !name.endsWith(ending)) continue;
    latest = at;
    operator = name.slice(0, -ending.length);
  }
  if (operator === undefined) return undefined;
  return {
    reason: String(metrics[`${operator}_last_exception`] ?? ''),
    total: Number(metrics[`${operator}_exceptions_total`] ?? 0),
  };
}

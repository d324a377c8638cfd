/** Figures of a run: a data plane collects them, and the control plane shows them. */
import type { Histogram } from '../../kernels/values/histogram.js';

export { type Histogram, latencyBounds } from '../../kernels/values/histogram.js';

/** Totals, and figures of each operator, by the names that the status shows. */
export type Metrics = Record<string, number | string>;

/** The numbers among the figures of runs; runs of one form have their names in common. */
export interface PackedFigures {
  readonly names: readonly (readonly string[])[];
  /** Each run with the index of its names. */
  readonly runs: readonly (readonly [run: number, names: number, values: readonly number[]])[];
}

export function numbersIn(metrics: Metrics): { names: string[]; values: number[] } {
  const names = Object.keys(metrics).filter((name) => typeof metrics[name] === 'number');
  return { names, values: names.map((name) => metrics[name] as number) };
}

/** Status of a run. */
export interface RunStatus {
  readonly metrics: Metrics;
  /** Backpressure of the run: what it waits for and what waits for it; empty: there is none. */
  readonly message: string;
  /** Current problems of the run, one sentence each. */
  readonly troubles: readonly string[];
}

/** Latest error of an operator, and the number of its errors. */
export interface Failure {
  reason: string;
  total: number;
}

/** Latest failure and current problems of a run. */
export interface RunTrouble {
  readonly failure: Failure | undefined;
  /** Current problems of the run, one sentence each. */
  readonly troubles: readonly string[];
}

/** Counters of the messages that a source or sink exchanged with the external system. */
export interface IoFigures {
  /** Type of the connector. */
  readonly type: string;
  readonly io: 'source' | 'sink';
  /** Name of the operator in the status. */
  readonly operator: string;
  /** Messages that were received or sent. */
  readonly done: number;
  readonly failed: number;
}

/** Latencies of the operators of a rule, and message counters of its sources and sinks. */
export interface RuleLatencies {
  readonly run: number;
  /** Processing times of each operator, named as in the status; for a sink, from taking output to passing it on. */
  readonly operators: [name: string, times: Histogram][];
  readonly io: IoFigures[];
  /** Write and read times of the disk queues of sinks, by the name of the operator. */
  readonly caches?: [name: string, work: 'flush' | 'load', times: Histogram][];
}

/** Messages that a rule has taken and sent since its start, and those that failed on their way in or out. */
export type RuleTraffic = readonly [taken: number, sent: number, failed: number];

/** Memory of user code in a data plane. */
export interface UserCodeMemory {
  /** Most bytes that all user code may have together. */
  readonly maxBytes: number;
  /** Owners that hold memory, named as in errors (`wasm plugin scale`), and their bytes. */
  readonly owners: readonly [owner: string, bytes: number][];
}

/** Memory of a data plane, in bytes. */
export interface PlaneMemory extends ThreadMemory {
  /** Number of the data plane, from 0. */
  readonly plane: number;
}

/** Rows of topics in memory that go from one data plane to another. */
export interface ExchangeFigures {
  /** Number of the other data plane. */
  readonly plane: number;
  /** Bytes that were sent there. */
  readonly sentBytes: number;
  /** Bytes of these that no reader has taken yet. */
  readonly waitingBytes: number;
  /** The ring to it has no room: it does not keep up, or is busy. */
  readonly isRingFull: boolean;
}

export interface ThreadMemory {
  /** Bytes of JavaScript objects. */
  readonly heapBytes: number;
  /** Bytes of buffers outside the kernel. */
  readonly bufferBytes: number;
  /** Size of the kernel's memory; `kernelUsedBytes` is the part in use. */
  readonly kernelBytes: number;
  readonly kernelUsedBytes: number;
  /** Memory of user code, which is not part of the kernel's memory. */
  readonly userCode: UserCodeMemory;
}

/** A row of a scan table. */
export interface TableRow {
  emitter: string;
  /** JSON text of an object: the columns that the rule reads. */
  content: string;
}

/** A row at which an operator of a rule failed. */
export interface FailedRow {
  readonly operator: string;
  /** Epoch ms. */
  readonly at: number;
  readonly reason: string;
  /** JSON text of the row: what the rule reads of it. Left out where the row is not known. */
  readonly row?: string;
}

/** Finds the latest failure among the operators in the metrics of a run; undefined: none ever failed. */
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

/** What became of the traces or metrics for a collector: numbers of spans or points, and of requests. */
export interface ExportFigures {
  readonly signal: string;
  readonly sent: number;
  /** For want of room, or since the collector refused them. */
  readonly dropped: number;
  /** Attempts without success. */
  readonly failedRequests: number;
  readonly waiting: number;
}

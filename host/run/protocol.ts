/** What the control plane and the data plane tell each other. Plain data; several messages travel in one post. */
import type { ColumnType, ConstValue, RulePlan } from '../../kernels/ir.js';
import type { PathRules } from '../base/allowed-paths.js';
import type { Details, Level } from '../base/log.js';
import type { Decode } from '../codecs/define.js';
import type { RuleLatencies } from './latencies.js';
import type { TableRow } from './tables.js';
import type { TraceOrder, TraceRecord } from './trace.js';

/** A stream as the data plane needs it: connector, properties, decoding. */
export interface SourceSpec {
  name: string;
  type: string;
  dataSource: string;
  /** Unchecked properties, all layers merged. */
  props: Record<string, unknown>;
  /** Rules on an equal shared stream use one source and one decoder. */
  isShared: boolean;
  format: Decode['kernel'];
  schema: { name: string; type: ColumnType; default?: ConstValue }[] | null;
  strict: boolean;
  /** Values in `props` that must not show in logs, traces and reasons. */
  secrets?: readonly string[];
}

export interface SinkSpec {
  type: string;
  props: Record<string, unknown>;
  /** See `SourceSpec`. */
  secrets?: readonly string[];
}

export interface RuleStart {
  id: string;
  /** Number of this run, never used twice: late reports of an earlier run are told apart. */
  run: number;
  plan: RulePlan;
  /** In the order of `plan.sources`. */
  sources: SourceSpec[];
  sinks: SinkSpec[];
  /** Errors go to the sinks in the place of data. */
  sendError: boolean;
  /** Bytes a sink may have waiting before the sources are stopped. */
  sinkLimitBytes: number;
  /** How long the sinks get at a stop, ms; that of the worker without it. */
  flushTimeoutMs?: number;
  /** Offset of local time from UTC, ms: windows of days end at local midnight. */
  zoneMs: number;
  /** Lines of level debug about the rule are wanted. */
  isDebug?: boolean;
  /** The rule is traced from its start. */
  trace?: TraceOrder;
}

export type Control =
  | { kind: 'start'; rule: RuleStart }
  | { kind: 'stop'; run: number }
  | { kind: 'status'; seq: number; run: number }
  | { kind: 'usage'; seq: number }
  | { kind: 'memory'; seq: number }
  | { kind: 'latencies'; seq: number }
  | { kind: 'tables'; seq: number; run: number }
  | { kind: 'failures'; seq: number }
  /** Follows the rule's input from now on, or no longer. */
  | { kind: 'trace'; run: number; order: TraceOrder | null }
  /** Ends all rules and then the thread. */
  | { kind: 'close' };

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

export type Report =
  | { kind: 'started'; run: number }
  /** All sources have tried to connect; what is wrong with those that are not connected. */
  | { kind: 'opened'; run: number; troubles: readonly string[] }
  /** All sources came to their end and the sinks are flushed. */
  | { kind: 'ended'; run: number; metrics: Metrics }
  | { kind: 'failed'; run: number; reason: string; metrics: Metrics }
  /** `losses`: what its sinks could not send any more, a sentence each. */
  | { kind: 'stopped'; run: number; metrics: Metrics; losses: readonly string[] }
  | { kind: 'status'; seq: number; status: RunStatus | undefined }
  /** CPU time of each run since its start, µs. */
  | { kind: 'usage'; seq: number; cpu: [run: number, us: number][] }
  /** Bytes that each run holds. */
  | { kind: 'memory'; seq: number; bytes: [run: number, bytes: number][] }
  /** Of each run that has or had any. */
  | { kind: 'failures'; seq: number; failures: [run: number, trouble: RunTrouble][] }
  | { kind: 'latencies'; seq: number; rules: RuleLatencies[] }
  /** What the scan tables of a run hold. */
  | { kind: 'tables'; seq: number; rows: TableRow[] | undefined }
  | { kind: 'trace'; trace: TraceRecord }
  /** A line about a run, or about the data plane. */
  | { kind: 'log'; level: Level; message: string; details?: Details; run?: number };

/** Settings of a worker, given at its start. */
export interface WorkerSettings {
  /** See `Heartbeat`. */
  heartbeat: SharedArrayBuffer;
  /** Longest pause between reads that gather small packets, ms; 0 never pauses. */
  coalesceMs: number;
  /** How long a stopping rule waits for its sinks, ms. */
  flushTimeoutMs: number;
  /** Longest time between two attempts to connect, ms. */
  maxReconnectMs: number;
  /** Bound of the kernel's memory; 0 for the most there can be. */
  maxMemoryBytes: number;
  /** Length of the longest value that functions may make; that of the kernel without it. */
  maxValueBytes?: number;
  /** Times all work for histograms; otherwise a sample is timed. */
  measuresAll: boolean;
  /** Files that connectors may open. */
  paths: PathRules;
}

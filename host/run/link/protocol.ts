/**
 * What the control plane and a data plane tell each other: commands and questions (see questions.ts) one way, notices
 * and answers the other. Plain data; several messages travel in one post.
 */
import type { Decoder } from '../../../kernels/api.js';
import type { ColumnType, ConstValue, RulePlan, Tap, WaitingPlan } from '../../../kernels/plan/ir.js';
import type { PathRules } from '../../base/files/allowed-paths.js';
import type { Details, Level } from '../../base/log/log.js';
import type { Decode } from '../../codecs/define.js';
import type { Metrics } from '../../model/figures.js';
import type { KeptByNode } from '../../model/kept.js';
import type { Loss } from '../../model/losses.js';
import type { TraceRecord, TraceStrategy } from '../../model/traces.js';
import type { UserFunction } from '../../plugins/define.js';
import type { Answer, Ask } from './questions.js';

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
  delimiter?: string;
  /** Of the format `coded`: the function of a codec among those of its rules. */
  decoder?: Decoder;
  schema: { name: string; type: ColumnType; default?: ConstValue }[] | null;
  strict: boolean;
  /** Values in `props` that must not show in logs, traces and reasons. */
  secrets?: readonly string[];
}

/** A table that is asked for rows, or a function for its results. */
export interface LookupSpec {
  name: string;
  type: string;
  dataSource: string;
  /** Unchecked properties, all layers merged. */
  props: Record<string, unknown>;
  /** How rows wait for its answers. */
  waiting: WaitingPlan;
  /** Function that is asked instead of a table. */
  call?: UserFunction;
  /** See `SourceSpec`. */
  secrets?: readonly string[];
}

export interface SinkSpec {
  type: string;
  props: Record<string, unknown>;
  /** Without it what the sink can't take yet waits in memory. */
  cache?: CacheSettings;
  /** Of one without a cache: where its messages wait on disk when memory is full. */
  retryQueue?: RetryQueueSettings;
  /** Number of the codec's function that makes its messages. */
  encoder?: number;
  /** Key of encrypted messages, base64. */
  aesKey?: string;
  /** See `SourceSpec`. */
  secrets?: readonly string[];
}

/** Retry queue of a sink: while the sink is away or slow, messages wait on disk and the sources go on. */
export interface RetryQueueSettings {
  /** See `CacheSettings`. */
  folder: string;
  /**
   * Who waits until messages are out or on disk: a source that acknowledges them, checkpoints, or nobody. For the first
   * two all messages go through it, and writes are forced to the disk; otherwise it begins when the sink takes no more.
   */
  awaits: 'nobody' | 'source' | 'checkpoint';
  /** Messages of an earlier run are left: all go through the queue until those are sent. */
  hasRest: boolean;
  /** Other rules share its sources, so the queue must not block them for long. */
  isShared: boolean;
  /** At the bound the oldest are dropped; otherwise the sources wait. */
  dropsOldest: boolean;
  maxDiskBytes: number;
  /** Bytes of the disk that stay free. */
  minFreeBytes: number;
}

/** Where messages wait that a sink can't take yet, and how they leave. */
export interface CacheSettings {
  /** True for the retry queue that a rule has by itself, false for a cache that options ask for. */
  isRetryQueue?: boolean;
  /**
   * For the files of this sink alone, absolute; without it messages wait in memory, as many as the rule's bound allows.
   */
  folder?: string;
  /** Messages written together. */
  pageMessages: number;
  memoryMessages: number;
  /** Messages on disk. */
  maxMessages: number;
  /** Bytes on disk; without a bound if left out. */
  maxDiskBytes?: number;
  /** Bytes that stay free on the disk. */
  minFreeBytes?: number;
  /** With as many on disk the oldest are dropped; otherwise the sources wait. */
  dropsOldest: boolean;
  /** Forced to the disk before they count as safe. */
  isSynced: boolean;
  isCleanedAtStop: boolean;
  /** Time between two messages that waited, ms. */
  resendIntervalMs: number;
  /** Messages that waited go beside the new ones, not before them. */
  alterQueue?: {
    /** 1: before, -1: after the new ones, 0: in turn with them. */
    priority: number;
    /** Member of their rows that says so; empty: none. */
    indicatorField: string;
    /** Properties of the sink that are others for them. */
    destination?: Record<string, string>;
  };
}

export interface RuleStart {
  id: string;
  /** Number of this run, never used twice: late reports of an earlier run are told apart. */
  run: number;
  plan: RulePlan;
  /** In the order of `plan.sources`. */
  sources: SourceSpec[];
  /** In the order of `plan.lookups`. */
  lookups?: LookupSpec[];
  sinks: SinkSpec[];
  /** Functions of users that its programs and the codecs of its streams and sinks call. */
  functions?: UserFunction[];
  /** Errors go to the sinks in the place of data. */
  sendError: boolean;
  /** Bytes a sink may have waiting before the sources are stopped. */
  sinkLimitBytes: number;
  /** Bytes that it may keep in the kernel; left out without a bound. */
  maxStateBytes?: number;
  /** The rule ends when one of its sinks has blocked a source for long. */
  stopsWhenFull?: boolean;
  /**
   * When too much input waits for it while others read on the oldest messages are given up; otherwise its sources wait.
   */
  dropsInput?: boolean;
  /** How long the sinks get at a stop, ms; that of the worker without it. */
  flushTimeoutMs?: number;
  /** Time zone by its name: windows of days end at its midnight. */
  zone: string;
  /** It only keeps a lookup table at work, until it is stopped. */
  isTable?: boolean;
  /** Its state is kept over its end, and that of the server. */
  checkpoint?: CheckpointOrder;
  /** By stream: where messages are kept that are acknowledged and that not all rules have safe. */
  inputLogs?: Record<string, string>;
  /** Lines of level debug about the rule are wanted. */
  isDebug?: boolean;
  /** The rule is traced from its start. */
  trace?: TraceOrder;
}

/** How the state of a rule is kept on disk. */
export interface CheckpointOrder {
  /** Where its checkpoints are. */
  readonly folder: string;
  /** As the rule's option; 0: only its orderly end is kept. */
  readonly qos: number;
  /** Time between two of them, ms; 0: there is one at the end alone. */
  readonly intervalMs: number;
  /** What the operators of the rule keep. */
  readonly kept: KeptByNode;
  /**
   * Where an earlier rule of that id ended in sinks, by number of the action: without a checkpoint the run goes on
   * there.
   */
  readonly ends?: Readonly<Record<string, unknown>>;
}

/** Follows a rule. */
export interface TraceOrder {
  strategy: TraceStrategy;
  taps: Tap[];
}

/** A sink that a rule has no more, in which it may have left transactions. */
export interface SettleOrder {
  readonly rule: string;
  /** Number of the action that it was. */
  readonly action: number;
  readonly spec: SinkSpec;
  /** With the checkpoints of the rule, which say where it ended; otherwise at `position`. */
  readonly folder?: string;
  readonly position?: unknown;
}

/** What a data plane is to do. */
export type Command =
  | { kind: 'start'; rule: RuleStart }
  /** Of a rule that `comesBack` at once. */
  | { kind: 'stop'; run: number; comesBack?: boolean }
  /** All rules of the server start, one after the other; or the last of them was sent. */
  | { kind: 'startAll'; isMoreComing: boolean }
  /** Follows the rule's input from now on, or no longer. */
  | { kind: 'trace'; run: number; order: TraceOrder | null }
  /** Sources of the run have these properties from the next attempt to connect on. */
  | { kind: 'renew'; run: number; sources: SourceSpec[] }
  /** What rules have of the code that had the name is replaced between two batches; with null each call is an error. */
  | { kind: 'replace'; owner: string; functions: UserFunction[] | null }
  /** Commits what the last checkpoint of a rule has in a sink and aborts all else; told by `settled`. */
  | { kind: 'settle'; number: number; order: SettleOrder }
  /** Ends all rules and then the thread. */
  | { kind: 'close' };

/** What the control plane sends. */
export type ToPlane = Command | Ask;

/** What happened to a run. */
export type RunNotice =
  /** `restored`: how the rule goes on from a checkpoint, where there is one. */
  | { kind: 'started'; run: number; restored?: string }
  /** All sources have tried to connect; what is wrong with those that are not connected. */
  | { kind: 'opened'; run: number; troubles: readonly string[] }
  /** All sources came to their end and the sinks are flushed. */
  | { kind: 'ended'; run: number; metrics: Metrics }
  | { kind: 'failed'; run: number; reason: string; metrics: Metrics }
  /** `losses`: what its sinks could not send any more, a sentence each. */
  | { kind: 'stopped'; run: number; metrics: Metrics; losses: readonly string[] };

/** Input that a rule was followed through. */
export interface TraceNotice {
  kind: 'trace';
  trace: TraceRecord;
}

/** A line for the log about a run, or about the data plane. */
export interface LogNotice {
  kind: 'log';
  level: Level;
  message: string;
  details?: Details;
  run?: number;
}

/** A sink was settled. */
export interface SettledNotice {
  kind: 'settled';
  number: number;
  /** Where the rule ended in it; undefined where no checkpoint says that. */
  position?: unknown;
  /** Why it could not be done. */
  reason?: string | undefined;
}

/** Something that was safe is lost. */
export interface LossNotice {
  kind: 'loss';
  loss: Loss;
}

/** What a data plane tells without being asked. */
export type Notice = RunNotice | TraceNotice | LogNotice | SettledNotice | LossNotice;

/** What a data plane sends. */
export type FromPlane = Notice | Answer;

/** Settings of a worker, given at its start. */
export interface WorkerSettings {
  /** See `Heartbeat`. */
  heartbeat: SharedArrayBuffer;
  /** Longest pause between reads that gather small packets, ms; 0 never pauses. */
  coalesceMs: number;
  /** How long a stopping rule waits for its sinks, ms. */
  flushTimeoutMs: number;
  /** Longest time between two attempts to connect, ms; the usual one without it. */
  maxReconnectMs?: number | undefined;
  /** Bound of the kernel's memory; 0 for the most there can be. */
  maxMemoryBytes: number;
  /** Bytes that all code of users may have together; 0: a part of the machine's memory. */
  maxUserMemoryBytes: number;
  /** Length of the longest value that functions may make; that of the kernel without it. */
  maxValueBytes?: number;
  /** Times all work for histograms; otherwise a sample is timed. */
  measuresAll: boolean;
  /** Files that connectors may open. */
  paths: PathRules;
}

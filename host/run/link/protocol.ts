/**
 * Messages between the control plane and a data plane: commands and questions (see questions.ts) one way, notices and
 * answers the other. They are plain data; several travel in one post.
 */
import type { Decoder } from '../../../kernels/api.js';
import type { ColumnType, ConstValue, RulePlan, Tap, WaitingPlan } from '../../../kernels/plan/ir.js';
import type { MessageTypes } from '../../../kernels/plan/message-types.js';
import type { PathRules } from '../../base/files/allowed-paths.js';
import type { Details, Level } from '../../base/log/log.js';
import type { Decode } from '../../codecs/define.js';
import type { CommonNews, CommonState, CommonStep } from '../../model/common-state.js';
import type { Metrics } from '../../model/figures.js';
import type { KeptByNode } from '../../model/kept.js';
import type { Loss } from '../../model/losses.js';
import type { TraceRecord, TraceStrategy } from '../../model/traces.js';
import type { UserFunction } from '../../plugins/define.js';
import type { PortableCode } from '../../plugins/portable/code.js';
import type { MovingRun } from './moving.js';
import type { Answer, Ask } from './questions.js';
import type { SharedAnswer, ShareNotice } from './shared-states.js';

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
  /** Function of a codec, for the format `coded`, among the functions of the rules. */
  decoder?: Decoder;
  /** Types of messages, for the format `protobuf`. */
  messages?: MessageTypes;
  schema: { name: string; type: ColumnType; default?: ConstValue }[] | null;
  strict: boolean;
  /** Number of the program that the source runs, among the functions of the rules. */
  program?: number;
  /** Values in `props` that must not show in logs, traces and reasons. */
  secrets?: readonly string[];
  /** The stream is read in another data plane, and handed over. */
  handed?: HandedFrom;
}

/** Where a stream comes from that another data plane reads. */
export interface HandedFrom {
  /** Number of the hand-over. */
  readonly key: number;
  /** Data plane that reads the stream, and the one that it is handed to. */
  readonly from: number;
  readonly to: number;
}

/** Parts of a rule that runs, with properties of which some may have changed. */
export interface RenewedParts {
  sources: SourceSpec[];
  lookups: LookupSpec[];
  sinks: SinkSpec[];
}

/** A table that is asked for rows, or a function for its results. */
export interface LookupSpec {
  name: string;
  type: string;
  dataSource: string;
  /** Unchecked properties, all layers merged. */
  props: Record<string, unknown>;
  /** Plan of how rows wait for answers. */
  waiting: WaitingPlan;
  /** Function that is asked instead of a table. */
  call?: UserFunction;
  /** See `SourceSpec`. */
  secrets?: readonly string[];
}

export interface SinkSpec {
  type: string;
  props: Record<string, unknown>;
  /** Cache of the sink; without one, output waits in memory. */
  cache?: CacheSettings;
  /** Retry queue of a sink without a cache, for messages that memory has no room for. */
  retryQueue?: RetryQueueSettings;
  /** Number of the codec's function that encodes the messages. */
  encoder?: number;
  /** See `SourceSpec`. */
  program?: number;
  /** What the encoder of the format has to know. */
  format?: Readonly<Record<string, unknown>>;
  /** Types of messages that are made of the output of a template. */
  messages?: MessageTypes;
  /** Key of encrypted messages, base64. */
  aesKey?: string;
  /** Index of the sink that gets the messages which this one refuses. */
  deadLetters?: number;
  /** Whether the sink gets dead letters instead of rows. */
  getsLetters?: boolean;
  /** See `SourceSpec`. */
  secrets?: readonly string[];
}

/** Retry queue of a sink: while the sink is away or slow, messages wait on disk and the sources go on. */
export interface RetryQueueSettings {
  /** See `CacheSettings`. */
  folder: string;
  /**
   * The party that waits until messages are out or on disk: a source that acknowledges them, checkpoints, or nobody.
   * For the first two all messages go through the queue, with synced writes; otherwise it begins when the sink takes no
   * more.
   */
  awaits: 'nobody' | 'source' | 'checkpoint';
  /** Messages of an earlier run are left: all go through the queue until those are sent. */
  hasRest: boolean;
  /** Other rules share its sources, so the queue must not block them for long. */
  isShared: boolean;
  /** Whether the oldest messages are dropped at the bound; otherwise the sources wait. */
  dropsOldest: boolean;
  maxDiskBytes: number;
  /** Bytes of the disk that stay free. */
  minFreeBytes: number;
}

/** Settings of a queue for messages that a sink can't take yet. */
export interface CacheSettings {
  /** True for the retry queue that a rule has by itself, false for a cache that options ask for. */
  isRetryQueue?: boolean;
  /** Absolute path of the folder for this sink alone; without it messages wait in memory, up to the rule's bound. */
  folder?: string;
  /** Most messages that are written together. */
  pageMessages: number;
  memoryMessages: number;
  /** Most messages on disk. */
  maxMessages: number;
  /** Most bytes on disk; left out without a bound. */
  maxDiskBytes?: number;
  /** Bytes that stay free on the disk. */
  minFreeBytes?: number;
  /** Whether the oldest messages are dropped at the bound; otherwise the sources wait. */
  dropsOldest: boolean;
  /** Whether writes are synced before messages count as safe. */
  isSynced: boolean;
  isCleanedAtStop: boolean;
  /** Time between two resent messages, ms. */
  resendIntervalMs: number;
  /** Queue of its own for messages that waited, which are resent beside the new ones. */
  alterQueue?: {
    /** 1: before, -1: after the new ones, 0: in turn with them. */
    priority: number;
    /** Field that marks resent rows; empty for none. */
    indicatorField: string;
    /** Properties of the sink that differ for resent messages. */
    destination?: Record<string, string>;
  };
}

export interface RuleStart {
  id: string;
  /** Number of this run, never used twice, which tells late reports of an earlier run apart. */
  run: number;
  plan: RulePlan;
  /** Sources in the order of `plan.sources`. */
  sources: SourceSpec[];
  /** Lookup tables in the order of `plan.lookups`. */
  lookups?: LookupSpec[];
  sinks: SinkSpec[];
  /** User functions that the programs of the rule and the codecs of its streams and sinks call. */
  functions?: UserFunction[];
  /** Portable plugins of its functions, sources and sinks. */
  portables?: PortableCode[];
  /** Whether error rows go to the sinks in the place of data. */
  sendError: boolean;
  /** Bytes that may wait for a sink before the sources are stopped. */
  sinkLimitBytes: number;
  /** Bytes that the rule may keep in the kernel; left out without a bound. */
  maxStateBytes?: number;
  /** The rule ends when one of its sinks has blocked a source for long. */
  stopsWhenFull?: boolean;
  /**
   * Whether the oldest messages are dropped when too much input waits while others read on; otherwise the sources wait.
   */
  dropsInput?: boolean;
  /** Time that the sinks get at a stop, ms; without it the time of the worker settings. */
  flushTimeoutMs?: number;
  /** Name of the time zone at whose midnight windows of days end. */
  zone: string;
  /** The run only keeps a lookup table at work, until it is stopped. */
  isTable?: boolean;
  /** The run only keeps its stream at work, which it hands to other data planes under this number. */
  hands?: number;
  /** Order for the checkpoints of the rule; left out when its state is not kept. */
  checkpoint?: CheckpointOrder;
  /** Operators with state that goes along to another data plane, when the rule has no checkpoints. */
  moving?: KeptByNode;
  /** Folder of the input log by stream, for acknowledged messages that not all rules have safe. */
  inputLogs?: Record<string, string>;
  /** Debug logging is on for the rule. */
  isDebug?: boolean;
  /** The rule is traced from its start. */
  trace?: TraceOrder;
}

/** Parts of a rule, or of a lookup table that is kept, by which it is placed in a data plane. */
export type PlacedParts = Pick<RuleStart, 'sources' | 'lookups' | 'sinks' | 'portables'> & {
  /** The rule keeps its state. */
  readonly checkpoint?: Pick<CheckpointOrder, 'qos' | 'isForMove'>;
  readonly inputLogs?: RuleStart['inputLogs'];
  readonly plan?: RuleStart['plan'];
};

/** Order for the checkpoints of a rule. */
export interface CheckpointOrder {
  /** Folder of the rule's checkpoints. */
  readonly folder: string;
  /** The rule's option `qos`; with 0 only the state of an orderly stop is kept. */
  readonly qos: number;
  /** Time between two checkpoints, ms; 0 for one at the end alone. */
  readonly intervalMs: number;
  /** The state is kept for a move to another data plane alone. */
  readonly isForMove?: boolean;
  /** Operators of the rule that keep state, by node. */
  readonly kept: KeptByNode;
  /** Each checkpoint counts when all rules that belong together have theirs of that number. */
  readonly common?: CommonState;
  /** The rule, whose checkpoints count when all nodes of a cluster find them; left out on a server alone. */
  readonly sharedAs?: string;
  /**
   * Positions in sinks where an earlier rule of that id ended, by number of the action: without a checkpoint the run
   * goes on there.
   */
  readonly ends?: Readonly<Record<string, unknown>>;
}

/** Order to trace a rule. */
export interface TraceOrder {
  strategy: TraceStrategy;
  taps: Tap[];
}

/** A sink that a rule no longer has, in which it may have left transactions. */
export interface SettleOrder {
  readonly rule: string;
  /** Number that the action had. */
  readonly action: number;
  readonly spec: SinkSpec;
  /** Folder of the rule's checkpoints, which have the end position; without it `position` is used. */
  readonly folder?: string;
  readonly position?: unknown;
}

/** A command to a data plane. */
export type Command =
  /** Starts a rule; with `form` others are going to be like it, under this number. */
  | { kind: 'start'; rule: RuleStart; form?: number }
  /** Starts rules that are like one before (starts-by-form.ts), with the constants of these nodes for each rule. */
  | {
      kind: 'startAs';
      form: number;
      nodes: readonly number[];
      ids: string[];
      runs: number[];
      constants: (readonly ConstValue[])[];
      own: (Partial<RuleStart> | undefined)[];
    }
  /** Stops a run; with `comesBack` the rule starts again at once. */
  | { kind: 'stop'; run: number; comesBack?: boolean }
  /** Cuts runs for their common checkpoint at one instant, or tells whether it counts. */
  | { kind: 'common'; runs: readonly number[]; step: CommonStep; number: number; isLast: boolean }
  /** Stops runs at one instant: their rules go on in another data plane. */
  | { kind: 'move'; runs: readonly MovingRun[] }
  /** Tells that all rules of the server start, one after the other, or that the last of them was sent. */
  | { kind: 'startAll'; isMoreComing: boolean }
  /** A handed stream that was held flows again, once it is handed to these data planes. */
  | { kind: 'release'; run: number; planes: readonly number[] }
  /** Joins the data plane to another by rings (plane/exchange): one to it and one back. */
  | { kind: 'link'; plane: number; out: SharedArrayBuffer; back: SharedArrayBuffer }
  /** The thread of another data plane has ended. */
  | { kind: 'unlink'; plane: number }
  /** Traces the rule's input from now on; with null no longer. */
  | { kind: 'trace'; run: number; order: TraceOrder | null }
  /** Gives sources and sinks of the run new properties from the next attempt to connect on. */
  | ({ kind: 'renew'; run: number } & RenewedParts)
  /** Replaces the code of the owner in all rules between two batches; with null each call is an error. */
  | { kind: 'replace'; owner: string; functions: UserFunction[] | null }
  /** A portable plugin has a new program, or none (null). */
  | { kind: 'portable'; name: string; code: PortableCode | null }
  /** Commits transactions of a rule's last checkpoint in a sink and aborts the others; answered by `settled`. */
  | { kind: 'settle'; number: number; order: SettleOrder }
  /** Ends all rules and then the thread. */
  | { kind: 'close' };

/** A message of the control plane. */
export type ToPlane = Command | Ask | SharedAnswer;

/** A notice about a run. */
export type RunNotice =
  /** The run has started; `restored` is the text on how it goes on from a checkpoint. */
  | { kind: 'started'; run: number; restored?: string }
  /** All sources have tried to connect; `troubles` has a sentence for each that is not connected. */
  | { kind: 'opened'; run: number; troubles: readonly string[] }
  /** All sources are at their end, and the sinks are flushed. */
  | { kind: 'ended'; run: number; metrics: Metrics }
  | { kind: 'failed'; run: number; reason: string; metrics: Metrics }
  /** The run was stopped; `losses` has a sentence for the messages that each sink could not send. */
  | { kind: 'stopped'; run: number; metrics: Metrics; losses: readonly string[] };

/** Traced input of a rule. */
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

/** Outcome of a `settle` command. */
export interface SettledNotice {
  kind: 'settled';
  number: number;
  /** Position where the rule ended in the sink; undefined where no checkpoint has it. */
  position?: unknown;
  /** Reason why settling failed; undefined when it succeeded. */
  reason?: string | undefined;
}

/** What a run tells of a common checkpoint. */
export interface CommonNotice {
  kind: 'common';
  run: number;
  news: CommonNews;
}

/** Notice of a loss of data that was safe. */
export interface LossNotice {
  kind: 'loss';
  loss: Loss;
}

/** A notice of a data plane, sent without a question. */
export type Notice = RunNotice | TraceNotice | LogNotice | SettledNotice | LossNotice | CommonNotice;

/** A message of a data plane. */
export type FromPlane = Notice | Answer | ShareNotice;

/** Settings of a worker, given at its start. */
export interface WorkerSettings {
  /** Number of the data plane, from 0, and how many there are. */
  plane: number;
  planes: number;
  /** See `Heartbeat`. */
  heartbeat: SharedArrayBuffer;
  /** Time up to which rules may work (fence.ts); without it there is no end. */
  fence?: SharedArrayBuffer | undefined;
  /** Longest pause between reads that gather small packets, ms; 0 never pauses. */
  coalesceMs: number;
  /** Time that a stopping rule waits for its sinks, ms. */
  flushTimeoutMs: number;
  /** Longest time between two attempts to connect, ms; the default without it. */
  maxReconnectMs?: number | undefined;
  maxSqlConnections?: number | undefined;
  /** Bound of the kernel's memory; 0 for the most there can be. */
  maxMemoryBytes: number;
  /** Bytes of memory of all user code together; 0 for a part of the machine's memory. */
  maxUserMemoryBytes: number;
  /** Bytes of the longest value that functions may make; the kernel's default without it. */
  maxValueBytes?: number;
  /** Times all work for histograms; otherwise a sample is timed. */
  measuresAll: boolean;
  /** Files that connectors may open. */
  paths: PathRules;
  /** Addresses that come with data may be private ones. */
  isPrivateNetOpen: boolean;
}

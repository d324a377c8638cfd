/**
 * What runs in a data plane, as its parts see each other: rules with their nodes, sources and sinks. Figures, troubles
 * and logs are made from these; rule-run.ts, source-run.ts and sink-run.ts do the work.
 */
import type {
  Kernel,
  NodeCounters,
  NodeHandle,
  OutputChunk,
  StreamCounters,
  StreamHandle,
} from '../../../../kernels/api.js';
import type { ColumnUse, NodePlan, OperatorPlan } from '../../../../kernels/plan/ir.js';
import type { Histogram } from '../../../../kernels/values/histogram.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { Logger } from '../../../base/log/log.js';
import type { Redact } from '../../../base/secrets/redact.js';
import type { Loss } from '../../../model/losses.js';
import type { SinkSpec, SourceSpec } from '../../link/protocol.js';
import type { Acknowledgements, Barrier } from '../acknowledge/barrier.js';
import type { BranchHold } from '../acknowledge/branch-hold.js';
import type { Retention } from '../acknowledge/retention.js';
import type { Connection } from '../connect/connection.js';

/** The data plane as its parts see it. */
export interface PlaneHost {
  readonly kernel: Kernel;
  readonly log: Logger;
  readonly paths: AllowedPaths;
  /** When the last call of the kernel ended that took a while, epoch ms. */
  readonly busyUntil: number;
  /** Time of rows and windows, epoch ms. */
  now(): number;
  /** An object that all parts of the data plane share, made at first use. */
  shared<T>(key: string, make: () => T): T;
  /**
   * Runs work of the kernel and what follows from it; `whose` names the rules it is for. Does nothing when the kernel
   * is broken.
   */
  work(whose: ReadonlySet<RunningRule>, call: () => void, input?: InputAtWork): void;
  /** Something that was safe is lost. */
  lost(loss: Loss): void;
  /** Ends the rule. */
  failed(rule: RunningRule, reason: string): void;
}

/** A source or sink that keeps a connection. */
export interface RunningPart {
  /** `source demo`, `sink mqtt` */
  readonly label: string;
  readonly connection: Connection;
  /** Name of the remote system; undefined where the connector gives none. */
  readonly peer: string | undefined;
  /** Masks the secrets of its properties. */
  readonly redact: Redact;
  /** The first attempt to connect is over. */
  readonly isTried: boolean;
  readonly exceptions: number;
  readonly lastException: string;
  readonly lastExceptionAt: number;
}

export interface RunningSource extends RunningPart {
  readonly spec: SourceSpec;
  /** Name of the stream. */
  readonly name: string;
  readonly stream: StreamHandle;
  readonly log: Logger;
  readonly users: ReadonlySet<RunningRule>;
  /** Users that take the input as it arrives. */
  readonly readers: ReadonlySet<RunningRule>;
  readonly counters: StreamCounters;
  /** Of a source with messages that are to be acknowledged. */
  readonly acknowledgements: Acknowledgements | undefined;
  /** There were such messages. */
  readonly hasAcknowledged: boolean;
  /** Reading is paused: a sink below is full, or the kernel has no room. */
  readonly isFull: boolean;
  /** Its input waits for its turn. */
  readonly waitsForTurn: boolean;
  /** Input that it has behind it waits for its turn. */
  readonly isReadAhead: boolean;
  /** Works off what waits for its turn. */
  settle(): void;
  /** Resolves when no input waits; false when what waited was dropped. */
  whenTaken(): Promise<boolean>;
  /** Since when a sink below it is full, epoch ms. */
  readonly fullSince: number;
  /** Since when the kernel has had no room for its input, epoch ms; 0 when it has. */
  readonly starvedSince: number;
  /** Fault of the input log; empty without one. */
  readonly logTrouble: string;
  /** Who uses up the memory that its input needs; empty when nobody does. */
  readonly starvedBy: string;
  /** Epoch ms, 0 never. */
  readonly lastInputAt: number;
  readonly isEnded: boolean;
  /** See `SourceForm`. */
  readonly endsSoon: boolean;
  /** Time of all work for it, the rules' nodes included, µs. */
  workUs: number;
  start(): void;
  /**
   * Starts when no further rule has come for a while: those that go on from checkpoints are all to get what was not
   * safe.
   */
  startWithOthers(): void;
  readonly hasStarted: boolean;
  /** Resolves when no more input comes: it is at its end or the source is closed. */
  whenOver(): Promise<void>;
  /** Takes nothing more, but stays connected: what still leaves the sinks is acknowledged until it is closed. */
  drain(): void;
  exception(reason: string): void;
  /** A sink below became full, or took up work again. */
  sinkIsFull(isFull: boolean): void;
  readonly retention: Retention;
  /** Messages that came again and were not passed on; undefined where the other side keeps no session. */
  readonly redeliveries: { readonly redelivered: number } | undefined;
  /** From where it can be read again to get what comes after all input so far; undefined when it can't go back. */
  position(): unknown;
  /** Begins at the position, or goes on there; returns the reason when it can't. */
  seek(position: unknown): string | undefined;
  /** Undefined without rules whose state is kept. */
  readonly places: RunningPlaces | undefined;
  /** Names messages that were skipped for their length, which the kernel only counts. */
  noteOversized(count: number): void;
  /**
   * What people are shown of input: its messages without the frames around them; nothing of rows in the engine's own
   * form.
   */
  messagesIn(input: Uint8Array): Uint8Array[] | undefined;
}

/** Where rules go on in a source, as long as that is not where the source is; see state/rule-places.ts. */
export interface RunningPlaces {
  /** The source can be read again from a position. */
  readonly rewinds: boolean;
  /** Rules that do not take what the source reads. */
  readonly ahead: ReadonlySet<RunningRule>;
  /** What a rule has yet to read may wait: after a kill it is read again from the place of the rule. */
  readonly readsAgain: boolean;
  /** The rule has had all that the source has read, and no more. */
  isHere(rule: RunningRule): boolean;
  /** The rule is to end, and comes back: what lies behind its place is kept for it until then, or for a time. */
  awaits(rule: RunningRule): void;
  /** The rule, which was just linked, goes on from the position; returns the reason when it can't. */
  goOnFrom(rule: RunningRule, position: unknown): string | undefined;
  /**
   * What the rule was handed within the engine and had not taken at its last end it gets first; returns why it can't.
   */
  catchUpWith(rule: RunningRule, bytes: Uint8Array): string | undefined;
  /** A rule came while the source ran, and its tables were read. */
  joined(rule: RunningRule): void;
  /** Where the rule has to go on to get what it has not had. */
  positionOf(rule: RunningRule): unknown;
  /** What a checkpoint of the rule has to hold of what it was handed within the engine. */
  pendingOf(rule: RunningRule): Uint8Array | undefined;
  /**
   * Resolves when what an earlier position has of the source is safe for others than its rule as well: a checkpoint may
   * count.
   */
  logged(position: unknown): Promise<void>;
  /** The rule has gone, its nodes with it. */
  leave(rule: RunningRule): void;
}

/** The checkpoints of a rule, as status and logs tell of them. */
export interface RunningCheckpoints {
  /** What the rule has had of branches and no checkpoint has; checkpoints count for it. */
  readonly fromBranch: BranchHold;
  /** How the rule began: with which state, or without the one that it had; empty when there was none. */
  readonly atStart: string;
  /** In this run. */
  readonly count: number;
  /**
   * Of the last one: epoch ms, 0 never; size of the state, and what of it was written then, bytes; how long rows waited
   * for it at most, and how long it took until it counted, ms.
   */
  readonly lastAt: number;
  readonly lastBytes: number;
  readonly lastWrittenBytes: number;
  readonly lastPauseMs: number;
  readonly lastMs: number;
  /** Why there is no newer one; empty when nothing is wrong. */
  readonly failure: string;
  /** Since when none could be written, epoch ms; Infinity when they can. */
  readonly failedSince: number;
}

/** Figures of a queue on disk. */
export interface RunningCache {
  readonly counts: {
    /** Messages written to disk, and passed on from there. */
    readonly added: number;
    readonly popped: number;
    /** Writes and reads. */
    readonly flushes: number;
    readonly loads: number;
    /** Messages that were dropped since there was no more room. */
    readonly dropped: number;
    /** Messages that could not be read any more. */
    readonly damaged: number;
    /** Messages cut off at the end of what an earlier run left. */
    readonly cutOff: number;
  };
  /** How long writes and reads took; undefined unless that is measured. */
  readonly times: { readonly flush: Histogram; readonly load: Histogram } | undefined;
  /** Messages that are not out. */
  readonly length: number;
  /** Messages on disk that are not out. */
  readonly onDisk: number;
  /** Bytes of its files. */
  readonly diskBytes: number;
  /** Fault of the queue; empty without one. */
  readonly trouble: string;
  /** What waits on disk, where and since when, once it has for a while; empty otherwise. */
  readonly holding: string;
}

export interface RunningSink extends RunningPart {
  readonly spec: SinkSpec;
  /** Left out where messages wait in memory. */
  readonly cache?: RunningCache | undefined;
  readonly messagesIn: number;
  readonly messagesOut: number;
  readonly messagesFailed: number;
  readonly waitingMessages: number;
  /** Messages that wait and would be lost with the process. */
  readonly unsafeMessages: number;
  readonly waitingBytes: number;
  /** Most messages that ever waited. */
  readonly highWater: number;
  readonly lastInvocation: number;
  readonly isFull: boolean;
  /** Since when it is full, epoch ms. */
  readonly fullSince: number;
  /** What a person is told of it when its rule blocks others. */
  readonly trouble: string;
  /** Times from taking output to having passed it on; null unless they are measured. */
  readonly latencies: Histogram | null;
  /** Takes output of the kernel; called while it runs. */
  write(chunk: OutputChunk, now: number): void;
  /** Holds the barrier until all that waits now has left. */
  hold(barrier: Barrier): void;
  /** A source of the rule has had messages that are acknowledged. */
  acknowledged(): void;
  /** Since when it keeps messages of a source unacknowledged, epoch ms; Infinity when it does not. */
  blocksSince(source: Acknowledgements): number;
  /** Leaves all barriers: what still waits may not hold up others any more. */
  giveBack(): void;
  /** Sets the figures of a sink for which rows are only counted. */
  settle(messages: number, lastInvocation: number): void;
  /** See `Sink`. */
  position(): unknown;
  cutBack(position: unknown): void;
  sync(): Promise<void> | undefined;
  commit(position: unknown): void;
  /** Resolves when everything is out; rejects when the sink can't get it out in time. */
  flush(longestMs: number): Promise<void>;
  /** Returns what is lost with it, a sentence. */
  close(timeoutMs: number): Promise<string | undefined>;
}

/** A node of the rule in the kernel. */
export interface RunningNode {
  readonly kind: NodePlan['kind'];
  /** Of encode nodes: sinks they write for. */
  readonly sinks: readonly RunningSink[];
  /** Its sinks get nothing: rows are only counted. */
  readonly isSilent: boolean;
  readonly handle: NodeHandle;
  /** Figures of a shared node when the rule joined; null for a fresh node. */
  readonly base: NodeCounters | null;
  /** Its rows wait for the answers of a table. */
  readonly asksTable?: boolean;
  /** The node keeps state by key; its status has the number of keys. */
  readonly isPartitioned?: boolean;
  /** Times that were measured in it before. */
  readonly latencyBase: Histogram | null;
}

/** A node in which rows wait, for answers or for a time. */
export interface RunningWaiting {
  readonly node: NodeHandle;
  /** Rows that still waited at the end of the rule. */
  readonly lost: { readonly rows: number; readonly reason: string; readonly at: number };
  /** What a person is told when they wait for long; empty otherwise. */
  readonly trouble: string;
}

/** A table that a join keeps rows of. */
export interface JoinedTable {
  readonly name: string;
  readonly source: RunningSource;
  readonly columns: readonly ColumnUse[];
  /** The node that keeps the rows, and their branch there. */
  readonly join: NodeHandle;
  readonly branch: number;
}

/** Long calls of the kernel for a rule. */
export interface LongCalls {
  count: number;
  /**
   * The longest of them: time, operator ('' where it is not known), rows that the operator was at work on (none for a
   * timer).
   */
  ms: number;
  operator: string;
  rows: number;
}

/**
 * A branch of a source: input that waits for some of its rules while the others read on. It is a throttle queue
 * (schedule/throttle-queue.ts), or a rule that catches up (state/places/catch-up.ts).
 */
export interface RunningBranch {
  /** A copy of the source's stream. */
  readonly stream: StreamHandle;
  /** Rules that it is for. */
  readonly users: ReadonlySet<RunningRule>;
  readonly counters: StreamCounters;
  /** Time of all work for it, µs. */
  workUs: number;
  /** Where its rules go on after all that they have had, as checkpoints name it; undefined where none do. */
  readonly position: unknown;
  readonly waitingMessages: number;
  readonly waitingBytes: number;
  /** Since when the source waits for it, or its sender for an acknowledgement, epoch ms; Infinity when neither does. */
  readonly blocksSince: number;
  /** A sink of its rules became full, or took up work again. */
  sinkIsFull(isFull: boolean): void;
}

/** Input that the kernel works on. */
export interface InputAtWork {
  readonly source: RunningSource;
  /** Where it comes from: the source, or a branch of it. */
  readonly place: RunningSource | RunningBranch;
  /** Undefined: it is the end of the input. */
  readonly bytes: Uint8Array | undefined;
  /** Barrier that acknowledges the input; undefined where nobody waits for it. */
  readonly barrier: Barrier | undefined;
}

/** A rule that lags behind its sources: it is throttled, since it takes more than its share, or catches up. */
export interface RunningLag {
  /** Input waits for its turn. */
  readonly isWaiting: boolean;
  /** What it is at has no place that a checkpoint could name: the kernel has no room, or input is taken in part. */
  readonly isStarved: boolean;
  /** Resolves at such a place, and there it stays for this turn; undefined where it need not be waited for. */
  whenAtPlace(): Promise<unknown> | undefined;
  /** Works on to such a place. */
  settle(): void;
  /** What a person is told; empty: nothing. */
  readonly text: string;
  /** Undefined where input of the source does not wait in a branch. */
  branchOf(source: RunningSource): RunningBranch | undefined;
  /** Bytes that each of its rules has in branches. */
  readonly memoryBytes: number;
  /**
   * These rules are to end. Resolves when what waits for its own is processed, or after a time. When they come back at
   * once it `readsOn` until they have ended: what came meanwhile and they never got is told as lost.
   */
  finish(ending: ReadonlySet<RunningRule>, readsOn: boolean): Promise<void> | undefined;
  /** The rule ends, and is as before; returns what is lost with it, a sentence each. */
  leave(rule: RunningRule): string[];
}

/** Messages that a rule never got, since too many waited for it. */
export interface LostInput {
  readonly messages: number;
  readonly reason: string;
  /** Epoch ms. */
  readonly at: number;
}

export interface RunningRule {
  readonly id: string;
  readonly run: number;
  readonly host: PlaneHost;
  readonly operators: readonly OperatorPlan[];
  readonly sources: readonly RunningSource[];
  readonly tables: readonly JoinedTable[];
  readonly sinks: readonly RunningSink[];
  /** Nodes in which rows wait for answers. */
  readonly waitings: readonly RunningWaiting[];
  /** As the plan lists them. */
  readonly nodes: readonly RunningNode[];
  /** Counters of each source when the rule came. */
  readonly sourceBases: readonly StreamCounters[];
  /** Times measured in each source when the rule came. */
  readonly sourceLatencies: readonly (Histogram | null)[];
  /** Left out when its state is not kept. */
  readonly checkpoints?: RunningCheckpoints | undefined;
  /** Its end has begun. */
  readonly isEnding: boolean;
  /** Bytes that it may keep in the kernel; Infinity without a bound. */
  readonly maxStateBytes: number;
  /** Memory of the code of users that it calls; undefined: it calls none. */
  readonly userCodeBytes: number | undefined;
  /** The rule ends when one of its sinks has blocked a source for long. */
  readonly stopsWhenFull: boolean;
  /** Set once a call of the kernel took long for it. */
  longCalls: LongCalls | undefined;
  /** Set while it lags behind its sources. */
  lag: RunningLag | undefined;
  /** Of each source of which it lost some; undefined: of none. */
  readonly lostInput: ReadonlyMap<RunningSource, LostInput> | undefined;
  /** It takes what the source reads from now on: its figures count from here. */
  cameTo(source: RunningSource): void;
  /** It took so many messages of the source that others had before it came. */
  tookFromBranch(source: RunningSource, messages: number): void;
  /** Messages of the source never come to it. */
  inputLost(source: RunningSource, messages: number, reason: string): void;
  /** When more waits the oldest messages are given up; otherwise the source waits. */
  readonly dropsInput: boolean;
  /** Bytes of input that may wait for it while others read on. */
  readonly inputLimitBytes: number;
  /** How many of its sinks and nodes let its sources wait. */
  readonly blocks: number;
  /** Nodes that gather rows of messages. */
  readonly gathersInput: boolean;
  /** Results that wait for their turn in the kernel while its sources pause; 0 when these need not. */
  readonly waitingResults: number;
  /** Lets its sources pause since so many results wait for their turn in the kernel, 0: go on. */
  blockForResults(results: number): void;
  /** Its nodes have no deferred work any more. */
  workedOff(): void;
  readonly log: Logger;
  /** Masks the secrets of its sources and sinks. */
  readonly redact: Redact;
  isTable(source: RunningSource): boolean;
  /** Where the columns that the rule reads of a source stand in its batches. */
  columnsOf(source: number): readonly number[];
  /** Logs a line when the rule is to say more. */
  debug(line: () => string): void;
}

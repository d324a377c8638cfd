/**
 * Interfaces of the rules, sources, sinks and nodes that run in a data plane, as its other parts see them. Status, logs
 * and figures read these; rule-run.ts, source-run.ts and sink-run.ts implement them.
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
  /** End of the last long kernel call, epoch ms. */
  readonly busyUntil: number;
  /** Time of rows and windows, epoch ms. */
  now(): number;
  /** An object that all parts of the data plane share, made at first use. */
  shared<T>(key: string, make: () => T): T;
  /**
   * Runs kernel work and what follows from it; `whose` names the rules that the work is for. Does nothing when the
   * kernel is broken.
   */
  work(whose: ReadonlySet<RunningRule>, call: () => void, input?: InputAtWork): void;
  /** Notes the loss of data that was safe. */
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
  /** Exceptions that are no failure of the connection. */
  readonly failures: number;
  /** The last of them, and when it was, epoch ms. */
  readonly lastFailure: string;
  readonly lastFailureAt: number;
  /** Takes the first different ones since the last call, for the log. */
  takeUntold(): string[];
  readonly stream: StreamHandle;
  readonly log: Logger;
  readonly users: ReadonlySet<RunningRule>;
  /** Users that take the input as it arrives. */
  readonly readers: ReadonlySet<RunningRule>;
  readonly counters: StreamCounters;
  /** Message that waits for the end of its interval, as a frame. */
  readonly sampled?: Uint8Array | undefined;
  /** Acknowledgements of the messages; undefined where the source has none to acknowledge. */
  readonly acknowledgements: Acknowledgements | undefined;
  /** The source has had messages that are to be acknowledged. */
  readonly hasAcknowledged: boolean;
  /** Reading is paused: a sink below is full, or the kernel has no room. */
  readonly isFull: boolean;
  /** Input of the source waits for its turn in the kernel. */
  readonly waitsForTurn: boolean;
  /** Input that lies before the source's position still waits for its turn. */
  readonly isReadAhead: boolean;
  /** Works off the input that waits for its turn. */
  settle(): void;
  /** Resolves when no input waits: with false when the waiting input was dropped. */
  whenTaken(): Promise<boolean>;
  /** Time since which a sink below the source is full, epoch ms. */
  readonly fullSince: number;
  /** Time since which the kernel has no room for the input, epoch ms; 0 while it has room. */
  readonly starvedSince: number;
  /** Fault of the input log; empty without one. */
  readonly logTrouble: string;
  /** Name of what uses up the memory that the input needs; empty when nothing does. */
  readonly starvedBy: string;
  /** Time of the last input, epoch ms; 0 before any. */
  readonly lastInputAt: number;
  readonly isEnded: boolean;
  /** See `SourceForm`. */
  readonly endsSoon: boolean;
  /** Time of all work for the source, the rules' nodes included, µs. */
  workUs: number;
  start(): void;
  /**
   * Starts when no further rule has come for a while, so that all rules with checkpoints are read from the earliest
   * one.
   */
  startWithOthers(): void;
  /**
   * Lets a rule that was just linked get no row before its tables are read. A source that runs keeps them for the rule
   * until `places.joined`, and the others read on; one that does not starts when the promise resolves, or after a time.
   * Does nothing for the source of one rule.
   */
  awaitTables(rule: RunningRule, read: Promise<void>): void;
  readonly hasStarted: boolean;
  /** Hand-overs to other data planes; undefined before the first. */
  readonly handed?: ReadonlyMap<number, { whenRead(): Promise<void> }> | undefined;
  /** Resolves when no more input comes: the input is at its end, or the source is closed. */
  whenOver(): Promise<void>;
  /** Reads nothing more, but stays connected until it is closed, so that output still sent is acknowledged. */
  drain(): void;
  exception(reason: string): void;
  /** A sink below became full, or took up work again. */
  sinkIsFull(isFull: boolean): void;
  readonly retention: Retention;
  /** Messages that came again and were not passed on; undefined where the other side keeps no session. */
  readonly redeliveries: { readonly redelivered: number } | undefined;
  /** Position behind all input so far, from which the source can be read again; undefined when it can't rewind. */
  position(): unknown;
  /** Rewinds to the position, or begins there; returns the reason when it can't. */
  seek(position: unknown): string | undefined;
  /** Places of the rules in the source; undefined when no rule has checkpoints. */
  readonly places: RunningPlaces | undefined;
  /** Logs messages that were skipped for their length; the kernel only counts them. */
  noteOversized(count: number): void;
  /**
   * Messages of the input without the frames around them, to be shown to people; undefined for rows in the engine's own
   * form.
   */
  messagesIn(input: Uint8Array): Uint8Array[] | undefined;
}

/** Places of rules in a source, while they differ from its position; see state/rule-places.ts. */
export interface RunningPlaces {
  /** The source can be read again from a position. */
  readonly rewinds: boolean;
  /** Rules that do not take the input that the source reads now. */
  readonly ahead: ReadonlySet<RunningRule>;
  /** A rule's unread input may wait: after a kill it is read again from the place of the rule. */
  readonly readsAgain: boolean;
  /** Whether the rule has had exactly the input that the source has read. */
  isHere(rule: RunningRule): boolean;
  /** Keeps the input behind the place of a rule that ends and comes back, until then or for a time. */
  awaits(rule: RunningRule): void;
  /** Lets a rule that was just linked go on from the position; returns the reason when it can't. */
  goOnFrom(rule: RunningRule, position: unknown): string | undefined;
  /**
   * Gives the rule first the input from other rules that it had not taken at its last end; returns the reason when that
   * can't be.
   */
  catchUpWith(rule: RunningRule, bytes: Uint8Array): string | undefined;
  /** Keeps what comes for a rule that was just linked, until its tables are read. */
  awaitTables(rule: RunningRule): void;
  /** To be called when a rule came while the source ran, and its tables are read. */
  joined(rule: RunningRule): void;
  /** Position from which the rule gets the input that it has not had. */
  positionOf(rule: RunningRule): unknown;
  /** Input from other rules that a checkpoint of the rule has to hold; undefined without any. */
  pendingOf(rule: RunningRule): Uint8Array | undefined;
  /**
   * Resolves when input before the position is safe for the other rules too, and with `isExact` known when its sender
   * brings it again: then a checkpoint may count.
   */
  logged(position: unknown, isExact: boolean): Promise<void>;
  /** Forgets a rule that has gone together with its nodes. */
  leave(rule: RunningRule): void;
}

/** The checkpoints of a rule, as status and logs tell of them. */
export interface RunningCheckpoints {
  /** Input of branches that the rule has had and no checkpoint holds. */
  readonly fromBranch: BranchHold;
  /** State with which the rule began, or why without its state; empty when there was none. */
  readonly atStart: string;
  /** Number of checkpoints of this run that count. */
  readonly count: number;
  /**
   * Figures of the last checkpoint: time (epoch ms, 0 before any), size of the state and bytes written, longest pause
   * of rows and time until the checkpoint counted, ms.
   */
  readonly lastAt: number;
  readonly lastBytes: number;
  readonly lastWrittenBytes: number;
  readonly lastPauseMs: number;
  readonly lastMs: number;
  /** Reason why there is no newer checkpoint; empty when nothing is wrong. */
  readonly failure: string;
  /** Time since which checkpoints fail, epoch ms; Infinity while they succeed. */
  readonly failedSince: number;
}

/** Figures of a queue on disk. */
export interface RunningCache {
  readonly counts: {
    /** Messages written to disk, and passed on from there. */
    readonly added: number;
    readonly popped: number;
    /** Number of writes and reads. */
    readonly flushes: number;
    readonly loads: number;
    /** Messages that were dropped since there was no more room. */
    readonly dropped: number;
    /** Messages that could not be read any more. */
    readonly damaged: number;
    /** Messages cut off at the end of what an earlier run left. */
    readonly cutOff: number;
  };
  /** Times of writes and reads; undefined unless they are measured. */
  readonly times: { readonly flush: Histogram; readonly load: Histogram } | undefined;
  /** Messages that the sink has not sent yet. */
  readonly length: number;
  /** Messages on disk that the sink has not sent yet. */
  readonly onDisk: number;
  /** Bytes of the queue's files. */
  readonly diskBytes: number;
  /** Fault of the queue; empty without one. */
  readonly trouble: string;
  /** Sentence on the messages on disk, their folder and how long they have waited; empty for the first moments. */
  readonly holding: string;
}

export interface RunningSink extends RunningPart {
  /** Errors go out in the place of messages. */
  readonly sendError: boolean;
  readonly spec: SinkSpec;
  /** Figures of the disk queue; left out where messages wait in memory. */
  readonly cache?: RunningCache | undefined;
  readonly messagesIn: number;
  readonly messagesOut: number;
  readonly messagesFailed: number;
  readonly waitingMessages: number;
  /** Waiting messages that a kill of the process would lose. */
  readonly unsafeMessages: number;
  readonly waitingBytes: number;
  /** Most messages that ever waited. */
  readonly highWater: number;
  readonly lastInvocation: number;
  readonly isFull: boolean;
  /** Time since which the sink is full, epoch ms. */
  readonly fullSince: number;
  /** Sentence for people when the sink blocks other rules. */
  readonly trouble: string;
  /** Times from taking output to passing it on; null unless they are measured. */
  readonly latencies: Histogram | null;
  /** Takes output of the kernel; called while it runs. */
  write(chunk: OutputChunk, now: number): void;
  /** Holds the barrier until all that waits now has left. */
  hold(barrier: Barrier): void;
  /** To be called when a source of the rule has had messages that are to be acknowledged. */
  acknowledged(): void;
  /** Time since which the sink keeps messages of the source unacknowledged, epoch ms; Infinity when it keeps none. */
  blocksSince(source: Acknowledgements): number;
  /** Gives up all barriers, so that waiting output holds up nobody any more. */
  giveBack(): void;
  /** Resolves when all output has a place that a position can name; undefined when it has. */
  whenMade(): Promise<void> | undefined;
  /** Sets the figures of a sink for which rows are only counted. */
  settle(messages: number, lastInvocation: number): void;
  /** See `Sink`. */
  position(): unknown;
  cutBack(position: unknown): void;
  sync(): Promise<void> | undefined;
  commit(position: unknown): void;
  /** Resolves when all output is sent; rejects when the sink can't send it in time. */
  flush(longestMs: number): Promise<void>;
  /** Closes the sink; returns a sentence on the messages lost with it. */
  close(timeoutMs: number): Promise<string | undefined>;
}

/** A node of the rule in the kernel. */
export interface RunningNode {
  readonly kind: NodePlan['kind'];
  /** Sinks that an encode node writes for. */
  readonly sinks: readonly RunningSink[];
  /** The sinks of the node get nothing: rows are only counted. */
  readonly isSilent: boolean;
  readonly handle: NodeHandle;
  /** Counters of a shared node when the rule joined; null for a fresh node. */
  readonly base: NodeCounters | null;
  /** Rows wait in the node for the answers of a table. */
  readonly asksTable?: boolean;
  /** The node keeps state by key; its status has the number of keys. */
  readonly isPartitioned?: boolean;
  /** Times measured in the node before the rule joined. */
  readonly latencyBase: Histogram | null;
}

/** A node in which rows wait, for answers or for a time. */
export interface RunningWaiting {
  readonly node: NodeHandle;
  /** No row waits for an answer. */
  readonly isAnswered: boolean;
  /** Rows that still waited at the end of the rule. */
  readonly lost: { readonly rows: number; readonly reason: string; readonly at: number };
  /** Sentence for people when rows wait for long; empty otherwise. */
  readonly trouble: string;
}

/** A table that a join keeps rows of. */
export interface JoinedTable {
  readonly name: string;
  readonly source: RunningSource;
  readonly columns: readonly ColumnUse[];
  /** Join node that keeps the rows, and the number of their input there. */
  readonly join: NodeHandle;
  readonly branch: number;
}

/** Long calls of the kernel for a rule. */
export interface LongCalls {
  count: number;
  /** The longest call: its time, the operator ('' where that is not known) and the rows in work (0 for a timer). */
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
  /** Rules that read the branch. */
  readonly users: ReadonlySet<RunningRule>;
  readonly counters: StreamCounters;
  /** Time of all work for the branch, µs. */
  workUs: number;
  /** Position of its rules as their checkpoints name it; undefined where none have checkpoints. */
  readonly position: unknown;
  readonly waitingMessages: number;
  readonly waitingBytes: number;
  /** Time since which the branch holds up the source or an acknowledgement, epoch ms; Infinity when it does not. */
  readonly blocksSince: number;
  /** A sink of its rules became full, or took up work again. */
  sinkIsFull(isFull: boolean): void;
}

/** Input that the kernel works on. */
export interface InputAtWork {
  readonly source: RunningSource;
  /** The source of the input, or the branch that it comes through. */
  readonly place: RunningSource | RunningBranch;
  /** Bytes of the input; undefined at its end. */
  readonly bytes: Uint8Array | undefined;
  /** Barrier that acknowledges the input; undefined where nobody waits for it. */
  readonly barrier: Barrier | undefined;
}

/** A rule that lags behind its sources, since it is throttled or catches up. */
export interface RunningLag {
  /** Input waits for its turn. */
  readonly isWaiting: boolean;
  /** The rule is at no place that a checkpoint could name: the kernel has no room, or input is taken in part. */
  readonly isStarved: boolean;
  /**
   * Resolves at a place that a checkpoint can name, where the rule rests for this turn; undefined when there is no need
   * to wait.
   */
  whenAtPlace(): Promise<unknown> | undefined;
  /** Works on to a place that a checkpoint can name. */
  settle(): void;
  /** Sentence for people on the waiting input; empty without any. */
  readonly text: string;
  /** Branch in which input of the source waits; undefined without one. */
  branchOf(source: RunningSource): RunningBranch | undefined;
  /** Bytes of each of the rules in branches. */
  readonly memoryBytes: number;
  /**
   * Prepares the end of rules: resolves when their waiting input is processed, or after a time. With `readsOn` rules
   * come back at once, and take input until they have ended; what they never got is told as lost.
   */
  finish(ending: ReadonlySet<RunningRule>, readsOn: boolean): Promise<void> | undefined;
  /** Ends the lag of a rule that ends; returns a sentence for each loss. */
  leave(rule: RunningRule): string[];
}

/** Messages that a rule never got, since too many waited for it. */
export interface LostInput {
  readonly messages: number;
  readonly reason: string;
  /** Time of the last loss, epoch ms. */
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
  /** Nodes of the rule in the order of the plan. */
  readonly nodes: readonly RunningNode[];
  /** Counters of each source when the rule came. */
  readonly sourceBases: readonly StreamCounters[];
  /** Times measured in each source when the rule came. */
  readonly sourceLatencies: readonly (Histogram | null)[];
  /** Checkpoints of the rule; left out when its state is not kept. */
  readonly checkpoints?: RunningCheckpoints | undefined;
  /** The end of the rule has begun. */
  readonly isEnding: boolean;
  /** Since when it waits for its sinks only, since its input is at its end, epoch ms; 0 before. */
  readonly finishingSince: number;
  /** Bytes that the rule may keep in the kernel; Infinity without a bound. */
  readonly maxStateBytes: number;
  /** Bytes of memory of the user code that the rule calls; undefined when it calls none. */
  readonly userCodeBytes: number | undefined;
  /** The rule ends when one of its sinks has blocked a source for long. */
  readonly stopsWhenFull: boolean;
  /** Long kernel calls for the rule; undefined before the first. */
  longCalls: LongCalls | undefined;
  /** Lag behind the sources; undefined while there is none. */
  lag: RunningLag | undefined;
  /** Lost input by source; undefined while none was lost. */
  readonly lostInput: ReadonlyMap<RunningSource, LostInput> | undefined;
  /** Lets the rule take the input of the source from now on: its figures count from here. */
  cameTo(source: RunningSource): void;
  /** Counts messages that the rule took of a branch, and others had before it came. */
  tookFromBranch(source: RunningSource, messages: number): void;
  /** Notes messages of the source that never reach the rule. */
  inputLost(source: RunningSource, messages: number, reason: string): void;
  /** Whether the oldest messages are dropped when too much input waits; otherwise the source waits. */
  readonly dropsInput: boolean;
  /** Bytes of input that may wait for the rule while others read on. */
  readonly inputLimitBytes: number;
  /** Number of its sinks and nodes that hold up its sources. */
  readonly blocks: number;
  /** The rule has nodes that gather rows of messages. */
  readonly gathersInput: boolean;
  /** Results that wait in the kernel while the sources pause; 0 when the sources need not pause. */
  readonly waitingResults: number;
  /** Pauses the sources while so many results wait in the kernel; with 0 they go on. */
  blockForResults(results: number): void;
  /** To be called when the nodes have no deferred work any more. */
  workedOff(): void;
  readonly log: Logger;
  /** Masks the secrets of its sources and sinks. */
  readonly redact: Redact;
  isTable(source: RunningSource): boolean;
  /** Places of the rule's columns in the batches of a source. */
  columnsOf(source: number): readonly number[];
  /** Logs a line when debug logging is on for the rule. */
  debug(line: () => string): void;
}

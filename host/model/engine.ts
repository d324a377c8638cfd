/**
 * The engine as the control plane sees it: plan, start, stop and look at rules. REST, the command line and the store
 * know nothing else of planner and data plane.
 */

import type { Parsed } from '../base/fields/field.js';
import type { sinkCacheSpec } from '../base/fields/sink-cache-spec.js';
import type { AllowedPaths } from '../base/files/allowed-paths.js';
import type { SecretSources } from '../base/secrets/secret-ref.js';
import type { FindBrought, FindCodec, FindProgram, ScriptLimits, UserFunction } from '../plugins/define.js';
import type { PortableCode, PortableUse } from '../plugins/portable/code.js';
import type { ServiceFigures } from '../plugins/service-figures.js';
import type { OptionName, StreamDefinition } from '../sql/source-def.js';
import type { CommonCheckpoints, CommonState } from './common-state.js';
import type { ExchangeFigures, FailedRow, PlaneMemory, RuleLatencies, RuleTraffic, TableRow } from './figures.js';
import type { KeptChanges } from './kept.js';
import type { Loss } from './losses.js';
import type { MessageTypes } from './message-types.js';
import type { TraceStrategy, Traces } from './traces.js';

/** Options of a rule with their defaults filled in; durations in milliseconds. */
export interface RuleOptions {
  readonly isEventTime: boolean;
  readonly lateToleranceMs: number;
  /** Idle timeout of a stream, after which it no longer holds back the watermark; 0: there is none. */
  readonly idleTimeoutMs: number;
  /** Name of the time zone, or Local; empty: the time zone of the server. */
  readonly timezone: string;
  /** Greatest distance of a timestamp ahead of the server's clock; 0: no bound. */
  readonly maxFutureSkewMs: number;
  /** Most bytes of state that the rule may keep in the kernel; 0: no bound. */
  readonly maxStateBytes: number;
  /** Most partial matches of MATCH_RECOGNIZE for a key; 0: no bound. */
  readonly maxPartialMatches: number;
  /** What happens when a key has more. */
  readonly partialMatchPolicy: 'stop' | 'dropOldest';
  /** Time after its last row until the state of a partition is dropped; 0: never. */
  readonly stateTtlMs: number;
  readonly concurrency: number;
  /** Parts among which the rows of the rule are divided, where there are several data planes. */
  readonly parallelism: number;
  readonly bufferLength: number;
  /** Policy when the queue of a sink is full, in memory and on disk. */
  readonly bufferFullPolicy: 'auto' | 'block' | 'dropOldest' | 'stop';
  /** Most bytes of the disk queues of all sinks of the rule together; 0: nothing waits on disk. */
  readonly maxBacklogBytes: number;
  readonly sendMetaToSink: boolean;
  readonly sendNilField: boolean;
  readonly sendError: boolean;
  readonly qos: number;
  readonly checkpointIntervalMs: number;
  /** The rule keeps its state over an orderly stop, whatever its `qos` is. */
  readonly enableSaveStateBeforeStop: boolean;
  readonly restartStrategy: {
    attempts: number;
    delayMs: number;
    multiplier: number;
    maxDelayMs: number;
    jitterFactor: number;
  };
  readonly debug: boolean;
  readonly logFilename: string;
  readonly cron: string;
  readonly durationMs: number;
  /** Periods of the schedule as the user gave them; they are checked when the schedule is read. */
  readonly cronDatetimeRange: readonly unknown[];
  /** Longest time that a stop waits for the sinks; 0: the limit of the server. */
  readonly forceExitTimeoutMs: number;
  readonly enableRuleTracer: boolean;
}

/** A node of a rule's graph. */
export interface GraphNode {
  name: string;
  type: 'source' | 'operator' | 'sink';
  /** Connector or kind of operator, lower case. */
  nodeType: string;
  props: Record<string, unknown>;
}

export interface GraphEdge {
  from: string;
  /** Index of the case of a switch; 0 for all other nodes. */
  output: number;
  to: string;
}

/**
 * A rule given as a graph instead of a statement, checked for form. Its sinks are the actions of the rule, in order.
 */
export interface RuleGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** Which of the actions of a rule takes a row: those of a stream are divided among several. */
export interface Divided {
  /**
   * For each stream a statement on the streams of the rule, whose WHERE holds for the rows of that stream, and an
   * expression that gives the number of the action, from 0 on.
   */
  readonly streams: readonly { readonly sql: string; readonly place: string }[];
  /** Actions of each stream; those of the first stream come first. */
  readonly count: number;
}

/** A rule as the user wrote it, checked for form. */
export interface RuleDefinition {
  id: string;
  name: string;
  /** Empty for rules with a graph. */
  sql: string;
  graph?: RuleGraph;
  /** One entry for each sink: its actions in their order, then the sinks of their dead letters. */
  actions: {
    type: string;
    props: Record<string, unknown>;
    /** Index of the action whose dead letters the sink gets; left out for an action, which gets rows. */
    deadLettersOf?: number;
  }[];
  options: RuleOptions;
  triggered: boolean;
  /** Kept in memory only; may read temporary streams. */
  temp?: boolean;
  /** Id of the rule to which this one belongs, which users know. */
  partOf?: string;
  /** Its state is kept together with that of all others that the rule consists of. */
  common?: CommonState;
  /**
   * Rows of all streams that FROM and the joins name go on one by one, each to one action. In event time they are in
   * its order, and all actions get the watermark between them. Nothing is joined: joins say in which order rows are.
   */
  divides?: Divided;
  /** Streams of the rule alone, in the place of those with their names. */
  streams?: readonly StreamDefinition[];
  /** Mock rows by stream, which replace the rows of that stream; only for test rules. */
  test?: { mocks: Record<string, { data: Record<string, unknown>[]; interval: number; loop: boolean }> };
}

export type RuleState =
  | 'starting'
  | 'running'
  | 'stopping'
  | 'stopped'
  | 'stopped by error'
  | 'stopped: waiting for next schedule.';

export interface RuleStatus {
  status: RuleState;
  message: string;
  lastStartTimestamp: number;
  lastStopTimestamp: number;
  nextStartTimestamp: number;
  /** Sentence that says how the rule ended by itself; absent for all other rules. */
  ended?: string;
  /** Number of the data plane where there are several, and what the rule has in common with others there. */
  dataPlane?: number;
  dataPlaneBecause?: string;
  /** Totals and metrics of each operator, by their names in the REST interface, in order. */
  metrics: Record<string, number | string>;
  /** Current problems of a running rule, one sentence each. */
  troubles: readonly string[];
  /** Node of the cluster that runs the rule; absent on a server alone. */
  node?: string;
}

/** The numbers among the figures of a rule; rules of one form have one list of names. */
export interface RuleNumbers {
  readonly id: string;
  readonly state: RuleState;
  readonly names: readonly string[];
  readonly values: readonly number[];
}

/** State of a rule and its latest failure. */
export interface RuleSummary {
  readonly id: string;
  readonly status: RuleState;
  /** Error of the operator that failed last; empty: none failed. */
  readonly lastException: string;
  readonly exceptionsTotal: number;
  /** Current problems, one sentence each: the error that stopped the rule, what it waits for, what fails. */
  readonly troubles: readonly string[];
  /** Sentence that says how the rule ended by itself; absent for all other rules. */
  readonly ended?: string;
}

/** Paths, secrets and keys of the server that users may name in properties of connectors. */
export interface Access {
  readonly paths: AllowedPaths;
  /** Paths at which rules may have log files of their own. */
  readonly logs: AllowedPaths;
  readonly secrets: SecretSources;
  /** Key of encrypted messages, in base64. */
  readonly aesKey?: string;
}

/** Stored definitions and settings of the server, as the engine looks them up. */
export interface Catalog {
  source(name: string): StreamDefinition | undefined;
  /** Names of all streams and tables, for suggestions. */
  sourceNames?(): readonly string[];
  /** Properties of a source configuration key; undefined when there is none. */
  confKey(source: string, key: string): Record<string, unknown> | undefined;
  /**
   * Layers of the properties of `confKey`, lowest first. `isGiven`: the layer came with the program, its files or its
   * environment, so it belongs to the operator of the server.
   */
  confKeyLayers?(
    source: string,
    key: string,
  ): readonly { readonly key: string; readonly props: Record<string, unknown>; readonly isGiven: boolean }[];
  /** Properties of a configuration key of a sink, which actions name by `resourceId`; undefined when there is none. */
  sinkKey?(sink: string, key: string): Record<string, unknown> | undefined;
  /** Names of the configuration keys of a source. */
  confKeyNames?(source: string): readonly string[];
  /**
   * Version number that changes with each change of keys or connections; without it, nothing made from them is cached.
   */
  version?(): number;
  connection(id: string): { typ: string; props: Record<string, unknown> } | undefined;
  /** Finds a function of users by its name. */
  readonly brought?: FindBrought;
  /** Finds the codec for messages of the format `custom`; without it there are no such codecs. */
  readonly codec?: FindCodec;
  /** Finds the programs of plugins that sources and sinks run; without it there are none. */
  readonly program?: FindProgram;
  /** Text of a schema by its type and name; throws a HaumeaError when there is none. */
  readonly schemaText?: (type: string, name: string) => string;
  /**
   * Finds the types of a message of a schema of type protobuf, `schema.Message`; throws a HaumeaError when there is
   * none.
   */
  readonly messages?: (schemaId: string) => MessageTypes;
  /** Limits of time and memory for scripts in graphs; without them scripts cannot run. */
  readonly scriptLimits?: ScriptLimits;
  /** Paths, secrets and keys that connectors may use; without it they may use any file. */
  readonly access?: Access;
  /** Disk queues of sinks: their folder, defaults and free space; without it sinks have none. */
  readonly sinkCaches?: {
    readonly folder: string;
    readonly defaults: Parsed<typeof sinkCacheSpec>;
    /** Bytes that the disk queues of rules leave free on the disk. */
    readonly minFreeBytes: number;
    /** Rules move to other machines, and the disk stays: what is only there is not safe. */
    readonly isOfNode?: boolean;
  };
}

/** A connection that a rule has open or tries to open; stopped rules have none. */
export interface ConnectionUse {
  /** Name made of the rule and its operator, for connections without a name. */
  id: string;
  rule: string;
  typ: string;
  /** Id of the named connection; absent for a connection without a name. */
  selector?: string;
  props: Record<string, unknown>;
  state(): Promise<{ status: 'connecting' | 'connected' | 'disconnected'; reason: string }>;
}

/** CPU time of a rule that runs or ended in the last half minute; work that rules share is divided among them. */
export interface RuleCpuTime {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly cpuUs: number;
}

/** Warnings and notes about a stream or table, one sentence each. */
export interface SourceWarnings {
  readonly warnings: readonly string[];
  /** Notes about options without effect that users commonly write. */
  readonly notes: readonly string[];
}

/** Options for planning a rule in another thread. */
export interface Preparing {
  /** Aborted when the plan is no longer needed; a plan that has not been begun is then not made. */
  readonly signal?: AbortSignal | undefined;
  /** Runs each lookup of definitions, so that it sees those of an import that are not stored yet. */
  readonly within?: <T>(look: () => T) => T;
  /** The server itself needs the plan, so it is accepted however many plans wait. */
  readonly isOwn?: boolean | undefined;
  /** The rule is to be traced, so the taps for tracing are planned as well. */
  readonly isTraced?: boolean;
}

/** The data plane in which a rule runs. */
export interface RulePlacement {
  /** Number of the data plane, from 0. */
  readonly plane: number;
  /** What the rule has in common with others, which are in the same data plane, a clause each. */
  readonly because: readonly string[];
}

export interface PlaneFigures {
  /** Number of the data plane, from 0. */
  readonly plane: number;
  /** The thread runs; it starts with the first rule. */
  readonly isRunning: boolean;
  /** Rules and lookup tables that run in it, or would. */
  readonly rules: number;
  /** Processor time of the rules, as a part of one processor. */
  readonly load: number;
  /** What it sends to others. */
  readonly exchanges: readonly ExchangeFigures[];
}

export interface Engine {
  /**
   * Plans a large rule in another thread, so that the next call with the same object finds the plan. Rejects with the
   * errors of `check`, and with `overload` when too many plans wait.
   */
  prepare?(rule: RuleDefinition, how?: Preparing): Promise<void>;
  /** As `prepare`, for a rule of the engine that is about to start. */
  prepareStart?(id: string, how?: Preparing): Promise<void>;
  /** Tells whether `prepare` plans the rule in another thread. */
  isLarge?(rule: RuleDefinition): boolean;
  /**
   * Checks the definition as creation would, without keeping anything. Throws HaumeaError (parse, plan,
   * unknownConnector, stream).
   */
  check(rule: RuleDefinition): { sources: string[]; warnings: readonly string[] };
  /** Throws HaumeaError `sink` when there is nothing that a source of the rule could read now, as a file. */
  checkThere?(rule: RuleDefinition): void;
  /**
   * Returns warnings about the definition of a stream or table: an unknown type, a missing key, options without effect.
   * `given`: the options that its statement sets.
   */
  warningsOf(source: StreamDefinition, given: ReadonlySet<OptionName>): SourceWarnings;
  explain(rule: RuleDefinition, how?: Preparing): string | Promise<string>;
  /** Names of the output columns, in order. */
  outputFields(rule: RuleDefinition): string[];
  /**
   * Adds a rule, stopped, or replaces the definition of a known one. Returns warnings for the user: the answer to the
   * creation has them, one a line. Throws when the rule is refused, without changing anything.
   */
  define(rule: RuleDefinition): readonly string[];
  /** Warnings about conflicts of the rule with other rules, one sentence each. */
  remarks(rule: RuleDefinition): readonly string[];
  start(id: string): void;
  /**
   * Whether a new rule may start while its definition is on its way to the disk. When it does not get there the rule is
   * removed, and no file is left of its run.
   */
  startsAhead?(rule: RuleDefinition): boolean;
  /** Resolves when the sinks are flushed, with sentences that tell which output they could not send. */
  stop(id: string): Promise<readonly string[]>;
  restart(id: string): Promise<readonly string[]>;
  /** Stops and forgets the rule. */
  remove(id: string): Promise<readonly string[]>;
  /**
   * Tells that configuration keys of these streams have changed. Sources of running rules use the new credentials from
   * their next attempt to connect on.
   */
  renew?(streams: readonly string[]): void;
  /** As `renew`, for sources and sinks that use a named connection which has changed. */
  renewConnection?(id: string): void;
  state(id: string): RuleState | undefined;
  /**
   * Connection errors of the rule's sources after the first attempt of each; undefined while a first attempt is under
   * way. An empty list means that messages sent from now on reach the rule.
   */
  opening(id: string): readonly string[] | undefined;
  /** Calls once when the state of the rule, or what `opening` says, has changed; what it returns takes that back. */
  onNews?(id: string, call: () => void): () => void;
  /** Checkpoints of rules that a rule is divided into. */
  readonly common?: CommonCheckpoints;
  /**
   * Marks the begin (`isMoreComing` is true) and the end of the start of all stored rules. Rules that feed each other
   * wait for the end.
   */
  startsAll?(isMoreComing: boolean): void;
  /** Removes the saved state of rules that are not in `stored`, or that no longer keep state. */
  sweep?(stored: ReadonlySet<string>): Promise<void>;
  /**
   * Removes state and queues of a rule that the engine does not know. Returns sentences on what has to wait for a sink.
   */
  discard?(id: string, rule: RuleDefinition | undefined): Promise<readonly string[]>;
  /** Removes the saved state of a rule that does not run. */
  forgetState?(id: string): Promise<void>;
  /** Called for each loss that a rule finds. */
  onLoss?: (loss: Loss) => void;
  /** Text that says how the rule's last start used a checkpoint; empty: it used none. */
  restored?(id: string): string;
  /**
   * Tells which state of the existing rule with this id the definition takes over; undefined when there is no such
   * rule. Throws HaumeaError when the definition can't be planned.
   */
  keptBy?(rule: RuleDefinition): KeptChanges | undefined;
  /** Moves a source of a running rule to another position; resolves with the reason when it can't. */
  resetSource(id: string, stream: string, position: unknown): Promise<string | undefined>;
  status(id: string): Promise<RuleStatus>;
  /** State and numbers of the rules, as far as they are known; asked for a few rules at a time. */
  figures?(ids: readonly string[]): Promise<RuleNumbers[]>;
  /** All known rules. */
  summaries(): Promise<RuleSummary[]>;
  /** Rows of the scan tables of a running rule; empty for a rule that does not run. */
  scanTables(id: string): Promise<TableRow[]>;
  /** The last rows at which operators of a running rule failed; empty for a rule that does not run. */
  failedRows?(id: string): Promise<FailedRow[]>;
  /** CPU time of the rules that run or ended in the last half minute, since their start. */
  cpuTimes(): Promise<RuleCpuTime[]>;
  /** Messages of each running rule since its start. */
  traffic?(): Promise<{ id: string; startedAt: number; traffic: RuleTraffic }[]>;
  /** Bytes of memory of each running rule; memory that rules share is divided among them. */
  memory?(): Promise<{ id: string; bytes: number }[]>;
  /** Memory of each data plane, whichever rules hold it. */
  threadMemory?(): Promise<PlaneMemory[]>;
  /** Bytes of memory that the code of an owner, such as a plugin, uses. */
  userCodeBytes?(owner: string): Promise<number>;
  /** Latencies of the operators of running rules, where they are measured (`basic.prometheus`). */
  latencies?(): Promise<({ id: string } & RuleLatencies)[]>;
  /** Data plane of a rule, and why; undefined where all rules are in one, or before it has one. */
  placement?(id: string): RulePlacement | undefined;
  /** All data planes, each with its load and its rules. */
  planeFigures?(): Promise<readonly PlaneFigures[]>;
  topology(id: string): { sources: string[]; edges: Record<string, string[]> } | undefined;
  /** Rules that a rule consists of in a cluster, where each may run on another node. */
  partsOf?(id: string): readonly string[];
  /** Names of known rules that read the stream and are not stopped, or are among those given. */
  usersOf(stream: string, alsoStopped?: ReadonlySet<string>): string[];
  /**
   * Fields of the stream's messages that the rule reads, none of an unknown rule; undefined when it takes whole
   * messages. Throws HaumeaError when the rule could not be planned any more.
   */
  fieldsRead(id: string, stream: string): string[] | undefined;
  /**
   * Tells that a stream or table was created, replaced or dropped. Resolves when a lookup table that keeps rows follows
   * the change, or when nothing has to be waited for.
   */
  sourceChanged?(name: string): Promise<void>;
  /** State of the process of each portable plugin that was started. */
  portableStates?(): Promise<readonly PortableUse[]>;
  /** Figures of the interfaces of services that rules have called since the start. */
  serviceFigures?(): Promise<readonly ServiceFigures[]>;
  /** Names of the functions of a portable plugin that take groups; rejects with the reason when it does not tell. */
  portableAggregates?(code: PortableCode): Promise<readonly string[]>;
  /** Tells that a portable plugin has a new program, or none (null). */
  portableChanged?(name: string, code: PortableCode | null): void;
  /** Tells that the functions of an owner have new code, also for running rules, or were removed (null). */
  functionsChanged?(owner: string, functions: readonly UserFunction[] | null): void;
  /** Connections of all rules that are not stopped. */
  connectionUses(): ConnectionUse[];
  /**
   * Begins to trace a running rule, or ends its trace when `strategy` is null. Rejects with HaumeaError `state` when
   * the rule does not run.
   */
  setTrace(id: string, strategy: TraceStrategy | null, how?: Preparing): Promise<void>;
  isTraced(id: string): boolean;
  /** Stored traces of rules. */
  readonly traces: Traces;
  /** Stops everything within the time given. */
  close(timeoutMs: number): Promise<void>;
}

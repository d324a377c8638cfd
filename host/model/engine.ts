/**
 * The engine as the control plane sees it: plan, start, stop and look at rules. REST, the command line and the store
 * know nothing else of planner and data plane.
 */

import type { Parsed } from '../base/fields/field.js';
import type { sinkCacheSpec } from '../base/fields/sink-cache-spec.js';
import type { AllowedPaths } from '../base/files/allowed-paths.js';
import type { SecretSources } from '../base/secrets/secret-ref.js';
import type { FindBrought, FindCodec, ScriptLimits, UserFunction } from '../plugins/define.js';
import type { OptionName, StreamDefinition } from '../sql/source-def.js';
import type { RuleLatencies, TableRow, ThreadMemory } from './figures.js';
import type { KeptChanges } from './kept.js';
import type { Loss } from './losses.js';
import type { TraceStrategy, Traces } from './traces.js';

/** Options of a rule with their defaults filled in; durations in milliseconds. */
export interface RuleOptions {
  isEventTime: boolean;
  lateToleranceMs: number;
  /** Silence after which a stream holds the watermark of the others back no more; 0: it always does. */
  idleTimeoutMs: number;
  /** Time zone by its name, Local, or empty for that of the server. */
  timezone: string;
  /** How far ahead of the clock a time stamp may lie; 0 without bound. */
  maxFutureSkewMs: number;
  /** Bytes that the rule may keep in the kernel; 0 without bound. */
  maxStateBytes: number;
  /** Partitions of functions that look back are forgotten so long after their last row; 0: never. */
  stateTtlMs: number;
  concurrency: number;
  bufferLength: number;
  /** What happens when so much waits for a sink, and so much on disk. */
  bufferFullPolicy: 'auto' | 'block' | 'dropOldest' | 'stop';
  /** Of all its sinks together, on disk; 0: nothing waits there. */
  maxBacklogBytes: number;
  sendMetaToSink: boolean;
  sendNilField: boolean;
  sendError: boolean;
  qos: number;
  checkpointIntervalMs: number;
  /** The state is kept over an orderly end, whatever `qos` says. */
  enableSaveStateBeforeStop: boolean;
  restartStrategy: { attempts: number; delayMs: number; multiplier: number; maxDelayMs: number; jitterFactor: number };
  debug: boolean;
  logFilename: string;
  cron: string;
  durationMs: number;
  /** Periods as they were given, checked when the schedule is read. */
  cronDatetimeRange: readonly unknown[];
  /** Longest time a stop waits for the sinks; 0 for that of the server. */
  forceExitTimeoutMs: number;
  enableRuleTracer: boolean;
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
  /** Case of a switch; 0 for all others. */
  output: number;
  to: string;
}

/** A rule as a graph in the place of a statement, checked for form. Its sinks are the actions of the rule, in order. */
export interface RuleGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/** A rule as the user wrote it, checked for form. */
export interface RuleDefinition {
  id: string;
  name: string;
  /** Empty for rules with a graph. */
  sql: string;
  graph?: RuleGraph;
  /** One entry for each sink: type and properties. */
  actions: { type: string; props: Record<string, unknown> }[];
  options: RuleOptions;
  triggered: boolean;
  /** Kept in memory only; may read temporary streams. */
  temp?: boolean;
  /** Set for test rules: rows that take the place of what streams would bring, by stream. */
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
  /** How it has ended by itself, a sentence; not of others. */
  ended?: string;
  /** Totals and per-operator metrics, names as the interface has them, in order. */
  metrics: Record<string, number | string>;
  /** What is wrong with a running rule now, a sentence each. */
  troubles: readonly string[];
}

/** State of a rule and its latest failure. */
export interface RuleSummary {
  readonly id: string;
  readonly status: RuleState;
  /** Of the operator that failed last, empty when none did. */
  readonly lastException: string;
  readonly exceptionsTotal: number;
  /** What is wrong with it now, a sentence each: why it was stopped by an error, what it waits for, what fails. */
  readonly troubles: readonly string[];
  /** How it has ended by itself, a sentence; not of others. */
  readonly ended?: string;
}

/** What connectors may reach on this machine for those who write their properties. */
export interface Access {
  readonly paths: AllowedPaths;
  /** Where rules have logs of their own. */
  readonly logs: AllowedPaths;
  readonly secrets: SecretSources;
  /** Of messages that are encrypted, base64. */
  readonly aesKey?: string;
}

/** What the engine needs to know of stored definitions. */
export interface Catalog {
  source(name: string): StreamDefinition | undefined;
  /** Names of all streams and tables, for suggestions. */
  sourceNames?(): readonly string[];
  /** Properties of a source configuration key; undefined when there is none. */
  confKey(source: string, key: string): Record<string, unknown> | undefined;
  /**
   * The layers of `confKey`, the lowest first; those of the operator came with the program, its files or environment.
   */
  confKeyLayers?(
    source: string,
    key: string,
  ): readonly { readonly key: string; readonly props: Record<string, unknown>; readonly isGiven: boolean }[];
  /** Names of the configuration keys of a source. */
  confKeyNames?(source: string): readonly string[];
  /** Another number after each change of keys and connections; without it nothing that is made of them is kept. */
  version?(): number;
  connection(id: string): { typ: string; props: Record<string, unknown> } | undefined;
  /** What users brought under the name of a function. */
  readonly brought?: FindBrought;
  /** Finds what reads and writes messages of the format `custom`; without it nothing does. */
  readonly codec?: FindCodec;
  /** What scripts in graphs may take; without it they cannot run. */
  readonly scriptLimits?: ScriptLimits;
  /** What connectors may reach; any file without it. */
  readonly access?: Access;
  /** Caches of sinks: where their files are, and what holds for all of them; without it there are none. */
  readonly sinkCaches?: {
    readonly folder: string;
    readonly defaults: Parsed<typeof sinkCacheSpec>;
    /** What the backlogs of rules leave free on the disk. */
    readonly minFreeBytes: number;
  };
}

/** A connection that a rule which is not stopped has, or tries to get. */
export interface ConnectionUse {
  /** Of the rule and the part of it, for connections without a name. */
  id: string;
  rule: string;
  typ: string;
  /** Id of the named connection it uses. */
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

/** What the user should know of a stream or table, a sentence each. */
export interface SourceWarnings {
  readonly warnings: readonly string[];
  /** Of what is usual to write all the same. */
  readonly notes: readonly string[];
}

/** How a rule is planned in another thread. */
export interface Preparing {
  /** Set when nobody wants the plan any more; one that is not at work then is not made. */
  readonly signal?: AbortSignal | undefined;
  /** Runs each look at other definitions: with those of an import, which are not stored yet. */
  readonly within?: <T>(look: () => T) => T;
  /** The server itself needs the plan: it is taken however much waits. */
  readonly isOwn?: boolean | undefined;
  /** The rule is to be traced: what that needs is planned as well. */
  readonly isTraced?: boolean;
}

export interface Engine {
  /**
   * Plans a rule of which that takes long in another thread; what is asked for the same object next finds the plan.
   * Rejects as `check` throws, and with `overload` when too much waits to be planned.
   */
  prepare?(rule: RuleDefinition, how?: Preparing): Promise<void>;
  /** As `prepare`, of a rule that the engine has: it is about to start. */
  prepareStart?(id: string, how?: Preparing): Promise<void>;
  /** Tells whether `prepare` plans the rule in another thread. */
  isLarge?(rule: RuleDefinition): boolean;
  /**
   * Checks the definition as creation would, without keeping anything. Throws HaumeaError (parse, plan,
   * unknownConnector, stream).
   */
  check(rule: RuleDefinition): { sources: string[]; warnings: readonly string[] };
  /**
   * What no rule could use of a stream or table, a sentence each: an unknown type, a key that is not there, options
   * without effect among those `given` in its statement.
   */
  warningsOf(source: StreamDefinition, given: ReadonlySet<OptionName>): SourceWarnings;
  explain(rule: RuleDefinition, how?: Preparing): string | Promise<string>;
  /** Output columns by index. */
  outputFields(rule: RuleDefinition): string[];
  /**
   * Adds a rule (stopped) or replaces the definition of a known one; throws without changing anything when it is
   * refused. Returns what the user should know about a rule that is taken: the answer to its creation has it, a line
   * each.
   */
  define(rule: RuleDefinition): readonly string[];
  /** What the user should know about the rule beside the others, a sentence each. */
  remarks(rule: RuleDefinition): readonly string[];
  start(id: string): void;
  /** Resolves when the sinks are flushed, with what they could not send any more: a sentence each. */
  stop(id: string): Promise<readonly string[]>;
  restart(id: string): Promise<readonly string[]>;
  /** Stops and forgets the rule. */
  remove(id: string): Promise<readonly string[]>;
  /**
   * Configuration keys that these streams use have changed: sources of running rules prove with them who they are, from
   * the next attempt to connect on.
   */
  renew?(streams: readonly string[]): void;
  state(id: string): RuleState | undefined;
  /**
   * What is wrong with the connections of a rule's sources, now that all have tried to connect: nothing means that what
   * is sent from now on reaches the rule. Undefined while one tries for the first time.
   */
  opening(id: string): readonly string[] | undefined;
  /**
   * All stored rules start now, one after the other; or the last of them has. Those that feed each other wait until
   * then.
   */
  startsAll?(isMoreComing: boolean): void;
  /** Removes the state of rules that are not among these, or keep none any more. */
  sweep?(stored: ReadonlySet<string>): Promise<void>;
  /** Removes all that a rule which it does not know has left; returns what has to wait for a sink, a sentence each. */
  discard?(id: string, rule: RuleDefinition | undefined): Promise<readonly string[]>;
  /** Hears of what rules find to be lost. */
  onLoss?: (loss: Loss) => void;
  /** How the rule went on from a checkpoint at its last start, a sentence; empty when it did not. */
  restored?(id: string): string;
  /**
   * What of the state of the rule with that id goes over to this definition; undefined when there is no such rule.
   * Throws HaumeaError when the definition can't be planned.
   */
  keptBy?(rule: RuleDefinition): KeptChanges | undefined;
  /** Lets a source of a running rule go on elsewhere; resolves with the reason when it can't. */
  resetSource(id: string, stream: string, position: unknown): Promise<string | undefined>;
  status(id: string): Promise<RuleStatus>;
  /** All known rules. */
  summaries(): Promise<RuleSummary[]>;
  /** Rows of the scan tables of a running rule; none of one that does not run. */
  scanTables(id: string): Promise<TableRow[]>;
  /** CPU time of the rules that run or ended in the last half minute, since their start. */
  cpuTimes(): Promise<RuleCpuTime[]>;
  /** Memory that running rules hold, bytes; what rules share is divided among them. */
  memory?(): Promise<{ id: string; bytes: number }[]>;
  /** Memory of each data plane, whichever rules hold it. */
  threadMemory?(): Promise<ThreadMemory[]>;
  /** Memory that the code of a user has at work, bytes. */
  userCodeBytes?(owner: string): Promise<number>;
  /** Times that the operators of running rules took, where they are measured (`basic.prometheus`). */
  latencies?(): Promise<({ id: string } & RuleLatencies)[]>;
  topology(id: string): { sources: string[]; edges: Record<string, string[]> } | undefined;
  /** Names of known rules that read the stream and are not stopped, or are among those given. */
  usersOf(stream: string, alsoStopped?: ReadonlySet<string>): string[];
  /**
   * Fields of the stream's messages that the rule reads, none of an unknown rule; undefined when it takes whole
   * messages. Throws HaumeaError when the rule could not be planned any more.
   */
  fieldsRead(id: string, stream: string): string[] | undefined;
  /**
   * A stream or table was made, replaced or dropped. Resolves when a lookup table that keeps rows takes them, or when
   * that is not to be waited for.
   */
  sourceChanged?(name: string): Promise<void>;
  /** The code of a user's functions was replaced for running rules as well, or taken away (null). */
  functionsChanged?(owner: string, functions: readonly UserFunction[] | null): void;
  /** Connections of all rules that are not stopped. */
  connectionUses(): ConnectionUse[];
  /**
   * Traces a running rule from now on, or no longer with null. Rejects with HaumeaError `state` when it does not run.
   */
  setTrace(id: string, strategy: TraceStrategy | null, how?: Preparing): Promise<void>;
  isTraced(id: string): boolean;
  /** The traces kept. */
  readonly traces: Traces;
  /** Stops everything within the time given. */
  close(timeoutMs: number): Promise<void>;
}

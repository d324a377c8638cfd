/** Turns the counters of a running rule into the figures of its status: totals first, then operator by operator. */
import type { NodeCounters, Timeliness } from '../../../../kernels/api.js';
import type { OperatorPlan } from '../../../../kernels/plan/ir.js';
import type { Failure, Metrics } from '../../../model/figures.js';
import type { Connection } from '../connect/connection.js';
import { stateBytesOf } from '../memory/memory.js';
import type { RunningCache, RunningNode, RunningRule, RunningSink, RunningSource } from '../running/running.js';
import { heldMs } from './blocks.js';

/** Figures of one operator. */
interface Figures {
  recordsIn: number;
  recordsOut: number;
  messages: number;
  latencyUs: number;
  waiting: number;
  lastInvocation: number;
  exceptions: number;
  lastException: string;
  lastExceptionAt: number;
  /** Failures to read messages alone, for a source. */
  reading?: Pick<Figures, 'exceptions' | 'lastException' | 'lastExceptionAt'>;
  connection?: Connection;
  /** Redelivered messages that were not passed on, for a source with a session. */
  redelivered?: number;
  /** Time for which sinks have held up the source now, ms. */
  heldMs?: number;
  /** Bytes that wait in a branch, and messages lost there, for a source that others read on. */
  branch?: { bytes: number; lost: number };
  /** Watermark figures of an event time node. */
  timeliness?: Timeliness;
  /** Number of partitions kept and forgotten, for functions that look back. */
  partitions?: { kept: number; forgotten: number };
  /** Values found in answers that were there or under way, and values asked for, for a lookup. */
  answers?: { found: number; asked: number };
  /** Rows that wait for answers, or for a time. */
  rowsWaiting?: number;
  /** Messages that wait on disk for a sink. */
  cache?: RunningCache;
}

const nothing: Figures = {
  recordsIn: 0,
  recordsOut: 0,
  messages: 0,
  latencyUs: 0,
  waiting: 0,
  lastInvocation: 0,
  exceptions: 0,
  lastException: '',
  lastExceptionAt: 0,
};

/** Figures of the parts of a rule; nodes, sources and sinks as the plan lists them. */
interface RuleFigures {
  nodes: { node: RunningNode; figures: Figures }[];
  sources: Figures[];
  sinks: Figures[];
  operators: readonly OperatorPlan[];
}

function figuresOf(rule: RunningRule): RuleFigures {
  const { kernel } = rule.host;
  const nodes = rule.nodes.map((node) => {
    const figures = nodeFigures(node, kernel.counters(node.handle));
    // A node of event time is never shared with other rules.
    if (node.kind === 'eventTime') figures.timeliness = kernel.timeliness(node.handle);
    if (node.isPartitioned === true) figures.partitions = kernel.partitions(node.handle);
    if (node.kind === 'ask' || node.kind === 'dedup') {
      const { batches, rows, found, asked } = kernel.waiting(node.handle);
      figures.waiting = batches;
      figures.rowsWaiting = rows;
      if (node.asksTable === true) figures.answers = { found, asked };
      const lost = rule.waitings.find((waiting) => waiting.node === node.handle)?.lost;
      if (lost !== undefined && lost.rows > 0) {
        figures.exceptions += lost.rows;
        figures.lastException = lost.reason;
        figures.lastExceptionAt = lost.at;
      }
    }
    return { node, figures };
  });
  const sources = rule.sources.map((_source, i) => sourceFigures(rule, i));
  // Nodes that write nothing call no sink: their rows are the sink's messages.
  for (const { node, figures } of nodes) {
    if (!node.isSilent) continue;
    for (const sink of node.sinks) sink.settle(figures.recordsOut, figures.lastInvocation);
  }
  return { nodes, sources, sinks: rule.sinks.map(sinkFigures), operators: rule.operators };
}

/** Collects the figures of a rule that is linked. */
export function metricsOf(rule: RunningRule): Metrics {
  const found = figuresOf(rule);
  const { nodes, sources, sinks } = found;
  // Branches of a graph that read the same stream have one source.
  const distinct = sources.filter((_figures, i) => rule.sources.indexOf(rule.sources[i]!) === i);
  const sum = (list: readonly number[]) => list.reduce((total, value) => total + value, 0);
  const filters = nodes.filter(({ node }) => node.kind === 'filter');
  const all = [...distinct, ...nodes.map(({ figures }) => figures), ...sinks];
  const metrics: Metrics = {
    sourceRecordsInTotal: sum(distinct.map((figures) => figures.recordsIn)),
    sourceRecordsFilteredTotal: sum(filters.map(({ figures }) => figures.recordsIn - figures.recordsOut)),
    sinkRecordsEnqueuedTotal: sum(rule.sinks.map((sink) => sink.messagesIn)),
    sinkRecordsOutTotal: sum(rule.sinks.map((sink) => sink.messagesOut)),
    sinkRecordsFailedTotal: sum(rule.sinks.map((sink) => sink.messagesFailed)),
    sinkQueueHighWater: Math.max(0, ...rule.sinks.map((sink) => sink.highWater)),
    exceptionsTotal: sum(all.map((figures) => figures.exceptions)),
    processLatencyMs: Math.round(sum(nodes.map(({ figures }) => figures.latencyUs))) / 1000,
    bufferLength: sum([...distinct, ...sinks].map((figures) => figures.waiting)),
    lastInvocation: zonelessTime(Math.max(0, ...all.map((figures) => figures.lastInvocation))),
  };
  metrics.stateBytes = stateBytesOf(rule);
  const { userCodeBytes } = rule;
  if (userCodeBytes !== undefined) metrics.userCodeMemoryBytes = userCodeBytes;
  const { longCalls } = rule;
  if (longCalls !== undefined) {
    metrics.longCallsTotal = longCalls.count;
    metrics.longestCallMs = longCalls.ms;
    metrics.longestCallOperator = longCalls.operator;
    metrics.longestCallRows = longCalls.rows;
  }
  const { checkpoints } = rule;
  if (checkpoints !== undefined) {
    metrics.stateAtStart = checkpoints.atStart;
    metrics.checkpointsTotal = checkpoints.count;
    metrics.lastCheckpointTime = zonelessTime(checkpoints.lastAt);
    metrics.lastCheckpointBytes = checkpoints.lastBytes;
    metrics.lastCheckpointWrittenBytes = checkpoints.lastWrittenBytes;
    metrics.lastCheckpointPauseMs = checkpoints.lastPauseMs;
    metrics.lastCheckpointMs = checkpoints.lastMs;
    metrics.lastCheckpointFailure = checkpoints.failure;
    metrics.checkpointFailing = checkpoints.failure === '' ? 0 : 1;
  }
  for (const operator of rule.operators) put(metrics, operator.name, shownFigures(operator, found));
  return metrics;
}

/** Last failure of the operators of a linked rule; undefined before any. */
export function failureOf(rule: RunningRule): Failure | undefined {
  const found = figuresOf(rule);
  if (!hasFailed(found)) return undefined;
  let latest = nothing;
  for (const operator of rule.operators) {
    const figures = shownFigures(operator, found);
    if (figures.lastExceptionAt > latest.lastExceptionAt) latest = figures;
  }
  return latest === nothing ? undefined : { reason: latest.lastException, total: latest.exceptions };
}

/** Tells at little cost whether a part has ever failed: most of thousands of rules have not. */
function hasFailed({ nodes, sources, sinks }: RuleFigures): boolean {
  const isAt = ({ lastExceptionAt, reading }: Figures) => lastExceptionAt > 0 || (reading?.lastExceptionAt ?? 0) > 0;
  return nodes.some(({ figures }) => isAt(figures)) || sources.some(isAt) || sinks.some(isAt);
}

/** Failures of rows and messages so far: connections tell of their own. */
export interface RowFailures {
  /** Name of the operator. */
  operator: string;
  /** The rows are late, which is no error. */
  isLate: boolean;
  count: number;
  /** Text of the last failure. */
  last: string;
  /** Source whose messages could not be read; undefined for other operators. */
  source?: RunningSource | undefined;
}

const lateText = 'a row came too late, the watermark had passed its timestamp (lateTolerance)';

/** Lists the operators of a rule that is linked which failed at rows, dropped some as late or lost messages. */
export function rowFailuresOf(rule: RunningRule): RowFailures[] {
  const found = figuresOf(rule);
  const sendsLate = rule.nodes.some(({ kind }) => kind === 'late');
  return rule.operators.flatMap((operator) => {
    const { part, name } = operator;
    if (
      part === 'decoder' &&
      rule.operators.some((other) => other.part === 'source' && other.source === operator.source)
    )
      return [];
    const figures = shownFigures(operator, found);
    const source = part === 'source' ? rule.sources[operator.source ?? -1] : undefined;
    const sink = part === 'sink' ? rule.sinks[operator.action ?? -1] : undefined;
    const count = sink === undefined ? rowsFailed(figures, source) : sink.messagesFailed;
    const late = sendsLate ? 0 : (figures.timeliness?.late ?? 0);
    return [
      ...(late > 0 ? [{ operator: name, isLate: true, count: late, last: lateText }] : []),
      ...(count > 0 ? [{ operator: name, isLate: false, count, last: lastOf(figures, source), source }] : []),
    ];
  });
}

/** Failures but those of connections. */
function rowsFailed({ exceptions }: Figures, source: RunningSource | undefined): number {
  return source === undefined ? exceptions : exceptions - source.exceptions + source.failures;
}

/** The last failure but those of connections. */
function lastOf({ lastException, reading }: Figures, source: RunningSource | undefined): string {
  const isOfConnection =
    source !== undefined && lastException === source.lastException && lastException !== source.lastFailure;
  if (!isOfConnection) return lastException;
  const isNewer = source.lastFailureAt >= (reading?.lastExceptionAt ?? 0);
  return isNewer ? source.lastFailure : (reading?.lastException ?? '');
}

/** Figures that are shown for an operator of the plan. */
function shownFigures(operator: OperatorPlan, { nodes, sources, sinks, operators }: RuleFigures): Figures {
  switch (operator.part) {
    case 'sink':
      return sinks[operator.action ?? -1] ?? nothing;
    case 'source':
      return sources[operator.source ?? -1] ?? nothing;
    case 'decoder':
      return decoderFigures(sources[operator.source ?? -1] ?? nothing);
    case 'transform':
      // Failures of the projection are its own, although one node does both.
      return isProjected(operator, operators)
        ? withoutFailures(operatorFigures(operator, nodes))
        : inWords(operator, nodes);
    default:
      return inWords(operator, nodes);
  }
}

/** A source that loses its connection is no failure of its decoder. */
function decoderFigures(source: Figures): Figures {
  return { ...source, ...source.reading, waiting: 0, connection: undefined, heldMs: undefined, branch: undefined };
}

function isProjected(transform: OperatorPlan, operators: readonly OperatorPlan[]): boolean {
  return operators.some(
    ({ part, nodes }) => part === 'operator' && nodes.some((node) => transform.nodes.includes(node)),
  );
}

function withoutFailures(figures: Figures): Figures {
  return { ...figures, exceptions: 0, lastException: '', lastExceptionAt: 0 };
}

/** Words for the work of an operator when it failed: clients look for the word error. */
const doing: Readonly<Record<string, string>> = {
  project: 'run Select error',
  projectset: 'run Select error',
  filter: 'run Where error',
  windowFilter: 'run Where error',
  having: 'run Having error',
  aggregate: 'run Group By error',
  order: 'run Order By error',
  join: 'run Join error',
  join_aligner: 'run Join error',
  window: 'run Window error',
};

/** The figures of an operator; its failure says what it was doing. */
function inWords(operator: OperatorPlan, nodes: RuleFigures['nodes']): Figures {
  const figures = operatorFigures(operator, nodes);
  const { lastException } = figures;
  if (lastException === '') return figures;
  const during = doing[operator.name.replace(/^op_\d+_/, '')] ?? 'error';
  return { ...figures, lastException: `${during}: ${lastException}` };
}

/** Brings the sinks' figures up to date in metrics that were taken before the sinks were flushed. */
export function refreshSinks(metrics: Metrics, rule: RunningRule): void {
  metrics.sinkRecordsOutTotal = rule.sinks.reduce((total, sink) => total + sink.messagesOut, 0);
  metrics.sinkRecordsFailedTotal = rule.sinks.reduce((total, sink) => total + sink.messagesFailed, 0);
  metrics.bufferLength = rule.sinks.reduce((total, sink) => total + sink.waitingMessages, 0);
  for (const { name, part, action } of rule.operators) {
    const sink = part === 'sink' ? rule.sinks[action ?? -1] : undefined;
    if (sink !== undefined) put(metrics, name, sinkFigures(sink));
  }
}

/**
 * Rows come in at the first node of an operator and go out of the last. Transforming and encoding for a sink are one
 * node here: their rows are shown for both, time and failures once.
 */
function operatorFigures(operator: OperatorPlan, nodes: RuleFigures['nodes']): Figures {
  const figuresOfAll = (list: readonly number[]) =>
    list.map((node) => nodes[node]?.figures).filter((figures) => figures !== undefined);
  const outputs = figuresOfAll(operator.outputs ?? []);
  const own = [...figuresOfAll(operator.nodes), ...outputs];
  const first = own[0];
  const last = own.at(-1);
  if (first === undefined || last === undefined) return nothing;
  const latest = own.reduce((a, b) => (b.lastExceptionAt > a.lastExceptionAt ? b : a));
  const isSecond = operator.part === 'encode';
  const partitioned = own.flatMap(({ partitions }) => partitions ?? []);
  return {
    ...last,
    ...(partitioned.length === 0 ? {} : { partitions: sumOf(partitioned) }),
    recordsIn: first.recordsIn,
    recordsOut: outputs.length === 0 ? last.recordsOut : outputs.reduce((total, one) => total + one.recordsOut, 0),
    messages: first.messages,
    latencyUs: isSecond ? 0 : own.reduce((total, figures) => total + figures.latencyUs, 0),
    exceptions: isSecond ? 0 : own.reduce((total, figures) => total + figures.exceptions, 0),
    lastException: isSecond ? '' : latest.lastException,
    lastExceptionAt: isSecond ? 0 : latest.lastExceptionAt,
  };
}

function sumOf(partitions: readonly NonNullable<Figures['partitions']>[]): NonNullable<Figures['partitions']> {
  return {
    kept: partitions.reduce((total, { kept }) => total + kept, 0),
    forgotten: partitions.reduce((total, { forgotten }) => total + forgotten, 0),
  };
}

function nodeFigures(node: RunningNode, counters: NodeCounters): Figures {
  const { base } = node;
  const exceptions = counters.exceptions - (base?.exceptions ?? 0);
  return {
    recordsIn: counters.recordsIn - (base?.recordsIn ?? 0),
    recordsOut: counters.recordsOut - (base?.recordsOut ?? 0),
    messages: counters.recordsIn - (base?.recordsIn ?? 0),
    latencyUs: counters.busyUs - (base?.busyUs ?? 0),
    waiting: 0,
    lastInvocation: counters.lastInvocation,
    exceptions,
    lastException: exceptions > 0 ? counters.lastException : '',
    lastExceptionAt: exceptions > 0 ? counters.lastExceptionAt : 0,
  };
}

function sourceFigures(rule: RunningRule, i: number): Figures {
  const source = rule.sources[i]!;
  const base = rule.sourceBases[i]!;
  const counters = source.counters;
  source.noteOversized(counters.oversized);
  const failed = counters.exceptions - base.exceptions + counters.oversized - base.oversized;
  const isNewer = source.lastExceptionAt >= counters.lastExceptionAt;
  const lost = rule.lostInput?.get(source);
  const branch = rule.lag?.branchOf(source);
  const figures: Figures = {
    recordsIn: counters.messages - base.messages,
    recordsOut: counters.recordsOut - base.recordsOut,
    messages: counters.messages - base.messages,
    latencyUs: counters.busyUs - base.busyUs,
    waiting: branch?.waitingMessages ?? 0,
    lastInvocation: source.lastInputAt,
    exceptions: failed + source.exceptions,
    lastException: isNewer ? source.lastException : counters.lastException,
    lastExceptionAt: Math.max(source.lastExceptionAt, counters.lastExceptionAt),
    reading: {
      exceptions: failed,
      lastException: counters.lastException,
      lastExceptionAt: counters.lastExceptionAt,
    },
    connection: source.connection,
    heldMs: heldMs(source),
    ...(source.redeliveries === undefined ? {} : { redelivered: source.redeliveries.redelivered }),
    ...(branch === undefined && lost === undefined
      ? {}
      : { branch: { bytes: branch?.waitingBytes ?? 0, lost: lost?.messages ?? 0 } }),
  };
  if (lost === undefined) return figures;
  figures.exceptions += lost.messages;
  if (lost.at < figures.lastExceptionAt) return figures;
  figures.lastException = `${lost.messages} messages were dropped: ${lost.reason}`;
  figures.lastExceptionAt = lost.at;
  return figures;
}

function sinkFigures(sink: RunningSink): Figures {
  return {
    recordsIn: sink.messagesIn,
    recordsOut: sink.messagesOut,
    messages: sink.messagesOut,
    latencyUs: 0,
    waiting: sink.waitingMessages,
    lastInvocation: sink.lastInvocation,
    exceptions: sink.exceptions + sink.messagesFailed,
    lastException: sink.lastException,
    lastExceptionAt: sink.lastExceptionAt,
    connection: sink.connection,
    ...(sink.cache === undefined ? {} : { cache: sink.cache }),
  };
}

type Shown<T> = readonly (readonly [name: string, of: (from: T) => number | string])[];

/** Figures that each operator has. */
const usual: Shown<Figures> = [
  ['records_in_total', ({ recordsIn }) => recordsIn],
  ['records_out_total', ({ recordsOut }) => recordsOut],
  ['messages_processed_total', ({ messages }) => messages],
  ['process_latency_us', ({ latencyUs }) => Math.round(latencyUs)],
  ['buffer_length', ({ waiting }) => waiting],
  ['last_invocation', ({ lastInvocation }) => lastInvocation],
  ['exceptions_total', ({ exceptions }) => exceptions],
  ['last_exception', ({ lastException }) => lastException],
  ['last_exception_time', ({ lastExceptionAt }) => lastExceptionAt],
];
const ofConnection: Shown<NonNullable<Figures['connection']>> = [
  ['connection_status', ({ status }) => status],
  ['connection_last_connected_time', ({ lastConnectedAt }) => lastConnectedAt],
  ['connection_last_disconnected_time', ({ lastDisconnectedAt }) => lastDisconnectedAt],
  ['connection_last_disconnected_message', ({ lastMessage }) => lastMessage],
  ['connection_last_try_time', ({ lastTryAt }) => lastTryAt],
];

/** Names of these by operator: thousands of rules have the same, and making them took longer than their values. */
const namesByOperator = new Map<
  string,
  { readonly usual: readonly string[]; readonly ofConnection: readonly string[] }
>();
const mostOperators = 1000;

function namesOf(operator: string) {
  let names = namesByOperator.get(operator);
  if (names === undefined) {
    const named = ([name]: readonly [string, unknown]) => `${operator}_0_${name}`;
    names = { usual: usual.map(named), ofConnection: ofConnection.map(named) };
    if (namesByOperator.size >= mostOperators) namesByOperator.clear();
    namesByOperator.set(operator, names);
  }
  return names;
}

function putAll<T>(metrics: Metrics, names: readonly string[], shown: Shown<T>, from: T): void {
  for (const [i, [, of]] of shown.entries()) metrics[names[i]!] = of(from);
}

function put(metrics: Metrics, name: string, figures: Figures): void {
  const prefix = `${name}_0_`;
  const names = namesOf(name);
  putAll(metrics, names.usual, usual, figures);
  if (figures.heldMs !== undefined) metrics[`${prefix}held_ms`] = figures.heldMs;
  if (figures.redelivered !== undefined) metrics[`${prefix}messages_repeated_total`] = figures.redelivered;
  const { connection, timeliness, partitions, answers, rowsWaiting, cache, branch } = figures;
  if (branch !== undefined) {
    metrics[`${prefix}input_waiting_bytes`] = branch.bytes;
    metrics[`${prefix}input_dropped_total`] = branch.lost;
  }
  if (cache !== undefined) putCache(metrics, `${prefix}cache_`, cache);
  if (answers !== undefined) {
    metrics[`${prefix}lookup_hits_total`] = answers.found;
    metrics[`${prefix}lookup_asked_total`] = answers.asked;
  }
  if (rowsWaiting !== undefined) metrics[`${prefix}records_waiting`] = rowsWaiting;
  if (timeliness !== undefined) {
    metrics[`${prefix}records_late_total`] = timeliness.late;
    metrics[`${prefix}records_ahead_total`] = timeliness.ahead;
    metrics[`${prefix}records_waiting`] = timeliness.waiting;
    metrics[`${prefix}watermark`] = timeliness.watermark;
  }
  if (partitions !== undefined) {
    metrics[`${prefix}partitions`] = partitions.kept;
    metrics[`${prefix}partitions_forgotten_total`] = partitions.forgotten;
  }
  if (connection !== undefined) putAll(metrics, names.ofConnection, ofConnection, connection);
}

function putCache(metrics: Metrics, prefix: string, { length, onDisk, diskBytes, counts }: RunningCache): void {
  metrics[`${prefix}length`] = length;
  metrics[`${prefix}disk_length`] = onDisk;
  metrics[`${prefix}disk_bytes`] = diskBytes;
  metrics[`${prefix}add_total`] = counts.added;
  metrics[`${prefix}pop_total`] = counts.popped;
  metrics[`${prefix}flush_total`] = counts.flushes;
  metrics[`${prefix}load_total`] = counts.loads;
  metrics[`${prefix}drop_total`] = counts.dropped;
  metrics[`${prefix}damaged_total`] = counts.damaged;
  metrics[`${prefix}cut_off_total`] = counts.cutOff;
}

/** Prints an epoch time without its zone and with microseconds; empty for never. */
function zonelessTime(ms: number): string {
  return ms === 0 ? '' : `${new Date(ms).toISOString().slice(0, -1)}000`;
}

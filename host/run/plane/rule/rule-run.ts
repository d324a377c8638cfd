/** A rule at work: its nodes in the kernel, its sinks, its part in the sources. */

import type { HostColumns, LinkedNode, NodeHandle, StreamCounters } from '../../../../kernels/api.js';
import type { ColumnUse, NodePlan } from '../../../../kernels/plan/ir.js';
import { isAtWork } from '../../../../kernels/state/deferred.js';
import { keepsPartitions, sourceOfColumns } from '../../../../kernels/traits.js';
import type { Histogram } from '../../../../kernels/values/histogram.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { Logger } from '../../../base/log/log.js';
import { allOf, type Redact } from '../../../base/secrets/redact.js';
import type { PipedProgram } from '../../../base/structures/piped-program.js';
import type { AskedPart } from '../../../connectors/define.js';
import { connectorFor } from '../../../connectors/loaded.js';
import type { TableRow } from '../../../model/figures.js';
import type { KeptByNode } from '../../../model/kept.js';
import type { MakeMessages, UserFunction } from '../../../plugins/define.js';
import type { PortableCode } from '../../../plugins/portable/code.js';
import type { LookupSpec, RenewedParts, RuleStart, RunNotice } from '../../link/protocol.js';
import { Gathering, gathersMessages } from '../acknowledge/gathering.js';
import type { AskedTables } from '../calls/asking.js';
import type { CodeWatch } from '../calls/code-watch.js';
import type { UserCalls } from '../calls/user-calls.js';
import { UnorderedWaiting, Waiting, type WaitingHost } from '../calls/waiting.js';
import type { Reconnects } from '../connect/reconnects.js';
import type { SourceRun } from '../input/source-run.js';
import { sinkTroubles, sourceTroubles } from '../observe/trouble.js';
import type { SinkHost } from '../output/sink-host.js';
import { SinkRun } from '../output/sink-run.js';
import { placeOf } from '../running/rule-groups.js';
import type {
  JoinedTable,
  LongCalls,
  LostInput,
  PlaneHost,
  RunningLag,
  RunningNode,
  RunningRule,
  RunningSink,
  RunningSource,
} from '../running/running.js';
import type { RuleCheckpoints } from '../state/checkpoint/rule-checkpoints.js';
import { savedAs } from '../state/checkpoint/saved-as.js';
import { readsNothing, sharedReading, withColumns, withSource } from './reading.js';
import { linkLetters, outputOf } from './sink-plans.js';
import { joinedTables, keptSources, noSources, readsTables, rowsOf } from './tables.js';
import { type Terms, termsOf } from './terms.js';

/** The part of the data plane that a rule uses. */
export interface RuleHost extends PlaneHost {
  /** Times are measured for histograms. */
  readonly measuresAll: boolean;
  readonly reconnects: Reconnects;
  /** Takes the lines about a run. */
  logOf(run: number): Logger;
  readonly askedTables: AskedTables | undefined;
  askedPart(type: string): AskedPart;
  addWaiting(waiting: Waiting): void;
  removeWaiting(waiting: Waiting): void;
  /** Runs work of the kernel that is for the rule alone. */
  workFor(rule: RuleRun, call: () => void): void;
  readonly userCalls: UserCalls;
  readonly codeWatch: CodeWatch;
  /** To be called when no row of the rule waits for answers any more. */
  idle(rule: RuleRun): void;
  /** Adds sinks to the output of a node, which rules with equal plans share. */
  addOutput(node: NodeHandle, sinks: readonly RunningSink[]): void;
  removeOutput(node: NodeHandle, sinks: readonly RunningSink[]): void;
  /** To be called when a failure outside of the kernel is to be logged. */
  noteLoss(): void;
  /** To be called when a sink of the rule has tried to connect. */
  triedSink(rule: RuleRun): void;
  /** Returns an equal list that other rules hold already, if there is one. */
  sameOperators(operators: RuleStart['plan']['operators']): RuleStart['plan']['operators'];
}

/** The lists that most rules have nothing in: a list of its own for each would be a tenth of a rule. */
const none: readonly never[] = [];

export class RuleRun implements SinkHost, RunningRule {
  readonly id: string;
  readonly run: number;
  readonly #terms: Terms;
  tables: readonly JoinedTable[] = none;
  sinks: readonly SinkRun[] = none;
  nodes: readonly RunningNode[] = none;
  gatherings: readonly Gathering[] = none;
  waitings: readonly Waiting[] = none;
  /** Times measured in each source when the rule came. */
  sourceLatencies: readonly (Histogram | null)[] = none;
  /** The end of the rule has begun: a second cause changes nothing. */
  isEnding = false;
  finishingSince = 0;
  /** Long kernel calls for the rule; undefined before the first. */
  longCalls: LongCalls | undefined;
  /** See `RunningRule`. */
  lag: RunningLag | undefined;
  lostInput: Map<RunningSource, LostInput> | undefined;
  blocks = 0;
  waitingResults = 0;
  /** Sources of lookup tables, which other rules use as well. */
  #kept: ReadonlySet<RunningSource> = noSources;
  /** See `RuleStart`; rules have no room for it where none moves. */
  declare moving?: KeptByNode;
  #isReleased = false;
  #isOpen = false;
  #reading = readsNothing;

  constructor(
    start: RuleStart,
    readonly host: RuleHost,
    /** Checkpoints of the rule; left out when its state is not kept. */
    public checkpoints?: RuleCheckpoints,
  ) {
    this.id = start.id;
    this.run = start.run;
    this.#terms = termsOf(start, host.sameOperators(start.plan.operators));
    if (start.moving !== undefined) this.moving = start.moving;
  }

  /**
   * Builds sinks and nodes; on failure `release` undoes what was done. The lists are joined, not pushed to: a list that
   * grew by pushes has room for 17, and there are thousands of rules with one sink.
   */
  link(start: RuleStart, sources: readonly SourceRun[]): void {
    const { plan } = start;
    const { kernel } = this.host;
    start.sinks.forEach((spec, i) => {
      const { sinkLimitBytes, sendError } = start;
      const output = outputOf(plan, i);
      const connector = connectorFor('sink', spec.type);
      const isExact = (this.checkpoints?.order.qos ?? 0) > 1 && spec.getsLetters !== true;
      const name = isExact ? `${this.id}/${i}` : undefined;
      const sink = new SinkRun(spec, connector, this, sinkLimitBytes, sendError, output, name);
      this.sinks = this.sinks.concat(sink);
    });
    linkLetters(start, this.sinks);
    sources.forEach((source, i) => {
      this.#read(source, plan.sources[i]?.columns ?? []);
    });
    this.#reading = sharedReading(this.#reading);
    const isLate = readsTables(plan, sources);
    for (const node of plan.nodes) this.nodes = this.nodes.concat(this.#addNode(node, start, isLate));
    const tables = joinedTables(plan, sources, (node) => this.nodes[node]!.handle);
    if (tables.length > 0) this.tables = tables;
    this.#kept = keptSources(plan, sources);
  }

  #read(source: SourceRun, uses: readonly ColumnUse[]): void {
    const { kernel } = this.host;
    this.#reading = withSource(this.#reading, source);
    source.users.add(this);
    if (this.checkpoints !== undefined) source.keepPlaces();
    if (this.measuresAll) this.sourceLatencies = this.sourceLatencies.concat(kernel.latencies(source.stream));
    this.#reading = withColumns(this.#reading, source, uses, kernel);
  }

  /** Sinks and lookup tables take their new properties, and sources as `renewSource` does. */
  renew({ lookups, sinks }: RenewedParts, renewSource: (source: SourceRun) => void): void {
    for (const source of this.sources) renewSource(source);
    for (const waiting of this.waitings) waiting.renew(lookups);
    sinks.forEach((spec, i) => {
      this.sinks[i]?.renew(spec);
    });
  }

  /** Masks the secrets of its sources and sinks. */
  get redact(): Redact {
    return allOf([...this.sources, ...this.sinks].map((part) => part.redact));
  }

  get isAcknowledged(): boolean {
    return this.sources.some(({ hasAcknowledged }) => hasAcknowledged);
  }

  /** Whether no more rows can come out, since the sources are at their end, tables aside; false once it finishes. */
  get isFinished(): boolean {
    if (this.finishingSince > 0) return false;
    if (isAtWork(this.host.kernel, this.run)) return false;
    if (this.waitings.some(({ node }) => this.host.kernel.waiting(node).first !== 0)) return false;
    if (this.lag?.isWaiting === true) return false;
    return !this.#terms.isTable && this.sources.every((source) => source.isEnded || this.isTable(source));
  }

  /** Tells that its sources and sinks have tried to connect, once all have. */
  noteOpening(tell: (notice: RunNotice) => void): void {
    if (this.#isOpen || this.isEnding || !this.sources.every(({ isTried, isEnded }) => isTried || isEnded)) return;
    if (!this.sinks.every(({ isTried }) => isTried)) return;
    this.#isOpen = true;
    tell({ kind: 'opened', run: this.run, troubles: [...sourceTroubles(this), ...sinkTroubles(this)] });
  }

  isTable(source: RunningSource): boolean {
    return this.#kept.has(source) || this.tables.some((table) => table.source === source);
  }

  get operators(): Terms['operators'] {
    return this.#terms.operators;
  }

  get flushTimeoutMs(): number | undefined {
    return this.#terms.flushTimeoutMs;
  }

  get isDebug(): boolean {
    return this.#terms.isDebug;
  }

  get maxStateBytes(): number {
    return this.#terms.maxStateBytes;
  }

  get stopsWhenFull(): boolean {
    return this.#terms.stopsWhenFull;
  }

  get functions(): readonly UserFunction[] {
    return this.#terms.functions;
  }

  get portables(): readonly PortableCode[] {
    return this.#terms.portables;
  }

  get dropsInput(): boolean {
    return this.#terms.dropsInput;
  }

  get inputLimitBytes(): number {
    return this.#terms.inputLimitBytes;
  }

  get sources(): readonly SourceRun[] {
    return this.#reading.sources;
  }

  get sourceBases(): readonly StreamCounters[] {
    return this.#reading.bases;
  }

  #rebase(change: (base: StreamCounters, place: number) => StreamCounters): void {
    this.#reading = { ...this.#reading, bases: this.#reading.bases.map(change) };
  }

  /** Places of the rule's columns in the batches of a source. */
  columnsOf(source: number): readonly number[] {
    return this.#reading.columns[source]?.indexes ?? [];
  }

  /** Rows of its scan tables. */
  tableRows(): TableRow[] {
    return this.tables.flatMap((table) => rowsOf(table, this.host.kernel));
  }

  /** Gives its sinks all that is left, for which it waits from now on. */
  finish(): void {
    this.finishingSince = Date.now();
    this.flushNodes();
  }

  /** Sends the rows that encode nodes have gathered. */
  flushNodes(): void {
    for (const node of this.nodes) if (node.kind === 'encode') this.host.kernel.flush(node.handle);
  }

  /** Whether the rule calls functions of the owner. */
  usesCodeOf(owner: string): boolean {
    return this.#owners().includes(owner);
  }

  get userCodeBytes(): number | undefined {
    const owners = this.#owners();
    return owners.length === 0 ? undefined : this.host.codeWatch.memory.bytesOf(owners);
  }

  /** Owners of the code that the rule calls, services included. */
  #owners(): string[] {
    const asked = this.waitings.flatMap(({ spec }) => spec?.call ?? []);
    return [...this.functions, ...asked].map(({ owner }) => owner);
  }

  /** Adds a node in which rows wait for answers of the table, or without a table until their time has come. */
  #waits(node: NodeHandle, plan: Extract<NodePlan, { kind: 'ask' | 'dedup' }>, spec: LookupSpec | undefined): void {
    const { host } = this;
    const own: WaitingHost = {
      rule: this,
      kernel: host.kernel,
      sinks: this.sinks,
      now: () => host.now(),
      work: (call) => host.workFor(this, call),
      hold: (isFull) => this.sinkIsFull(isFull),
      idle: () => host.idle(this),
    };
    const waiting: Waiting =
      plan.kind === 'dedup'
        ? new UnorderedWaiting(
            node,
            Number.POSITIVE_INFINITY,
            'the end of the range that dedup_trigger() asks for',
            own,
          )
        : spec === undefined
          ? new Waiting(node, plan.waiting.batches, 'the time of delay()', own)
          : host.askedTables!.asking(node, plan, spec, host.askedPart, own);
    this.waitings = [...this.waitings, waiting];
    host.addWaiting(waiting);
  }

  /** Gives back all that the rule holds in the kernel and leaves its sources. */
  release(): void {
    this.checkpoints?.leave();
    this.blockForResults(0);
    for (const waiting of this.waitings) {
      waiting.close();
      this.host.removeWaiting(waiting);
      if (waiting.spec !== undefined) this.host.askedTables?.leave(waiting.spec);
    }
    const { kernel } = this.host;
    this.#isReleased = true;
    const { nodes } = this;
    const { columns } = this.#reading;
    this.nodes = [];
    this.#reading = { ...this.#reading, columns: [] };
    for (const { handle, sinks, isSilent } of nodes.toReversed()) {
      if (sinks.length > 0 && !isSilent) this.host.removeOutput(handle, sinks);
      kernel.releaseNode(handle);
    }
    for (const gathering of this.gatherings) {
      for (const source of this.sources) source.gatherings.delete(gathering.node);
      gathering.giveBack();
    }
    for (const { source, indexes, uses } of columns) kernel.releaseColumns(source.stream, indexes, uses);
    const full = this.sinks.filter((sink) => sink.isFull).length;
    for (const source of this.sources) {
      source.left(this);
      source.places?.leave(this);
      if (this.#kept.has(source)) continue;
      // A rule that goes must not hold up the others.
      for (let i = 0; i < full; i++) source.sinkIsFull(false);
    }
  }

  /** @param isLate tables of the rule are read before it takes rows of streams */
  #addNode(plan: NodePlan, start: RuleStart, isLate: boolean): RunningNode {
    const { lookups = [], sendError, zone } = start;
    const { nodes } = start.plan;
    const { kernel } = this.host;
    const { input } = plan;
    const sinks = this.#sinksOf(plan);
    const numbered = sourceOfColumns(nodes, plan);
    const columnMap = numbered === null ? null : (this.#reading.columns[numbered]?.indexes ?? null);
    const linked: LinkedNode = { plan, columnMap, host: this.run, sendError, zone, now: this.host.now() };
    const from = input !== null && 'source' in input ? this.#reading.columns[input.source]!.source : undefined;
    if (from !== undefined) linked.place = this.#placeIn(from, isLate);
    // Gathered rows are in the checkpoint, which holds their messages then.
    const kept = (this.checkpoints?.order.kept ?? this.moving)?.get(this.nodes.length);
    if (kept !== undefined) linked.saved = savedAs(kept);
    if (plan.kind === 'port') linked.target = this.nodes[plan.into]!.handle;
    const table = plan.kind === 'ask' && plan.lookup !== null ? lookups[plan.lookup] : undefined;
    if (plan.kind === 'ask' && table !== undefined) linked.plan = { ...plan, waiting: table.waiting };
    if (plan.kind === 'lookup') linked.target = this.nodes[plan.table]!.handle;
    const above = input !== null && 'node' in input ? { node: this.nodes[input.node]!.handle } : null;
    const parent = from === undefined ? above : { stream: from.stream };
    const handle = kernel.addNode(parent, linked);
    if (plan.kind === 'ask' || plan.kind === 'dedup') this.#waits(handle, plan, table);
    const counters = kernel.counters(handle);
    const isSilent = plan.kind === 'encode' && plan.output.format === 'none';
    if (sinks.length > 0 && !isSilent) this.host.addOutput(handle, sinks);
    if (sinks.length > 0 && gathersMessages(plan, nodes) && this.checkpoints === undefined) {
      const gathering = new Gathering(handle, sinks, kernel);
      this.gatherings = this.gatherings.concat(gathering);
      for (const source of this.sources) if (!this.#kept.has(source)) source.gatherings.set(handle, gathering);
    }
    const base = counters.recordsIn > 0 ? counters : null;
    const latencyBase = base === null ? null : kernel.latencies(handle);
    return {
      kind: plan.kind,
      sinks,
      isSilent,
      handle,
      base,
      latencyBase,
      asksTable: table !== undefined,
      isPartitioned: keepsPartitions(plan),
    };
  }

  #sinksOf(plan: NodePlan): readonly SinkRun[] {
    const sinks = plan.kind === 'encode' ? plan.actions.map((i) => this.sinks[i]!) : none;
    return sinks.length === this.sinks.length && sinks.every((sink, i) => sink === this.sinks[i]) ? this.sinks : sinks;
  }

  /** Returns the place of the rule in the source as a key: only rules at the same place may share nodes. */
  #placeIn(source: SourceRun, isLate: boolean): string | undefined {
    if (source.spec.isShared && source.hasStarted && isLate) return `of ${this.run}`;
    if (!source.spec.isShared || source.spec.handed || this.checkpoints === undefined) return undefined;
    const place = this.checkpoints.placeIn(source.name);
    if (source.hasStarted) return place === undefined ? undefined : `of ${this.run}`;
    return JSON.stringify(place ?? null);
  }

  // Methods for sinks

  get measuresAll(): boolean {
    return this.host.measuresAll;
  }

  get isSynced(): boolean {
    return this.checkpoints !== undefined;
  }

  get reconnects(): Reconnects {
    return this.host.reconnects;
  }

  get log(): Logger {
    return this.host.logOf(this.run);
  }

  /** Logs a line when debug logging is on for the rule. */
  debug(line: () => string): void {
    if (this.isDebug) this.log.debug(line());
  }

  get paths(): AllowedPaths {
    return this.host.paths;
  }

  shared<T>(key: string, make: () => T): T {
    return this.host.shared(key, make);
  }

  callUser(number: number, columns: HostColumns): void {
    this.host.userCalls.call(number, columns);
  }

  makerOf(number: number): MakeMessages | undefined {
    return this.host.userCalls.makerOf(number);
  }

  programOf(number: number | undefined): PipedProgram | undefined {
    return this.host.userCalls.programOf(number);
  }

  sinkIsFull(isFull: boolean): void {
    if (this.#isReleased) return;
    this.blocks += isFull ? 1 : -1;
    // Tables are not paused, since other rules look up in them, too.
    for (const source of this.sources) if (!this.#kept.has(source)) placeOf(this, source).sinkIsFull(isFull);
  }

  damaged(messages: number | undefined, reason: string): void {
    const count = messages === undefined ? {} : { messages };
    this.host.lost({ resource: 'rule', name: this.id, what: 'messages', reason, ...count });
  }

  cameTo(source: RunningSource): void {
    const isIt = (i: number) => this.sources[i] === source;
    this.#rebase((base, i) => (isIt(i) ? source.counters : base));
    if (!this.measuresAll) return;
    const { kernel } = this.host;
    this.sourceLatencies = this.sourceLatencies.map((base, i) => (isIt(i) ? kernel.latencies(source.stream) : base));
  }

  tookFromBranch(source: RunningSource, messages: number): void {
    this.#rebase((base, i) => (this.sources[i] === source ? { ...base, messages: base.messages - messages } : base));
  }

  inputLost(source: RunningSource, messages: number, reason: string): void {
    const before = this.lostInput?.get(source)?.messages ?? 0;
    this.lostInput ??= new Map();
    this.lostInput.set(source, { messages: before + messages, reason, at: Date.now() });
    this.host.noteLoss();
  }

  get gathersInput(): boolean {
    return this.gatherings.length > 0;
  }

  workedOff(): void {
    this.host.idle(this);
  }

  blockForResults(results: number): void {
    const isFull = results > 0;
    if (isFull !== this.waitingResults > 0) this.sinkIsFull(isFull);
    this.waitingResults = results;
  }

  tried(): void {
    this.host.triedSink(this);
  }

  messagesLost(): void {
    this.host.noteLoss();
  }

  sinkFailed(reason: string): void {
    this.host.failed(this, reason);
  }
}

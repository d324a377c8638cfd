/** The data plane of one thread: a kernel, the sources that feed it, the rules that run in it. */
import type { HostCalls, HostColumns, Kernel, NodeHandle, OutputChunk, StreamHandle } from '../../kernels/api.js';
import { KernelError } from '../../kernels/error.js';
import type { OperatorPlan } from '../../kernels/ir.js';
import { AllowedPaths } from '../base/allowed-paths.js';
import { SteadyTime } from '../base/clock.js';
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { loadEncoder } from '../codecs/index.js';
import { connectorFor, loadConnector } from '../connectors/index.js';
import { CpuTimes } from './cpu-times.js';
import { ErrorLog } from './error-log.js';
import type { Gathering } from './gathering.js';
import type { Heartbeat } from './heartbeat.js';
import { HoldWatch, holdMessage } from './holds.js';
import { latenciesOf, type RuleLatencies } from './latencies.js';
import { longCallMs, noteLongCall } from './long-calls.js';
import { memoryOf } from './memory.js';
import { metricsOf, refreshSinks } from './metrics.js';
import { accuse, endExhausted } from './notices.js';
import { OperatorLists } from './operator-lists.js';
import type { Metrics, Report, RuleStart, RunStatus, RunTrouble, SourceSpec } from './protocol.js';
import { Reconnects } from './reconnects.js';
import { type End, endParts } from './rule-end.js';
import { RuleRun } from './rule-run.js';
import type { SinkRun } from './sink-run.js';
import { SourceRun } from './source-run.js';
import { startSources } from './start-sources.js';
import { type Starvation, StarvationWatch } from './starvation.js';
import type { TableRow } from './tables.js';
import type { TraceOrder } from './trace.js';
import { TraceRecorder } from './trace-recorder.js';
import { troubleOfAll, troublesOf } from './trouble.js';

export interface PlaneOptions {
  /** Makes the kernel, which hands its output to `calls`. */
  kernel: (calls: HostCalls) => Promise<Kernel> | Kernel;
  /** Host functions of expressions. */
  call: (fn: number, args: HostColumns) => void;
  report: (report: Report) => void;
  log: Logger;
  /** Takes the lines about a run; `log` takes them without it. */
  logOf?: (run: number) => Logger;
  heartbeat: Heartbeat;
  /** Times are measured for histograms; by default they are not. */
  measuresAll?: boolean;
  coalesceMs: number;
  flushTimeoutMs: number;
  /** Longest time between two attempts to connect, ms. */
  maxReconnectMs?: number;
  /** Files that connectors may open; any without it. */
  paths?: AllowedPaths;
  /** The kernel broke: nothing in it can be trusted any more. */
  broken: (error: unknown) => void;
}

/** Longest delay a timer takes. */
/** A call of the kernel during which sinks may have got no chance to go on, ms. */
const busyMs = 100;
const maxTimerMs = 2 ** 31 - 1;

export class DataPlane implements HostCalls {
  declare kernel: Kernel;
  readonly #rules = new Map<number, RuleRun>();
  /** The same rules, as the users of work that is for all of them. */
  readonly #all = new Set<RuleRun>();
  /** Runs whose start is under way, and whether they were stopped meanwhile. */
  readonly #starting = new Map<number, { isStopped: boolean; start: RuleStart }>();
  readonly #sources = new Map<string, SourceRun>();
  readonly #byStream = new Map<StreamHandle, SourceRun>();
  /** Sinks by the encode node that writes for them. */
  readonly #outputs = new Map<NodeHandle, Set<SinkRun>>();
  readonly #operators = new OperatorLists();
  readonly #shared = new Map<string, unknown>();
  readonly #traces = new TraceRecorder(
    () => this.kernel,
    (trace) => this.options.report({ kind: 'trace', trace }),
  );
  readonly #cpuTimes = new CpuTimes();
  readonly #errors = new ErrorLog(this.#all);
  /** Failures in the kernel as far as they were noticed. */
  #failures = 0;
  readonly #time = new SteadyTime((ms) =>
    this.log.warn(
      `the clock of the system was set back by ${Math.round(ms / 1000)} s: windows go on by the time before, ` +
        'until the clock has reached it or the server is started again',
    ),
  );
  /** Time of all work that timers began, µs. */
  #timerUs = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #isWorking = false;
  /** Whose input the kernel works on. */
  #atWork: SourceRun | undefined;
  /** Nodes that keep messages unacknowledged. */
  readonly #gathering = new Set<Gathering>();
  busyUntil = 0;
  readonly #holdWatch = new HoldWatch(() => this.#sources.values());
  readonly #starvationWatch = new StarvationWatch(this.#all, () => this.kernel);
  #isBroken = false;

  readonly paths: AllowedPaths;

  readonly reconnects: Reconnects;

  private constructor(readonly options: PlaneOptions) {
    this.paths = options.paths ?? AllowedPaths.any();
    this.reconnects = new Reconnects(options.maxReconnectMs);
  }

  static async open(options: PlaneOptions): Promise<DataPlane> {
    const plane = new DataPlane(options);
    plane.kernel = await options.kernel(plane);
    return plane;
  }

  get log(): Logger {
    return this.options.log;
  }

  logOf(run: number): Logger {
    return this.options.logOf?.(run) ?? this.log;
  }

  get coalesceMs(): number {
    return this.options.coalesceMs;
  }

  now(): number {
    return this.#time.now();
  }

  // Control

  /** Starts a rule; reports `started` or `failed`. */
  async start(start: RuleStart): Promise<void> {
    const entry = { isStopped: false, start };
    this.#starting.set(start.run, entry);
    try {
      const sinks = start.sinks.flatMap(({ type, props }) => [loadConnector('sink', type), loadEncoder(props)]);
      await Promise.all([...sinks, ...start.sources.map(({ type }) => loadConnector('source', type))]);
      this.#starting.delete(start.run);
      if (entry.isStopped) this.options.report({ kind: 'stopped', run: start.run, metrics: {}, losses: [] });
      else this.#link(start);
    } catch (error) {
      this.#starting.delete(start.run);
      this.options.report({ kind: 'failed', run: start.run, reason: reasonOf(error), metrics: {} });
    }
  }

  /** Stops a run; reports `stopped` when its sinks are flushed. A run that is not there any more has reported its end. */
  async stop(run: number): Promise<void> {
    const starting = this.#starting.get(run);
    if (starting !== undefined) starting.isStopped = true;
    const rule = this.#rules.get(run);
    if (rule === undefined || rule.isEnding) return;
    const { metrics, losses } = await this.#end(rule, true);
    this.options.report({ kind: 'stopped', run, metrics, losses });
  }

  metrics(run: number): Metrics | undefined {
    const rule = this.#rules.get(run);
    return rule === undefined || rule.isEnding ? undefined : metricsOf(rule);
  }

  /** How a run does; undefined when it is gone. */
  status(run: number): RunStatus | undefined {
    const rule = this.#rules.get(run);
    if (rule === undefined || rule.isEnding) return undefined;
    return { metrics: metricsOf(rule), message: holdMessage(rule), troubles: troublesOf(rule, this.#errors) };
  }

  /** What the tables of a run hold; undefined when it does not run. */
  tableRows(run: number): TableRow[] | undefined {
    const rule = this.#rules.get(run);
    return rule === undefined || rule.isEnding || this.#isBroken ? undefined : rule.tableRows();
  }

  /** What went wrong in each run, and is wrong now. */
  failures(): Promise<[run: number, trouble: RunTrouble][]> {
    return troubleOfAll([...this.#all], this.#errors, () => this.#isBroken);
  }

  /** Follows the input of a run from now on, or no longer. */
  trace(run: number, order: TraceOrder | null): void {
    const starting = this.#starting.get(run);
    if (starting !== undefined) starting.start.trace = order ?? undefined;
    const rule = this.#rules.get(run);
    if (rule !== undefined && !rule.isEnding) this.#traces.set(rule, order);
  }

  /** CPU time of each run since its start, µs. */
  cpuTimes(): [run: number, us: number][] {
    return this.#isBroken ? [] : this.#cpuTimes.take(this.#all, this.#timerUs);
  }

  /** Memory that each run holds, bytes. */
  memory(): [run: number, bytes: number][] {
    return this.#isBroken ? [] : memoryOf(this.#all);
  }

  get measuresAll(): boolean {
    return this.options.measuresAll === true;
  }

  /** Times that the operators of each run took. */
  latencies(): RuleLatencies[] {
    if (this.#isBroken) return [];
    return [...this.#all].filter(({ isEnding }) => !isEnding).map(latenciesOf);
  }

  async close(): Promise<void> {
    for (const source of this.#sources.values()) source.keepUnacknowledged();
    await Promise.all([...this.#rules.keys()].map((run) => this.stop(run)));
    clearTimeout(this.#timer);
    this.#holdWatch.close();
    this.#errors.close();
  }

  // What rules and sources call

  shared<T>(key: string, make: () => T): T {
    let made = this.#shared.get(key);
    if (made === undefined) {
      made = make();
      this.#shared.set(key, made);
    }
    return made as T;
  }

  addOutput(node: NodeHandle, sinks: readonly SinkRun[]): void {
    const takers = this.#outputs.get(node);
    if (takers === undefined) this.#outputs.set(node, new Set(sinks));
    else for (const sink of sinks) takers.add(sink);
  }

  removeOutput(node: NodeHandle, sinks: readonly SinkRun[]): void {
    const takers = this.#outputs.get(node);
    if (takers === undefined) return;
    for (const sink of sinks) takers.delete(sink);
    if (takers.size === 0) this.#outputs.delete(node);
  }

  work(whose: ReadonlySet<RuleRun>, call: () => void, source?: SourceRun, input?: Uint8Array): void {
    if (this.#isBroken) return;
    // An output that writes again within a kernel call is a defect of a connector, and would ruin the kernel's state.
    if (this.#isWorking) throw new Error('the kernel is at work already');
    const { heartbeat } = this.options;
    for (const rule of whose) {
      heartbeat.enter(rule.run, whose.size);
      break;
    }
    this.#isWorking = true;
    this.#atWork = source;
    const began = performance.now();
    try {
      const traced = this.#traces.isOn ? this.#traces.begin(whose, source, input) : undefined;
      this.kernel.beginWork();
      call();
      if (traced !== undefined) this.#traces.finish(traced);
    } catch (error) {
      if (!(error instanceof KernelError) || error.isFatal) {
        this.#isBroken = true;
        accuse(error, this.#all, heartbeat);
        this.options.broken(error);
      } else {
        // Out of memory: what was to be done was not done, everything else goes on.
        this.log.error(reasonOf(error));
        for (const rule of whose) for (const source of rule.sources) source.exception(reasonOf(error));
      }
    } finally {
      this.#isWorking = false;
      this.#atWork = undefined;
      if (source !== undefined) source.workUs += (performance.now() - began) * 1000;
    }
    if (this.#isBroken) return;
    const tookMs = performance.now() - began;
    if (tookMs >= busyMs) this.busyUntil = Date.now();
    if (tookMs >= longCallMs) noteLongCall(tookMs, whose, source !== undefined, this.log);
    heartbeat.leave();
    for (const gathering of this.#gathering) {
      gathering.settle();
      if (!gathering.isHolding) this.#gathering.delete(gathering);
    }
    const failures = this.kernel.failureCount();
    if (failures !== this.#failures) {
      this.#failures = failures;
      this.#errors.noteFailure(source, input);
    }
    this.#arm();
  }

  gathers(gathering: Gathering): void {
    this.#gathering.add(gathering);
  }

  waits(): void {
    this.#holdWatch.arm();
  }

  starves(source: SourceRun): Starvation {
    return this.#starvationWatch.look(source);
  }

  noteLoss(): void {
    this.#errors.noteLoss();
  }

  failed(rule: RuleRun, reason: string): void {
    // The kernel may be in the middle of a call.
    setImmediate(() => {
      if (rule.isEnding || this.#isBroken) return;
      void this.#end(rule, false).then(({ metrics }) => {
        this.options.report({ kind: 'failed', run: rule.run, reason, metrics });
      });
    });
  }

  sameOperators(operators: OperatorPlan[]): OperatorPlan[] {
    return this.#operators.same(operators);
  }

  tried(source: SourceRun): void {
    for (const rule of source.users) rule.noteOpening(this.options.report);
  }

  triedSink(rule: RuleRun): void {
    rule.noteOpening(this.options.report);
  }

  refused(source: SourceRun, reason: string): void {
    for (const rule of source.users) this.failed(rule, reason);
  }

  ended(source: SourceRun): void {
    for (const rule of source.users) {
      if (!rule.isEnding && rule.isFinished) void this.#finish(rule);
    }
  }

  /** Ends a rule whose input is at its end; what its sinks could not send yet is waited for. */
  async #finish(rule: RuleRun): Promise<void> {
    await Promise.all(rule.sinks.map((sink) => sink.emptied()));
    if (rule.isEnding || this.#isBroken) return;
    const { metrics, reason } = await this.#end(rule, true);
    if (reason === undefined) this.options.report({ kind: 'ended', run: rule.run, metrics });
    else this.options.report({ kind: 'failed', run: rule.run, reason, metrics });
  }

  // What the kernel calls

  onOutput(chunk: OutputChunk): void {
    if (this.#traces.isOn) this.#traces.output(chunk);
    const takers = this.#outputs.get(chunk.node);
    if (takers === undefined) return;
    const now = Date.now();
    const { barrier } = this.#atWork ?? {};
    for (const sink of takers) {
      sink.write(chunk, now);
      if (barrier !== undefined) sink.hold(barrier);
    }
  }

  onPacket(stream: StreamHandle, packet: Uint8Array): void {
    this.#byStream.get(stream)?.packet(packet);
  }

  onAcknowledge(stream: StreamHandle, packetIds: Uint16Array): void {
    this.#byStream.get(stream)?.taken(packetIds);
  }

  onExhausted(node: NodeHandle): void {
    endExhausted(node, this.#all);
  }

  /** A node that asks for a time is that of one rule. */
  onTick(run: number): void {
    this.options.heartbeat.enter(run, 1);
  }

  call(fn: number, args: HostColumns): void {
    this.options.call(fn, args);
  }

  /** Takes no break between looking for a shared source and using it, so that two starts can't both make one. */
  #link(start: RuleStart): void {
    const rule = new RuleRun(start, this);
    const fresh: SourceRun[] = [];
    this.options.heartbeat.enter(start.run, 1);
    try {
      const sources: SourceRun[] = [];
      for (const spec of start.sources) sources.push(this.#source(spec, start.run, fresh));
      rule.link(start, sources);
    } catch (error) {
      rule.release();
      for (const source of fresh) void this.#drop(source);
      for (const sink of rule.sinks) void sink.close(this.options.flushTimeoutMs);
      throw error;
    } finally {
      this.options.heartbeat.leave();
    }
    this.#rules.set(rule.run, rule);
    this.#all.add(rule);
    if (start.trace !== undefined) this.#traces.set(rule, start.trace);
    rule.debug(
      () =>
        `started with ${start.plan.nodes.length} nodes, ${start.sources.length} sources, ${start.sinks.length} sinks`,
    );
    this.options.report({ kind: 'started', run: rule.run });
    for (const sink of rule.sinks) sink.start();
    startSources(rule, fresh);
    // A shared source may have come to its end before this rule came.
    for (const source of rule.sources) if (source.isEnded) setImmediate(() => this.ended(source));
    rule.noteOpening(this.options.report);
    this.#arm();
  }

  /** Returns the source of a shared stream that runs already, or makes one. */
  #source(spec: SourceSpec, run: number, fresh: SourceRun[]): SourceRun {
    const key = spec.isShared ? `${spec.name} ${JSON.stringify(spec)}` : `${spec.name} ${run}`;
    const running = this.#sources.get(key);
    if (running !== undefined && !running.isEnded) return running;
    const source = new SourceRun(spec, connectorFor('source', spec.type), this, key);
    this.#sources.set(key, source);
    this.#byStream.set(source.stream, source);
    fresh.push(source);
    return source;
  }

  /** Ends a rule and frees all it holds. With `isGraceful` the sinks get their time to send what is left. */
  async #end(rule: RuleRun, isGraceful: boolean): Promise<End & { metrics: Metrics }> {
    rule.isEnding = true;
    if (isGraceful) this.work(new Set([rule]), () => rule.flushNodes());
    const metrics = this.#isBroken ? {} : metricsOf(rule);
    const unused = this.#isBroken ? [] : rule.sources.filter(({ users }) => users.size === 1 && users.has(rule));
    for (const source of unused) source.keepUnacknowledged();
    const isFull = !this.#isBroken && rule.sinks.some((sink) => sink.isFull);
    const held = isFull ? [...new Set(rule.sources)].filter((source) => !unused.includes(source)) : [];
    for (const source of held) source.sinkIsFull(true);
    if (!this.#isBroken) {
      this.#traces.set(rule, null);
      this.#errors.end(rule);
      this.#cpuTimes.end(rule, this.#all, this.#timerUs);
      rule.release();
    }
    const end = await endParts(rule, {
      isGraceful,
      timeoutMs: rule.flushTimeoutMs ?? this.options.flushTimeoutMs,
      unused,
      held,
      forget: (source) => this.#forget(source),
      drop: (source) => this.#drop(source),
    });
    rule.debug(() => (isGraceful ? 'ended' : 'ended after a failure'));
    this.#rules.delete(rule.run);
    this.#all.delete(rule);
    refreshSinks(metrics, rule);
    return { ...end, metrics };
  }

  async #drop(source: SourceRun): Promise<void> {
    this.#forget(source);
    this.#byStream.delete(source.stream);
    try {
      await source.close();
    } catch (error) {
      source.log.warn(`closing the source of stream ${source.name} failed: ${reasonOf(error)}`);
    }
  }

  /** New rules on its stream get a source of their own. */
  #forget(source: SourceRun): void {
    if (this.#sources.get(source.key) === source) this.#sources.delete(source.key);
  }

  /** Sets the one timer to what is due next. A deadline that moved back is found when the timer fires. */
  #arm(): void {
    const due = this.kernel.nextDeadline();
    if (due >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = due;
    const delay = Math.min(maxTimerMs, Math.max(0, due - this.now()));
    this.#timer = setTimeout(() => this.#tick(), delay);
  }

  #tick(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.now();
    if (this.kernel.nextDeadline() > now) {
      this.#arm();
      return;
    }
    const began = performance.now();
    this.work(this.#all, () => this.kernel.tick(now));
    this.#timerUs += (performance.now() - began) * 1000;
  }
}

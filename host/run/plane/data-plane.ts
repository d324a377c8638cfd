/** The data plane of one thread: a kernel, the sources that feed it, the rules that run in it. */
import type { HostCalls, HostColumns, Kernel, NodeHandle, OutputChunk, StreamHandle } from '../../../kernels/api.js';
import type { OperatorPlan } from '../../../kernels/plan/ir.js';
import type { CarriedColumns } from '../../../kernels/values/carried.js';
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { Logger } from '../../base/log/log.js';
import { madeOnce } from '../../base/structures/made-once.js';
import { SteadyTime } from '../../base/time/clock.js';
import type { AskedPart } from '../../connectors/define.js';
import { askedPart } from '../../connectors/loaded.js';
import type { Metrics, RuleLatencies, RunStatus, TableRow } from '../../model/figures.js';
import type { Loss } from '../../model/losses.js';
import type { UserFunction } from '../../plugins/define.js';
import { isUserNumber } from '../../plugins/numbers.js';
import type { PortableCode, PortableUse } from '../../plugins/portable/code.js';
import type { AheadOfRules, MovingRun } from '../link/moving.js';
import type { RenewedParts, RuleStart, SettleOrder, TraceOrder } from '../link/protocol.js';
import type { ArgsOf, ByRun, Respondent } from '../link/questions.js';
import type { Gathering } from './acknowledge/gathering.js';
import type { AskedTables } from './calls/asking.js';
import { CodeWatch } from './calls/code-watch.js';
import { Portables } from './calls/portables.js';
import { UserCalls } from './calls/user-calls.js';
import type { Waiting } from './calls/waiting.js';
import { Reconnects } from './connect/reconnects.js';
import type { Exchange } from './exchange/exchange.js';
import type { SourceHost } from './feed/source-host.js';
import { shareWatch } from './input/source-parts.js';
import type { SourceRun } from './input/source-run.js';
import { Sources } from './input/sources.js';
import { asRenewed, StartOrder } from './input/start-order.js';
import { startSources } from './input/start-sources.js';
import { memoryOf, threadMemoryOf } from './memory/memory.js';
import { OperatorLists } from './memory/operator-lists.js';
import { type Starvation, StarvationWatch, type Starved } from './memory/starvation.js';
import { StateBounds } from './memory/state-bounds.js';
import { BlockWatch, blockedBy } from './observe/blocks.js';
import { ErrorLog } from './observe/error-log.js';
import { metricsOf, refreshSinks } from './observe/metrics.js';
import { endExhausted } from './observe/notices.js';
import { Tracing } from './observe/tracing.js';
import { troubleOfAll } from './observe/trouble.js';
import { Outputs } from './output/outputs.js';
import type { PlaneOptions } from './plane-options.js';
import { figuresOf, holdStream, nothing, releaseStream, resetSource, statusOf, tableRowsOf } from './rule/answers.js';
import { endAll } from './rule/end-all.js';
import { isLoaded, loadParts } from './rule/load-parts.js';
import { awaitReturn, type End, emptied, endParts, lossesOf, takeLastTogether, whenRead } from './rule/rule-end.js';
import { type RuleHost, RuleRun } from './rule/rule-run.js';
import type { RunningRule, RunningSink, RunningSource } from './running/running.js';
import { CpuTimes } from './schedule/cpu-times.js';
import { KernelWork } from './schedule/kernel-work.js';
import { openCheckpoints } from './state/checkpoint/late.js';
import type { RuleCheckpoints } from './state/checkpoint/rule-checkpoints.js';

export class DataPlane implements HostCalls, SourceHost, RuleHost, Respondent {
  declare kernel: Kernel;
  readonly #rules = new Map<number, RuleRun>();
  /** All rules, as the users of work that is for all of them. */
  readonly #all = new Set<RuleRun>();
  readonly #beat = () => this.options.heartbeat.beat();
  readonly starting = new StartOrder(this.#all);
  readonly #sources = new Sources(this);
  readonly #outputs = new Outputs();
  readonly #operators = new OperatorLists();
  readonly #shared = new Map<string, unknown>();
  readonly portables = new Portables(this);
  readonly userCalls: UserCalls;
  readonly #tracing = new Tracing(this, (run) => this.#rules.get(run));
  readonly #cpuTimes = new CpuTimes();
  readonly #errors = new ErrorLog(this.#all);
  // The kernel may be in the middle of a call.
  readonly #time = new SteadyTime(() => setImmediate(() => this.#work.followClock()));
  readonly #blockWatch = new BlockWatch(() => this.#sources.all());
  readonly #starvationWatch = new StarvationWatch(this.#all, () => this.kernel);
  readonly #stateBounds: StateBounds;
  readonly #work: KernelWork;
  readonly paths: AllowedPaths;
  readonly codeWatch: CodeWatch;
  /** None with one data plane. */
  exchange: Exchange | undefined;
  /** None before the first rule that asks. */
  askedTables: AskedTables | undefined;
  readonly askedPart: (type: string) => AskedPart;
  readonly reconnects: Reconnects;
  #isClosing = false;

  private constructor(readonly options: PlaneOptions) {
    this.paths = options.paths ?? AllowedPaths.any();
    this.askedPart = options.askedPart ?? askedPart;
    this.reconnects = new Reconnects(options.maxReconnectMs);
    this.#shared.set('sql.maxConnections', options.maxSqlConnections ?? 0);
    this.codeWatch = new CodeWatch(options, (owner, reason) => {
      for (const rule of this.#all) if (rule.usesCodeOf(owner)) this.failed(rule, reason);
    });
    this.userCalls = new UserCalls(this);
    this.#stateBounds = new StateBounds(this.#all, () => this.kernel, options.log);
    this.#work = new KernelWork({
      kernel: () => this.kernel,
      rules: this.#all,
      heartbeat: options.heartbeat,
      tracing: this.#tracing,
      errors: this.#errors,
      stateBounds: this.#stateBounds,
      shares: (options.shares ?? shareWatch)(
        this.#all,
        () => this.kernel,
        () => this.#cpuTimes.take(this.#all, this.#work.timerUs),
      ),
      log: options.log,
      time: this.#time,
      broken: options.broken,
    });
  }

  static async open(options: PlaneOptions): Promise<DataPlane> {
    const plane = new DataPlane(options);
    plane.kernel = await options.kernel(plane);
    if ((options.planes ?? 1) > 1) {
      const { openExchange } = await import('./exchange/exchange.js');
      plane.exchange = openExchange(plane);
    }
    return plane;
  }

  get log(): Logger {
    return this.options.log;
  }

  get rules(): Iterable<RunningRule> {
    return this.#all;
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

  // Commands

  /** Starts a rule; tells of `started` or `failed`. */
  async start(start: RuleStart): Promise<void> {
    const entry = this.starting.begin(start);
    const { functions = [], lookups: asked = [] } = start;
    let isUsing = false;
    let leaveAsked = () => {};
    try {
      if (start.portables !== undefined) await this.portables.connect(start.portables);
      if (!isLoaded(start)) await Promise.all([loadParts(start, this.askedPart), start.trace && this.#tracing.load()]);
      if (asked.length > 0) {
        const { AskedTables } = await import('./calls/asking.js');
        this.askedTables ??= new AskedTables(this);
        leaveAsked = await this.askedTables.hold(asked, this.askedPart);
      }
      if (functions.length > 0) await this.userCalls.use(functions);
      isUsing = true;
      const checkpoints =
        start.checkpoint && (await openCheckpoints(start.checkpoint, this, this.#beat, this.logOf(start.run)));
      if (checkpoints?.order.qos) await this.starting.readersOf(entry);
      this.starting.end(start.run);
      if (entry.isStopped) {
        this.userCalls.release(functions);
        checkpoints?.drop();
        this.options.tell({ kind: 'stopped', run: start.run, metrics: {}, losses: [] });
      } else this.#link(asRenewed(entry), checkpoints);
    } catch (error) {
      this.starting.end(start.run);
      if (isUsing) this.userCalls.release(functions);
      this.options.tell({ kind: 'failed', run: start.run, reason: reasonOf(error), metrics: {} });
    } finally {
      leaveAsked();
    }
  }

  /**
   * Stops a run; tells of `stopped` when its sinks are flushed. A run that is not there any more has told of its end.
   * When the rule `comesBack` at once its input is its own until it has ended.
   */
  async stop(run: number, comesBack = false): Promise<void> {
    const rule = await this.#readyToEnd(run, comesBack);
    if (rule !== undefined) await this.#stop(rule, comesBack);
  }

  /** Stops runs at one instant, as their rules go on in another data plane; tells of each as `stop` does. */
  async move(runs: readonly MovingRun[]): Promise<void> {
    const { endTogether } = await import('./rule/move.js');
    const rules = await Promise.all(runs.map(({ run }) => this.#readyToEnd(run, false, true)));
    await endTogether(rules, runs, { host: this, beat: this.#beat, cut: this.#cutTogether, end: this.#stop });
  }

  #cutTogether = (rules: ReadonlySet<RuleRun>): void =>
    takeLastTogether(rules, (rule, call) => this.workFor(rule, call));

  async #readyToEnd(run: number, comesBack: boolean, isLight = false): Promise<RuleRun | undefined> {
    const starting = this.starting.get(run);
    if (starting !== undefined) starting.isStopped = true;
    const rule = this.#rules.get(run);
    if (rule?.lag !== undefined) await rule.lag.finish(new Set([rule]), comesBack);
    if (rule !== undefined && !this.#isClosing) await whenRead(rule, () => this.#isClosing || this.#work.isBroken);
    if (!this.#isClosing && !isLight) await rule?.checkpoints?.lighten();
    return rule;
  }

  #stop = async (rule: RuleRun, comesBack = false): Promise<void> => {
    if (rule.isEnding) return;
    const { metrics, losses } = await this.#end(rule, true, comesBack);
    this.options.tell({ kind: 'stopped', run: rule.run, metrics, losses });
  };

  /** Gives rules the code that took the place of what they call. */
  async replace(owner: string, functions: readonly UserFunction[] | null): Promise<void> {
    this.askedTables?.replace(owner, functions);
    await this.userCalls.replace(owner, functions).catch((error: unknown) => {
      this.log.error(`${owner} was replaced, but the new one does not load: ${reasonOf(error)}`);
    });
  }

  /** Follows the input of a run from now on, or no longer. */
  trace(run: number, order: TraceOrder | null): Promise<void> {
    return this.#tracing.follow(run, order);
  }

  renew(run: number, parts: RenewedParts): void {
    this.starting.get(run)?.renewals.push(parts);
    this.#rules.get(run)?.renew(parts, (source) => this.#sources.renew(source, parts.sources));
  }

  /** Ends what a rule has left in a sink that it has no more; tells of `settled`. */
  async settle(number: number, order: SettleOrder): Promise<void> {
    this.options.tell({ kind: 'settled', number, ...(await (await import('./rule/settle.js')).settle(order, this)) });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const source of this.#sources.all()) source.keepUnacknowledged();
    await Promise.all([...this.#all].map(({ lag }) => lag?.finish(this.#all, false)));
    for (const source of this.#sources.all()) source.settle();
    this.#cutTogether(this.#all);
    await endAll(this.#rules.values(), ({ run }) => this.stop(run));
    await this.portables.close();
    this.exchange?.close();
    this.#work.close();
    this.#blockWatch.close();
    this.#errors.close();
  }

  // Answers: see Questions

  status = (run: number): RunStatus | undefined => statusOf(this.#rules.get(run), this.#errors);
  figures = (runs: readonly number[]) => (this.#work.isBroken ? nothing : figuresOf(runs, this.#rules));

  tableRows = (run: number): TableRow[] => (this.#work.isBroken ? [] : tableRowsOf(this.#rules.get(run)));
  failedRows = async (run: number, since: number) =>
    (await import('./rule/failed-rows.js')).failedRowsOf(this.#rules.get(run), since, this.#work);
  resetSource = (run: number, stream: string, position: unknown): string | undefined =>
    resetSource(this.#rules.get(run), stream, position);
  traced = (run: number): Promise<boolean> => this.#tracing.isTraced(run);
  keptNumbers = async (...args: ArgsOf<'keptNumbers'>) =>
    (await import('./state/checkpoint/common/numbers.js')).keptNumbers(...args);
  hold = (run: number, sharers: readonly number[]): Promise<boolean> => holdStream(this.#rules, run, sharers);
  readyToMove = async (runs: readonly MovingRun[]) =>
    (await import('./rule/move.js')).readyToMove(this.#rules, runs, this, this.#beat);
  readAhead = async (parts: AheadOfRules) => (await import('./rule/ahead.js')).readAhead(parts, this);
  release = (run: number, planes: readonly number[]): void => releaseStream(this.#rules, run, planes);

  troubles = () => troubleOfAll([...this.#all], this.#errors, () => this.#work.isBroken);
  cpuTimes = (): ByRun<number> => (this.#work.isBroken ? [] : this.#cpuTimes.take(this.#all, this.#work.timerUs));
  traffic = async () => (await import('./observe/traffic.js')).trafficOf([...this.#all], () => this.#work.isBroken);
  memory = (): ByRun<number> => (this.#work.isBroken ? [] : memoryOf(this.#all));
  threadMemory = () => (this.#work.isBroken ? undefined : threadMemoryOf(this.kernel, this.codeWatch.memory.figures()));

  latencies = async (): Promise<RuleLatencies[]> => {
    const { latenciesOf } = await import('./observe/latencies.js');
    return this.#work.isBroken ? [] : [...this.#all].filter(({ isEnding }) => !isEnding).map(latenciesOf);
  };

  exchanges = () => this.exchange?.figures ?? [];

  portableStates = (): PortableUse[] => this.portables.uses(this.#all);
  serviceFigures = () => this.askedTables?.serviceFigures ?? [];

  portableAggregates = (code: PortableCode) => this.portables.aggregatesOf(code);

  // Methods for rules and sources

  get measuresAll(): boolean {
    return this.options.measuresAll === true;
  }

  get busyUntil(): number {
    return this.#work.busyUntil;
  }

  shared = <T>(key: string, make: () => T): T => madeOnce(this.#shared, key, make);

  addOutput = (node: NodeHandle, sinks: readonly RunningSink[]): void => this.#outputs.add(node, sinks);
  removeOutput = (node: NodeHandle, sinks: readonly RunningSink[]): void => this.#outputs.remove(node, sinks);

  work(...args: Parameters<KernelWork['do']>): void {
    this.#work.do(...args);
  }

  holdWaiting = (...args: Parameters<KernelWork['holdWaiting']>): void => this.#work.holdWaiting(...args);

  addWaiting = (waiting: Waiting): void => void this.#work.waitings.add(waiting);
  removeWaiting = (waiting: Waiting): void => void this.#work.waitings.delete(waiting);

  workFor(rule: RuleRun, call: () => void): void {
    this.work(new Set([rule]), call);
  }

  idle(rule: RuleRun): void {
    if (!rule.isEnding && rule.isFinished) void this.#finish(rule);
  }

  gathers = (gathering: Gathering): void => this.#work.gathers(gathering);

  waits = (): void => this.#blockWatch.arm();

  starves(source: Starved): Starvation {
    return this.#starvationWatch.look(source);
  }

  lost = (loss: Loss): void => this.options.tell({ kind: 'loss', loss });

  noteLoss(): void {
    this.#errors.noteLoss();
  }

  failed({ run }: RunningRule, reason: string): void {
    // The kernel may be in the middle of a call.
    setImmediate(() => {
      const rule = this.#rules.get(run);
      if (rule === undefined || rule.isEnding || this.#work.isBroken) return;
      void this.#end(rule, false).then(({ metrics }) => {
        this.options.tell({ kind: 'failed', run, reason, metrics });
      });
    });
  }

  sameOperators(operators: OperatorPlan[]): OperatorPlan[] {
    return this.#operators.same(operators);
  }

  tried(source: RunningSource): void {
    for (const rule of this.#usersOf(source)) rule.noteOpening(this.options.tell);
  }

  triedSink(rule: RuleRun): void {
    rule.noteOpening(this.options.tell);
  }

  refused(source: RunningSource, reason: string): void {
    for (const rule of source.users) this.failed(rule, reason);
  }

  ended(source: RunningSource): void {
    for (const rule of this.#usersOf(source)) if (!rule.isEnding && rule.isFinished) void this.#finish(rule);
  }

  #usersOf(source: RunningSource): RuleRun[] {
    return [...source.users].flatMap(({ run }) => this.#rules.get(run) ?? []);
  }

  /** Ends a rule whose input is at its end; what its sinks could not send yet is waited for. */
  async #finish(rule: RuleRun): Promise<void> {
    this.work(new Set([rule]), () => rule.finish());
    await Promise.all([emptied(rule), rule.checkpoints?.finished()]);
    if (rule.isEnding || this.#work.isBroken) return;
    const { metrics, reason } = await this.#end(rule, true);
    if (reason === undefined) this.options.tell({ kind: 'ended', run: rule.run, metrics });
    else this.options.tell({ kind: 'failed', run: rule.run, reason, metrics });
  }

  // Methods for the kernel

  onOutput(chunk: OutputChunk, now: number): void {
    this.#tracing.recorder?.output(chunk);
    this.#outputs.write(chunk, now, this.#work.input?.barrier);
  }

  onPacket(stream: StreamHandle, packet: Uint8Array): void {
    this.#sources.at(stream)?.packet(packet, this.#work.input?.barrier);
  }

  onAcknowledge(stream: StreamHandle, receipts: Uint32Array): void {
    this.#sources.at(stream)?.taken(receipts, this.#work.input?.barrier);
  }

  onExhausted(node: NodeHandle): void {
    endExhausted(node, this.#all);
  }

  onAsk(node: NodeHandle, request: number, keys: readonly (readonly Value[])[], count: number): void {
    for (const waiting of this.#work.waitings) if (waiting.node === node) waiting.ask(request, keys, count);
  }

  onAskEach(node: NodeHandle, request: number, keys: CarriedColumns): void {
    for (const waiting of this.#work.waitings) if (waiting.node === node) waiting.askEach(request, keys);
  }

  /** A node that asks for a time is that of one rule. */
  onTick(run: number): void {
    if (run > 0) this.options.heartbeat.enter(run, 1);
    this.options.heartbeat.beat();
  }

  zoneOffset(zone: string, at: number): number {
    return this.options.zoneOffset?.(zone, at) ?? 0;
  }

  call(fn: number, args: HostColumns): void {
    if (isUserNumber(fn)) this.userCalls.call(fn, args, this.#work.input?.source.spec);
    else this.options.call(fn, args);
  }

  /** Takes no break between looking for a shared source and using it, so that two starts can't both make one. */
  #link(start: RuleStart, checkpoints: RuleCheckpoints | undefined): void {
    const rule = new RuleRun(start, this, checkpoints);
    const fresh: SourceRun[] = [];
    this.options.heartbeat.enter(start.run, 1);
    try {
      const placeIn = (name: string) => checkpoints?.placeIn(name);
      const sources = start.sources.map((spec) => this.#sources.of(spec, start, fresh, placeIn(spec.name)));
      rule.link(start, sources);
      checkpoints?.begin(rule);
    } catch (error) {
      rule.release();
      for (const source of fresh) void this.#sources.drop(source);
      for (const sink of rule.sinks) void sink.close(this.options.flushTimeoutMs);
      throw error;
    } finally {
      this.options.heartbeat.leave();
    }
    this.#rules.set(rule.run, rule);
    this.#all.add(rule);
    this.#stateBounds.added(rule);
    if (start.trace !== undefined) this.#tracing.recorder?.set(rule, start.trace);
    const { plan, sinks } = start;
    rule.debug(() => `started with ${plan.nodes.length} nodes, ${start.sources.length} sources, ${sinks.length} sinks`);
    this.options.tell({ kind: 'started', run: rule.run, restored: checkpoints?.atStart });
    for (const sink of rule.sinks) sink.start();
    startSources(rule, fresh, checkpoints, this.starting);
    // A shared source may have come to its end before this rule came.
    for (const source of rule.sources) if (source.isEnded) setImmediate(() => this.ended(source));
    rule.noteOpening(this.options.tell);
    this.#work.arm();
  }

  /**
   * Ends a rule and frees all it holds. With `isGraceful` the sinks get their time to send what is left, and its state
   * is kept if it is to be.
   */
  async #end(rule: RuleRun, isGraceful: boolean, comesBack = false): Promise<End & { metrics: Metrics }> {
    const { checkpoints } = rule;
    rule.isEnding = true;
    if (isGraceful) for (const source of rule.sources) if (source.users.size === 1) source.settle();
    if (isGraceful) this.work(new Set([rule]), () => rule.flushNodes());
    const isKept = isGraceful && !this.#work.isBroken && checkpoints?.takeLast() === true;
    const unused = this.#work.isBroken ? [] : rule.sources.filter(({ users }) => users.size === 1 && users.has(rule));
    for (const source of unused) source.keepUnacknowledged();
    if (isKept && (comesBack || this.#isClosing)) awaitReturn(rule);
    this.#work.ended(rule, this.#isClosing ? undefined : this.#cpuTimes);
    const lost = this.#work.isBroken ? [] : lossesOf(rule, isKept);
    const metrics = this.#work.isBroken || this.#isClosing ? {} : metricsOf(rule);
    const held = this.#work.isBroken ? [] : blockedBy(rule, unused);
    for (const source of held) source.sinkIsFull(true);
    if (!this.#work.isBroken) {
      this.#tracing.recorder?.set(rule, null);
      this.#errors.end(rule);
      rule.release();
      this.userCalls.release(rule.functions);
    }
    const end = await endParts(rule, {
      isGraceful,
      timeoutMs: rule.flushTimeoutMs ?? this.options.flushTimeoutMs,
      unused,
      held,
      forget: (source) => this.#sources.forget(source),
      drop: (source) => this.#sources.drop(source),
      settled: (isOut) => checkpoints?.end(isOut),
    });
    rule.debug(() => (isGraceful ? 'ended' : 'ended after a failure'));
    this.#rules.delete(rule.run);
    this.#all.delete(rule);
    if (!this.#isClosing) refreshSinks(metrics, rule);
    return { ...end, losses: [...lost, ...end.losses], metrics };
  }
}

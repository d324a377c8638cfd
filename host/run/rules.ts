/** The rules and their lives: starting, running, stopping, failing and coming back. */
import { systemClock } from '../base/clock.js';
import { HaumeaError, reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { LogTree } from '../base/log-tree.js';
import type { OptionName, StreamDefinition } from '../sql/source-def.js';
import type {
  Catalog,
  ConnectionUse,
  Engine,
  RuleCpuTime,
  RuleDefinition,
  RuleState,
  RuleStatus,
  RuleSummary,
  SourceWarnings,
} from './api.js';
import { connectionsOf, usesOf } from './connection-uses.js';
import type { RuleLatencies } from './latencies.js';
import { failureIn } from './metrics.js';
import type { Metrics, Report } from './protocol.js';
import { MissingPart } from './resolve.js';
import { type Entry, entryOf } from './rule-entry.js';
import { RuleLogs } from './rule-logs.js';
import { type Planner, RulePlans, streamsOf } from './rule-plans.js';
import { Schedule, type Zone, zoneOffsetMs } from './schedule.js';
import { redactedTexts } from './secret-props.js';
import type { Supervisor } from './supervisor.js';
import type { TableRow } from './tables.js';
import { type TraceOrder, TraceStore, type TraceStrategy } from './trace.js';
import { sharedFileWarnings, sourceWarnings } from './warnings.js';

export interface RulesOptions {
  catalog: Catalog;
  planner: Planner;
  log: Logger;
  /** Where rules get logs of their own; without it all lines go to `log`. */
  logs: LogTree | undefined;
  /** Makes the supervisor with `take` and `lost` of the rules as its callbacks. */
  makeSupervisor: (rules: Rules) => Supervisor;
  /** Time zone of schedules and of windows of days, as configured now. */
  zone: () => Zone;
  /** Traces kept. */
  traceCapacity: number;
  /** Longest time between two looks at a schedule, ms: changes of the clock are noticed within it. */
  patrolMs: number;
}

/** A rule that ran so long has recovered: the next failure is its first again. */
const steadyMs = 60_000;
/** Deaths of the data plane within `steadyMs` after which a suspect, or every rule, stops. */
const maxLosses = 3;

/** Messages of the status. */
const canceled = 'canceled manually';
const done = 'done';
const expired = 'duration terminated';
const outOfSchedule = 'schedule terminated';
const waiting: RuleState = 'stopped: waiting for next schedule.';
const none: readonly string[] = [];

export class Rules implements Engine {
  readonly #entries = new Map<string, Entry>();
  readonly #byRun = new Map<number, Entry>();
  readonly #plans: RulePlans;
  readonly #logs: RuleLogs;
  #lastRun = 0;
  #losses: number[] = [];

  readonly #options: RulesOptions;
  readonly traces: TraceStore;

  constructor(options: RulesOptions) {
    this.#options = options;
    this.#plans = new RulePlans(options.catalog, options.planner);
    this.#logs = new RuleLogs(options.log, options.logs);
    this.traces = new TraceStore(options.traceCapacity);
  }

  get log(): Logger {
    return this.#options.log;
  }

  #made: Supervisor | undefined;
  get supervisor(): Supervisor {
    this.#made ??= this.#options.makeSupervisor(this);
    return this.#made;
  }

  // Engine

  check(rule: RuleDefinition): { sources: string[]; warnings: readonly string[] } {
    const { plan, warnings } = this.#plans.make(rule);
    return { sources: streamsOf(plan), warnings };
  }

  warningsOf(source: StreamDefinition, given: ReadonlySet<OptionName>): SourceWarnings {
    return sourceWarnings(source, given, this.#options.catalog);
  }

  explain(rule: RuleDefinition): string {
    return this.#plans.explain(rule);
  }

  outputFields(rule: RuleDefinition): string[] {
    return this.#plans.make(rule).plan.outputFields;
  }

  define(rule: RuleDefinition): readonly string[] {
    const planned = this.#plans.make(rule);
    const schedule = Schedule.of(rule.options, this.#options.zone());
    const { plan } = planned;
    const entry = this.#entries.get(rule.id);
    const change = {
      definition: rule,
      planned,
      sources: streamsOf(plan),
      topology: this.#plans.sameTopology(plan.topology),
      outputFields: plan.outputFields,
      schedule,
    };
    if (entry !== undefined) Object.assign(entry, change);
    else this.#entries.set(rule.id, entryOf(change));
    return planned.warnings;
  }

  remarks(rule: RuleDefinition): readonly string[] {
    return sharedFileWarnings(
      rule,
      [...this.#entries.values()].map(({ definition }) => definition),
    );
  }

  start(id: string): void {
    const entry = this.#known(id);
    if (entry.state === 'starting' || entry.state === 'running') return;
    entry.attempt = 0;
    if (entry.state === 'stopping') {
      entry.onEnd.push(() => this.start(id));
      return;
    }
    entry.skipUntil = 0;
    // The time zone may have changed since the rule was defined.
    entry.schedule = Schedule.of(entry.definition.options, this.#options.zone());
    if (entry.schedule !== undefined) this.#follow(entry, entry.schedule);
    else this.#start(entry);
  }

  async stop(id: string): Promise<readonly string[]> {
    const entry = this.#known(id);
    this.#rest(entry);
    entry.nextStartAt = 0;
    return this.#stop(entry, canceled);
  }

  async restart(id: string): Promise<readonly string[]> {
    const losses = await this.stop(id);
    this.start(id);
    return losses;
  }

  async remove(id: string): Promise<readonly string[]> {
    const entry = this.#known(id);
    this.#entries.delete(id);
    this.#rest(entry);
    return this.#stop(entry, canceled);
  }

  state(id: string): RuleState | undefined {
    return this.#entries.get(id)?.state;
  }

  opening(id: string): readonly string[] | undefined {
    return this.#entries.get(id)?.opening;
  }

  async status(id: string): Promise<RuleStatus> {
    const entry = this.#known(id);
    const { run } = entry;
    const isLive = entry.state === 'running' || entry.state === 'starting';
    const live = isLive ? await this.supervisor.status(run) : undefined;
    const isCurrent = live !== undefined && entry.run === run && entry.state === 'running';
    if (isCurrent) entry.metrics = redactedTexts(live.metrics, entry.redact);
    return {
      status: entry.state,
      message: isCurrent && live.message !== '' ? live.message : entry.message,
      lastStartTimestamp: entry.startedAt,
      lastStopTimestamp: entry.stoppedAt,
      nextStartTimestamp: entry.nextStartAt || this.#nextScheduled(entry),
      metrics: entry.metrics,
      troubles: isCurrent ? live.troubles : none,
    };
  }

  async scanTables(id: string): Promise<TableRow[]> {
    const { run, state } = this.#known(id);
    return (state === 'running' ? await this.supervisor.tableRows(run) : undefined) ?? [];
  }

  /** Asks the data plane once for all rules. */
  async summaries(): Promise<RuleSummary[]> {
    const found = await this.#made?.failures();
    const failures = found === undefined ? undefined : new Map(found);
    return [...this.#entries].map(([id, { state, run, metrics, redact, message }]) => {
      // A run that ended has left its figures here.
      const isLive = failures !== undefined && state === 'running';
      const live = isLive ? failures.get(run) : undefined;
      const failure = isLive ? live?.failure : failureIn(metrics);
      const { reason, total } = failure ?? { reason: '', total: 0 };
      const troubles = state === 'stopped by error' ? [message] : (live?.troubles ?? none);
      return { id, status: state, lastException: redact(reason), exceptionsTotal: total, troubles };
    });
  }

  async cpuTimes(): Promise<RuleCpuTime[]> {
    const times = (await this.#made?.cpuTimes()) ?? [];
    // Those that ended of late are known by their last run only.
    const byRun = new Map([...this.#entries.values()].map((entry) => [entry.run, entry]));
    return times.flatMap(([run, cpuUs]) => {
      const entry = byRun.get(run);
      return entry === undefined ? [] : [{ id: entry.definition.id, startedAt: entry.startedAt, cpuUs }];
    });
  }

  async memory(): Promise<{ id: string; bytes: number }[]> {
    const found = (await this.#made?.memory()) ?? [];
    return found.flatMap(([run, bytes]) => {
      const id = this.#byRun.get(run)?.definition.id;
      return id === undefined ? [] : [{ id, bytes }];
    });
  }

  async latencies(): Promise<({ id: string } & RuleLatencies)[]> {
    const found = (await this.#made?.latencies()) ?? [];
    return found.flatMap((latencies) => {
      const id = this.#byRun.get(latencies.run)?.definition.id;
      return id === undefined ? [] : [{ id, ...latencies }];
    });
  }

  topology(id: string): { sources: string[]; edges: Record<string, string[]> } | undefined {
    return this.#entries.get(id)?.topology;
  }

  usersOf(stream: string, alsoStopped?: ReadonlySet<string>): string[] {
    const users: string[] = [];
    for (const [id, { sources, state }] of this.#entries) {
      const counts = !state.startsWith('stopped') || alsoStopped?.has(id) === true;
      if (counts && sources.includes(stream)) users.push(id);
    }
    return users;
  }

  fieldsRead(id: string, stream: string): string[] | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return [];
    const { sources } = this.#plans.make(entry.definition).plan;
    const columns = sources.filter((source) => source.stream === stream).flatMap((source) => source.columns);
    if (columns.some(({ kind }) => kind === 'row')) return undefined;
    return columns.flatMap((column) => (column.kind === 'field' ? [column.name] : []));
  }

  setTrace(id: string, strategy: TraceStrategy | null): void {
    const entry = this.#known(id);
    const isLive = entry.state === 'running' || entry.state === 'starting';
    if (!isLive && strategy !== null) throw new HaumeaError('state', `rule ${id} is not running`);
    entry.trace = strategy ?? undefined;
    if (isLive) this.supervisor.post({ kind: 'trace', run: entry.run, order: this.#traceOrder(entry) ?? null });
  }

  isTraced(id: string): boolean {
    return this.#entries.get(id)?.trace !== undefined;
  }

  connectionUses(): ConnectionUse[] {
    return [...this.#entries].flatMap(([id, { state, connections, redact }]) =>
      usesOf(id, state, connections, redact, () => this.status(id)),
    );
  }

  async close(timeoutMs: number): Promise<void> {
    for (const entry of this.#entries.values()) this.#rest(entry);
    await this.#made?.close(timeoutMs);
  }

  // What the supervisor calls

  /** Takes what the data plane reports about runs; late news of earlier runs finds nothing. */
  take(report: Report): void {
    if (report.kind === 'status' || report.kind === 'usage' || report.kind === 'trace') return;
    if (
      report.kind === 'memory' ||
      report.kind === 'latencies' ||
      report.kind === 'failures' ||
      report.kind === 'tables'
    )
      return;
    const entry = report.run === undefined ? undefined : this.#byRun.get(report.run);
    if (report.kind === 'log') {
      this.#logs.take(entry, report);
      return;
    }
    if (entry === undefined) return;
    switch (report.kind) {
      case 'started':
        if (entry.state === 'starting') entry.state = 'running';
        return;
      case 'opened':
        entry.opening = report.troubles.map(entry.redact);
        return;
      case 'ended':
        this.#ended(entry, 'stopped', done, report.metrics);
        return;
      case 'stopped':
        entry.losses = report.losses;
        this.#ended(entry, 'stopped', entry.message, report.metrics);
        return;
      case 'failed':
        if (entry.state === 'stopping') this.#ended(entry, 'stopped', entry.message, report.metrics);
        else this.#failed(entry, entry.redact(report.reason), report.metrics);
        return;
      default:
        report satisfies never;
    }
  }

  /** The thread died with all its runs. The rule at fault meets its restart strategy, all others start again. */
  lost(reason: string, atWork: { run: number; sharers: number } | undefined): void {
    const now = Date.now();
    const isKnown = atWork?.sharers === 1 && this.#byRun.has(atWork.run);
    // A rule found guilty does not come back by itself, so only deaths without one count as a series.
    if (!isKnown) this.#losses = [...this.#losses.filter((at) => now - at < steadyMs), now];
    const isSeries = this.#losses.length >= maxLosses;
    for (const entry of [...this.#byRun.values()]) {
      const isAtWork = entry.run === atWork?.run;
      if (entry.state === 'stopping') {
        this.#ended(entry, 'stopped', entry.message, entry.metrics);
      } else if (isAtWork && (isKnown || isSeries)) {
        this.#failed(entry, `${reason} while it worked for this rule`, entry.metrics);
      } else if (isKnown || isAtWork || !isSeries) {
        this.#byRun.delete(entry.run);
        if (isAtWork) this.log.warn(`${reason} while it worked for rule ${entry.definition.id} and others`);
        this.#startAgain(entry);
      } else {
        this.#failed(entry, reason, entry.metrics);
      }
    }
  }

  #known(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new HaumeaError('notFound', `Rule ${id} is not found`);
    return entry;
  }

  #start(entry: Entry): void {
    const { definition } = entry;
    entry.timer?.close();
    entry.nextStartAt = 0;
    this.#logs.open(entry);
    try {
      const kept = entry.planned;
      entry.planned = undefined;
      const run = ++this.#lastRun;
      const zoneMs = zoneOffsetMs(this.#options.zone(), Date.now());
      const { start, redact } = this.#plans.startOf(definition, run, zoneMs, kept);
      entry.redact = redact;
      entry.topology = this.#plans.sameTopology(start.plan.topology);
      entry.connections = connectionsOf(start.sources, start.sinks, start.plan.operators);
      const isDebug = definition.options.debug || this.#options.logs?.isDebug === true;
      this.supervisor.post({ kind: 'start', rule: { ...start, isDebug, trace: this.#traceOrder(entry) } });
      entry.run = run;
      this.#byRun.set(run, entry);
    } catch (error) {
      entry.state = 'stopped by error';
      entry.message = reasonOf(error);
      entry.stoppedAt = Date.now();
      this.#logs.failure(entry, `can't be started: ${entry.message}`);
      this.#logs.close(entry);
      if (!(error instanceof MissingPart)) throw error;
      entry.startedAt = entry.stoppedAt;
      this.#comeBack(entry);
      return;
    }
    entry.state = 'starting';
    entry.losses = none;
    entry.opening = undefined;
    entry.message = '';
    entry.startedAt = Date.now();
    const { durationMs } = definition.options;
    const isTimed = durationMs > 0 && (definition.options.cron === '' || entry.schedule === undefined);
    if (isTimed) entry.timer = systemClock.after(durationMs, () => void this.#stop(entry, expired));
  }

  #traceOrder({ trace, definition }: Entry): TraceOrder | undefined {
    return trace === undefined ? undefined : this.#plans.trace(definition, trace);
  }

  /** Starts a rule of which nobody waits to hear; a failure shows in its status and in the log. */
  #startAgain(entry: Entry): void {
    try {
      this.#start(entry);
    } catch {
      // Both have it already.
      this.#comeBack(entry);
    }
  }

  /** Brings a rule in line with its schedule, now and at each later change. */
  #follow(entry: Entry, schedule: Schedule): void {
    entry.patrol?.close();
    const now = Date.now();
    const change = schedule.nextChange(now);
    // A timer goes off a little early now and then.
    const delay = Math.min(this.#options.patrolMs, (change ?? Number.POSITIVE_INFINITY) - now + 1);
    entry.patrol = systemClock.after(delay, () => this.#follow(entry, schedule));
    const isStopped = entry.state.startsWith('stopped');
    if (schedule.isActive(now)) {
      const isRestarting = entry.nextStartAt > 0;
      if (isStopped && !isRestarting && now >= entry.skipUntil) this.#startAgain(entry);
    } else if (isStopped) {
      entry.timer?.close();
      entry.nextStartAt = 0;
      entry.state = waiting;
    } else {
      void this.#stop(entry, outOfSchedule);
    }
  }

  /** Ends all that would bring a rule back by itself. */
  #rest(entry: Entry): void {
    entry.timer?.close();
    entry.patrol?.close();
    entry.patrol = undefined;
  }

  #nextScheduled({ schedule, patrol }: Entry): number {
    return schedule === undefined || patrol === undefined ? 0 : schedule.nextStart(Date.now());
  }

  async #stop(entry: Entry, message: string): Promise<readonly string[]> {
    if (entry.state === 'stopped by error' || entry.state === waiting) {
      entry.state = 'stopped';
      entry.message = message;
    }
    if (entry.state.startsWith('stopped')) return none;
    const ended = new Promise<void>((resolve) => entry.onEnd.push(resolve));
    if (entry.state !== 'stopping') {
      entry.state = 'stopping';
      entry.message = message;
      this.supervisor.post({ kind: 'stop', run: entry.run });
    }
    await ended;
    return entry.losses;
  }

  #ended(entry: Entry, state: RuleState, message: string, metrics: Metrics): void {
    this.#byRun.delete(entry.run);
    this.#logs.close(entry);
    entry.timer?.close();
    const isWaiting = entry.patrol !== undefined && state === 'stopped' && message === outOfSchedule;
    entry.state = isWaiting ? waiting : state;
    entry.message = message;
    entry.stoppedAt = Date.now();
    entry.metrics = redactedTexts(metrics, entry.redact);
    // A run that ended or failed within its time is over until the next.
    if (!isWaiting && entry.schedule !== undefined) {
      entry.skipUntil = entry.schedule.nextChange(entry.stoppedAt) ?? Number.POSITIVE_INFINITY;
    }
    for (const call of entry.onEnd.splice(0)) call();
  }

  #failed(entry: Entry, reason: string, metrics: Metrics): void {
    if (Date.now() - entry.startedAt > steadyMs) entry.attempt = 0;
    this.#logs.failure(entry, `stopped by error: ${reason}`);
    this.#ended(entry, 'stopped by error', reason, metrics);
    this.#comeBack(entry);
  }

  /** Starts a rule that failed once more after a while, as often as its options say. */
  #comeBack(entry: Entry): void {
    const { attempts, delayMs, multiplier, maxDelayMs, jitterFactor } = entry.definition.options.restartStrategy;
    if (entry.attempt >= attempts) return;
    const delay = Math.min(maxDelayMs, delayMs * multiplier ** entry.attempt);
    const wait = Math.max(0, delay * (1 + jitterFactor * (Math.random() * 2 - 1)));
    entry.attempt++;
    entry.nextStartAt = Date.now() + Math.round(wait);
    entry.timer = systemClock.after(wait, () => this.#startAgain(entry));
  }
}

/** The lives of rules: starting, running by a schedule, stopping, failing and coming back. */

import { reasonOf } from '../../base/errors.js';
import { redactedTexts } from '../../base/secrets/redact.js';
import { systemClock } from '../../base/time/clock.js';
import type { RuleOptions, RuleState } from '../../model/engine.js';
import type { Metrics } from '../../model/figures.js';
import type { AtWork } from '../link/heartbeat.js';
import type { RunNotice, SinkSpec, TraceOrder } from '../link/protocol.js';
import type { Planes } from '../planes/planes.js';
import type { Supervisor } from '../planes/supervisor.js';
import type { RulePlans } from '../planning/rule-plans.js';
import { connectionsOf } from '../props/connection-uses.js';
import { MissingPart } from '../props/resolve.js';
import { Moves } from './moves.js';
import { type Entry, noMetrics, unitOf, unitPrefix } from './rule-entry.js';
import type { RuleLogs } from './rule-logs.js';
import { Schedule } from './schedule.js';

export interface LifeOptions {
  readonly plans: RulePlans;
  readonly planes: Planes;
  /** The rule of an id. */
  readonly ruleOf: (id: string) => Entry | undefined;
  readonly logs: RuleLogs;
  /** Time zone of schedules and of windows of days, as configured now. */
  readonly zone: (options: RuleOptions) => string;
  /** Longest time between two looks at a schedule, ms: changes of the clock are noticed within it. */
  readonly patrolMs: number;
}

/** A rule that ran so long has recovered: the next failure is its first again. */
const steadyMs = 60_000;
/** Deaths of a data plane within `steadyMs` after which a suspect, or every rule, stops. */
const maxLosses = 3;
/** Rules start again for so long until others have their turn, ms. */
const againMs = 10;

/** Messages of the status. */
const canceled = 'canceled manually';
const done = 'done';
const expired = 'duration terminated';
const outOfSchedule = 'schedule terminated';
const none: readonly never[] = [];
const waiting: RuleState = 'stopped: waiting for next schedule.';

/** Text on how a rule ended by itself; nothing for other rules. */
export function endOf({ state, message, sources }: Entry): { ended?: string } {
  return state === 'stopped' && message === done ? { ended: endText(sources) } : {};
}

/** Whether the rule stops for good, and not to go on in another data plane. */
function isStopping({ state, move }: Entry): boolean {
  return state === 'stopping' && move === undefined;
}

/** Text on the end of a rule whose message is `done`. */
export function endText(sources: readonly string[]): string {
  return `all of its input was read: ${sources.join(', ')}`;
}

export class RuleLives {
  readonly #options: LifeOptions;
  /** Running rules by the number of their run. */
  readonly #byRun = new Map<number, Entry>();
  #lastRun = 0;
  /** When a data plane died of late, epoch ms. */
  readonly #losses = new WeakMap<Supervisor, readonly number[]>();
  /** Rules whose data plane died, until they start again, and those that start with the server. */
  readonly #again = new Set<Entry>();
  readonly moves: Moves;
  /** See `isSetBack`. */
  readonly #back = new WeakSet<Entry>();
  /** All rules of the server are gathered, since they are divided among several data planes. */
  isGathering = false;
  /** Who wait for news of a rule. */
  readonly #awaited = new Map<Entry, Set<() => void>>();

  constructor(options: LifeOptions) {
    this.#options = options;
    this.moves = new Moves({
      ...options,
      entryOf: (unit) => this.#ruleOf(unit),
      ofRun: (run) => this.ofRun(run),
      isWaiting: (entry) => this.#again.has(entry),
      arrived: () => this.#goOnAgain(),
    });
    const { planes, logs } = options;
    planes.division?.open({ planeAt: (number) => planes.at(number), nextRun: () => this.nextRun(), log: logs.log });
  }

  /** A number that no run has had. */
  nextRun(): number {
    return ++this.#lastRun;
  }

  /** The rule of a run that has not ended. */
  ofRun(run: number | undefined): Entry | undefined {
    return run === undefined ? undefined : this.#byRun.get(run);
  }

  /** Many rules start, or the last of them was given; each begin has its end. */
  startsAll(isMoreComing: boolean): void {
    const { planes } = this.#options;
    if (isMoreComing || planes.count === 1) {
      this.isGathering = planes.count > 1;
      planes.startsAll(isMoreComing);
      return;
    }
    this.isGathering = false;
    planes.division?.placeAll();
    this.#goOnAgain();
  }

  start(entry: Entry): void {
    if (entry.state === 'starting' || entry.state === 'running' || entry.move !== undefined) return;
    entry.attempt = 0;
    if (entry.state === 'stopping') {
      entry.onEnd = [...entry.onEnd, () => this.start(entry)];
      return;
    }
    entry.skipUntil = 0;
    // The time zone may have changed since the rule was defined.
    entry.schedule = Schedule.of(entry.definition.options, this.#options.zone(entry.definition.options));
    if (entry.schedule !== undefined) this.#follow(entry, entry.schedule);
    else this.#start(entry);
  }

  /** Resolves with what the sinks could not send any more, a sentence each. */
  async stop(entry: Entry, comesBack = false): Promise<readonly string[]> {
    this.rest(entry);
    entry.nextStartAt = 0;
    entry.comesBack = comesBack;
    return this.#stop(entry, canceled, comesBack);
  }

  /** Stops a rule that nobody knows any more. */
  async remove(entry: Entry): Promise<readonly string[]> {
    this.rest(entry);
    return this.#stop(entry, canceled);
  }

  /**
   * Follows the input of a rule that runs as it says now; resolves when the data plane does. Pushed input comes to it
   * by another channel, and could overtake the command.
   */
  async trace(entry: Entry): Promise<void> {
    const { plane, run } = entry;
    plane?.command({ kind: 'trace', run, order: this.#traceOrder(entry) ?? null });
    await plane?.ask('traced', run);
  }

  /**
   * Sources of a rule that runs have the properties of their configuration keys from the next attempt to connect on.
   */
  renew(entry: Entry, streams: ReadonlySet<string>): void {
    const names = entry.sources.filter((name) => streams.has(name));
    if (names.length > 0) this.#renew(entry, names, () => []);
  }

  /** Sources and sinks of a rule that runs have the properties of a named connection, if they use it. */
  renewConnection(entry: Entry, id: string): void {
    const isUsed = entry.connections.some(({ props }) => props.connectionSelector === id);
    if (isUsed) this.#renew(entry, entry.sources, () => this.#options.plans.sinksOf(entry.definition));
  }

  #renew(entry: Entry, streams: readonly string[], sinksOf: () => SinkSpec[]): void {
    if (entry.state !== 'running' && entry.state !== 'starting') return;
    try {
      const parts = this.#options.plans.specsOf(entry.definition, streams);
      entry.plane?.command({ kind: 'renew', run: entry.run, ...parts, sinks: sinksOf() });
      this.#options.planes.division?.handOvers.renew(parts.sources);
    } catch {
      // The next start tells the fault of a configuration key.
    }
  }

  #ruleOf(unit: string): Entry | undefined {
    return unit.startsWith(unitPrefix) ? this.#options.ruleOf(unit.slice(unitPrefix.length)) : undefined;
  }

  /** Keeps a rule for its next run, which begins when all of its group have left. */
  #arrive(entry: Entry): void {
    this.#byRun.delete(entry.run);
    entry.move = 'arrives';
    entry.hadCheckpoints = true;
    entry.state = 'starting';
    this.#again.add(entry);
    this.moves.left(entry);
    this.#tell(entry);
  }

  /** Ends all that would bring a rule back by itself. */
  rest(entry: Entry): void {
    entry.timer?.close();
    entry.patrol?.close();
    entry.patrol = undefined;
  }

  /** When a rule starts next by itself, epoch ms; 0 when it does not. */
  nextStartOf({ nextStartAt, schedule, patrol }: Entry): number {
    if (nextStartAt !== 0) return nextStartAt;
    return schedule === undefined || patrol === undefined ? 0 : schedule.nextStart(Date.now());
  }

  /** Calls once at the next news of the rule; what it returns takes that back. */
  onNews(entry: Entry, call: () => void): () => void {
    const calls = this.#awaited.get(entry) ?? new Set();
    this.#awaited.set(entry, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0 && this.#awaited.get(entry) === calls) this.#awaited.delete(entry);
    };
  }

  #tell(entry: Entry): void {
    const calls = this.#awaited.get(entry);
    this.#awaited.delete(entry);
    for (const call of calls ?? []) call();
  }

  /** Takes news of a run; late ones of an earlier run find nothing. */
  noticed(notice: RunNotice): void {
    const entry = this.#byRun.get(notice.run);
    this.#options.planes.division?.handOvers.noticed(notice);
    if (entry === undefined) return;
    this.#take(entry, notice);
    this.#tell(entry);
  }

  #take(entry: Entry, notice: RunNotice): void {
    switch (notice.kind) {
      case 'started':
        if (entry.state === 'starting') entry.state = 'running';
        // One that leaves had begun before, and the news was on its way.
        if (entry.move !== 'leaves') this.moves.begun(entry);
        entry.restored = notice.restored ?? '';
        return;
      case 'opened':
        entry.opening = notice.troubles.length === 0 ? none : notice.troubles.map(entry.redact);
        return;
      case 'ended':
        this.#options.logs.take(entry, { kind: 'log', level: 'info', message: `ended: ${endText(entry.sources)}` });
        this.#ended(entry, 'stopped', done, notice.metrics);
        return;
      case 'stopped':
        entry.losses = notice.losses;
        if (entry.move === 'leaves' && entry.definition.common !== undefined) this.#setBack(entry, entry.message);
        else if (entry.move === 'leaves') this.#arrive(entry);
        else this.#ended(entry, 'stopped', entry.message, notice.metrics);
        return;
      case 'failed':
        if (isStopping(entry)) this.#ended(entry, 'stopped', entry.message, notice.metrics);
        else this.#failed(entry, entry.redact(notice.reason), notice.metrics);
        return;
      default:
        notice satisfies never;
    }
  }

  /** The thread died with all its runs. The rule at fault meets its restart strategy, all others start again. */
  lost(plane: Supervisor, reason: string, atWork: AtWork | undefined): void {
    const now = Date.now();
    const isKnown = atWork?.sharers === 1 && this.#byRun.has(atWork.run);
    // A rule found guilty does not come back by itself, so only deaths without one count as a series.
    const before = this.#losses.get(plane) ?? [];
    const losses = isKnown ? before : [...before.filter((at) => now - at < steadyMs), now];
    this.#losses.set(plane, losses);
    const isSeries = losses.length >= maxLosses;
    for (const entry of [...this.#byRun.values()]) {
      if (entry.plane !== plane) continue;
      this.#again.delete(entry);
      const isAtWork = entry.run === atWork?.run;
      if (isStopping(entry)) {
        this.#ended(entry, 'stopped', entry.message, entry.metrics);
      } else if (isAtWork && (isKnown || isSeries)) {
        this.#failed(entry, `${reason} while it worked for this rule`, entry.metrics);
      } else if (isKnown || isAtWork || !isSeries) {
        if (isAtWork)
          this.#options.logs.log.warn(`${reason} while it worked for rule ${entry.definition.id} and others`);
        if (entry.definition.common === undefined) this.#startLater(entry, reason);
        else this.#setBack(entry, reason);
      } else {
        this.#failed(entry, reason, entry.metrics);
      }
    }
    if (this.#again.size === 0) return;
    // Nobody reads a stream that they share before all are there.
    this.#options.planes.startsAll(true);
    this.#goOnAgain();
  }

  /** Plans of thousands of rules take seconds: requests have their turns in between. */
  #goOnAgain(): void {
    const end = performance.now() + againMs;
    for (const entry of this.#again) {
      if (performance.now() >= end) {
        setImmediate(() => this.#goOnAgain());
        return;
      }
      this.#again.delete(entry);
      this.#byRun.delete(entry.run);
      this.#startAgain(entry);
    }
    this.#options.planes.startsAll(false);
  }

  #startLater(entry: Entry, message: string): void {
    entry.state = 'starting';
    entry.metrics = noMetrics;
    entry.message = message;
    entry.move = undefined;
    this.#again.add(entry);
    this.moves.left(entry);
  }

  #start(entry: Entry): void {
    const { definition } = entry;
    if (this.isGathering) {
      this.#startLater(entry, '');
      return;
    }
    entry.timer?.close();
    entry.nextStartAt = 0;
    this.#options.logs.open(entry);
    this.#back.delete(entry);
    try {
      const run = this.nextRun();
      const zone = this.#options.zone(definition.options);
      const isMoved = entry.move === 'arrives';
      entry.move = undefined;
      const { start, redact, remarks } = this.#options.plans.startOf(definition, run, zone, isMoved);
      for (const message of remarks) this.#options.logs.take(entry, { kind: 'log', level: 'warn', message });
      entry.redact = redact;
      entry.kept = start.checkpoint && [...start.checkpoint.kept.values()];
      entry.topology = this.#options.plans.shared(start.plan.topology);
      entry.connections = connectionsOf(start);
      const isDebug = definition.options.debug || this.#options.logs.isDebug;
      const { plane, moved } = this.#options.planes.place(unitOf(definition.id), start);
      this.moves.all(moved);
      entry.plane = plane;
      const sources = this.#options.planes.division?.handOvers.sourcesFor(start, plane) ?? start.sources;
      plane.command({ kind: 'start', rule: { ...start, sources, isDebug, trace: this.#traceOrder(entry) } });
      entry.run = run;
      entry.ran = definition;
      this.#byRun.set(run, entry);
    } catch (error) {
      entry.state = 'stopped by error';
      entry.message = reasonOf(error);
      entry.stoppedAt = Date.now();
      this.#options.logs.failure(entry, `can't be started: ${entry.message}`);
      this.#options.logs.close(entry);
      if (!(error instanceof MissingPart)) throw error;
      entry.startedAt = entry.stoppedAt;
      this.#comeBack(entry);
      return;
    }
    entry.state = 'starting';
    entry.metrics = noMetrics;
    entry.losses = none;
    entry.opening = undefined;
    entry.restored = '';
    entry.message = '';
    entry.startedAt = Date.now();
    const { durationMs } = definition.options;
    const isTimed = durationMs > 0 && (definition.options.cron === '' || entry.schedule === undefined);
    if (isTimed) entry.timer = systemClock.after(durationMs, () => void this.#stop(entry, expired));
  }

  #traceOrder({ trace, definition }: Entry): TraceOrder | undefined {
    return trace === undefined ? undefined : this.#options.plans.trace(definition, trace);
  }

  /** Ends a rule whose state goes back together with that of others: who has divided it starts all of them again. */
  #setBack(entry: Entry, reason: string): void {
    this.#back.add(entry);
    this.#ended(entry, 'stopped by error', reason, noMetrics);
  }

  /** Whether the rule failed by no fault of its own, and waits for those that it belongs to. */
  isSetBack(entry: Entry): boolean {
    return this.#back.has(entry);
  }

  /** Starts a rule of which nobody waits to hear; a failure shows in its status and in the log. */
  #startAgain(entry: Entry): void {
    try {
      this.#start(entry);
    } catch {
      // Both have it already.
      this.moves.begun(entry);
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
    // The clock was set back since: what a run has had of its time is to come once more.
    if (now < entry.stoppedAt) entry.skipUntil = 0;
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

  async #stop(entry: Entry, message: string, comesBack = false): Promise<readonly string[]> {
    if (entry.state === 'stopped by error' || entry.state === waiting) {
      entry.state = 'stopped';
      entry.message = message;
    }
    if (entry.state.startsWith('stopped')) return none;
    if (entry.move === 'leaves') {
      // It stays away.
      entry.move = undefined;
      entry.message = message;
      if (this.moves.isStaying(entry)) entry.state = 'running';
    }
    if (this.#again.delete(entry)) {
      this.#ended(entry, 'stopped', message, entry.metrics);
      return none;
    }
    const ended = new Promise<void>((resolve) => {
      entry.onEnd = [...entry.onEnd, resolve];
    });
    if (entry.state !== 'stopping') {
      entry.state = 'stopping';
      entry.message = message;
      entry.plane?.command({ kind: 'stop', run: entry.run, comesBack });
    }
    await ended;
    return entry.losses;
  }

  #ended(entry: Entry, state: RuleState, message: string, metrics: Metrics): void {
    this.#byRun.delete(entry.run);
    this.#options.logs.close(entry);
    entry.move = undefined;
    this.moves.left(entry);
    this.moves.begun(entry);
    entry.timer?.close();
    this.#options.planes.division?.setLoad(unitOf(entry.definition.id), 0);
    const isWaiting = entry.patrol !== undefined && state === 'stopped' && message === outOfSchedule;
    entry.state = isWaiting ? waiting : state;
    entry.message = message;
    entry.stoppedAt = Date.now();
    entry.metrics = redactedTexts(metrics, entry.redact);
    // A run that ended or failed within its time is over until the next.
    if (!isWaiting && entry.schedule !== undefined) {
      entry.skipUntil = entry.schedule.nextChange(entry.stoppedAt) ?? Number.POSITIVE_INFINITY;
    }
    const calls = entry.onEnd;
    entry.onEnd = none;
    this.#tell(entry);
    for (const call of calls) call();
  }

  #failed(entry: Entry, reason: string, metrics: Metrics): void {
    if (Date.now() - entry.startedAt > steadyMs) entry.attempt = 0;
    this.#options.logs.failure(entry, `stopped by error: ${reason}`);
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

/**
 * The life of a rule that is divided: each of its rules starts when those read that it sends rows to, and ends before
 * them. A part may have rows to send before it gets one: they waited for answers when its state was saved. When one
 * of its rules fails, all end, and start again as the restart strategy says.
 */
import { reasonOf } from '../../base/errors.js';
import { systemClock, type Timer } from '../../base/time/clock.js';
import type { CommonNews } from '../../model/common-state.js';
import type { Engine, RuleDefinition, RuleState } from '../../model/engine.js';
import { JointState, rulesOf } from './joint-state.js';
import { isKept } from './kept.js';
import type { Split } from './split.js';

const canceled = 'canceled manually';
const done = 'done';
/** Longest time that a stop waits for the last checkpoint, ms. */
const lastMs = 10_000;
/** A rule that ran so long has recovered: the next failure is its first again. */
const steadyMs = 60_000;

export class ParallelRule {
  state: RuleState = 'stopped';
  message = '';
  startedAt = 0;
  stoppedAt = 0;
  nextStartAt = 0;
  /** Whether the last order to stop it was one to start it again. */
  comesBack = false;
  /** How far the start has come: rules start when those behind them read. */
  #begun: 'output' | 'parts' | 'feeders' = 'output';
  #attempt = 0;
  #timer: Timer | undefined;
  /** Taken back when news are not awaited any more. */
  #unwatch: (() => void)[] = [];
  #ending: Promise<readonly string[]> | undefined;
  /** What it consists of since its last start: an update is carried out by the next one. */
  #running: Split;
  /** Number of starts so far. */
  #starts = 0;
  readonly #joint: JointState | undefined;
  split: Split;

  constructor(
    private readonly engine: Engine,
    public definition: RuleDefinition,
    /** What it consists of at each start. */
    private splitAt: (start: number) => Split,
    /** Called when the state has changed. */
    private readonly changed: () => void,
  ) {
    this.split = splitAt(0);
    this.#running = this.split;
    this.#joint = engine.common && new JointState(engine.common);
  }

  /** Its state, where that outlives a run. */
  get #kept(): JointState | undefined {
    return isKept(this.definition) ? this.#joint : undefined;
  }

  noticed(id: string, news: CommonNews): void {
    this.#joint?.noticed(id, news);
  }

  /** Its rules, in the order in which they start. */
  get rules(): readonly RuleDefinition[] {
    return rulesOf(this.split);
  }

  /**
   * Takes another definition, by which it starts next. Rules that it then has no more end as all others: the feeders
   * first, and each when the next have taken its rows.
   */
  divide(definition: RuleDefinition, splitAt: (start: number) => Split): void {
    this.definition = definition;
    this.splitAt = splitAt;
    this.split = splitAt(this.#starts);
    if (!this.#isLive && this.#ending === undefined) void this.#removeFormer();
  }

  async #removeFormer(): Promise<void> {
    const former = this.#running;
    this.#running = this.split;
    const ids = new Set(this.rules.map(({ id }) => id));
    await Promise.all(rulesOf(former).flatMap(({ id }) => (ids.has(id) ? [] : this.engine.remove(id))));
  }

  get #isLive(): boolean {
    return this.state === 'starting' || this.state === 'running';
  }

  start(): void {
    if (this.#isLive) return;
    this.#attempt = 0;
    this.#timer?.close();
    // What ends has to be out of the way.
    if (this.#ending === undefined) this.#start();
    else void this.#ending.then(() => this.#isLive || this.#start());
  }

  #start(): void {
    if (this.#running !== this.split) void this.#removeFormer();
    this.nextStartAt = 0;
    this.startedAt = Date.now();
    this.#set('starting', '');
    const start = ++this.#starts;
    const joint = this.#kept;
    if (joint === undefined) {
      this.#startOutput();
      return;
    }
    this.#step(() => {
      this.split = this.splitAt(start);
      this.#running = this.split;
      for (const rule of this.rules) this.engine.define(rule);
    });
    const isNow = () => this.state === 'starting' && this.#starts === start;
    void joint.begin(this.split).then(
      () => isNow() && this.#startOutput(),
      (error: unknown) => isNow() && this.#fail(reasonOf(error)),
    );
  }

  #startOutput(): void {
    this.#begun = 'output';
    this.#step(() => this.engine.start(this.#running.output.id));
    this.#look();
  }

  /** Ends all of them, those that write before those that read. */
  async stop(): Promise<readonly string[]> {
    this.#timer?.close();
    this.nextStartAt = 0;
    if (this.#isLive) return this.#end('stopped', canceled, lastMs);
    if (this.#ending === undefined && this.state === 'stopped by error') this.#set('stopped', canceled);
    else if (this.#ending !== undefined) this.message = canceled;
    return (await this.#ending) ?? [];
  }

  /** Nobody starts it again; its state is saved within the time given. */
  async close(timeoutMs: number): Promise<void> {
    this.#timer?.close();
    if (this.#isLive) await this.#kept?.last(timeoutMs);
    this.#forget();
  }

  #end(state: RuleState, message: string, patienceMs = 0): Promise<readonly string[]> {
    this.#forget();
    this.#set('stopping', message);
    const { output, parts, feeders } = this.#running;
    const joint = this.#joint;
    const endAll = async () => {
      const losses: string[] = [];
      if (patienceMs > 0) await joint?.last(patienceMs);
      const isOver = joint?.end();
      // Behind the last checkpoint nothing goes from one to the next: they don't wait for each other.
      const steps = joint?.isLastKept === true ? [rulesOf(this.#running)] : [feeders, parts, [output]];
      for (const some of steps) {
        const ended = await Promise.all(some.map(({ id }) => this.engine.stop(id)));
        losses.push(...ended.flat());
        for (const { id } of some) joint?.ended(id);
      }
      await isOver;
      await this.#removeFormer();
      return losses;
    };
    this.#ending = endAll().finally(() => {
      this.#ending = undefined;
      this.stoppedAt = Date.now();
      this.#set(this.message === canceled ? 'stopped' : state, this.message);
    });
    return this.#ending;
  }

  /** All go back to their last common checkpoint, since one of them has lost what it had by no fault of its own. */
  #goBack(reason: string): void {
    void this.#end('starting', reason).then(() => this.state === 'starting' && this.#start());
  }

  #fail(reason: string): void {
    const { attempts, delayMs, multiplier, maxDelayMs, jitterFactor } = this.definition.options.restartStrategy;
    if (Date.now() - this.startedAt > steadyMs) this.#attempt = 0;
    void this.#end('stopped by error', reason).then(() => {
      if (this.state !== 'stopped by error' || this.#attempt >= attempts) return;
      const delay = Math.min(maxDelayMs, delayMs * multiplier ** this.#attempt++);
      const wait = Math.max(0, delay * (1 + jitterFactor * (Math.random() * 2 - 1)));
      this.nextStartAt = Date.now() + Math.round(wait);
      this.#timer = systemClock.after(wait, () => this.#start());
    });
  }

  /** Looks at its rules now, and at their next news. */
  #look(): void {
    this.#forget();
    if (!this.#isLive) return;
    const { feeders } = this.#running;
    const all = rulesOf(this.#running);
    const states = all.map(({ id }) => this.engine.state(id));
    all.forEach(({ id }, i) => {
      if (states[i] !== 'running' && states[i] !== 'starting') this.#joint?.ended(id);
    });
    const failed = all[states.indexOf('stopped by error')];
    if (failed !== undefined && this.engine.common?.isSetBack(failed.id) === true) {
      void this.engine.status(failed.id).then(({ message }) => this.#isLive && this.#goBack(message));
      return;
    }
    if (failed !== undefined) {
      void this.engine.status(failed.id).then(({ message }) => this.#isLive && this.#fail(message));
      return;
    }
    this.#startNext();
    if (!this.#isLive) return;
    if (this.#begun === 'feeders' && feeders.every(({ id }) => this.engine.state(id) === 'stopped')) {
      void this.#end('stopped', done);
      return;
    }
    if (states.every((state) => state === 'running')) {
      this.#set('running', '');
      this.#kept?.started();
    }
    this.#unwatch = all.flatMap(({ id }) => this.engine.onNews?.(id, () => this.#look()) ?? []);
  }

  #startNext(): void {
    const { output, parts, feeders } = this.#running;
    const areOpen = (rules: readonly RuleDefinition[]) =>
      rules.every(({ id }) => this.engine.opening(id) !== undefined);
    if (this.#begun === 'output' && areOpen([output])) {
      this.#begun = 'parts';
      this.#startAll(parts);
    } else if (this.#begun === 'parts' && areOpen(parts)) {
      this.#begun = 'feeders';
      this.#startAll(feeders);
    }
  }

  #startAll(rules: readonly RuleDefinition[]): void {
    this.#step(() => {
      // All of them have the stream from its begin.
      this.engine.startsAll?.(true);
      for (const { id } of rules) this.engine.start(id);
      this.engine.startsAll?.(false);
    });
  }

  #step(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#fail(reasonOf(error));
    }
  }

  #forget(): void {
    for (const call of this.#unwatch) call();
    this.#unwatch = [];
  }

  #set(state: RuleState, message: string): void {
    this.message = message;
    if (this.state === state) return;
    this.state = state;
    this.changed();
  }
}

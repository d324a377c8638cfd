/**
 * Kernel calls that make rows flow, one at a time, for input of a source and for timers; and the work that follows
 * each.
 */
import type { Kernel } from '../../../../kernels/api.js';
import { KernelError } from '../../../../kernels/memory/error.js';
import { reasonOf } from '../../../base/errors.js';
import type { Logger } from '../../../base/log/log.js';
import type { SteadyTime } from '../../../base/time/clock.js';
import type { Heartbeat } from '../../link/heartbeat.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { Gathering } from '../acknowledge/gathering.js';
import type { Waiting } from '../calls/waiting.js';
import type { StateBounds } from '../memory/state-bounds.js';
import type { ErrorLog } from '../observe/error-log.js';
import { longCallMs, noteLongCall } from '../observe/long-calls.js';
import { accuse } from '../observe/notices.js';
import type { Tracing } from '../observe/tracing.js';
import type { InputAtWork, RunningRule } from '../running/running.js';
import type { CpuTimes } from './cpu-times.js';
import { DeferredTurns } from './deferred-work.js';
import type { Shares } from './share-watch.js';

/** Length of a call during which sinks may have got no chance to go on, ms. */
const busyMs = 100;
/** Longest timer, ms, since a timer does not see that the clock was set forward. */
const maxTimerMs = 5000;

export interface WorkOptions {
  readonly kernel: () => Kernel;
  /** All running rules: timers work for any of them. */
  readonly rules: ReadonlySet<RunningRule>;
  readonly heartbeat: Heartbeat;
  readonly tracing: Tracing;
  readonly errors: ErrorLog;
  readonly stateBounds: StateBounds;
  readonly shares: Shares;
  readonly log: Logger;
  /** Time of rows and windows. */
  readonly time: SteadyTime;
  /** To be called when the kernel broke: nothing in it can be trusted any more. */
  broken(error: unknown): void;
}

export class KernelWork {
  /** Input that the kernel works on; undefined in other work. */
  input: InputAtWork | undefined;
  isBroken = false;
  /** End of the last long kernel call, epoch ms. */
  busyUntil = 0;
  /** Time of all work that timers began, µs. */
  timerUs = 0;
  #isWorking = false;
  /** Number of failures in the kernel that were noticed. */
  #failures = 0;
  /** Nodes that keep messages unacknowledged. */
  readonly #gathering = new Set<Gathering>();
  /** Nodes in which rows wait. */
  readonly waitings = new Set<Waiting>();
  readonly deferred: DeferredTurns;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(private readonly options: WorkOptions) {
    const turn = (call: () => void) => {
      const began = performance.now();
      this.do(options.rules, call);
      this.timerUs += (performance.now() - began) * 1000;
    };
    this.deferred = new DeferredTurns(options.kernel, options.rules, turn);
  }

  /** Runs work of the kernel and what follows from it; `whose` names the rules it is for. */
  do(whose: ReadonlySet<RunningRule>, call: () => void, input?: InputAtWork): void {
    if (this.isBroken) return;
    // An output that writes again within a kernel call is a defect of a connector, and would ruin the kernel's state.
    if (this.#isWorking) throw new Error('the kernel is at work already');
    const { heartbeat, tracing, rules, log } = this.options;
    const kernel = this.options.kernel();
    for (const rule of whose) {
      heartbeat.enter(rule.run, whose.size);
      break;
    }
    this.#isWorking = true;
    this.input = input;
    const began = performance.now();
    let ended = began;
    try {
      const recorder = tracing.recorder?.isOn ? tracing.recorder : undefined;
      const traced = recorder?.begin(whose, input);
      kernel.beginWork();
      call();
      if (traced !== undefined) recorder?.finish(traced);
    } catch (error) {
      if (!(error instanceof KernelError) || error.isFatal) {
        this.isBroken = true;
        accuse(error, rules, heartbeat);
        this.options.broken(error);
      } else {
        // Memory is exhausted: this call's work is lost, the engine goes on.
        log.error(reasonOf(error));
        for (const rule of whose) for (const one of rule.sources) one.exception(reasonOf(error));
      }
    } finally {
      this.#isWorking = false;
      this.input = undefined;
      ended = performance.now();
      if (input !== undefined) input.place.workUs += (ended - began) * 1000;
    }
    if (this.isBroken) return;
    const tookMs = ended - began;
    if (tookMs >= busyMs) this.busyUntil = Date.now();
    if (tookMs >= longCallMs) noteLongCall(tookMs, whose, input !== undefined, log);
    heartbeat.leave();
    for (const gathering of this.#gathering) {
      gathering.settle();
      if (!gathering.isHolding) this.#gathering.delete(gathering);
    }
    for (const waiting of this.waitings) waiting.settle();
    const failures = kernel.failureCount();
    if (failures !== this.#failures) {
      this.#failures = failures;
      this.options.errors.noteFailure(input);
    }
    this.options.stateBounds.look();
    this.options.shares.worked(tookMs, ended);
    this.deferred.settle();
    this.arm();
  }

  /** To be called when a rule is about to end: its CPU time is taken now, while it has its nodes. */
  ended(rule: RunningRule, cpuTimes: CpuTimes | undefined): void {
    if (this.isBroken) return;
    this.options.shares.ended(rule);
    cpuTimes?.end(rule, this.options.rules, this.timerUs);
  }

  /** Rows of the rules that wait for answers hold the barrier. */
  holdWaiting(barrier: Barrier, rules: ReadonlySet<RunningRule>): void {
    for (const waiting of this.waitings) {
      // Rows that wait are in the checkpoint, which holds the messages then.
      if (rules.has(waiting.rule) && waiting.rule.checkpoints === undefined) waiting.holdBarrier(barrier);
    }
  }

  /** Adds a node that keeps messages of a source unacknowledged. */
  gathers(gathering: Gathering): void {
    this.#gathering.add(gathering);
  }

  /** Sets the one timer to the next deadline. A deadline that moved back is found when the timer fires. */
  arm(): void {
    const due = this.options.kernel().nextDeadline();
    if (due >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = due;
    const delay = Math.min(maxTimerMs, Math.max(0, due - this.options.time.now()));
    this.#timer = setTimeout(() => this.#tick(), delay);
  }

  close(): void {
    this.deferred.close();
    clearTimeout(this.#timer);
  }

  /**
   * To be called when the clock was set back: the kernel's times follow it, so that nothing waits for a time that is
   * past.
   */
  followClock(): void {
    const { rules, time, log } = this.options;
    let ms = 0;
    this.do(rules, () => {
      const now = time.now();
      const kernel = this.options.kernel();
      kernel.tick(now);
      ms = time.follow();
      if (ms > 0) kernel.setClockBack(ms, now);
    });
    if (ms <= 0) return;
    log.warn(
      `the clock of the system was set back by ${Math.round(ms / 1000)} s: open windows go on as those of the ` +
        'new time, with what they hold',
    );
    clearTimeout(this.#timer);
    this.#timerAt = Number.POSITIVE_INFINITY;
    if (!this.isBroken) this.arm();
  }

  #tick(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.options.time.now();
    const kernel = this.options.kernel();
    if (kernel.nextDeadline() > now) {
      this.arm();
      return;
    }
    const began = performance.now();
    this.do(this.options.rules, () => kernel.tick(now));
    this.timerUs += (performance.now() - began) * 1000;
  }
}

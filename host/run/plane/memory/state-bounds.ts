/**
 * Rules that keep more than they may end, and those that keep the most when there is no more for all; nobody else
 * notices.
 */
import type { Kernel } from '../../../../kernels/api.js';
import type { Logger } from '../../../base/log/log.js';
import type { RunningRule } from '../running/running.js';
import { inMb, stateBytesOf } from './memory.js';
import { MemoryPressure } from './memory-pressure.js';

/** Time between two looks, ms: at most, and at least when memory grows by much of what a rule may keep. */
const pauseMs = 200;
const shortPauseMs = 20;
/** Part of the least bound by which memory grows until the next look comes earlier. */
const growthOfBound = 0.25;

export class StateBounds {
  /** Least bound of the rules; Infinity when none has one. */
  #least = Number.POSITIVE_INFINITY;
  #lookedAt = 0;
  /** Memory in use at the last look, bytes. */
  #inUseThen = 0;

  readonly #pressure: MemoryPressure;

  constructor(
    private readonly rules: Iterable<RunningRule>,
    private readonly kernel: () => Kernel,
    log: Logger,
  ) {
    this.#pressure = new MemoryPressure(rules, log);
  }

  /** A rule is there. */
  added({ maxStateBytes }: RunningRule): void {
    this.#least = Math.min(this.#least, maxStateBytes);
  }

  /** Ends rules that keep more than they may; to be called after work of the kernel. */
  look(): void {
    const memory = this.kernel().memory();
    const now = performance.now();
    this.#pressure.look(memory, now);
    const { inUse } = memory;
    if (inUse <= this.#least) return;
    // A fast source fills all memory within the long pause, and whoever asks next would be refused.
    const growsFast = inUse - this.#inUseThen > this.#least * growthOfBound;
    if (now - this.#lookedAt < (growsFast ? shortPauseMs : pauseMs)) return;
    this.#lookedAt = now;
    this.#inUseThen = inUse;
    let least = Number.POSITIVE_INFINITY;
    for (const rule of this.rules) {
      const { maxStateBytes, isEnding } = rule;
      if (isEnding) continue;
      least = Math.min(least, maxStateBytes);
      if (inUse <= maxStateBytes) continue;
      const kept = stateBytesOf(rule);
      if (kept <= maxStateBytes) continue;
      const bound = `the bound is ${inMb(maxStateBytes)} (option maxStateBytes)`;
      const reason = `the rule keeps ${inMb(kept)} of state, ${bound}`;
      rule.host.failed(rule, reason);
    }
    this.#least = least;
  }
}

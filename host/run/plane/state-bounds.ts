/** Rules that keep more than they may end; nobody else notices. */
import type { Kernel } from '../../../kernels/api.js';
import { inMb } from './memory.js';
import type { RunningRule } from './running.js';

/** Time between two looks, ms. */
const pauseMs = 200;

export class StateBounds {
  /** Least bound of the rules; Infinity when none has one. */
  #least = Number.POSITIVE_INFINITY;
  #lookedAt = 0;

  constructor(
    private readonly rules: Iterable<RunningRule>,
    private readonly kernel: () => Kernel,
  ) {}

  /** A rule is there. */
  added({ maxStateBytes }: RunningRule): void {
    this.#least = Math.min(this.#least, maxStateBytes);
  }

  /** Ends rules that keep more than they may; to be called after work of the kernel. */
  look(): void {
    if (this.#least === Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    if (now - this.#lookedAt < pauseMs) return;
    this.#lookedAt = now;
    const kernel = this.kernel();
    const { inUse } = kernel.memory();
    if (inUse <= this.#least) return;
    let least = Number.POSITIVE_INFINITY;
    for (const rule of this.rules) {
      const { maxStateBytes, isEnding, nodes } = rule;
      if (isEnding) continue;
      least = Math.min(least, maxStateBytes);
      if (inUse <= maxStateBytes) continue;
      let kept = 0;
      // What rules share keeps no rows, but for lookup tables: those are no rule's.
      for (const { kind, handle } of nodes) if (kind !== 'keyedTable') kept += kernel.counters(handle).memoryBytes;
      if (kept <= maxStateBytes) continue;
      const reason = `the rule keeps ${inMb(kept)} of state, the bound is ${inMb(maxStateBytes)} (option maxStateBytes)`;
      rule.host.failed(rule, reason);
    }
    this.#least = least;
  }
}

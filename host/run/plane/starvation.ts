/** When the kernel has no room for the input of a source: who is to blame, and when there is no hope. */
import type { Kernel } from '../../../kernels/api.js';
import { inMb, keptBy } from './memory.js';
import type { RunningRule, RunningSource } from './running.js';

/** A source waits so long before a rule is ended for it: others may give memory back. ms */
const graceMs = 500;
/** A message that waits for so long, while no rule is to blame, never gets room. Pushing clients wait longer. ms */
const hopelessMs = 10_000;

export interface Starvation {
  /** Who uses up the memory, and how much; empty when no rule does. */
  readonly by: string;
  /** A message has no chance to get room. */
  readonly isHopeless: boolean;
}

export class StarvationWatch {
  /** When a rule was ended last, epoch ms: what it gave back must show first. */
  #endedAt = 0;

  constructor(
    private readonly rules: Iterable<RunningRule>,
    private readonly kernel: () => Kernel,
  ) {}

  /** Ends the rule that holds the most, where the states of rules are what memory is used up for. */
  look(source: RunningSource): Starvation {
    const now = Date.now();
    const { inUse, max } = this.kernel().memory();
    let largest: RunningRule | undefined;
    let most = 0;
    let all = 0;
    for (const [rule, bytes] of keptBy(this.rules)) {
      all += bytes;
      if (bytes > most) [largest, most] = [rule, bytes];
    }
    if (largest === undefined || all < max / 2) {
      return { by: '', isHopeless: now - Math.max(source.starvedSince, this.#endedAt) >= hopelessMs };
    }
    if (now - Math.max(source.starvedSince, this.#endedAt) >= graceMs) {
      this.#endedAt = now;
      const reason =
        `memory is exhausted: the rule holds ${inMb(most)}, more than any other, and stream ${source.name} has no room for its input; ` +
        `all rules together hold ${inMb(inUse)}, the bound is ${inMb(max)} (basic.maxDataMemory)`;
      largest.host.failed(largest, reason);
    }
    return { by: `rule ${largest.id}, ${inMb(most)}`, isHopeless: false };
  }
}

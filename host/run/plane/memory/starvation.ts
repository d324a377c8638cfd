/** When the kernel has no room for the input of a source: who is to blame, and when there is no hope. */
import type { Kernel } from '../../../../kernels/api.js';
import type { RunningRule } from '../running/running.js';
import { greedOf, holdersOf, inMb } from './memory.js';

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

/** A source whose input has no room. */
export interface Starved {
  readonly name: string;
  /** Since when, epoch ms. */
  readonly starvedSince: number;
}

export class StarvationWatch {
  /** When a rule was ended last, epoch ms: what it gave back must show first. */
  #endedAt = 0;

  constructor(
    private readonly rules: Iterable<RunningRule>,
    private readonly kernel: () => Kernel,
  ) {}

  /** Ends the rule that holds the most, where the states of rules are what memory is used up for. */
  look(source: Starved): Starvation {
    const now = Date.now();
    const need = `, and stream ${source.name} has no room for its input`;
    const greed = greedOf(holdersOf(this.rules), this.kernel().memory(), need);
    if (greed === undefined) {
      return { by: '', isHopeless: now - Math.max(source.starvedSince, this.#endedAt) >= hopelessMs };
    }
    const { rule, bytes, reason } = greed;
    if (now - Math.max(source.starvedSince, this.#endedAt) >= graceMs) {
      this.#endedAt = now;
      rule.host.failed(rule, reason);
    }
    return { by: `rule ${rule.id}, ${inMb(bytes)}`, isHopeless: false };
  }
}

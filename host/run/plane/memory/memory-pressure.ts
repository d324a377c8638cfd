/**
 * Memory that gets scarce: the log says who holds it, and the rule that holds the most ends before others are refused
 * theirs.
 */
import type { Logger } from '../../../base/log/log.js';
import type { RunningRule } from '../running/running.js';
import { greedOf, holdersOf, inMb } from './memory.js';

/** Parts of all memory: from here on the log tells who holds it, */
const scarce = 3 / 4;
/** again once so little was in use in between, */
const relaxed = 5 / 8;
/**
 * and here the rule with the most ends. State is refused a sixteenth before the end: what a call keeps must fit in
 * between.
 */
const full = 7 / 8;
/** Time for the memory of an ended rule to be freed before another one ends, ms. */
const graceMs = 500;
/** Rules that the log names. */
const named = 5;

export class MemoryPressure {
  #isScarce = false;
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly rules: Iterable<RunningRule>,
    private readonly log: Logger,
  ) {}

  /** Looks at the memory of the kernel, bytes; to be called after work of the kernel. `now` is in ms. */
  look(memory: { inUse: number; max: number }, now: number): void {
    const { inUse, max } = memory;
    if (inUse < max * scarce) {
      if (inUse < max * relaxed) this.#isScarce = false;
      return;
    }
    if (!this.#isScarce) {
      this.#isScarce = true;
      this.#tell(memory);
    }
    if (inUse < max * full || now - this.#endedAt < graceMs) return;
    this.#endedAt = now;
    const greed = greedOf(holdersOf(this.rules), memory, '');
    if (greed !== undefined) greed.rule.host.failed(greed.rule, greed.reason);
  }

  #tell({ inUse, max }: { inUse: number; max: number }): void {
    const { rules } = holdersOf(this.rules);
    const most = rules.slice(0, named).map(([{ id }, bytes]) => `rule ${id} ${inMb(bytes)}`);
    const others = rules.length > named ? `, ${rules.length - named} others less` : '';
    this.log.warn(
      `memory gets scarce: ${inMb(inUse)} of ${inMb(max)} are in use (basic.maxDataMemory); ` +
        `${most.join(', ')}${others}`,
    );
  }
}

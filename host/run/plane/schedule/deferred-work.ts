/**
 * Work that nodes of rules have deferred goes on piece by piece, in turns with sockets, timers and the work of other
 * rules.
 */
import type { Kernel } from '../../../../kernels/api.js';
import { deferredWork, hasDeferred, workOn } from '../../../../kernels/state/deferred.js';
import type { RunningRule } from '../running/running.js';

/** Longest work of one piece, ms. */
const pieceMs = 5;
/** Waiting results of a window at which the sources of its rule pause, and at which they go on. */
const mostResults = 8;
const fewResults = 2;

export class DeferredTurns {
  /** Rules whose work is under way. */
  #rules = new Set<RunningRule>();
  /** Rules whose sources pause, since too many results wait. */
  readonly #full = new Set<RunningRule>();
  #turn: NodeJS.Immediate | undefined;

  constructor(
    private readonly kernel: () => Kernel,
    private readonly rules: ReadonlySet<RunningRule>,
    /** Runs work of the kernel. */
    private readonly work: (call: () => void) => void,
  ) {}

  /** Looks whether there is deferred work; to be called after work of the kernel. */
  settle(): void {
    if (this.#turn !== undefined) return;
    const isLeft = hasDeferred(this.kernel());
    if (isLeft || this.#rules.size > 0) this.#note();
    if (!isLeft) return;
    this.#turn = setImmediate(() => {
      this.#turn = undefined;
      this.work(() => workOn(this.kernel(), pieceMs));
    });
  }

  close(): void {
    if (this.#turn !== undefined) clearImmediate(this.#turn);
  }

  /** Notes the rules whose work is under way, and pauses or resumes their sources. */
  #note(): void {
    const results = new Map<RunningRule, number>();
    const found = deferredWork(this.kernel());
    for (const rule of this.rules) {
      for (const one of found) {
        if (one.host === rule.run) results.set(rule, Math.max(results.get(rule) ?? 0, one.results));
      }
    }
    const before = this.#rules;
    this.#rules = new Set(results.keys());
    for (const [rule, count] of results) this.#hold(rule, count);
    for (const rule of before) {
      if (this.#rules.has(rule)) continue;
      this.#hold(rule, 0);
      // The rule may be at its end now, but the caller is in the middle of work.
      setImmediate(() => rule.workedOff());
    }
  }

  /** Pauses the sources of the rule while too many results wait: new rows would only add to them. */
  #hold(rule: RunningRule, results: number): void {
    if (!(this.#full.has(rule) ? results <= fewResults : results >= mostResults)) return;
    const isFull = !this.#full.delete(rule);
    if (isFull) this.#full.add(rule);
    rule.blockForResults(isFull ? results : 0);
  }
}

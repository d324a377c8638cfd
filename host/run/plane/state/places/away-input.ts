/**
 * Input of a source that is kept for a rule which ends and comes back, as in an update. It stays in the input log until
 * the rule goes on from its place, or for `longestMs` when the rule can't start.
 */
import type { Barrier } from '../../acknowledge/barrier.js';
import type { InputBranch } from '../../feed/input-branches.js';
import type { RunningRule } from '../../running/running.js';

const longestMs = 60_000;
const nobody: ReadonlySet<RunningRule> = new Set();

export class AwayInput implements InputBranch {
  readonly rules = nobody;
  readonly #barriers = new Set<Barrier>();
  readonly #patience: NodeJS.Timeout;
  #isClosed = false;

  /** @param before what lies behind its place already */
  constructor(
    before: Iterable<Barrier>,
    private readonly over: () => void,
  ) {
    for (const barrier of before) this.#keep(barrier);
    this.#patience = setTimeout(() => this.close(), longestMs).unref();
  }

  #keep(barrier: Barrier): void {
    if (this.#barriers.has(barrier)) return;
    barrier.keep();
    this.#barriers.add(barrier);
  }

  add(_bytes: Uint8Array, barrier: Barrier | undefined): void {
    if (barrier !== undefined && !this.#isClosed) this.#keep(barrier);
  }

  numbered(): void {}

  reset(): void {}

  end(): void {}

  /** Lets the log forget the input. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#patience);
    this.over();
    for (const barrier of this.#barriers) barrier.kept(false);
  }
}
